//! Runs a controller of Pivots, or prints its manifests.

use std::sync::Arc;

use pivot_controller::{
    AcceptedAgents, Controller, ControllerInstallation, KubeOpener, Metrics, PLUGINS_PATH, Settings,
    controller_manifests, describe_stop,
};
use pivot_core::objects::names::RECORD_NAMESPACE;
use pivot_engine::{Exit, Halter, Stop};
use pivot_link::{Agents, Enrolment, TlsFiles, WallClock};
use pivot_places::{Budget, ConnectOptions, KubePlace, Place};
use serde_json::json;

use crate::agent::{RECORDS_APART, mounted_files, refusal};
use crate::args::{Controlled, ControllerManifests};
use crate::endpoints::serve_pages;
use crate::operator;
use crate::output::{self, Output, Text};
use crate::plugins::Loading;
use crate::{approval, exit, signals};

const NO_PLANS: &str = "the trust file requires an approved plan, and a Pivot has none: its author would move without approval; move with `plan --out`, `plan sign` and `move --plan`, or take the rule out of the \
                        controller's trust file";

/// Bytes of clusters' answers that all moves may hold at once, at most half of them of the controller's own cluster. The limit in the
/// printed manifests has room for them, and for the quarter that single objects may take in addition.
const ANSWERS: usize = 2 << 30;
/// Bytes of answers that no move takes from the controller, which takes none from them: it lists the Pivots of its cluster however much
/// their moves hold, in pages that fit in.
const CONTROLLERS_PART: usize = 64 << 20;

/// Prints the manifests of a controller, and returns the exit code.
pub(crate) fn print_manifests(typed: &ControllerManifests, output: &Output) -> u8 {
    let ControllerManifests {
        image,
        namespace,
        replicas,
        mounts,
        pod_monitor,
        agents_host,
        agents_secret,
        accept_returns,
        also_copy,
    } = typed;
    let agents = match agents_secret {
        Some(secret) => AcceptedAgents::Secret(secret.clone()),
        None if agents_host.is_empty() => AcceptedAgents::None,
        None => AcceptedAgents::Invitation(agents_host.clone()),
    };
    let objects = controller_manifests(&ControllerInstallation {
        image: image.clone(),
        namespace: namespace.clone(),
        replicas: *replicas,
        agents,
        also_copy: also_copy.iter().map(ToString::to_string).collect(),
        accept_returns: accept_returns.clone(),
        mounts: mounted_files(mounts, PLUGINS_PATH),
        pod_monitor: *pod_monitor,
    });
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    output.note(format!("{RECORDS_APART}{RECORD_NAMESPACE}"));
    output.result(&list, || output::manifests_text(&objects));
    exit::DONE
}

/// Runs a controller, and returns the exit code.
pub(crate) async fn run(typed: &Controlled, output: &Arc<Output>) -> u8 {
    match run_controller(typed, output).await {
        Ok(()) => exit::DONE,
        Err((code, why)) => {
            output.fail(why);
            exit::exit_code(code)
        }
    }
}

