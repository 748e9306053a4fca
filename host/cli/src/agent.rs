//! Runs an agent, prints its manifests, invites or removes one.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pivot_controller::{AgentCredentials, AgentInstallation, Mounts, PLUGINS_PATH, Pages, agent_manifests};
use pivot_core::Key;
use pivot_core::objects::names::RECORD_NAMESPACE;
use pivot_engine::{Exit, Halter};
use pivot_link::{
    Agent, AgentName, Credentials, DialError, Enrolment, Guard, Invitation, LinkStatus, RegisterError, Role,
    TlsFiles, WallClock, invitation_data,
};
use pivot_places::{ConnectOptions, KubePlace, Place, PlaceError, builtin_kinds};
use serde_json::json;
use tokio::time::timeout;

use crate::alone::Alone;
use crate::args::{
    AgentCallArgs, AgentInvitation, AgentManifests, AgentVerb, Answering, MountArgs, OfController, OneSide,
    PluginArgs, SecretName,
};
use crate::endpoints::serve_pages;
use crate::exit;
use crate::output::{self, Output, Text};
use crate::plugins::Loading;
use crate::signals::{self, Interrupted};

/// Begins the line that names the objects that a cluster needs besides the printed manifests.
pub(crate) const RECORDS_APART: &str = "create the namespace of records first, if it is missing; it isn't among these manifests, so that deleting them keeps the records of \
     moves: kubectl create namespace ";

/// Limit for the first answer of a cluster.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// The Secret of an agent that is installed by an invitation.
const CREDENTIALS: &str = "pivot-host-agent-credentials";

/// Runs, invites or removes an agent, and returns the exit code.
pub(crate) async fn run(verb: &AgentVerb, output: &Arc<Output>) -> u8 {
    let why = match verb {
        AgentVerb::Run(typed) => find_contradiction(&typed.called, false),
        AgentVerb::Invite(AgentInvitation { called, .. }) => find_contradiction(called, true),
        AgentVerb::Remove { .. } => None,
    };
    if let Some(why) = why {
        output.fail(why);
        return exit::exit_code(Exit::Usage);
    }
    let done = match verb {
        AgentVerb::Run(typed) => run_agent(typed, output).await,
        AgentVerb::Invite(AgentInvitation { name, of, image, install_namespace, called }) => {
            invite_agent(name, of).await.map(|invitation| {
                let credentials = AgentCredentials::Invited {
                    secret: CREDENTIALS.to_owned(),
                    data: Some(invitation_data(&invitation)),
                };
                print_objects(image, install_namespace, credentials, called, &Mounts::default(), output);
                exit::DONE
            })
        }
        AgentVerb::Remove { name, of } => remove(name, of).await.map(|name| {
            output.say(format!("agent {name} is removed: its link ends, and it must be invited again"));
            exit::DONE
        }),
    };
    done.unwrap_or_else(|(code, why)| {
        output.fail(why);
        exit::exit_code(code)
    })
}

/// Prints the manifests of an agent, and returns the exit code.
pub(crate) fn print_manifests(typed: &AgentManifests, output: &Output) -> u8 {
    let AgentManifests { image, namespace, secret, invitation, mounts, called } = typed;
    if let Some(why) = find_contradiction(called, true).or_else(|| find_unread_mount(mounts, called)) {
        output.fail(why);
        return exit::exit_code(Exit::Usage);
    }
    let credentials = match invitation {
        Some(secret) => AgentCredentials::Invited { secret: secret.clone(), data: None },
        None => AgentCredentials::Mounted(secret.clone()),
    };
    let plugins = called.with.directory_name();
    let mounts = mounted_files(mounts, plugins.as_deref().unwrap_or(PLUGINS_PATH));
    print_objects(image, namespace, credentials, called, &mounts, output);
    exit::DONE
}

/// Returns the files that pods read from the cluster. They read plugins at this path.
pub(crate) fn mounted_files(typed: &MountArgs, plugins_path: &str) -> Mounts {
    let MountArgs { plugins_claim, trust_config_map } = typed;
    let plugins = plugins_claim.clone().map(|claim| (claim, plugins_path.to_owned()));
    Mounts { plugins, trust: trust_config_map.clone() }
}

/// Returns why an agent would never read a file that is mounted for it.
fn find_unread_mount(mounts: &MountArgs, called: &AgentCallArgs) -> Option<&'static str> {
    let MountArgs { plugins_claim, trust_config_map } = mounts;
    let has_plugins = called.finish_alone_after.is_some() && called.with.plugins.is_some();
    (!has_plugins && (plugins_claim.is_some() || trust_config_map.is_some())).then_some(
        "--plugins-claim and --trust-config-map: an agent has plugins only with --finish-alone-after and --plugins",
    )
}

