//! Commands that plan or begin a move.

use std::path::PathBuf;

use pivot_core::Side;
use pivot_core::messages::risk::AcceptedBy;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_engine::{DryRun, Options};

use super::files::{recording_file, report_file};
use super::waits::waiting;
use crate::args::between::{SourceEnd, TargetEnd, ends, names_target};
use crate::args::choices::{Choices, refuse_without_kind};
use crate::args::clusters::{Namespace, clusters};
use crate::args::flags::{
    ConnectionArgs, DoctorArgs, Dry, DryRunArgs, MoveOrAsk, Rbac, SelectionArgs, Taking, ToCluster,
    ToDirectory,
};
use crate::args::parts::parts;
use crate::args::risks::read_risks;
use crate::args::side::OneSide;
use crate::args::task::{Roles, Task};
use crate::args::usage::{Result, usage};
use crate::args::values::{duration, namespace_map};

/// A move, or a plan if it is a dry run.
pub(super) fn move_task(typed: MoveOrAsk) -> Result<Task> {
    let MoveOrAsk {
        connection,
        selection,
        waits,
        taking: Taking { break_lease },
        guard,
        dry_run_args,
        plan,
        wait_for_provisioning,
        kept,
        recorded,
    } = typed;
    let (report, dry_run) = (report_file(kept)?, dry_run_args.dry_run());
    let record = recording_file(recorded, dry_run, report.as_ref())?;
    // As clusterctl does: a command of its name without a target is about the current context.
    let is_implied = connection.from_directory.is_some() && !names_target(&connection);
    let choices = match is_implied {
        true => moving_to_current_context(connection, selection, dry_run)?,
        false => build_move_choices(connection, selection, false, dry_run, AcceptedBy::Move)?,
    };
    let options = waiting(Options { break_lease, guard, ..choices.options }, &waits)?;
    let choices = Choices { report, record, options, ..choices };
    if dry_run != DryRun::Off {
        return Ok(Task::Plan(choices));
    }
    let wait = wait_for_provisioning.map(|typed| duration("--wait-for-provisioning", &typed)).transpose()?;
    Ok(Task::Move(Choices { plan, wait, ..choices }))
}

/// A diagnosis of a cluster, in which everything would move.
pub(super) fn doctor(typed: DoctorArgs) -> Result<Task> {
    let DoctorArgs {
        from,
        to_kubeconfig,
        to_kubeconfig_context,
        namespace,
        all_namespaces,
        exclude,
        also_copy,
        accept,
        with,
    } = typed;
    let to = ToCluster { to_kubeconfig, to_kubeconfig_context, ..ToCluster::default() };
    let connection = ConnectionArgs { from, to, ..ConnectionArgs::default() };
    let all_namespaces = all_namespaces || namespace.is_none();
    let selection = SelectionArgs {
        namespace,
        all_namespaces,
        cluster: Vec::new(),
        map_namespace: Vec::new(),
        exclude,
        also_copy,
        with_manifest: Vec::new(),
        accept,
        with,
    };
    let choices = build_move_choices(connection, selection, false, DryRun::Plan, AcceptedBy::Plan)?;
    refuse_without_kind(&choices)?;
    Ok(Task::Doctor(Choices { command: "doctor", ..choices }))
}

/// The permissions of one side of a move; only a server has any.
pub(super) fn rbac(typed: Rbac) -> Result<Task> {
    let Rbac {
        from,
        to,
        from_directory,
        identity,
        to_directory,
        handover,
        selection,
        side,
        bind_to,
        finish_alone,
        guard,
    } = typed;
    let to_files = ToDirectory { to_directory, encrypt_to: None };
    let connection = ConnectionArgs { from, to, from_directory, identity, to_files };
    let choices = build_move_choices(connection, selection, handover, DryRun::Plan, AcceptedBy::Plan)?;
    refuse_without_kind(&choices)?;
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
    Ok(Task::Rbac(choices, Roles { side, bind_to, finish_alone, guard }))
}

