//! The command line, checked and resolved as far as possible without contacting a server.
//!
//! Every flag is named where it is destructured, so that a new one can't be forgotten.

use std::path::PathBuf;
use std::time::Duration;

use pivot_core::Side;
use pivot_core::risk::{AcceptedBy, Risk};
use pivot_core::saved_plan::Decisions;
use pivot_core::scope::{Namespaces, Scope};
use pivot_engine::{DryRun, Options};

use super::between::{DirectoryEnd, Ends, SourceEnd, TargetEnd, ends};
use super::clusters::{Cluster, Namespace, clusters, full_names};
use super::describe::{Description, description};
use super::flags::{
    Cli, Connection, Describe, Dry, Kept, Move, MoveOrAsk, OutputFormat, PlanVerb, Planned, Rbac, Resume,
    Rollback, Shell, StopStep, Taking, Verb, Waits, Which,
};
use super::parts::parts;
use super::plugins::{PluginVerb, With};
use super::protection::Protection;
use super::risks::{self, accepted_risks};
use super::service::{Answering, Controlled};
use super::side::OneSide;
use super::usage::{Result, usage};
use super::values::{duration, namespace_map};
use super::workload::Within;
use crate::operator;
use crate::private_file::has_form;

/// What to do.
#[derive(Debug)]
pub(crate) enum Task {
    Plan(Choices),
    SavedPlan(PlanVerb),
    Move(Choices),
    Status(Choices),
    Resume(Choices),
    Rollback(Choices),
    Describe(Description),
    Rbac(Choices, Roles),
    /// The risk to explain; none: all.
    Explain(Option<Risk>),
    Verify(DirectoryEnd),
    Plugin(PluginVerb),
    Controller(Controlled),
    Agent(Answering),
    Protect(Protection),
    Version,
    Completion(Shell),
    Manual(PathBuf),
}

/// The roles to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) side: Side,
    pub(crate) bind_to: Option<String>,
    pub(crate) finish_alone: bool,
}

/// The choices for a task that concerns a move.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    /// As typed, for the lines that suggest the next command.
    pub(crate) connection: Connection,
    pub(crate) ends: Ends,
    pub(crate) allow_empty: bool,
    /// Whether a plan names each object.
    pub(crate) tree: bool,
    /// Where the report of the run goes.
    pub(crate) report: Option<PathBuf>,
    /// Where a plan is saved.
    pub(crate) out: Option<PathBuf>,
    /// The saved plan to carry out.
    pub(crate) plan: Option<PathBuf>,
    /// How long to wait for what is still being built.
    pub(crate) wait: Option<Duration>,
    pub(crate) namespace: Namespace,
    /// The named Clusters; if none is, everything moves.
    clusters: Vec<Cluster>,
    /// The files whose objects are added.
    pub(crate) add: Vec<PathBuf>,
    /// The plugins that take part.
    pub(crate) with: With,
    options: Options,
}

impl Choices {
    /// The engine's options, once the context's namespace is known.
    pub(crate) fn options(&self, of_context: Option<&str>) -> Options {
        let mut options = Options { operator: operator::name(), ..self.options.clone() };
        options.scope.namespaces = match &self.namespace {
            Namespace::All => Namespaces::All,
            Namespace::Named(name) => Namespaces::One(name.clone()),
            Namespace::OfContext => Namespaces::One(of_context.unwrap_or("default").to_owned()),
        };
        let namespaces = &options.scope.namespaces;
        options.scope.clusters =
            self.clusters.iter().filter_map(|cluster| cluster.within(namespaces)).collect();
        options
    }

