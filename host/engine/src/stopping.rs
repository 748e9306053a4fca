//! From a failure to a stop: what can be put back is put back, and how both sides stand is said.

use pivot_core::record::Phase;
use pivot_places::PlaceError;

use crate::carry::Carrier;
use crate::failure::{Exit, Failure, Stop};
use crate::halt::Halt;

/// A failure before anything was written.
pub(crate) fn untouched(failure: Failure) -> Stop {
    let exit = exit_untouched(&failure);
    let next = match failure {
        Failure::Declined(_) | Failure::Record(_) => vec!["status", "resume", "rollback"],
        _ => Vec::new(),
    };
    let standing = "nothing is changed on either side".to_owned();
    Stop { failure, phase: None, exit, standing, next }
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
    // Refusing to do something to a move is not a stop of that move.
    let about_the_move = !matches!(failure, Failure::Declined(_) | Failure::Plugins(_) | Failure::NoMove);
    let Some(phase) = carrier.phase().filter(|_| about_the_move) else { return untouched(failure) };
    if phase.committed() {
        let standing = match phase {
            Phase::Committed | Phase::Live => {
                "the target has everything and takes over; the source still stands, paused"
            }
            Phase::Released => "the target runs; part of the source is deleted, the rest of it still paused",
            _ => "the target runs and the source is released; some objects of the target are still held",
        };
        return stop_with(
            failure,
            phase,
            signal.unwrap_or(Exit::PastCommit),
            standing.into(),
            vec!["resume"],
        );
    }
    if phase >= Phase::Copied {
        let standing =
            "the source is the truth: complete, paused; the target has a part of it, paused".into();
        return stop_with(
            failure,
            phase,
            signal.unwrap_or(Exit::PartWay),
            standing,
            vec!["resume", "rollback"],
        );
    }
    if lease_lost {
        let standing = "the source is complete and may be paused; nothing is in the target".into();
        return stop_with(failure, phase, Exit::PartWay, standing, vec!["status", "resume", "rollback"]);
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
