//! From a failure to a stop: undoes what can be undone, and reports the state of both sides.

use pivot_core::record::Phase;
use pivot_places::PlaceError;

use crate::outcome::failure::{Exit, Failure};
use crate::outcome::stop::{Next, Stop};
use crate::outcome::under_way::OneSidedMove;
use crate::phases::handover::NOT_FOUND;
use crate::phases::sequence::ActiveMove;
use crate::requests::halt::Halt;
use crate::state::expiry::RUN_ACTIVE;

/// The state of both sides, as far as what they have shows it.
fn state_of_one_sided(one_sided: &OneSidedMove) -> &'static str {
    match one_sided {
        OneSidedMove::TakenOver(_) => {
            "this command changed nothing; the target has taken over, the source is out of date"
        }
        OneSidedMove::LastCopyInSource => {
            "this command changed nothing; the source may be the last copy: keep it, paused as it is"
        }
        OneSidedMove::LastCopyInTarget => {
            "this command changed nothing; the target's copies may be the last: keep them, paused as they are"
        }
    }
}

/// The state of both sides after a move was rolled back while its target could not be reached.
const ORPHAN: &str = "this command changed nothing; the source is authoritative and was unpaused; the target may hold copies, paused";

/// A failure before any move under way is known: the report can vouch only for this command.
pub(crate) fn unknown(failure: Failure) -> Stop {
    let (exit, next) = (exit_untouched(&failure), next_untouched(&failure));
    let state = match &failure {
        Failure::OneSidedMove { one_sided, .. } => state_of_one_sided(one_sided),
        Failure::Orphan(_) => ORPHAN,
        _ => "nothing is changed on either side by this command; a move begun earlier is where it was",
    };
    stop_with(failure, None, exit, state, next)
}

/// The same for a command about a move.
pub(crate) fn unread(failure: Failure) -> Stop {
    let mut stop = unknown(failure);
    if stop.next.is_empty() {
        stop.next = vec![Next::Status];
    }
    stop
}

/// A failure while no move is under way, before one was begun.
fn untouched(failure: Failure) -> Stop {
    Stop { state: "nothing is changed on either side".to_owned(), ..unknown(failure) }
}

/// A command that can't apply to the move under way: it changed nothing, and the move is in the same state as before.
fn declined(active: &ActiveMove, failure: Failure, phase: Phase) -> Stop {
    let exit = exit_untouched(&failure);
    let without_files = active.other_files || (active.job.options.source_gone && !phase.committed());
    let next = match (phase.committed(), without_files) {
        _ if active.journal.record.handed_over().is_some() => after_handover(active, &failure),
        // A resume needs files, and this run can't name them.
        (false, _) if matches!(failure, Failure::Inputs(_)) && without_inputs(active) => {
            vec![Next::Rollback]
        }
        (true, false) => vec![Next::Resume],
        (false, false) => vec![Next::Resume, Next::Rollback],
        // Resuming needs the files that the move was begun from.
        (true, true) => vec![Next::ResumeWithoutSource],
        (false, true) => vec![Next::Rollback],
    };
    let (move_id, state) = (&active.journal.record.move_id, state_of_sides(active, phase));
    let state = format!("this command changed nothing; move {move_id} is in phase {phase}: {state}");
    stop_with(failure, Some(phase), exit, state, next)
}

/// Whether a run was given no files at all, or another plan: what it was given would be refused again.
fn without_inputs(active: &ActiveMove) -> bool {
    let options = &active.job.options;
    let given = options.approved.as_ref().map(|plan| plan.checksum());
    (options.added.is_empty() && given.is_none()) || given != active.journal.record.plan.as_deref()
}