    /// The files that the command reads: none of them may be written to.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &PathBuf> {
        let Connection { kubeconfig, to_kubeconfig, identity, encrypt_to, .. } = &self.connection;
        self.plan
            .iter()
            .chain(&self.add)
            .chain(kubeconfig)
            .chain(to_kubeconfig)
            .chain(identity)
            .chain(encrypt_to)
    }

    /// Whether the user declared that the files of a handover were imported nowhere.
    pub(crate) fn not_imported(&self) -> bool {
        self.options.accept.contains(Risk::MaybeImported)
    }

    /// The flags that accept dangers which a plan doesn't have.
    pub(crate) fn beyond(&self, plan: &Decisions) -> Vec<String> {
        let beyond = self.options.accept.without(&plan.accept);
        risks::words(&beyond).chunks(2).map(|words| words.join(" ")).collect()
    }

    /// The flags that a run that continues this move needs too: without them it would stop, or wait, where this run did not.
    pub(crate) fn decided(&self) -> Vec<String> {
        let gone = self.options.without_source.then(|| "--without-source".to_owned());
        let usual = Options::new(self.options.scope.clone()).unpause_batch;
        let at_once = (self.options.unpause_batch != usual)
            .then(|| ["--unpause-batch".to_owned(), self.options.unpause_batch.to_string()]);
        let mut accepted = self.options.accept.clone();
        accepted.remove(Risk::MaybeImported);
        let accepted = risks::words(&accepted);
        gone.into_iter().chain(at_once.into_iter().flatten()).chain(accepted).collect()
    }
}

/// Turns flags into a task.
pub(crate) fn check(typed: Cli) -> Result<Task> {
    // Output flags are read before the rest, so that errors are formatted as asked, too.
    let Cli { look, verb } = typed;
    let task = task(verb)?;
    if matches!(look.output, OutputFormat::Picture(_)) && !matches!(task, Task::Plan(_)) {
        return usage("-o dot, mermaid and html draw a plan: they go with `plan` and `move --dry-run`");
    }
    Ok(task)
}

fn task(verb: Verb) -> Result<Task> {
    Ok(match verb {
        Verb::Plan(typed) => {
            let Planned { what, tree, out, saved } = *typed;
            match saved {
                Some(verb) => Task::SavedPlan(verb),
                None => Task::Plan(Choices { tree, out, ..moving(what, DryRun::Plan)? }),
            }
        }
        Verb::Move(typed) => {
            let MoveOrAsk { what, dry_run, plan, wait_for_provisioning, kept } = *typed;
            let report = reported(kept)?;
            if dry_run.is_some() && report.is_some() {
                return usage("--report is about a move; a dry run has a page of its own: -o html");
            }
            match dry_run {
                Some(Dry::Plan) => Task::Plan(moving(what, DryRun::Plan)?),
                Some(Dry::Server) => Task::Plan(moving(what, DryRun::Server)?),
                None => {
                    let wait = wait_for_provisioning
                        .map(|typed| duration("--wait-for-provisioning", &typed))
                        .transpose()?;
                    Task::Move(Choices { plan, report, wait, ..moving(what, DryRun::Off)? })
                }
            }
        }
        Verb::Status(connection) => Task::Status(about_a_move(*connection, false, None)?),
        Verb::Resume(typed) => Task::Resume(resuming(*typed)?),
        Verb::Rollback(typed) => {
            let Rollback {
                connection,
                which,
                taking,
                without_target,
                accept,
                without_source,
                unpause,
                with,
                kept,
            } = *typed;
            let accept = accepted_risks(&accept, AcceptedBy::Rollback)?;
            let (Which { which }, Taking { break_lease }) = (which, taking);
            // What was imported nowhere has no target, unless one is named to be asked.
            let without_target =
                without_target || (accept.contains(Risk::MaybeImported) && !names_target(&connection));
            let gone = without_target.then_some(Side::Target).or(without_source.then_some(Side::Source));
            let choices = about_a_move(connection, true, gone)?;
            let unpause = full_names("--unpause", &unpause)?;
            let options = Options {
                which,
                break_lease,
                without_target,
                accept,
                without_source,
                unpause,
                ..choices.options
            };
            Task::Rollback(Choices { options, report: reported(kept)?, with, ..choices })
        }
        Verb::Describe(Describe::Cluster(typed)) => Task::Describe(description(*typed)?),
        Verb::Rbac(typed) => rbac(*typed)?,
        Verb::Explain { code } => Task::Explain(code.as_deref().map(risks::risk).transpose()?),
        Verb::Verify { directory, identity } => {
            Task::Verify(DirectoryEnd { path: directory, keys: identity })
        }
        Verb::Plugin(verb) => Task::Plugin(verb),
        Verb::Controller(typed) => Task::Controller(*typed),
        Verb::Agent(typed) => Task::Agent(*typed),
        Verb::Protect(typed) => Task::Protect(typed),
        Verb::Version => Task::Version,
        Verb::Completion { shell } => Task::Completion(shell),
        Verb::Man { directory } => Task::Manual(directory),
    })
}

