//! Treatment of one object by a move, decided once from its step in the plan and read by every later phase.
//!
//! Documents and records don't contain it. After the commit, the release list says which objects are deleted
//! ([`crate::records::release::ReleaseFate`]).

use crate::plan::{Fate, Step, Why};
use crate::records::route::Route;

/// Treatment of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Deleted from the source, if the route of the move deletes there.
    Moved,
    /// Kept in the source.
    Kept,
    /// Kept in the source, unchanged: the user also copies it.
    AlsoCopied,
    /// Created from a manifest.
    FromManifest,
}

impl Step {
    /// Returns the treatment of the step's object.
    pub fn treatment(&self) -> Treatment {
        match &self.why {
            Why::FromManifest { .. } => Treatment::FromManifest,
            Why::AlsoCopied => Treatment::AlsoCopied,
            Why::Root
            | Why::Below(_)
            | Why::Referred(_)
            | Why::Labelled
            | Why::Needed { .. }
            | Why::AddedByPlugin { .. } => match &self.fate {
                Fate::Move => Treatment::Moved,
                Fate::Keep(_) => Treatment::Kept,
                Fate::FromManifest => Treatment::FromManifest,
            },
        }
    }
}

impl Treatment {
    /// Returns true if the move may pause the object, and waits for a provider that blocks the move. The kind of the object says whether
    /// it gets a pause.
    pub fn can_be_paused(self) -> bool {
        matches!(self, Self::Moved | Self::Kept)
    }

    /// Returns true if plugins may change the object and its copy.
    pub fn is_offered_to_plugins(self) -> bool {
        matches!(self, Self::Moved | Self::Kept)
    }

    /// Returns true if the copy must be as the move made it when the move commits. Controllers may change or delete an object from a
    /// manifest at once.
    pub fn is_compared(self) -> bool {
        self != Self::FromManifest
    }

    /// Returns true if the object is copied from the source. Otherwise the source may have another object with that name.
    pub fn is_in_source(self) -> bool {
        self != Self::FromManifest
    }

    /// Returns true if a move with this route deletes the object from the source.
    pub fn is_deleted_from_source(self, route: Route) -> bool {
        self == Self::Moved && route.deletes_from_source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::KeepReason;
    use crate::records::route::{EndKind, Ends};
    use crate::{GroupKind, Key, Uid};

    fn key() -> Key {
        Key::new(GroupKind::new("", "Secret"), Some("ns"), "s")
    }

    fn step(fate: Fate, why: Why) -> Step {
        Step {
            object: 0,
            key: key(),
            uid: Uid("uid".into()),
            after: Vec::new(),
            dropped_owners: Vec::new(),
            fate,
            why,
            cluster: None,
            in_target: None,
            changes: Vec::new(),
            content: None,
        }
    }

    fn fates() -> Vec<Fate> {
        let keeps = [
            KeepReason::Global,
            KeepReason::BelowGlobal { root: key() },
            KeepReason::SharedClass { class: key(), used_by: None },
            KeepReason::Needed { by: key() },
            KeepReason::AddedByPlugin { plugin: "p".into() },
            KeepReason::AlsoCopied,
            KeepReason::Shared { by: key() },
            KeepReason::Plugin { name: "p".into(), reason: "r".into() },
        ];
        keeps.map(Fate::Keep).into_iter().chain([Fate::Move, Fate::FromManifest]).collect()
    }

    fn reasons() -> [Why; 8] {
        [
            Why::Root,
            Why::Below(key()),
            Why::Referred(key()),
            Why::Labelled,
            Why::AlsoCopied,
            Why::FromManifest { file: "f".into() },
            Why::Needed { by: key(), plugin: "p".into() },
            Why::AddedByPlugin { plugin: "p".into(), with: key() },
        ]
    }

    /// Returns true for a step that a plan can have.
    fn is_possible(step: &Step) -> bool {
        let is_from_manifest = matches!(step.why, Why::FromManifest { .. });
        is_from_manifest == (step.fate == Fate::FromManifest)
            && !(step.why == Why::AlsoCopied && step.fate == Fate::Move)
    }

    fn routes() -> impl Iterator<Item = Route> {
        let kinds = [EndKind::Cluster, EndKind::Files, EndKind::HandoverFiles, EndKind::Absent];
        let ends = kinds.into_iter().flat_map(move |source| kinds.map(|target| Ends { source, target }));
        ends.flat_map(|ends| [false, true].map(|handover| Route::of_new_move(ends, handover)))
    }

    #[test]
    fn treatment_answers_as_phases_did() {
        let steps = fates().into_iter().flat_map(|fate| reasons().map(|why| step(fate.clone(), why)));
        let steps: Vec<Step> = steps.filter(is_possible).collect();
        assert_eq!(steps.len(), 8 * 7 + 6 + 1);
        for step in steps {
            let is_carried = matches!(step.why, Why::AlsoCopied | Why::FromManifest { .. });
            let is_added = matches!(step.why, Why::FromManifest { .. });
            let treatment = step.treatment();
            let context = format!("{:?} {:?}", step.fate, step.why);
            assert_eq!(treatment.can_be_paused(), !is_carried, "{context}");
            assert_eq!(treatment.is_offered_to_plugins(), !is_carried, "{context}");
            assert_eq!(treatment.is_compared(), !is_added, "{context}");
            assert_eq!(treatment.is_in_source(), !is_added, "{context}");
            for route in routes() {
                let is_deleted = step.fate == Fate::Move && route.deletes_from_source();
                assert_eq!(treatment.is_deleted_from_source(route), is_deleted, "{context} {route:?}");
            }
        }
    }

    #[test]
    fn impossible_step_keeps_source_untouched() {
        let steps = fates().into_iter().flat_map(|fate| reasons().map(|why| step(fate.clone(), why)));
        for step in steps.filter(|step| !is_possible(step)) {
            let treatment = step.treatment();
            let is_deleted = routes().any(|route| treatment.is_deleted_from_source(route));
            assert!(!treatment.can_be_paused() && !is_deleted, "{:?} {:?}", step.fate, step.why);
        }
    }
}
