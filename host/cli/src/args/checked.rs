//! The command line, checked and resolved as far as possible without contacting a server.
//!
//! Every flag is named where it is destructured, so that a new one can't be forgotten.

use std::path::PathBuf;
use std::time::Duration;

use pivot_core::Side;
use pivot_core::saved_plan::Decisions;
use pivot_core::scope::{Namespaces, Scope};
use pivot_engine::{DryRun, Options};

use super::between::{DirectoryEnd, Ends, SourceEnd, TargetEnd, ends};
use super::clusters::{Cluster, Namespace, clusters, full_names};
use super::describe::{Description, description};
use super::flags::{
    Accept, Cli, Connection, Describe, Dry, Kept, Move, MoveOrAsk, OutputFormat, PlanVerb, Planned, Rbac,
    Recovering, Resume, Rollback, Shell, StopStep, Taking, Verb, Waits, Which,
};
use super::parts::parts;
use super::plugins::{PluginVerb, With};
use super::protection::Protection;
use super::service::{Answering, Controlled};
use super::side::OneSide;
use super::usage::{Result, usage};
use super::values::{duration, kinds, namespace_map};
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
        self.options.not_imported
    }

    /// The flags that accept dangers which a plan doesn't have.
    pub(crate) fn beyond(&self, plan: &Decisions) -> Vec<String> {
        let Decisions { use_existing, assume_paused, no_wait, accept_unverified, handover: _, scope: _ } =
            plan;
        let plain = [
            (self.options.use_existing && !use_existing, "--use-existing"),
            (self.options.assume_paused && !assume_paused, "--assume-paused"),
            (self.options.no_wait && !no_wait, "--no-wait"),
        ];
        let plain = plain.into_iter().filter(|(beyond, _)| *beyond).map(|(_, flag)| flag.to_owned());
        let kinds = self.options.accept_unverified.difference(accept_unverified);
        plain.chain(kinds.map(|kind| format!("--accept-unverified {kind}"))).collect()
    }

    /// The flags that a run that continues this move needs too: without them it would stop, or wait, where this run did not.
    pub(crate) fn decided(&self) -> Vec<String> {
        let Options { use_existing, assume_paused, no_wait, accept_plugin_change, source_gone, .. } =
            self.options;
        let plain = [
            (use_existing, "--use-existing"),
            (assume_paused, "--assume-paused"),
            (no_wait, "--no-wait"),
            (accept_plugin_change, "--accept-plugin-change"),
            (source_gone, "--source-gone"),
        ];
        let plain = plain.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag.to_owned());
        let at_once = (self.options.settle_concurrency
            != Options::new(self.options.scope.clone()).settle_concurrency)
            .then(|| ["--settle-concurrency".to_owned(), self.options.settle_concurrency.to_string()]);
        let plain = plain.chain(at_once.into_iter().flatten());
        let of_kinds = [
            ("--accept-unverified", &self.options.accept_unverified),
            ("--accept-changed", &self.options.accept_changed),
        ];
        let kinds = of_kinds.into_iter().flat_map(|(flag, kinds)| kinds.iter().map(move |kind| (flag, kind)));
        plain.chain(kinds.flat_map(|(flag, kind)| [flag.to_owned(), kind.to_string()])).collect()
    }
}