/// Flags without a meaning are a mistake: whoever sets them relies on them.
fn find_contradiction(called: &AgentCallArgs, prints: bool) -> Option<&'static str> {
    let AgentCallArgs { finish_alone_after, allow_return, with, .. } = called;
    match (finish_alone_after, called.role) {
        (_, OneSide::Source) if *allow_return => {
            Some("--allow-return: an agent with --role source lets everything in its namespaces move out")
        }
        (Some(_), OneSide::Source) => Some(
            "--finish-alone-after: nothing that moves out of a cluster (--role source) can be finished in it",
        ),
        _ if prints && with.trust.is_some() => Some(
            "--trust: a file of this machine is not in the agent's image; put it there as /etc/pivot-host/trust.toml",
        ),
        _ => None,
    }
}

fn print_objects(
    image: &str,
    namespace: &str,
    credentials: AgentCredentials,
    called: &AgentCallArgs,
    mounts: &Mounts,
    output: &Output,
) {
    let objects = agent_manifests(&AgentInstallation {
        image: image.to_owned(),
        namespace: namespace.to_owned(),
        credentials,
        arguments: agent_arguments(called),
        takes_leases: called.role == OneSide::Source
            || called.allow_return
            || called.finish_alone_after.is_some(),
        mounts: mounts.clone(),
    });
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    output.note(format!("{RECORDS_APART}{RECORD_NAMESPACE}"));
    output.result(&list, || output::manifests_text(&objects));
}

async fn invite_agent(name: &str, of: &OfController) -> Result<Invitation, (Exit, Text)> {
    let place = controllers_cluster(of).await?;
    check_namespace(&*place, &of.namespace).await?;
    let (enrolment, name) = open_enrolment(place, name, of)?;
    enrolment.invite(&name).await.map_err(|error| not_registered(&error))
}

async fn remove(name: &str, of: &OfController) -> Result<AgentName, (Exit, Text)> {
    let place = controllers_cluster(of).await?;
    let (enrolment, name) = open_enrolment(place, name, of)?;
    match enrolment.remove(&name).await {
        Ok(true) => Ok(name),
        Ok(false) => {
            Err(refusal(format!("there is no agent {name} in namespace {}", of.controller_namespace)))
        }
        Err(error) => Err(not_registered(&error)),
    }
}

/// The exit code and the message if an agent can't be invited or removed.
fn not_registered(error: &RegisterError) -> (Exit, Text) {
    (exit::of_server(error.is_transient()), error.to_string().into())
}

/// The agents of a controller, and one of them.
fn open_enrolment(
    place: Arc<dyn Place>,
    name: &str,
    of: &OfController,
) -> Result<(Enrolment, AgentName), (Exit, Text)> {
    let OfController { controller_namespace, namespace, .. } = of;
    // Nobody calls this process.
    let enrolment = Enrolment::new(place, controller_namespace, Vec::new(), Arc::new(WallClock));
    let name = AgentName { namespace: namespace.clone(), name: name.to_owned() };
    Ok((enrolment.map_err(|error| refusal(error.to_string()))?, name))
}

/// Connects to the controller's cluster and checks that it has the controller's namespace. Gives up a cluster that is silent at
/// first sooner than one that has answered: the address may be wrong.
async fn controllers_cluster(of: &OfController) -> exit::Result<Arc<dyn Place>> {
    let place = connect_to_cluster(of.kubeconfig.clone(), of.kubeconfig_context.clone()).await?;
    match timeout(FIRST_ANSWER, check_namespace(&*place, &of.controller_namespace)).await {
        Ok(checked) => checked.map(|()| place),
        Err(_) => {
            let (cluster, seconds) = (place.label(), FIRST_ANSWER.as_secs());
            let why = format!(
                "no answer from the controller's cluster, {cluster}: nothing came back for {seconds} seconds"
            );
            Err((exit::of_server(true), why.into()))
        }
    }
}

/// Checks that the controller's cluster has a namespace. An account without permission to read namespaces passes.
async fn check_namespace(place: &dyn Place, name: &str) -> exit::Result<()> {
    let Some(kind) = builtin_kinds().into_iter().find(|kind| kind.group_kind.is("", "Namespace")) else {
        return Ok(());
    };
    let key = Key::new(kind.group_kind.clone(), None, name);
    match place.get(&Arc::new(kind), &key).await {
        Ok(None) => {
            let cluster = place.label();
            Err(refusal(format!("there is no namespace {name} in the controller's cluster, {cluster}")))
        }
        Ok(Some(_)) | Err(PlaceError::Forbidden(_)) => Ok(()),
        Err(error) => Err((exit::of_server(error.is_transient()), error.to_string().into())),
    }
}

