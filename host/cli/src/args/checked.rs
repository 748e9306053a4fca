//! What was typed, checked and resolved as far as it can be without asking anyone.
//!
//! Every flag is named where it is taken apart, so that a new one can't be forgotten.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use pivot_core::GroupKind;
use pivot_core::scope::{Namespaces, Scope};
use pivot_engine::{DryRun, Options};
use pivot_places::ConnectOptions;

use super::flags::{
    Accept, Cli, Connection, Dry, Move, MoveOrAsk, Resume, Rollback, Shell, Taking, Verb, Waits,
};

/// What to do.
#[derive(Debug)]
pub(crate) enum Task {
    Plan(Choices),
    Move(Choices),
    Status(Choices),
    Resume(Choices),
    Rollback(Choices),
    Version,
    Completion(Shell),
}

/// What a task that has to do with a move was told.
#[derive(Debug)]
pub(crate) struct Choices {
    /// As typed, for the lines that say what to type next.
    pub(crate) connection: Connection,
    pub(crate) ends: Ends,
    pub(crate) allow_empty: bool,
    pub(crate) namespace: Namespace,
    options: Options,
}

/// The two ends of a move.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) source: SourceEnd,
    pub(crate) target: TargetEnd,
}

/// Where the objects are.
#[derive(Debug)]
pub(crate) enum SourceEnd {
    Kube(ConnectOptions),
    Directory(PathBuf),
    /// It can't be reached any more.
    Gone,
}

/// Where they go.
#[derive(Debug)]
pub(crate) enum TargetEnd {
    Kube(ConnectOptions),
    Directory(PathBuf),
    /// Not said; enough to look at the source.
    None,
}

/// Which namespace, as far as it is known before the kubeconfig is read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Namespace {
    All,
    Named(String),
    OfContext,
}

/// Why a command line makes no sense.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UsageError(pub(crate) String);

type Result<T> = std::result::Result<T, UsageError>;

fn usage<T>(text: impl Into<String>) -> Result<T> {
    Err(UsageError(text.into()))
}

impl Choices {
    /// The engine's options, now that the context's namespace is known.
    pub(crate) fn options(&self, of_context: Option<&str>) -> Options {
        let mut options = self.options.clone();
        options.scope.namespaces = match &self.namespace {
            Namespace::All => Namespaces::All,
            Namespace::Named(name) => Namespaces::One(name.clone()),
            Namespace::OfContext => Namespaces::One(of_context.unwrap_or("default").to_owned()),
        };
        options
    }
}

/// Turns what was typed into what is meant.
pub(crate) fn check(typed: Cli) -> Result<Task> {
    // How it looks is read before what it means, so that errors look right, too.
    let Cli { look: _, verb } = typed;
    Ok(match verb {
        Verb::Plan(what) => Task::Plan(moving(*what, DryRun::Plan)?),
        Verb::Move(typed) => {
            let MoveOrAsk { what, dry_run } = *typed;
            match dry_run {
                Some(Dry::Plan) => Task::Plan(moving(what, DryRun::Plan)?),
                Some(Dry::Server) => Task::Plan(moving(what, DryRun::Server)?),
                None => Task::Move(moving(what, DryRun::Off)?),
            }
        }
        Verb::Status(connection) => Task::Status(about_a_move(*connection, false, false)?),
        Verb::Resume(typed) => Task::Resume(resuming(*typed)?),
        Verb::Rollback(typed) => {
            let Rollback { connection, taking: Taking { take_over } } = *typed;
            let mut choices = about_a_move(connection, true, false)?;
            choices.options.take_over = take_over;
            Task::Rollback(choices)
        }
        Verb::Version => Task::Version,
        Verb::Completion { shell } => Task::Completion(shell),
    })
}

fn moving(typed: Move, dry_run: DryRun) -> Result<Choices> {
    let Move { connection, namespace, all_namespaces, allow_empty, accept, waits, taking } = typed;
    let Accept {
        drop_owner,
        accept_loss,
        without_plugin_for,
        move_paused,
        accept_unprovisioned,
        use_existing,
    } = accept;
    let Taking { take_over } = taking;
    let ends = ends(&connection, false)?;
    match (&ends.target, dry_run) {
        (TargetEnd::None, DryRun::Off) => {
            return usage("a target is needed: --to-kubeconfig, --to-kubeconfig-context or --to-directory");
        }
        (TargetEnd::None | TargetEnd::Directory(_), DryRun::Server) => {
            return usage("--dry-run=server asks the target's server: --to-kubeconfig is needed");
        }
        _ => {}
    }
    let namespace = match (namespace, all_namespaces, &ends.source) {
        (Some(_), true, _) => return usage("--namespace and --all-namespaces exclude each other"),
        (Some(name), false, _) => Namespace::Named(name),
        (None, true, _) => Namespace::All,
        // A directory has no context, and was made to be taken whole.
        (None, false, SourceEnd::Directory(_)) => Namespace::All,
        (None, false, _) => Namespace::OfContext,
    };
    // The namespace takes its place when the kubeconfig is read.
    let scope = Scope {
        namespaces: Namespaces::All,
        drop_owners: kinds("--drop-owner", &drop_owner)?,
        accept_loss: kinds("--accept-loss", &accept_loss)?,
        without_plugin_for: kinds("--without-plugin-for", &without_plugin_for)?,
        move_paused,
        accept_unprovisioned,
    };
    let options = Options {
        record_namespace: connection.record_namespace.clone(),
        dry_run,
        use_existing,
        take_over,
        ..Options::new(scope)
    };
    let options = waiting(options, &waits)?;
    Ok(Choices { connection, ends, allow_empty, namespace, options })
}