/// Turns flags into a task.
pub(crate) fn check(typed: Cli) -> Result<Task> {
    // Output flags are read before the rest, so that errors are formatted as asked, too.
    let Cli { look, verb, risks_from_environment: _ } = typed;
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
            let MoveOrAsk { what, dry_run, plan, wait, kept } = *typed;
            let report = reported(kept)?;
            if dry_run.is_some() && report.is_some() {
                return usage("--report is about a move; a dry run has a page of its own: -o html");
            }
            match dry_run {
                Some(Dry::Plan) => Task::Plan(moving(what, DryRun::Plan)?),
                Some(Dry::Server) => Task::Plan(moving(what, DryRun::Server)?),
                None => {
                    let wait = wait.map(|typed| duration("--wait", &typed)).transpose()?;
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
                target_gone,
                not_imported,
                source_gone,
                recovering,
                with,
                kept,
            } = *typed;
            let (Which { which }, Taking { take_over }) = (which, taking);
            // What was imported nowhere has no target, unless one is named to be asked.
            let target_gone = target_gone || (not_imported && !names_target(&connection));
            let gone = target_gone.then_some(Side::Target).or(source_gone.then_some(Side::Source));
            let choices = about_a_move(connection, true, gone)?;
            let options =
                Options { which, take_over, target_gone, not_imported, source_gone, ..choices.options };
            let options = recovered(options, recovering)?;
            Task::Rollback(Choices { options, report: reported(kept)?, with, ..choices })
        }
        Verb::Describe(Describe::Cluster(typed)) => Task::Describe(description(*typed)?),
        Verb::Rbac(typed) => rbac(*typed)?,
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
        carry,
        add,
        allow_empty,
        accept,
        waits,
        taking,
        with,
    } = typed;
    let Accept {
        drop_owner,
        accept_loss,
        without_plugin_for,
        accept_shared,
        accept_old_namespace,
        move_paused,
        accept_unprovisioned,
        source_is_off,
        use_existing,
    } = accept;
    let Taking { take_over } = taking;
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
    // The namespace is filled in when the kubeconfig is read.
    let scope = Scope {
        format: Default::default(),
        namespaces: Namespaces::All,
        clusters: Default::default(),
        exclude: parts("--exclude", &exclude)?,
        carry: parts("--carry", &carry)?,
        // Filled in when the files are read.
        added: Default::default(),
        drop_owners: kinds("--drop-owner", &drop_owner)?,
        accept_loss: kinds("--accept-loss", &accept_loss)?,
        without_plugin_for: kinds("--without-plugin-for", &without_plugin_for)?,
        accept_shared: kinds("--accept-shared", &accept_shared)?,
        namespace_map: namespace_map(&map_namespace, &connection.record_namespace)?,
        accept_old_namespace: kinds("--accept-old-namespace", &accept_old_namespace)?,
        move_paused,
        accept_unprovisioned,
        source_is_off,
    };
    let options = Options {
        record_namespace: connection.record_namespace.clone(),
        dry_run,
        use_existing,
        take_over,
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
        add,
        with,
        options,
    })
}

fn resuming(typed: Resume) -> Result<Choices> {
    let Resume {
        connection,
        which,
        imported,
        add,
        plan,
        accept_changed,
        use_existing,
        waits,
        taking,
        with,
        accept_plugin_change,
        source_gone,
        recovering,
        kept,
    } = typed;
    let Which { which } = which;
    let Taking { take_over } = taking;
    let choices = about_a_move(connection, true, source_gone.then_some(Side::Source))?;
    if imported && !matches!(choices.ends.target, TargetEnd::Kube(_) | TargetEnd::Workload(_)) {
        return usage(
            "--imported needs the cluster that imported the directory: --to-kubeconfig or --to-workload",
        );
    }
    let options = Options {
        which,
        imported,
        accept_changed: kinds("--accept-changed", &accept_changed)?,
        use_existing,
        take_over,
        accept_plugin_change,
        source_gone,
        ..choices.options
    };
    let report = reported(kept)?;
    let options = recovered(waiting(options, &waits)?, recovering)?;
    Ok(Choices { options, add, plan, with, report, ..choices })
}

fn recovered(options: Options, typed: Recovering) -> Result<Options> {
    let Recovering { world_changed, unpause } = typed;
    Ok(Options { world_changed, unpause: full_names("--unpause", &unpause)?, ..options })
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
                "a move into a directory leaves the source unchanged, so --source-gone doesn't apply",
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
    let Waits {
        pause_timeout,
        gate_timeout,
        timeout,
        settle_concurrency,
        assume_paused,
        accept_unverified,
        no_wait,
        stop_before,
    } = waits;
    Ok(Options {
        pause_timeout: duration("--pause-timeout", pause_timeout)?,
        gate_timeout: duration("--gate-timeout", gate_timeout)?,
        verify_timeout: duration("--timeout", timeout)?,
        settle_concurrency: usize::from(*settle_concurrency),
        assume_paused: *assume_paused,
        accept_unverified: kinds("--accept-unverified", accept_unverified)?,
        no_wait: *no_wait,
        stop_before_release: *stop_before == Some(StopStep::Release),
        ..options
    })
}