/// The permissions of one side of a move; only a server has any.
fn rbac(typed: Rbac) -> Result<Task> {
    let Rbac { what, side, bind_to, finish_alone } = typed;
    let choices = moving(what, DryRun::Plan)?;
    let (side, judged) = match (side, &choices.ends) {
        (OneSide::Source, ends) => (Side::Source, matches!(ends.source, SourceEnd::Kube(_))),
        (OneSide::Target, ends) => {
            (Side::Target, matches!(ends.target, TargetEnd::Kube(_) | TargetEnd::Workload(_)))
        }
    };
    // A copy into a directory deletes nothing: its roles would not do for a move.
    if matches!(choices.ends.target, TargetEnd::None) {
        return usage(format!(
            "--side {side}: what a move needs depends on where it goes; name the target with --to-kubeconfig, --to-workload or \
             --to-directory"
        ));
    }
    if !judged {
        let flags = if side == Side::Source { "--kubeconfig" } else { "--to-kubeconfig or --to-workload" };
        return usage(format!("--side {side}: only a cluster has roles; name it with {flags}"));
    }
    Ok(Task::Rbac(choices, Roles { side, bind_to, finish_alone }))
}

/// The file of a report, whose name says in which form.
fn reported(Kept { report }: Kept) -> Result<Option<PathBuf>> {
    match report {
        Some(path) if !has_form(&path) => {
            usage(format!("--report {:?}: the name has to end in .html or .json", path.display().to_string()))
        }
        report => Ok(report),
    }
}

/// Whether any flag names a target.
fn names_target(connection: &Connection) -> bool {
    let Connection { to_kubeconfig, to_kubeconfig_context, to_workload, to_directory, .. } = connection;
    to_kubeconfig.is_some()
        || to_kubeconfig_context.is_some()
        || to_workload.is_some()
        || to_directory.is_some()
}

fn moving(typed: Move, dry_run: DryRun) -> Result<Choices> {
    let Move {
        connection,
        namespace,
        all_namespaces,
        handover,
        cluster,
        map_namespace,
        exclude,
        also_copy,
        with_manifest,
        allow_empty,
        accept,
        waits,
        taking,
        with,
    } = typed;
    let Taking { break_lease } = taking;
    let mut ends = ends(&connection, None)?;
    match (&ends.target, dry_run) {
        (TargetEnd::None, DryRun::Off) => {
            return usage(
                "a target is required: --to-kubeconfig, --to-kubeconfig-context, --to-workload or --to-directory",
            );
        }
        (TargetEnd::None | TargetEnd::Directory(_), DryRun::Server) => {
            return usage(
                "--dry-run=server asks the target's server, so it needs --to-kubeconfig or --to-workload",
            );
        }
        _ => {}
    }
    if handover && matches!(ends.source, SourceEnd::Directory(_)) {
        return usage("--handover leaves a source paused; nothing runs what is in a directory");
    }
    let namespace = match (namespace, all_namespaces, &ends.source) {
        (Some(_), true, _) => return usage("--namespace and --all-namespaces exclude each other"),
        (Some(name), false, _) => Namespace::Named(name),
        (None, true, _) => Namespace::All,
        // A directory has no context, and was made to be moved as a whole.
        (None, false, SourceEnd::Directory(_)) => Namespace::All,
        (None, false, _) => Namespace::OfContext,
    };
    let (namespace, clusters) = clusters(&cluster, namespace)?;
    // Unless its own namespace was typed, the target is looked for where the objects are that move.
    if let TargetEnd::Workload(workload) = &mut ends.target {
        workload.must_exist = true;
        workload.within = match (&workload.within, &namespace) {
            (Within::Any, Namespace::Named(name)) => Within::Namespace(name.clone()),
            (Within::Any, Namespace::OfContext) => Within::OfContext,
            (typed, _) => typed.clone(),
        };
    }
    let (of_scope, accept) = accepted_risks(&accept, AcceptedBy::Move)?.split_scope();
    // The namespace is filled in when the kubeconfig is read.
    let scope = Scope {
        format: Default::default(),
        namespaces: Namespaces::All,
        clusters: Default::default(),
        exclude: parts("--exclude", &exclude)?,
        carry: parts("--also-copy", &also_copy)?,
        // Filled in when the files are read.
        added: Default::default(),
        namespace_map: namespace_map(&map_namespace, &connection.record_namespace)?,
        accept: of_scope,
    };
    let options = Options {
        record_namespace: connection.record_namespace.clone(),
        dry_run,
        accept,
        break_lease,
        handover,
        ..Options::new(scope)
    };
    let options = waiting(options, &waits)?;
    let (tree, report, out, plan, wait) = (false, None, None, None, None);
    Ok(Choices {
        connection,
        ends,
        allow_empty,
        tree,
        report,
        out,
        plan,
        wait,
        namespace,
        clusters,
        add: with_manifest,
        with,
        options,
    })
}