/// What to type about a source that was handed over in files.
fn after_handover(active: &ActiveMove, failure: &Failure) -> Vec<Next> {
    // Then the files were named, and no cluster that could have imported them.
    let files = !active.job.target.can().has_controllers;
    match failure {
        _ if active.journal.record.is_withdrawn() && active.job.options.not_imported => {
            vec![Next::RollbackNotImported]
        }
        _ if active.journal.record.is_withdrawn() => vec![Next::Rollback],
        Failure::MayBeImported { .. } => vec![Next::ResumeImported, Next::RollbackNotImported],
        Failure::Refused(refusals) if refusals.iter().any(|refusal| refusal.code == NOT_FOUND) => {
            vec![Next::ResumeImported]
        }
        Failure::Declined(_) if files => vec![Next::RollbackNotImported],
        Failure::Declined(_) => vec![Next::ResumeImported, Next::RollbackNotImported],
        // They may not have been closed: a resume does that.
        _ if files => vec![Next::Resume, Next::RollbackNotImported],
        // The files were imported, or it is not known: to resume the source would be wrong.
        _ => vec![Next::ResumeImported],
    }
}

/// Between places without records, only the target shows what was written, and the same command continues from there.
fn unwritten(failure: Failure, phase: Phase) -> Stop {
    let exit = match exit_untouched(&failure) {
        Exit::Refused | Exit::Unexpected => Exit::PartWay,
        other => other,
    };
    let state = "the source is as it was; the target holds a partial copy: run the same command again to continue, or delete it";
    stop_with(failure, Some(phase), exit, state.to_owned(), Vec::new())
}

fn next_untouched(failure: &Failure) -> Vec<Next> {
    match failure {
        Failure::Declined(_) | Failure::OtherEnd { .. } | Failure::Record(_) | Failure::Several(_) => {
            vec![Next::Status]
        }
        Failure::Orphan(_) => vec![Next::Rollback],
        Failure::OneSidedMove { .. } => vec![Next::Status],
        // What the reachable side knows of a move is worth a look, and so is the progress of another run.
        Failure::Place { error: PlaceError::Unavailable(_), .. } | Failure::Unreachable { .. } => {
            vec![Next::Status]
        }
        Failure::Refused(refusals) if refusals.iter().any(|refusal| refusal.code == RUN_ACTIVE) => {
            vec![Next::Status]
        }
        _ => Vec::new(),
    }
}

/// The state of both sides, by phase.
fn state_of_sides(active: &ActiveMove, phase: Phase) -> &'static str {
    if active.journal.record.is_of_files() {
        return match phase {
            Phase::Checked | Phase::Paused => "nothing is changed on either side",
            Phase::Copied => "the files are as they were; the target holds a partial copy, paused",
            Phase::Committed | Phase::Live => {
                "the files are as they were; the target has everything and is taking over"
            }
            Phase::Released | Phase::Settled => {
                "the files are as they were; the target runs; some objects of it may still be held"
            }
        };
    }
    if active.journal.record.is_withdrawn() && !phase.committed() {
        return "the source is complete, and part of it may still be paused: it is no longer handed over";
    }
    if active.journal.record.handed_over().is_some() {
        return "the source is complete, and stays paused: it was handed over in files";
    }
    match phase {
        Phase::Checked => "nothing is changed on either side",
        Phase::Paused => "the source is complete and may be paused; nothing is in the target",
        Phase::Copied => {
            "the source is authoritative: complete, paused; the target holds a partial copy, paused"
        }
        Phase::Committed | Phase::Live => {
            "the target has everything and is taking over; the source is complete, and paused by this move"
        }
        Phase::Released => {
            "the target runs; part of the source is deleted, the rest of it is paused by this move"
        }
        Phase::Settled => {
            "the target runs and the source is released; some objects of the target are still held"
        }
    }
}

fn exit_untouched(failure: &Failure) -> Exit {
    match failure {
        Failure::Empty(_) | Failure::NoMove | Failure::NoCluster { .. } => Exit::Empty,
        Failure::Plugins { .. } | Failure::PluginsRefused => Exit::Plugin,
        Failure::TimedOut(_) => Exit::Timeout,
        Failure::Halted(Halt::Signal(15)) => Exit::Terminated,
        Failure::Halted(Halt::Signal(_)) => Exit::Interrupted,
        Failure::Bug(_) => Exit::Unexpected,
        _ => Exit::Refused,
    }
}