async fn connect_to_cluster(
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
) -> Result<Arc<dyn Place>, (Exit, Text)> {
    let options = ConnectOptions { kubeconfig, context, ..ConnectOptions::default() };
    let place = KubePlace::connect(options).await.map_err(|error| refusal(error.to_string()))?;
    Ok(Arc::new(place))
}

/// A refusal for this reason.
pub(crate) fn refusal(why: String) -> (Exit, Text) {
    (Exit::Refused, why.into())
}

async fn run_agent(typed: &Answering, output: &Arc<Output>) -> Result<u8, (Exit, Text)> {
    let called = &typed.called;
    // It is required where nothing is printed.
    let address = called.call.clone().unwrap_or_default();
    let place = connect_to_cluster(typed.kubeconfig.clone(), typed.kubeconfig_context.clone()).await?;
    let guard = Guard {
        namespaces: (!called.allow_all_namespaces).then(|| called.allow_namespace.iter().cloned().collect()),
        record_namespace: typed.record_namespace.clone(),
        role: match called.role {
            OneSide::Target => Role::Target,
            OneSide::Source => Role::Source,
        },
        keep_answering: called.keep_answering,
    };
    // They are for nothing else.
    let plugins = match called.finish_alone_after {
        Some(_) => Loading::begin(&called.with),
        None => Loading::without_plugins(),
    };
    // Better found out now than when nobody is there.
    if let Some(errors) = plugins.wait_for_refusal().await {
        return Err((Exit::Plugin, errors));
    }
    let agent = match &typed.credentials {
        Some(SecretName { namespace, name }) => {
            let credentials = Credentials::new(place.clone(), namespace, name, Arc::new(WallClock));
            let credentials = credentials.map_err(|error| refusal(error.to_string()))?;
            Agent::with_invitation(address.clone(), credentials, place, guard)
        }
        None => {
            let papers = TlsFiles::in_directory(typed.tls.clone().unwrap_or_default());
            Agent::new(address.clone(), papers, place, guard)
        }
    };
    let agent = agent.map_err(|error| refusal(error.to_string()))?;
    let agent = match called.finish_alone_after {
        Some(after) => {
            let (record_namespace, output) = (typed.record_namespace.clone(), output.clone());
            let set = plugins.pins().await.iter().collect();
            agent.finishing(after, set, Alone { record_namespace, plugins, output }.finish())
        }
        None => agent,
    };
    let agent = if called.allow_return { agent.allow_return() } else { agent };
    let pages = Arc::new(AgentPages { link: agent.link_status(), controller: address.clone() });
    let health = serve_pages(typed.health, pages, |at| output.say(format!("health: http://{at}")));
    let interrupted = signals::listen_for_signals(Halter::default(), output.clone(), false)
        .map_err(|error| (Exit::Unexpected, format!("can't listen for signals: {error}").into()))?;
    // The same reason again and again is said once.
    let last = Mutex::new(None);
    let tell = |link: Result<(), &DialError>| {
        let why = link.err().map(ToString::to_string);
        let before = last.lock().unwrap_or_else(PoisonError::into_inner).replace(why.clone());
        match why {
            None => output.say(format!("linked to {address}")),
            Some(why) if before != Some(Some(why.clone())) => {
                output.warn(format!("no link: {why}; it is tried again"))
            }
            Some(_) => {}
        }
    };
    tokio::select! {
        never = agent.keep(tell) => match never {},
        failed = health => Err(failed),
        interrupted = interrupted => Ok(match interrupted {
            // It was asked to stop, and has.
            Ok(Interrupted::Reading(_)) => exit::DONE,
            Ok(Interrupted::Forced) | Err(_) => exit::exit_code(Exit::Unexpected),
        }),
    }
}

/// The pages of an agent, which has no metrics.
struct AgentPages {
    link: LinkStatus,
    /// Address of the controller.
    controller: String,
}

impl Pages for AgentPages {
    fn metrics(&self) -> Option<String> {
        None
    }

    fn obstacles(&self) -> Vec<String> {
        let why = || format!("no link to {}: the agent's log has the reason", self.controller);
        (!self.link.is_linked()).then(why).into_iter().collect()
    }
}

/// The flags of an agent that is installed.
fn agent_arguments(called: &AgentCallArgs) -> Vec<String> {
    let pair = |flag: &str, value: &String| [flag.to_owned(), value.clone()];
    let all = called.allow_all_namespaces.then(|| "--allow-all-namespaces".to_owned());
    let role = (called.role == OneSide::Source).then(|| pair("--role", &"source".to_owned()));
    let keep = called.keep_answering.then(|| "--keep-answering".to_owned());
    let returns = called.allow_return.then(|| "--allow-return".to_owned());
    called
        .call
        .iter()
        .flat_map(|address| pair("--call", address))
        .chain(called.allow_namespace.iter().flat_map(|namespace| pair("--allow-namespace", namespace)))
        .chain(all)
        .chain(role.into_iter().flatten())
        .chain(keep)
        .chain(returns)
        .chain(
            called.finish_alone_after.into_iter().flat_map(|after| finish_alone_flags(after, &called.with)),
        )
        .collect()
}

