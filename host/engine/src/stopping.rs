//! From a failure to a stop: what can be put back is put back, and how both sides stand is said.

use pivot_core::record::Phase;
use pivot_places::PlaceError;

use crate::carry::Carrier;
use crate::failure::{Exit, Failure, Stop};
use crate::halt::Halt;

/// How both sides stand where a move was finished without its source.
const STALE: &str =
    "this command changed nothing; the target has taken over, the source is complete and out of date";

/// A failure before anything was written.
pub(crate) fn untouched(failure: Failure) -> Stop {
    let (exit, next) = (exit_untouched(&failure), next_untouched(&failure));
    let standing = match failure {
        Failure::Stale(_) => STALE.to_owned(),
        // There is a move, and it is not known here how far it came.
        Failure::Record(_) => "this command changed nothing; a move may be under way".to_owned(),
        _ => "nothing is changed on either side".to_owned(),
    };
    Stop { failure, phase: None, exit, standing, next }
}

/// The same for a command about a move, which stands wherever it stood.
pub(crate) fn unread(failure: Failure) -> Stop {
    if matches!(failure, Failure::Stale(_)) {
        return untouched(failure);
    }
    let standing = "this command changed nothing; a move may be under way".to_owned();
    Stop { standing, next: vec!["status"], ..untouched(failure) }
}

/// A command that can't be meant for the move under way: the command changed nothing, the move stands where it stood.
fn declined(failure: Failure, phase: Phase, move_id: &str) -> Stop {
    let exit = exit_untouched(&failure);
    let next = if phase.committed() { vec!["resume"] } else { vec!["resume", "rollback"] };
    let standing =
        format!("this command changed nothing; move {move_id} stands at {phase}: {}", standing(phase));
    Stop { failure, phase: Some(phase), exit, standing, next }
}

fn next_untouched(failure: &Failure) -> Vec<&'static str> {
    match failure {
        Failure::Declined(_) | Failure::Record(_) => vec!["status"],
        _ => Vec::new(),
    }
}

/// How both sides stand in a phase.
fn standing(phase: Phase) -> &'static str {
    match phase {
        Phase::Checked => "nothing is changed on either side",
        Phase::Paused => "the source is complete and may be paused; nothing is in the target",
        Phase::Copied => "the source is the truth: complete, paused; the target has a part of it, paused",
        Phase::Committed | Phase::Live => {
            "the target has everything and takes over; the source is complete, and paused by this move"
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
        Failure::Empty(_) | Failure::NoMove => Exit::Empty,
        Failure::Plugins(_) => Exit::Plugin,
        Failure::TimedOut(_) => Exit::Timeout,
        Failure::Halted(Halt::Signal(15)) => Exit::Terminated,
        Failure::Halted(Halt::Signal(_)) => Exit::Interrupted,
        Failure::Bug(_) => Exit::Unexpected,
        Failure::Place { error: PlaceError::Unavailable(_) | PlaceError::Unreadable(_), .. } => {
            Exit::Unexpected
        }
        _ => Exit::Refused,
    }
}

/// A failure on the way: puts back what can be put back, and says how things stand.
pub(crate) async fn stopped(carrier: &mut Carrier, failure: Failure) -> Stop {
    let lease_lost = matches!(failure, Failure::Halted(Halt::LeaseLost(_)));
    let signal = match &failure {
        Failure::Halted(Halt::Signal(15)) => Some(Exit::Terminated),
        Failure::Halted(Halt::Signal(_)) => Some(Exit::Interrupted),
        _ => None,
    };
    let Some(phase) = carrier.journal.phase() else { return untouched(failure) };
    // Neither to resume nor to roll back is the way here: the record of this source knows nothing of what came after.
    if matches!(failure, Failure::Stale(_)) {
        return untouched(failure);
    }
    // Refusing to do something to a move is not a stop of that move.
    if matches!(failure, Failure::Declined(_) | Failure::Plugins(_) | Failure::NoMove) {
        return declined(failure, phase, &carrier.journal.record.move_id);
    }
    if phase.committed() {
        return stop_with(
            failure,
            phase,
            signal.unwrap_or(Exit::PastCommit),
            standing(phase).into(),
            vec!["resume"],
        );
    }
    if phase >= Phase::Copied {
        let next = vec!["resume", "rollback"];
        return stop_with(failure, phase, signal.unwrap_or(Exit::PartWay), standing(phase).into(), next);
    }
    if lease_lost {
        return stop_with(
            failure,
            phase,
            Exit::PartWay,
            standing(phase).into(),
            vec!["status", "resume", "rollback"],
        );
    }
    match carrier.take_back().await {
        Ok(_) => {
            let timed_out = matches!(failure, Failure::TimedOut(_));
            let exit = signal.unwrap_or(if timed_out { Exit::Timeout } else { Exit::Refused });
            let standing = "the source was paused and is un-paused again; nothing is in the target".into();
            stop_with(failure, phase, exit, standing, Vec::new())
        }
        Err(trouble) => {
            let standing = format!(
                "the source is complete, and part of it is still paused: un-pausing it failed too ({trouble}); nothing is in the target"
            );
            stop_with(failure, phase, Exit::PartWay, standing, vec!["rollback", "resume"])
        }
    }
}

fn stop_with(failure: Failure, phase: Phase, exit: Exit, standing: String, next: Vec<&'static str>) -> Stop {
    Stop { failure, phase: Some(phase), exit, standing, next }
}