fn resuming(typed: Resume) -> Result<Choices> {
    let Resume { connection, use_existing, waits, taking, accept_plugin_change, source_gone } = typed;
    let Taking { take_over } = taking;
    let mut choices = about_a_move(connection, true, source_gone)?;
    choices.options =
        Options { use_existing, take_over, accept_plugin_change, source_gone, ..choices.options };
    choices.options = waiting(choices.options, &waits)?;
    Ok(choices)
}

/// What is said about a move that is under way: its record knows the rest.
fn about_a_move(connection: Connection, target_needed: bool, source_gone: bool) -> Result<Choices> {
    if connection.from_directory.is_some() {
        return usage(
            "a directory that is read keeps no record of a move: there is nothing to resume, type `move` again into a new directory",
        );
    }
    let ends = ends(&connection, source_gone)?;
    match &ends.target {
        TargetEnd::None if target_needed => {
            return usage("the move's target is needed: --to-kubeconfig or --to-directory");
        }
        TargetEnd::Directory(_) if source_gone => {
            return usage(
                "a move into a directory changes nothing in the source for good: --source-gone is not for it",
            );
        }
        _ => {}
    }
    let options = Options {
        record_namespace: connection.record_namespace.clone(),
        ..Options::new(Scope::new(Namespaces::All))
    };
    Ok(Choices { connection, ends, allow_empty: false, namespace: Namespace::All, options })
}

fn ends(connection: &Connection, source_gone: bool) -> Result<Ends> {
    let Connection {
        kubeconfig,
        kubeconfig_context,
        to_kubeconfig,
        to_kubeconfig_context,
        from_directory,
        to_directory,
        as_user,
        as_group,
        to_as,
        to_as_group,
        record_namespace,
    } = connection;
    if record_namespace.is_empty() {
        return usage("--record-namespace is empty");
    }
    let kube =
        |file: &Option<PathBuf>, context: &Option<String>, user: &Option<String>, groups: &[String]| {
            ConnectOptions {
                kubeconfig: file.clone(),
                context: context.clone(),
                impersonate: user.clone(),
                impersonate_groups: groups.to_vec(),
                ..ConnectOptions::default()
            }
        };
    let from_kube =
        kubeconfig.is_some() || kubeconfig_context.is_some() || as_user.is_some() || !as_group.is_empty();
    let to_kube = to_kubeconfig.is_some() || to_kubeconfig_context.is_some();
    if !as_group.is_empty() && as_user.is_none() || !to_as_group.is_empty() && to_as.is_none() {
        return usage("--as-group needs --as, and --to-as-group needs --to-as");
    }
    let source = match from_directory {
        Some(_) if from_kube => {
            return usage(
                "--from-directory excludes --kubeconfig, --kubeconfig-context and --as: the source is one or the other",
            );
        }
        Some(_) if to_kube => {
            return usage(
                "--from-directory with --to-kubeconfig is not supported yet: of a directory a plan can be made, and a copy into another directory",
            );
        }
        Some(directory) => SourceEnd::Directory(directory.clone()),
        None if source_gone => SourceEnd::Gone,
        None => SourceEnd::Kube(kube(kubeconfig, kubeconfig_context, as_user, as_group)),
    };
    let target = match to_directory {
        Some(_) if to_kube || to_as.is_some() => {
            return usage(
                "--to-directory excludes --to-kubeconfig, --to-kubeconfig-context and --to-as: the target is one or the other",
            );
        }
        Some(directory) => TargetEnd::Directory(directory.clone()),
        None if to_kube => {
            // A context alone is one of the file that the source is in.
            let file = if to_kubeconfig.is_some() { to_kubeconfig } else { kubeconfig };
            TargetEnd::Kube(kube(file, to_kubeconfig_context, to_as, to_as_group))
        }
        None if to_as.is_some() => return usage("--to-as needs --to-kubeconfig"),
        None => TargetEnd::None,
    };
    Ok(Ends { source, target })
}

fn waiting(options: Options, waits: &Waits) -> Result<Options> {
    let Waits { pause_timeout, gate_timeout, timeout, assume_paused, no_wait } = waits;
    Ok(Options {
        pause_timeout: duration("--pause-timeout", pause_timeout)?,
        gate_timeout: duration("--gate-timeout", gate_timeout)?,
        verify_timeout: duration("--timeout", timeout)?,
        assume_paused: *assume_paused,
        no_wait: *no_wait,
        ..options
    })
}

/// `90`, `90s`, `5m`, `1h30m`.
fn duration(flag: &str, text: &str) -> Result<Duration> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(seconds.into()));
    }
    let parsed = text.parse::<jiff::SignedDuration>().ok().and_then(|parsed| parsed.try_into().ok());
    match parsed {
        Some(duration) => Ok(duration),
        None => usage(format!("{flag} {text:?} is not a duration; write 90s, 5m or 1h30m")),
    }
}

fn kinds(flag: &str, typed: &[String]) -> Result<BTreeSet<GroupKind>> {
    let one = |text: &String| {
        let Ok(kind) = text.parse::<GroupKind>();
        if kind.kind.starts_with(|first: char| first.is_ascii_uppercase()) {
            return Ok(kind);
        }
        usage(format!(
            "{flag} {text:?} is not a kind; write it as in manifests, like Machine.cluster.x-k8s.io"
        ))
    };
    typed.iter().map(one).collect()
}
