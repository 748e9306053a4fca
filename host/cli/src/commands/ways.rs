//! What can be typed next about a move, by how far it is and which sides answer.

use pivot_core::Side;
use pivot_engine::{MoveStatus, Next, OneSidedMove};

/// The next commands that the user can run on a move.
pub(super) fn of(silent: Option<Side>, one: &MoveStatus, into_directory: bool) -> &'static [Next] {
    if one.record.handed_over().is_some() && !one.elsewhere {
        return match (silent, one.missing, into_directory) {
            (None, None, false) if one.record.is_withdrawn() => &[Next::Rollback],
            (None, None, false) => &[Next::ResumeImported, Next::RollbackNotImported],
            (None, None, true) | (None, Some(Side::Target), _) => &[Next::RollbackNotImported],
            _ => &[],
        };
    }
    match (silent, one.record.phase.committed()) {
        _ if one.elsewhere || one.missing.is_some() => &[],
        _ if one.one_sided == Some(OneSidedMove::LastCopyInTarget) => &[Next::ResumeWithoutSource],
        _ if one.one_sided.is_some() => &[],
        _ if one.orphaned => &[Next::Rollback],
        (None, true) => &[Next::Resume],
        // Until then a resume needs a file that only its user can name.
        (None, false) if one.record.plan.is_some() => &[Next::Rollback],
        (None, false) => &[Next::Resume, Next::Rollback],
        (Some(Side::Source), _) => &[Next::ResumeWithoutSource],
        (Some(Side::Target), false) => &[Next::RollbackWithoutTarget],
        // The target's record decides, and the target is missing.
        (Some(Side::Target), true) => &[],
    }
}

#[cfg(test)]
mod tests {
    use pivot_core::record::{Phase, Record};
    use pivot_core::scope::{Namespaces, Scope};

    use super::*;

    #[test]
    fn the_next_commands_depend_on_which_side_answers() {
        let record = |phase| -> Record {
            let fields = serde_json::json!({
                "moveId": "m", "phase": phase, "scope": Scope::new(Namespaces::All), "started": "", "namespaces": [],
                "plugins": [], "kinds": [], "touched": [], "releaseChunks": 0,
            });
            serde_json::from_value(fields).unwrap()
        };
        let live = || MoveStatus {
            decides: Side::Target,
            record: record(Phase::Live),
            elsewhere: false,
            orphaned: false,
            asked: None,
            one_sided: None,
            missing: None,
        };
        let at = |phase, silent| {
            let one = MoveStatus { decides: Side::Source, record: record(phase), ..live() };
            of(silent, &one, false)
        };
        assert_eq!(at(Phase::Copied, None), [Next::Resume, Next::Rollback]);
        assert_eq!(at(Phase::Live, None), [Next::Resume]);
        assert_eq!(at(Phase::Copied, Some(Side::Target)), [Next::RollbackWithoutTarget]);
        assert_eq!(at(Phase::Committed, Some(Side::Target)), []);
        assert_eq!(at(Phase::Live, Some(Side::Source)), [Next::ResumeWithoutSource]);
        let planned = |phase| {
            let record = Record { plan: Some("checksum".into()), ..record(phase) };
            of(None, &MoveStatus { record, ..live() }, false)
        };
        assert_eq!(planned(Phase::Copied), [Next::Rollback], "a resume needs the plan's file");
        assert_eq!(planned(Phase::Live), [Next::Resume]);
        assert_eq!(of(None, &MoveStatus { elsewhere: true, ..live() }, false), []);
        let orphaned = MoveStatus { orphaned: true, ..live() };
        assert_eq!(of(None, &orphaned, false), [Next::Rollback]);
        let one_sided = |shown| MoveStatus { one_sided: Some(shown), ..orphaned.clone() };
        assert_eq!(of(None, &one_sided(OneSidedMove::LastCopyInSource), false), []);
        assert_eq!(of(None, &one_sided(OneSidedMove::TakenOver("it runs".into())), false), []);
        assert_eq!(of(None, &one_sided(OneSidedMove::LastCopyInTarget), false), [Next::ResumeWithoutSource]);
        let missing = MoveStatus { missing: Some(Side::Source), ..live() };
        assert_eq!(of(None, &missing, false), [], "a command would have to name it");
        let mut handed_over = record(Phase::Copied);
        let contents = serde_json::json!({"contents": "files:0"});
        handed_over.handover = Some(serde_json::from_value(contents).unwrap());
        let handed_over = MoveStatus { decides: Side::Source, record: handed_over, ..live() };
        assert_eq!(of(None, &handed_over, false), [Next::ResumeImported, Next::RollbackNotImported]);
        assert_eq!(of(None, &handed_over, true), [Next::RollbackNotImported]);
        assert_eq!(of(Some(Side::Target), &handed_over, false), [], "it may have imported the files");
        let alone = MoveStatus { missing: Some(Side::Target), ..handed_over };
        assert_eq!(of(None, &alone, false), [Next::RollbackNotImported]);
    }
}