/// A failure during a move: undoes what can be undone, and reports the state of both sides and what was done.
pub(crate) async fn stopped(active: &mut ActiveMove, failure: Failure) -> Stop {
    let stop = undone(active, failure).await;
    let move_id = active.journal.is_written().then(|| active.job.move_id.clone());
    Stop { times: active.times.clone(), done: active.job.change_counts.counts(), move_id, ..stop }
}

async fn undone(active: &mut ActiveMove, failure: Failure) -> Stop {
    let lease_lost = matches!(failure, Failure::Halted(Halt::LeaseLost(_)));
    let signal = match &failure {
        Failure::Halted(Halt::Signal(15)) => Some(Exit::Terminated),
        Failure::Halted(Halt::Signal(_)) => Some(Exit::Interrupted),
        _ => None,
    };
    let Some(phase) = active.journal.phase() else {
        if let Err(trouble) = active.abandon().await {
            tracing::warn!(%trouble, "the target still says that a move is writing it");
        }
        return untouched(failure);
    };
    if !active.journal.is_written() {
        return unwritten(failure, phase);
    }
    // One side knows nothing of what happened on the other.
    if matches!(failure, Failure::OneSidedMove { .. } | Failure::Orphan(_)) {
        return unknown(failure);
    }
    if matches!(failure, Failure::Undecided(_)) {
        let state = if active.journal.record.is_of_files() {
            "it is not known whether the move is committed; the files are as they were; the target is complete, and paused"
        } else {
            "it is not known whether the move is committed; both sides are complete, and paused by this move"
        };
        let handed_over = active.journal.record.handed_over().is_some();
        let next = if handed_over { Next::ResumeImported } else { Next::Resume };
        return stop_with(failure, Some(phase), Exit::PastCommit, state, vec![next]);
    }
    // A refused command about a move is not a stop of that move.
    if matches!(
        failure,
        Failure::Declined(_)
            | Failure::Inputs(_)
            | Failure::Imported(_)
            | Failure::MayBeImported { .. }
            | Failure::OtherEnd { .. }
            | Failure::Plugins { .. }
            | Failure::NoMove
    ) {
        return declined(active, failure, phase);
    }
    if phase.committed() {
        return stop_with(
            failure,
            Some(phase),
            signal.unwrap_or(Exit::PastCommit),
            state_of_sides(active, phase),
            vec![Next::Resume],
        );
    }
    if phase >= Phase::Copied {
        let next = match active.journal.record.handed_over() {
            Some(_) => after_handover(active, &failure),
            // The run that has the lease now may have gone on.
            None if lease_lost => vec![Next::Status, Next::Resume, Next::Rollback],
            None => vec![Next::Resume, Next::Rollback],
        };
        let state = match (lease_lost, state_of_sides(active, phase)) {
            (true, state) => {
                format!("the commit was not sent; unless another run has continued, {state}")
            }
            (false, state) => state.to_owned(),
        };
        return stop_with(failure, Some(phase), signal.unwrap_or(Exit::PartWay), state, next);
    }
    if lease_lost {
        return stop_with(
            failure,
            Some(phase),
            Exit::PartWay,
            state_of_sides(active, phase),
            vec![Next::Status, Next::Resume, Next::Rollback],
        );
    }
    match active.roll_back().await {
        Ok(_) => {
            let timed_out = matches!(failure, Failure::TimedOut(_));
            let exit = signal.unwrap_or(if timed_out { Exit::Timeout } else { Exit::Refused });
            let state = "the source was paused and is un-paused again; nothing is in the target";
            stop_with(failure, Some(phase), exit, state, Vec::new())
        }
        Err(trouble) => {
            let state = format!(
                "the source is complete, and part of it is still paused: un-pausing it failed too ({trouble}); nothing is in the target"
            );
            stop_with(failure, Some(phase), Exit::PartWay, state, vec![Next::Rollback, Next::Resume])
        }
    }
}

/// A stop without undoing; only the run itself knows what it did.
fn stop_with(
    failure: Failure,
    phase: Option<Phase>,
    exit: Exit,
    state: impl Into<String>,
    next: Vec<Next>,
) -> Stop {
    let state = state.into();
    let (times, done, move_id) = (Vec::new(), Default::default(), None);
    Stop { failure, phase, exit, state, next, move_id, times, done }
}
