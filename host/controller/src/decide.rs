//! What to do about a Pivot, from what the two sides' records say of its move. Pure; the whole policy is this one function.

use pivot_engine::Status;

/// The move of a Pivot, as the records know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No record names this Pivot.
    Nothing,
    /// It is under way.
    UnderWay {
        move_id: String,
        /// It can only go forward.
        committed: bool,
    },
    /// It has ended.
    Ended { move_id: String, moved: usize, kept: usize },
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Begin the move, or go on with it.
    Move,
    /// Undo it.
    RollBack { move_id: String },
    /// Say that it has ended.
    Report { move_id: String, moved: usize, kept: usize },
    /// Let the Pivot go: nothing of it is under way.
    LetGo,
}

/// The move whose record names this operator.
pub(crate) fn found(status: &Status, operator: &str) -> Found {
    if let Some(one) = status.moves.iter().find(|one| one.record.by == operator) {
        let (move_id, committed) = (one.record.move_id.clone(), one.record.phase.committed());
        return Found::UnderWay { move_id, committed };
    }
    match status.finished.iter().find(|one| one.by == operator) {
        Some(one) => Found::Ended { move_id: one.move_id.clone(), moved: one.moved, kept: one.kept },
        None => Found::Nothing,
    }
}

/// What to do about a Pivot that was deleted, or not. Once committed there is no way but forward, whatever its user wants.
pub(crate) fn act(deleted: bool, found: Found) -> Act {
    match (deleted, found) {
        (false, Found::Nothing | Found::UnderWay { .. }) => Act::Move,
        (false, Found::Ended { move_id, moved, kept }) => Act::Report { move_id, moved, kept },
        (true, Found::UnderWay { committed: true, .. }) => Act::Move,
        (true, Found::UnderWay { move_id, committed: false }) => Act::RollBack { move_id },
        (true, Found::Nothing | Found::Ended { .. }) => Act::LetGo,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_pivot_is_undone_until_it_is_committed_and_finished_afterwards() {
        let under_way = |committed| Found::UnderWay { move_id: "m".into(), committed };
        assert_eq!(act(true, under_way(false)), Act::RollBack { move_id: "m".into() });
        assert_eq!(act(true, under_way(true)), Act::Move);
        assert_eq!(act(true, Found::Nothing), Act::LetGo);
        let ended = Found::Ended { move_id: "m".into(), moved: 3, kept: 1 };
        assert_eq!(act(true, ended.clone()), Act::LetGo);
        assert_eq!(act(false, ended), Act::Report { move_id: "m".into(), moved: 3, kept: 1 });
        assert_eq!(act(false, Found::Nothing), Act::Move);
        assert_eq!(act(false, under_way(true)), Act::Move);
    }
}