fn resuming(typed: Resume) -> Result<Choices> {
    let Resume {
        connection,
        which,
        imported,
        with_manifest,
        plan,
        accept,
        waits,
        taking,
        with,
        without_source,
        unpause,
        kept,
    } = typed;
    let Which { which } = which;
    let Taking { break_lease } = taking;
    let choices = about_a_move(connection, true, without_source.then_some(Side::Source))?;
    if imported && !matches!(choices.ends.target, TargetEnd::Kube(_) | TargetEnd::Workload(_)) {
        return usage(
            "--imported needs the cluster that imported the directory: --to-kubeconfig or --to-workload",
        );
    }
    let accept = accepted_risks(&accept, AcceptedBy::Resume)?;
    if without_source && accept.contains(Risk::WorldChanged) {
        return usage("--accept world-changed goes back to the source, so it excludes --without-source");
    }
    let options = Options {
        which,
        imported,
        accept,
        break_lease,
        without_source,
        unpause: full_names("--unpause", &unpause)?,
        ..choices.options
    };
    let report = reported(kept)?;
    let options = waiting(options, &waits)?;
    Ok(Choices { options, add: with_manifest, plan, with, report, ..choices })
}

/// The choices for commands about a move under way: its record has the rest.
fn about_a_move(connection: Connection, target_needed: bool, gone: Option<Side>) -> Result<Choices> {
    let ends = ends(&connection, gone)?;
    if matches!(
        (&ends.source, &ends.target),
        (SourceEnd::Directory(_), TargetEnd::Directory(_) | TargetEnd::None)
    ) {
        return usage(
            "a directory keeps no record of a move; a copy into another directory is continued by the same `move`",
        );
    }
    match &ends.target {
        TargetEnd::None if target_needed => {
            return usage("the move's target is required: --to-kubeconfig, --to-workload or --to-directory");
        }
        TargetEnd::Directory(_) if gone == Some(Side::Source) => {
            return usage(
                "a move into a directory leaves the source unchanged, so --without-source doesn't apply",
            );
        }
        _ => {}
    }
    let options = Options {
        record_namespace: connection.record_namespace.clone(),
        ..Options::new(Scope::new(Namespaces::All))
    };
    let with = With::default();
    let (allow_empty, tree, namespace) = (false, false, Namespace::All);
    let (clusters, add, report, out, plan, wait) = (Vec::new(), Vec::new(), None, None, None, None);
    Ok(Choices {
        connection,
        ends,
        allow_empty,
        tree,
        report,
        out,
        plan,
        wait,
        namespace,
        clusters,
        add,
        with,
        options,
    })
}

fn waiting(options: Options, waits: &Waits) -> Result<Options> {
    let Waits { pause_timeout, check_timeout, takeover_timeout, unpause_batch, stop_before } = waits;
    Ok(Options {
        pause_timeout: duration("--pause-timeout", pause_timeout)?,
        check_timeout: duration("--check-timeout", check_timeout)?,
        takeover_timeout: duration("--takeover-timeout", takeover_timeout)?,
        unpause_batch: usize::from(*unpause_batch),
        stop_before_release: *stop_before == Some(StopStep::Release),
        ..options
    })
}
