//! Turns a failure into a stop: undoes everything that can be undone, and reports the state of both sides.

use pivot_core::Side;
use pivot_core::messages::risk::Risk;
use pivot_core::records::record::Phase;

use crate::act::handover::IMPORT_NOT_FOUND;
use crate::base::command::Command;
use crate::base::outcome::failure::{Exit, Failure};
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::outcome::stop::{Next, Stop};
use crate::base::requests::halt::Halt;
use crate::drive::advice::{self, AdviceReason, KnownFiles, KnownSides, Situation};
use crate::drive::sequence::ActiveMove;

/// Returns the stop for a failure before any move under way is known. The report can vouch only for this command.
pub(crate) fn stop_without_move(failure: Failure) -> Stop {
    let (state, next) = advice::advise_without_move(&failure);
    let exit = exit_untouched(&failure);
    stop_with(failure, None, exit, state, next)
}

impl Stop {
    /// Returns the stop of any command about a move of which one side went back.
    pub fn one_sided(move_id: String, one_sided: OneSidedMove) -> Self {
        let known = Some(move_id.clone());
        Self { move_id: known, ..stop_without_move(Failure::OneSidedMove { move_id, one_sided }) }
    }
}

/// Returns the stop for a failure of a command about a move. If nothing else is advised, it advises `status`.
pub(crate) fn stop_and_show_status(failure: Failure) -> Stop {
    let mut stop = stop_without_move(failure);
    if stop.next.is_empty() {
        stop.next = vec![Next::Status];
    }
    stop
}

/// Returns the stop for a failure before any move was begun.
fn stop_untouched(failure: Failure) -> Stop {
    Stop { state: advice::UNTOUCHED.to_owned(), ..stop_without_move(failure) }
}

/// Returns true if a run has no files, or another plan than the move's: the same command would be refused again.
fn has_wrong_inputs(active: &ActiveMove) -> bool {
    let options = &active.job.options;
    let given = options.approved.as_ref().map(|plan| plan.checksum());
    (options.added.is_empty() && given.is_none()) || given != active.journal.record.plan_checksum.as_deref()
}

/// Returns the situation of a move in which a run stops.
fn describe_situation<'a>(
    active: &'a ActiveMove,
    phase: Phase,
    failure: &Failure,
    why: AdviceReason<'a>,
) -> Situation<'a> {
    let options = &active.job.options;
    let files = match failure {
        _ if active.other_files || active.job.source.end_kind.is_absent() => {
            KnownFiles::Unread { rolls_back: matches!(active.job.command, Command::Rollback(_)) }
        }
        Failure::Inputs(_) if has_wrong_inputs(active) => KnownFiles::OtherInputs,
        _ => KnownFiles::Named,
    };
    let sides = match active.job.route.target_runs() {
        _ if active.job.target.end_kind.is_absent() => KnownSides::Silent(Side::Target),
        true => KnownSides::Both,
        false => KnownSides::IntoDirectory,
    };
    let not_imported = options.accept.contains(Risk::MaybeImported);
    let record = &active.journal.record;
    let recovered = record.is_recovered();
    Situation { record, phase, sides, one_sided: None, recovered, files, not_imported, why }
}

/// Returns the stop of a move between places without records. Only the target shows the progress, and the same command
/// continues from there.
fn stop_unrecorded(failure: Failure, phase: Phase) -> Stop {
    let exit = match exit_untouched(&failure) {
        Exit::Refused | Exit::Unreachable | Exit::Unexpected => Exit::PartWay,
        other => other,
    };
    stop_with(failure, Some(phase), exit, advice::UNRECORDED, &[])
}

fn exit_untouched(failure: &Failure) -> Exit {
    match failure {
        Failure::Empty(_) | Failure::NoMove | Failure::NoCluster { .. } => Exit::Empty,
        Failure::Plugins { .. } | Failure::PluginsRefused => Exit::Plugin,
        Failure::TimedOut(_) => Exit::Timeout,
        Failure::Halted(Halt::Signal(15)) => Exit::Terminated,
        Failure::Halted(Halt::Signal(_)) => Exit::Interrupted,
        Failure::Bug(_) => Exit::Unexpected,
        Failure::Unreachable { .. } => Exit::Unreachable,
        Failure::Place { error, .. } if error.is_transient() => Exit::Unreachable,
        _ => Exit::Refused,
    }
}

/// Stops a move after a failure: undoes everything that can be undone, and reports the state of both sides and the changes.
pub(crate) async fn stop_move(active: &mut ActiveMove, failure: Failure) -> Stop {
    let stop = undo_and_stop(active, failure).await;
    let move_id = active.journal.is_written().then(|| active.job.move_id.clone());
    Stop { times: active.times.clone(), done: active.job.change_counts.so_far(), move_id, ..stop }
}