/// A move out of a directory into the cluster of the current context.
fn moving_to_current_context(
    connection: ConnectionArgs,
    selection: SelectionArgs,
    dry_run: DryRun,
) -> Result<Choices> {
    // An empty file name is none: the usual rules find the kubeconfig.
    let to = ToCluster { to_kubeconfig: Some(PathBuf::new()), ..connection.to };
    let choices =
        build_move_choices(ConnectionArgs { to, ..connection }, selection, false, dry_run, AcceptedBy::Move)?;
    let to = ToCluster { to_kubeconfig: None, ..choices.connection.to.clone() };
    let connection = ConnectionArgs { to, ..choices.connection };
    Ok(Choices { connection, target_is_implied: true, ..choices })
}

pub(super) fn build_move_choices(
    connection: ConnectionArgs,
    selection: SelectionArgs,
    handover: bool,
    dry_run: DryRun,
    by: AcceptedBy,
) -> Result<Choices> {
    let SelectionArgs {
        namespace,
        all_namespaces,
        cluster,
        map_namespace,
        exclude,
        also_copy,
        with_manifest,
        accept,
        with,
    } = selection;
    let mut ends = ends(&connection, None)?;
    check_target(&ends.target, dry_run)?;
    if handover && matches!(ends.source, SourceEnd::Directory(_)) {
        return usage("a handover leaves its source paused; no controller runs the objects of a directory");
    }
    let namespace = moved_namespace(namespace, all_namespaces, &ends.source)?;
    let (namespace, clusters) = clusters(&cluster, namespace)?;
    if let TargetEnd::Workload(workload) = &mut ends.target {
        workload.must_exist = true;
        workload.search_moved_namespace(&namespace);
    }
    let (accept, without_kind) = read_risks(&accept, by)?;
    let (of_scope, accept) = accept.split_scope();
    // The namespace and the manifests are filled in when files are read.
    let scope = Scope {
        exclude: parts("--exclude", &exclude)?,
        also_copy: parts("--also-copy", &also_copy)?,
        namespace_map: namespace_map(&map_namespace, &connection.from.record_namespace)?,
        accept: of_scope,
        ..Scope::new(Namespaces::All)
    };
    let options = Options {
        record_namespace: connection.from.record_namespace.clone(),
        dry_run,
        accept,
        handover,
        ..Options::new(scope)
    };
    let choices = Choices::new("move", connection, ends, options);
    Ok(Choices { without_kind, namespace, clusters, add: with_manifest, with, ..choices })
}

/// Fails if the kind of target doesn't suit the command.
fn check_target(target: &TargetEnd, dry_run: DryRun) -> Result<()> {
    match (target, dry_run) {
        (TargetEnd::None, DryRun::Off) => usage(
            "a target is required: --to-kubeconfig, --to-kubeconfig-context, --to-workload or --to-directory",
        ),
        (TargetEnd::None | TargetEnd::Directory(_), DryRun::Server) => {
            usage("--dry-run=server asks the target's server, so it needs --to-kubeconfig or --to-workload")
        }
        _ => Ok(()),
    }
}

/// Returns the namespaces that move, from the two flags about them.
fn moved_namespace(named: Option<String>, all: bool, source: &SourceEnd) -> Result<Namespace> {
    match (named, all, source) {
        (Some(_), true, _) => usage("--namespace and --all-namespaces exclude each other"),
        (Some(name), false, _) => Ok(Namespace::Named(name)),
        // A directory has no context, and was made to be moved as a whole.
        (None, true, _) | (None, false, SourceEnd::Directory(_)) => Ok(Namespace::All),
        (None, false, _) => Ok(Namespace::OfContext),
    }
}

impl DryRunArgs {
    pub(super) fn dry_run(self) -> DryRun {
        match self.dry_run {
            Some(Dry::Client) => DryRun::Plan,
            Some(Dry::Server) => DryRun::Server,
            Some(Dry::None) | None => DryRun::Off,
        }
    }
}