/// Arguments of a child that finishes alone. Its plugins are in its image.
fn finish_alone_flags(after: Duration, with: &PluginArgs) -> Vec<String> {
    let mut words = vec!["--finish-alone-after".to_owned(), format!("{}s", after.as_secs())];
    if let Some(plugins) = &with.plugins {
        words.extend(["--plugins".to_owned(), plugins.display().to_string()]);
    }
    words.extend(with.strict.then(|| "--strict".to_owned()));
    words
}

#[cfg(test)]
mod tests {
    use pivot_memory::{Fault, MemoryPlace};

    use super::*;

    fn called(role: OneSide, after: Option<u64>, with: PluginArgs) -> AgentCallArgs {
        AgentCallArgs {
            call: Some("a:1".to_owned()),
            allow_namespace: vec!["shop".to_owned()],
            allow_all_namespaces: false,
            role,
            keep_answering: false,
            allow_return: false,
            finish_alone_after: after.map(Duration::from_secs),
            with,
        }
    }

    #[test]
    fn installed_agent_runs_with_typed_arguments() {
        let with = PluginArgs { plugins: Some("/plugins".into()), strict: true, ..PluginArgs::default() };
        let basic = ["--call", "a:1", "--allow-namespace", "shop"].map(str::to_owned).to_vec();
        // A variable for other commands may name plugins, too.
        assert_eq!(agent_arguments(&called(OneSide::Target, None, with.clone())), basic);
        let alone = ["--finish-alone-after", "600s", "--plugins", "/plugins", "--strict"].map(str::to_owned);
        assert_eq!(
            agent_arguments(&called(OneSide::Target, Some(600), with)),
            [basic.clone(), alone.to_vec()].concat()
        );
        let returning =
            AgentCallArgs { allow_return: true, ..called(OneSide::Target, None, PluginArgs::default()) };
        assert_eq!(agent_arguments(&returning), [basic, vec!["--allow-return".to_owned()]].concat());
    }

    #[tokio::test]
    async fn agents_are_invited_for_namespaces_that_exist() {
        let place = MemoryPlace::new("boot");
        place.add_namespace("shop");
        check_namespace(&place, "shop").await.unwrap();
        let (exit, why) = check_namespace(&place, "shpo").await.unwrap_err();
        let why = why.to_string();
        assert!(exit == Exit::Refused && why.contains("no namespace shpo") && why.contains("boot"), "{why}");
        // An account that may read only Secrets.
        place.on_call(|_, key| Some(Fault::Before(PlaceError::Forbidden(key.to_string()))));
        check_namespace(&place, "shpo").await.unwrap();
    }

    #[test]
    fn agent_without_plugins_mounts_none() {
        let plugins = PluginArgs { plugins: Some("/plugins".into()), ..PluginArgs::default() };
        let claim = MountArgs { plugins_claim: Some("site".to_owned()), ..MountArgs::default() };
        let trust = MountArgs { trust_config_map: Some("site".to_owned()), ..MountArgs::default() };
        for mounts in [claim, trust] {
            let refused = |after, with: &PluginArgs| {
                find_unread_mount(&mounts, &called(OneSide::Target, after, with.clone())).is_some()
            };
            assert!(refused(None, &plugins) && refused(Some(600), &PluginArgs::default()));
            assert!(!refused(Some(600), &plugins));
        }
    }

    #[test]
    fn contradicting_agent_flags_are_refused() {
        let trust = PluginArgs { trust: Some("trust.toml".into()), ..PluginArgs::default() };
        let of_source = called(OneSide::Source, Some(600), PluginArgs::default());
        assert!(find_contradiction(&of_source, false).is_some_and(|why| why.contains("--role source")));
        let returning =
            AgentCallArgs { allow_return: true, ..called(OneSide::Source, None, PluginArgs::default()) };
        assert!(find_contradiction(&returning, false).is_some_and(|why| why.contains("--allow-return")));
        let trusting = called(OneSide::Target, Some(600), trust);
        assert!(find_contradiction(&trusting, true).is_some_and(|why| why.contains("--trust")));
        assert_eq!(find_contradiction(&trusting, false), None);
        assert_eq!(find_contradiction(&called(OneSide::Source, None, PluginArgs::default()), true), None);
    }
}