async fn undo_and_stop(active: &mut ActiveMove, failure: Failure) -> Stop {
    let signal = match &failure {
        Failure::Halted(Halt::Signal(15)) => Some(Exit::Terminated),
        Failure::Halted(Halt::Signal(_)) => Some(Exit::Interrupted),
        _ => None,
    };
    let Some(phase) = active.journal.phase() else {
        if let Err(trouble) = active.abandon().await {
            tracing::warn!(%trouble, "the target's record of the move could not be closed");
        }
        return stop_untouched(failure);
    };
    if !active.journal.is_written() {
        return stop_unrecorded(failure, phase);
    }
    // The recovery is not recorded yet.
    if active.recovers {
        let exit = exit_untouched(&failure);
        return stop_with(failure, None, exit, advice::NOT_RECOVERED, &[Next::Status]);
    }
    // One side has no record of the other's changes.
    if matches!(failure, Failure::OneSidedMove { .. } | Failure::Orphan(_)) {
        return stop_without_move(failure);
    }
    // Such a move must not be undone.
    if let Some(one_sided) = &active.one_sided {
        let paused = matches!(failure, Failure::SourcePaused { .. });
        let exit = if paused { Exit::PastCommit } else { exit_untouched(&failure) };
        let state = advice::state_of_one_sided(one_sided, &failure);
        return stop_with(failure, None, exit, state, &[Next::Status]);
    }
    let why = classify_failure(&failure);
    match why {
        AdviceReason::Undecided => stop_of(active, phase, failure, why, Exit::PastCommit),
        // A refused command about a move is not a stop of that move.
        AdviceReason::Declined | AdviceReason::WrongCommand | AdviceReason::MayBeImported => {
            let exit = exit_untouched(&failure);
            stop_of(active, phase, failure, why, exit)
        }
        _ if phase.is_committed() => stop_of(active, phase, failure, why, signal.unwrap_or(Exit::PastCommit)),
        _ if phase >= Phase::Copied => stop_of(active, phase, failure, why, signal.unwrap_or(Exit::PartWay)),
        AdviceReason::LeaseLost | AdviceReason::LeftPaused(_) => {
            stop_of(active, phase, failure, why, Exit::PartWay)
        }
        _ => match active.roll_back().await {
            Ok(_) => {
                let exit = signal.unwrap_or_else(|| match exit_untouched(&failure) {
                    exit @ (Exit::Timeout | Exit::Unreachable) => exit,
                    _ => Exit::Refused,
                });
                stop_of(active, phase, failure, AdviceReason::Undone, exit)
            }
            Err(trouble) => {
                stop_of(active, phase, failure, AdviceReason::NotUndone(&trouble.to_string()), Exit::PartWay)
            }
        },
    }
}

/// Returns a stop of the move in its situation.
fn stop_of(active: &ActiveMove, phase: Phase, failure: Failure, why: AdviceReason<'_>, exit: Exit) -> Stop {
    let situation = describe_situation(active, phase, &failure, why);
    let (state, next) = (situation.state(), situation.next());
    stop_with(failure, Some(phase), exit, state, next)
}

/// Returns the reason for a report that follows from a failure during a move.
fn classify_failure(failure: &Failure) -> AdviceReason<'static> {
    match failure {
        Failure::Halted(Halt::LeaseLost(_)) => AdviceReason::LeaseLost,
        Failure::Undecided(_) => AdviceReason::Undecided,
        Failure::LeftPaused { side, .. } => AdviceReason::LeftPaused(*side),
        Failure::RestoreDiffers(_) => AdviceReason::LeftPaused(Side::Target),
        Failure::UndoLost { .. } => AdviceReason::LeftPaused(Side::Source),
        Failure::MayBeImported { .. } => AdviceReason::MayBeImported,
        Failure::Refused(refusals) if refusals.iter().any(|refusal| refusal.code == IMPORT_NOT_FOUND) => {
            AdviceReason::NotImportedThere
        }
        Failure::Declined(_) => AdviceReason::Declined,
        Failure::Inputs(_)
        | Failure::Imported(_)
        | Failure::OtherEnd { .. }
        | Failure::Plugins { .. }
        | Failure::NoMove => AdviceReason::WrongCommand,
        _ => AdviceReason::Stopped,
    }
}

/// Returns a stop without changes. The caller adds the changes of the run.
fn stop_with(
    failure: Failure,
    phase: Option<Phase>,
    exit: Exit,
    state: impl Into<String>,
    next: &[Next],
) -> Stop {
    let (state, next) = (state.into(), next.to_vec());
    let (times, done, move_id) = (Vec::new(), Default::default(), None);
    Stop { failure, phase, exit, state, next, move_id, times, done }
}
