//! Steps of a handover.

use pivot_core::Side;
use pivot_core::messages::risk::AcceptedBy;
use pivot_engine::{DryRun, Options, Resume, Rollback};

use super::files::{recording_file, report_file};
use super::moves::build_move_choices;
use super::under_way::about_a_move;
use super::waits::{wait_before_takeover, waiting};
use crate::args::between::{TargetEnd, names_target};
use crate::args::choices::Choices;
use crate::args::flags::{
    ConnectionArgs, HandoverCancel, HandoverFinish, HandoverStart, Taking, ToDirectory, Which,
};
use crate::args::risks::{accepted_risks, read_risks};
use crate::args::task::Task;
use crate::args::usage::{Result, usage};

/// A copy into a directory that leaves the source paused.
pub(super) fn start_handover(typed: HandoverStart) -> Result<Task> {
    let HandoverStart {
        directory,
        from,
        encrypt_to,
        selection,
        dry_run_args,
        plan,
        pauses,
        taking,
        kept,
        recorded,
    } = typed;
    let to_files = ToDirectory { to_directory: Some(directory), encrypt_to };
    let connection = ConnectionArgs { from, to_files, ..ConnectionArgs::default() };
    let report = report_file(kept)?;
    let dry_run = dry_run_args.dry_run();
    let record = recording_file(recorded, dry_run, report.as_ref())?;
    let choices = build_move_choices(connection, selection, true, dry_run, AcceptedBy::StartHandover)?;
    if dry_run != DryRun::Off {
        return Ok(Task::Plan(Choices { report, ..choices }));
    }
    let Taking { break_lease } = taking;
    let options = wait_before_takeover(Options { break_lease, ..choices.options }, &pauses)?;
    Ok(Task::Move(Choices { command: "handover start", plan, report, record, options, ..choices }))
}

/// The end of a handover in the cluster that imported the directory.
pub(super) fn finish_handover(typed: HandoverFinish) -> Result<Task> {
    let HandoverFinish { from, to, which, with_manifest, plan, accept, waits, taking, with, kept, recorded } =
        typed;
    let connection = ConnectionArgs { from, to, ..ConnectionArgs::default() };
    let (Which { which }, Taking { break_lease }) = (which, taking);
    let choices = about_a_move("handover finish", connection, false, None)?;
    if matches!(choices.ends.target, TargetEnd::None) {
        return usage("name the cluster that imported the directory: --to-kubeconfig or --to-workload");
    }
    let (accept, without_kind) = read_risks(&accept, AcceptedBy::FinishHandover)?;
    let options = Options { accept, break_lease, ..choices.options };
    let (report, options) = (report_file(kept)?, waiting(options, &waits)?);
    let record = recording_file(recorded, DryRun::Off, report.as_ref())?;
    let choices =
        Choices { options, without_kind, add: with_manifest, plan, with, report, record, ..choices };
    Ok(Task::Resume(choices, Resume { move_id: which, imported: true, ..Resume::default() }))
}

/// The end of a handover whose directory no cluster imported.
pub(super) fn cancel_handover(typed: HandoverCancel) -> Result<Task> {
    let HandoverCancel { from, to, to_files, which, accept, taking, with, kept } = typed;
    let connection = ConnectionArgs { from, to, to_files, ..ConnectionArgs::default() };
    // A directory that was imported nowhere has no target, unless one is named to be asked.
    let absent = (!names_target(&connection)).then_some(Side::Target);
    let accept = accepted_risks(&accept, AcceptedBy::CancelHandover)?;
    let (Which { which }, Taking { break_lease }) = (which, taking);
    let choices = about_a_move("handover cancel", connection, true, absent)?;
    let rollback = Rollback { move_id: which, absent, ..Rollback::default() };
    let options = Options { break_lease, accept, ..choices.options };
    Ok(Task::Rollback(Choices { options, report: report_file(kept)?, with, ..choices }, rollback))
}
