//! Decides the action for a Pivot from the two sides' records of its move. Pure: [`decide_action`] is the whole policy.

use pivot_core::records::record::{Phase, is_move_of};
use pivot_core::{Side, Uid};
use pivot_engine::{OneSidedMove, Status};

/// The move of a Pivot, as the records know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordedMove {
    /// No record names this Pivot.
    Nothing,
    /// The move is under way.
    UnderWay {
        move_id: String,
        /// Phase of the move's record.
        phase: Phase,
        /// The side whose record decides.
        decides: Side,
    },
    /// The move has ended.
    Ended { move_id: String, moved: usize, kept: usize },
    /// Tells that a side went back to an earlier state, or lost it.
    WentBack { move_id: String, one_sided: OneSidedMove, has_ended: bool },
}

/// The state that users want of a Pivot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// The move of the Pivot.
    Move,
    /// No move. One that has copied objects goes on.
    Suspend {
        /// True if the record of the source is enough to show that. An agent's cluster could write one.
        believes_source: bool,
    },
    /// The deletion of the Pivot.
    Delete,
}

/// An action for a Pivot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Begin the move, or resume it from the phase of its record.
    Move { recorded: Option<Phase> },
    /// Begin nothing, and report how a user begins the move.
    Suspend,
    /// Roll the move back.
    RollBack { move_id: String },
    /// Report that the move has ended.
    Report { move_id: String, moved: usize, kept: usize },
    /// Change nothing and report: a user must find out which side is right.
    Refuse { move_id: String, one_sided: OneSidedMove },
    /// Release the Pivot: no move of it is under way.
    Release,
}

/// Returns the move whose record names this operator.
pub(crate) fn find_recorded_move(status: &Status, operator: &str) -> RecordedMove {
    if let Some(one) = status.moves.iter().find(|one| one.record.started_by == operator) {
        if let Some(one_sided) = one.one_sided.clone() {
            return RecordedMove::WentBack {
                move_id: one.record.move_id.clone(),
                one_sided,
                has_ended: one.has_ended,
            };
        }
        let (move_id, phase, decides) = (one.record.move_id.clone(), one.record.phase, one.decides);
        return RecordedMove::UnderWay { move_id, phase, decides };
    }
    match status.finished.iter().find(|one| one.started_by == operator) {
        Some(one) => RecordedMove::Ended { move_id: one.move_id.clone(), moved: one.moved, kept: one.kept },
        None => RecordedMove::Nothing,
    }
}

/// Returns the id of a move whose record names this operator, and which the Pivot with this UID did not begin. An attacker who
/// controls a source could have another Pivot's move resumed, or recorded, in this Pivot's name.
pub(crate) fn foreign_id<'a>(status: &'a Status, operator: &str, uid: &Uid) -> Option<&'a str> {
    let own = status.moves.iter().map(|one| &one.record).filter(|record| record.started_by == operator);
    own.map(|record| &*record.move_id).find(|id| !is_move_of(id, uid))
}

/// Returns the action for a Pivot. A committed move only goes forward, even if the Pivot was deleted.
pub(crate) fn decide_action(intent: Intent, found: RecordedMove) -> Action {
    match (intent, found) {
        (Intent::Move, RecordedMove::Nothing) => Action::Move { recorded: None },
        (Intent::Suspend { .. }, RecordedMove::Nothing) => Action::Suspend,
        (Intent::Suspend { believes_source }, RecordedMove::UnderWay { move_id, phase, decides })
            if phase < Phase::Copied || !believes_source && decides == Side::Source =>
        {
            Action::RollBack { move_id }
        }
        (Intent::Delete, RecordedMove::UnderWay { move_id, phase, .. }) if !phase.is_committed() => {
            Action::RollBack { move_id }
        }
        (_, RecordedMove::UnderWay { phase, .. }) => Action::Move { recorded: Some(phase) },
        // The move has ended, and what came back in the source is paused.
        (
            Intent::Delete,
            RecordedMove::WentBack { one_sided: OneSidedMove::TakenOver(_), has_ended: true, .. },
        ) => Action::Release,
        (_, RecordedMove::WentBack { move_id, one_sided, .. }) => Action::Refuse { move_id, one_sided },
        (Intent::Delete, RecordedMove::Nothing | RecordedMove::Ended { .. }) => Action::Release,
        (_, RecordedMove::Ended { move_id, moved, kept }) => Action::Report { move_id, moved, kept },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn under_way(phase: Phase, decides: Side) -> RecordedMove {
        RecordedMove::UnderWay { move_id: "m".into(), phase, decides }
    }

    #[test]
    fn deleted_pivot_rolls_back_only_before_commit() {
        let under_way = |phase| under_way(phase, Side::Source);
        let resumed = |phase| Action::Move { recorded: Some(phase) };
        assert_eq!(
            decide_action(Intent::Delete, under_way(Phase::Copied)),
            Action::RollBack { move_id: "m".into() }
        );
        assert_eq!(decide_action(Intent::Delete, under_way(Phase::Committed)), resumed(Phase::Committed));
        assert_eq!(decide_action(Intent::Delete, RecordedMove::Nothing), Action::Release);
        let ended = RecordedMove::Ended { move_id: "m".into(), moved: 3, kept: 1 };
        assert_eq!(decide_action(Intent::Delete, ended.clone()), Action::Release);
        assert_eq!(
            decide_action(Intent::Move, ended),
            Action::Report { move_id: "m".into(), moved: 3, kept: 1 }
        );
        assert_eq!(decide_action(Intent::Move, RecordedMove::Nothing), Action::Move { recorded: None });
        assert_eq!(decide_action(Intent::Move, under_way(Phase::Copied)), resumed(Phase::Copied));
        for (intent, one_sided, has_ended) in [
            (Intent::Move, OneSidedMove::TakenOver("it runs".into()), true),
            (Intent::Delete, OneSidedMove::TakenOver("it runs".into()), false),
            (Intent::Delete, OneSidedMove::LastCopyInSource, false),
        ] {
            let move_id = || "m".to_owned();
            let found =
                RecordedMove::WentBack { move_id: move_id(), one_sided: one_sided.clone(), has_ended };
            assert_eq!(decide_action(intent, found), Action::Refuse { move_id: move_id(), one_sided });
        }
    }

    // proves: T183
    #[test]
    fn suspension_holds_moves_without_copies() {
        let ended = || RecordedMove::Ended { move_id: "m".into(), moved: 3, kept: 1 };
        for believes_source in [true, false] {
            let intent = Intent::Suspend { believes_source };
            assert_eq!(decide_action(intent, RecordedMove::Nothing), Action::Suspend);
            assert_eq!(decide_action(intent, ended()), decide_action(Intent::Move, ended()));
            for (phase, decides) in
                Phase::ALL.into_iter().flat_map(|phase| [(phase, Side::Source), (phase, Side::Target)])
            {
                let goes_on = phase >= Phase::Copied && (believes_source || decides == Side::Target);
                let expected = match goes_on {
                    true => Action::Move { recorded: Some(phase) },
                    false => Action::RollBack { move_id: "m".into() },
                };
                assert_eq!(decide_action(intent, under_way(phase, decides)), expected, "{phase} {decides}");
            }
        }
    }
}
