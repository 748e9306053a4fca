//! Commands about a move under way.

use pivot_core::Side;
use pivot_core::messages::risk::{AcceptedBy, Risk};
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_engine::{DryRun, Options, Resume, Rollback};

use super::files::{recording_file, report_file};
use super::waits::waiting;
use crate::args::between::{SourceEnd, TargetEnd, ends};
use crate::args::choices::Choices;
use crate::args::clusters::{full_names, name_with_flags};
use crate::args::flags::{ConnectionArgs, ResumeArgs, RollbackArgs, Taking, Which};
use crate::args::risks::{accepted_risks, read_risks};
use crate::args::task::Task;
use crate::args::usage::{Result, usage};

pub(super) fn resume_task(typed: ResumeArgs) -> Result<Task> {
    let ResumeArgs {
        connection,
        which,
        with_manifest,
        plan,
        accept,
        waits,
        taking,
        with,
        without_source,
        unpause,
        drop,
        pause,
        kept,
        recorded,
    } = typed;
    let Which { which } = which;
    let Taking { break_lease } = taking;
    let choices = about_a_move("resume", connection, true, without_source.then_some(Side::Source))?;
    let (accept, without_kind) = read_risks(&accept, AcceptedBy::Resume)?;
    if without_source && accept.contains(Risk::WorldChanged) {
        return usage("--accept world-changed goes back to the source, so it excludes --without-source");
    }
    let resume = Resume {
        move_id: which,
        without_source,
        imported: false,
        unpause: full_names("--unpause", &unpause)?,
        drop: full_names("--drop", &drop)?,
        pause: full_names("--pause", &pause)?,
    };
    if let Some(cluster) = resume.drop.intersection(&resume.unpause).next() {
        return usage(format!("--unpause runs {cluster} as it is, so it excludes --drop"));
    }
    let Resume { unpause, drop, pause, .. } = &resume;
    let cluster_flags = name_with_flags(&[("--unpause", unpause), ("--drop", drop), ("--pause", pause)]);
    let options = Options { accept, break_lease, ..choices.options };
    let report = report_file(kept)?;
    let record = recording_file(recorded, DryRun::Off, report.as_ref())?;
    let options = waiting(options, &waits)?;
    let choices = Choices { cluster_flags, options, without_kind, plan, with, report, record, ..choices };
    Ok(Task::Resume(Choices { add: with_manifest, ..choices }, resume))
}

/// A rollback, with a side that may be lost.
pub(super) fn rollback_task(typed: RollbackArgs) -> Result<Task> {
    let RollbackArgs {
        connection,
        which,
        taking,
        without_target,
        accept,
        without_source,
        unpause,
        with,
        kept,
    } = typed;
    let accept = accepted_risks(&accept, AcceptedBy::Rollback)?;
    let (Which { which }, Taking { break_lease }) = (which, taking);
    let absent = without_target.then_some(Side::Target).or(without_source.then_some(Side::Source));
    let choices = about_a_move("rollback", connection, true, absent)?;
    let rollback = Rollback { move_id: which, absent, unpause: full_names("--unpause", &unpause)? };
    let cluster_flags = name_with_flags(&[("--unpause", &rollback.unpause)]);
    let options = Options { break_lease, accept, ..choices.options };
    let choices = Choices { cluster_flags, options, report: report_file(kept)?, with, ..choices };
    Ok(Task::Rollback(choices, rollback))
}

/// The choices for commands about a move under way: its record has the rest.
pub(super) fn about_a_move(
    command: &'static str,
    connection: ConnectionArgs,
    target_needed: bool,
    gone: Option<Side>,
) -> Result<Choices> {
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
        record_namespace: connection.from.record_namespace.clone(),
        ..Options::new(Scope::new(Namespaces::All))
    };
    Ok(Choices::new(command, connection, ends, options))
}