async fn run_controller(typed: &Controlled, output: &Arc<Output>) -> Result<(), (Exit, Text)> {
    check_needs_no_plan(typed)?;
    let plugins = Arc::new(Loading::begin(&typed.with));
    // A controller without the plugins that it was given would move what they would have stopped.
    if let Some(errors) = plugins.wait_for_refusal().await {
        return Err((Exit::Plugin, errors));
    }
    plugins.notes().into_iter().for_each(|note| output.warn(note.message));
    let options = ConnectOptions {
        kubeconfig: typed.kubeconfig.clone(),
        context: typed.kubeconfig_context.clone(),
        budget: Some(Budget::new(ANSWERS / 2 + CONTROLLERS_PART)),
        ..ConnectOptions::default()
    };
    // Two sides of each move at work, and of as many that wait for others.
    let answers = ANSWERS / (4 * usize::from(typed.at_once.max(1)));
    let home = KubePlace::connect(options).await.map_err(|error| refusal(error.to_string()))?;
    let own = home.limit_answers(ANSWERS / 2);
    let home: Arc<dyn Place> = Arc::new(home.limit_answers(CONTROLLERS_PART));
    let agents = build_agents(typed, &home)?;
    let agents = agents.map(|agents| Arc::new(agents.with_answer_budget(answers)));
    let metrics = Arc::new(Metrics::with_agents(agents.clone()));
    let halter = Halter::default();
    let interrupted = signals::listen_for_signals(halter.clone(), output.clone(), true)
        .map_err(|error| (Exit::Unexpected, format!("can't listen for signals: {error}").into()))?;
    let server = serve_pages(typed.listen, metrics.clone(), |address| {
        output.say(format!("metrics and health: http://{address}"))
    });
    // Apart from the others, so that nobody who reads metrics keeps a probe waiting.
    let health = serve_pages(typed.health, metrics.clone(), |_| {});
    let controller = Controller {
        home,
        opener: Arc::new(KubeOpener {
            own,
            agents: agents.clone(),
            answers,
            special_networks: typed.allow_special_network.clone(),
        }),
        plugins: Arc::new(move || plugins.participating(|_| {})),
        settings: build_settings(typed, answers),
        metrics: metrics.clone(),
        agents: typed.agents.zip(agents),
    };
    tokio::select! {
        ended = controller.run(halter) => {
            ended.map_err(|error| (exit::of_server(error.is_transient()), error.to_string().into()))
        }
        failed = server => Err(failed),
        failed = health => Err(failed),
        _ = interrupted => Err((Exit::Unexpected, "exited at once, as requested".into())),
    }
}

/// Refuses a trust file that requires approved plans. A Pivot carries no plan that a user could have approved.
fn check_needs_no_plan(typed: &Controlled) -> Result<(), (Exit, Text)> {
    match approval::trust_file_requiring_approval(typed.with.trust.as_deref()) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err(refusal(NO_PLANS.to_owned())),
        Err(why) => Err((Exit::Refused, why)),
    }
}

/// The agents that the controller accepts: with certificates of another authority, or invited by the controller itself.
fn build_agents(typed: &Controlled, home: &Arc<dyn Place>) -> Result<Option<Agents>, (Exit, Text)> {
    if let Some(directory) = &typed.agents_tls {
        let agents = Agents::new(TlsFiles::in_directory(directory));
        return agents.map(Some).map_err(|error| refusal(error.to_string()));
    }
    if typed.agents_host.is_empty() {
        return Ok(None);
    }
    let (names, clock) = (typed.agents_host.clone(), Arc::new(WallClock));
    let enrolment = Enrolment::new(home.clone(), &typed.namespace, names, clock);
    let enrolment = enrolment.map_err(|error| refusal(error.to_string()))?;
    Ok(Some(Agents::with_enrolment(Arc::new(enrolment))))
}

/// The settings of all attempts. `answers` are the bytes of answers that each side of a move may hold.
fn build_settings(typed: &Controlled, answers: usize) -> Settings {
    let identity = typed.lease_identity.clone();
    Settings {
        namespace: typed.namespace.clone(),
        record_namespace: typed.record_namespace.clone(),
        also_copy: typed.also_copy.iter().cloned().collect(),
        accept_returns: typed.accept_returns.iter().cloned().collect(),
        identity: identity.unwrap_or_else(|| format!("{}_{}", operator::user_name(), uuid::Uuid::new_v4())),
        at_once: typed.at_once.into(),
        longest_wait: typed.longest_wait,
        // A line of the list counts less than most objects do. A move with a longer list doesn't commit.
        release_list_limit: answers / 2,
        kubectl_flags: output::placeholder_flags(),
        explain: explain_stop_in_pivot,
    }
}

/// Describes why a move stopped, for readers of its Pivot.
fn explain_stop_in_pivot(stop: &Stop) -> String {
    describe_stop(&output::explain_stop(stop).message(), &stop.state)
}
