//! Moves under way, according to the records of both sides.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::messages::refusal::some_of;
use pivot_core::messages::safe_text;
use pivot_core::objects::names;
use pivot_core::records::record::{Phase, Record};
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{Both, Meta, Side, Uid};

use crate::base::outcome::failure::Failure;
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::state::records::Stored;

/// Maximum number of bytes that a message quotes of an id that a user typed.
pub(crate) const MAX_ID_BYTES: usize = 100;

/// Number of moves that an error names.
pub(crate) const MAX_NAMED_MOVES: usize = 10;

/// A move under way.
#[derive(Clone, Debug)]
pub(crate) struct FoundMove {
    pub(crate) at: Both<Option<Stored>>,
    /// Only the target has a record of it, and nothing in the source can have been deleted yet. A move that is still going on
    /// keeps the source's record to its end, so this one was rolled back by a run that could not reach the target, or the record is
    /// a forgery: nothing in the source follows from it, neither locks nor changes.
    pub(crate) orphaned: bool,
    /// The target of the move differs from this run's.
    pub(crate) elsewhere: bool,
    /// The move was begun from files other than this run's.
    pub(crate) other_files: bool,
    /// Author of a record with the same id in the target, if it differs from the author of the source's record.
    pub(crate) other_author: Option<String>,
    /// Verdict from the objects, if a side that was read has no record of the move.
    pub(crate) one_sided: Option<OneSidedMove>,
    /// Set if the move has ended, and the source went back to before it. Neither side has a record: this one is made from the target's
    /// summary.
    pub(crate) has_ended: bool,
}

impl FoundMove {
    /// A move that has left nothing but its summary, as a record that says as much.
    pub(crate) fn from_summary(record: Record, one_sided: OneSidedMove) -> Self {
        Self {
            at: Both::new(None, Some(Stored::new(record, None, Meta::default()))),
            orphaned: false,
            elsewhere: false,
            other_files: false,
            other_author: None,
            one_sided: Some(one_sided),
            has_ended: true,
        }
    }

    /// Returns true if only the target has a statement about the move. Nothing in the source is locked or changed for it, except Clusters
    /// that the user names.
    pub(crate) fn is_targets_word(&self) -> bool {
        self.at.source.is_none() && (self.orphaned || self.one_sided.is_some())
    }

    /// The record that decides: the source's until it says Committed, then the target's.
    pub(crate) fn deciding_record(&self) -> Option<(Side, &Record)> {
        match (&self.at.source, &self.at.target) {
            (Some(source), Some(target)) if source.record.phase.is_committed() => {
                Some((Side::Target, &target.record))
            }
            (Some(source), _) => Some((Side::Source, &source.record)),
            (None, Some(target)) => Some((Side::Target, &target.record)),
            (None, None) => None,
        }
    }

    /// Returns the record that decides.
    pub(crate) fn record(&self) -> Option<&Record> {
        self.deciding_record().map(|(_, record)| record)
    }

    /// Returns true if the target of the move is known to be this one.
    pub(crate) fn is_to(&self, target: &Option<Uid>) -> bool {
        target.is_some() && self.record().is_some_and(|record| record.target == *target)
    }

    /// Returns true if the target has a record of an attempt after the source's, which shows that it is the move's target.
    pub(crate) fn is_of_later_attempt(&self) -> bool {
        let Both { source: Some(source), target: Some(target) } = &self.at else { return false };
        is_of_later_attempt(&source.record, &target.record)
    }

    pub(crate) fn describe(&self) -> String {
        let Some(record) = self.record() else { return String::new() };
        format!("{} ({}, {})", record.move_id, record.scope, record.phase)
    }
}

/// All moves under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves(pub(crate) Vec<FoundMove>);

impl Moves {
    /// Combines the records of both sides. A record in the target that belongs to another source is ignored here.
    pub(crate) fn new(
        records: Both<Vec<Stored>>,
        identities: &Both<Option<Uid>>,
        source_answers: bool,
    ) -> Self {
        let mut by_id: BTreeMap<String, Both<Option<Stored>>> = BTreeMap::new();
        for stored in records.source {
            let id = stored.record.move_id.clone();
            by_id.entry(id).or_default().source = Some(stored);
        }
        let mut others = BTreeMap::new();
        for stored in records.target {
            let from_here = identities.source.is_some() && stored.record.source == identities.source;
            let from_nowhere = identities.source.is_none() && stored.record.source.is_none();
            // Copies made from files matter to every run from files into the same target.
            let files = stored.record.is_of_files() && is_of_files(&identities.source);
            let known = by_id.get(&stored.record.move_id).and_then(|at| at.source.as_ref());
            // Who knows the id of another's move could have it undone, or forgotten, by a record of their own.
            if known.is_some_and(|source| source.record.started_by != stored.record.started_by) {
                others.insert(stored.record.move_id, stored.record.started_by);
                continue;
            }
            let known = known.is_some();
            let any = !source_answers && !is_of_files(&identities.source);
            if known || from_here || from_nowhere || files || any {
                let id = stored.record.move_id.clone();
                by_id.entry(id).or_default().target = Some(stored);
            }
        }
        let found = by_id.into_iter().map(|(id, at)| FoundMove {
            other_author: others.remove(&id),
            ..found_move(at, identities, source_answers)
        });
        Self(found.collect())
    }

    /// The move that was begun with this scope, to this target.
    pub(crate) fn of_scope(&self, scope: &Scope) -> Option<&FoundMove> {
        let all = self.0.iter().filter(|found| found.record().is_some_and(|record| record.scope == *scope));
        all.min_by_key(|found| found.elsewhere)
    }

    /// The only move if the command names none, otherwise the move whose id is this, or is the only one that begins with it.
    pub(crate) fn select(&self, id: Option<&str>) -> Result<&FoundMove, Failure> {
        let with = |matches: &dyn Fn(&str) -> bool| -> Vec<&FoundMove> {
            let all = self.0.iter();
            all.filter(|found| found.record().is_some_and(|record| matches(&record.move_id))).collect()
        };
        let all_have_ended = self.0.iter().all(|found| found.has_ended);
        let named = match id {
            None => self.0.iter().filter(|found| !found.has_ended || all_have_ended).collect(),
            Some(id) => match with(&|whole| whole == id) {
                none if none.is_empty() && !id.is_empty() => with(&|whole| whole.starts_with(id)),
                named => named,
            },
        };
        if let (Some(id), true, false) = (id, named.is_empty(), self.0.is_empty()) {
            let there: Vec<String> = self.0.iter().map(FoundMove::describe).collect();
            let id = safe_text::to_line(id, MAX_ID_BYTES);
            return Err(Failure::Declined(format!(
                "no move {id} is under way; there are: {}",
                some_of(&there, MAX_NAMED_MOVES)
            )));
        }
        let here: Vec<&FoundMove> = named.iter().copied().filter(|found| !found.elsewhere).collect();
        match (if here.is_empty() { &named } else { &here }).as_slice() {
            [] => Err(Failure::NoMove),
            [one] => Ok(one),
            many => {
                let many: Vec<String> = many.iter().map(|found| found.describe()).collect();
                Err(Failure::Several(many))
            }
        }
    }

    /// Another move that has not ended and works in this scope.
    pub(crate) fn find_overlapping(&self, scope: &Scope, move_id: &str) -> Option<&Record> {
        let in_source = self.0.iter().filter(|found| found.at.source.is_some());
        in_source.filter_map(FoundMove::record).find(|record| {
            let meet = match (&scope.namespaces, &record.scope.namespaces) {
                (Namespaces::All, _) | (_, Namespaces::All) => true,
                (Namespaces::One(ours), Namespaces::One(theirs)) => {
                    ours == theirs || !record.confined && record.copied_namespaces.contains(ours)
                }
            };
            meet && record.move_id != move_id
        })
    }
}

/// Returns the refusal of a run with this scope because of another move.
pub(crate) fn refuse_for_other_move(other: &Record, scope: &Scope) -> Failure {
    let without_files = |scope: &Scope| Scope { from_manifests: BTreeSet::new(), ..scope.clone() };
    let differs = match other.scope != *scope && without_files(&other.scope) == without_files(scope) {
        true => "which differs in the objects that it adds: resume it with the files that it was begun with",
        false => "with another scope: resume it",
    };
    Failure::Declined(format!(
        "another move ({}, {}) is under way, {differs} or roll it back first",
        other.move_id, other.phase
    ))
}

/// Returns the refusal of a Pivot because another author began a move with its scope. The Pivot's author chooses the target, which may claim to
/// be the target of that move.
pub(crate) fn refuse_for_other_author(other: &Record) -> Failure {
    Failure::BegunByOther {
        move_id: other.move_id.clone(),
        phase: other.phase,
        author: safe_text::to_line(&other.started_by, MAX_ID_BYTES),
    }
}

/// Returns the record of a committed move. Only the progress is taken from the target's record: anyone who controls the target could
/// write another scope into it, or an earlier phase.
pub(crate) fn of_committed(source: &Record, target: &Record) -> Record {
    Record {
        phase: target.phase.max(Phase::Committed),
        release_chunks: target.release_chunks,
        finish_alone: target.finish_alone,
        committed_at: target.committed_at.clone(),
        written_by: target.written_by.clone(),
        ..source.clone()
    }
}

/// Returns true if a target's record is of an attempt before the source's: that target was restored from a backup of then.
pub(crate) fn is_of_earlier_attempt(source: &Record, target: &Record) -> bool {
    source.is_recovered() && source.copy_key != target.copy_key
}

/// Returns true if a target's record is of an attempt after the source's: that source was restored from a backup of before its recovery.
fn is_of_later_attempt(source: &Record, target: &Record) -> bool {
    source.copy_key.as_ref().is_some_and(|key| target.earlier_copy_keys.contains(key))
}

fn found_move(
    mut at: Both<Option<Stored>>,
    identities: &Both<Option<Uid>>,
    source_answers: bool,
) -> FoundMove {
    if let (Some(source), Some(target)) = (&at.source, &mut at.target)
        && source.record.phase.is_committed()
    {
        match is_of_earlier_attempt(&source.record, &target.record) {
            // Of the attempt that the source committed last, the target has nothing.
            true => at.target = None,
            // The record is of a commit that this source does not know.
            false if is_of_later_attempt(&source.record, &target.record) => {}
            false => target.record = of_committed(&source.record, &target.record),
        }
    }
    let mut found = FoundMove {
        at,
        orphaned: false,
        elsewhere: false,
        other_files: false,
        other_author: None,
        one_sided: None,
        has_ended: false,
    };
    if let Some((side, record)) = found.deciding_record() {
        let orphaned = source_answers && found.at.source.is_none();
        let orphaned = orphaned && side == Side::Target && record.phase <= Phase::Live;
        let elsewhere = has_other_target(record, &identities.target);
        let other_files = is_of_files(&identities.source) && record.source != identities.source;
        (found.orphaned, found.elsewhere, found.other_files) = (orphaned, elsewhere, other_files);
    }
    found
}

fn is_of_files(source: &Option<Uid>) -> bool {
    source.as_ref().is_some_and(|source| source.0.starts_with(names::FILES))
}

/// Returns true if a move's target is known to differ from this one.
fn has_other_target(record: &Record, target: &Option<Uid>) -> bool {
    target.is_some() && record.target.is_some() && record.target != *target
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(ids: &[&str]) -> Moves {
        let found = ids.iter().map(|id| {
            let record = serde_json::from_value(serde_json::json!({
                "format": 5, "writtenBy": "0.1.0", "startedBy": "jane@laptop", "moveId": id, "phase": "Copied", "scope": Scope::new(Namespaces::All), "startedAt": "", "createdNamespaces": [],
                "plugins": [], "kinds": [], "copiedNamespaces": [], "releaseChunks": 0,
            }));
            let stored = Stored::new(record.unwrap(), None, Meta::default());
            let identities = Both::default();
            found_move(Both::new(Some(stored), None), &identities, true)
        });
        Moves(found.collect())
    }

    #[test]
    fn move_is_selected_by_id_prefix() {
        let moves = moves(&["216b7a2d-1", "9c01", "9c"]);
        let selected = |id| moves.select(Some(id)).map(|found| found.record().unwrap().move_id.clone());
        assert_eq!(selected("216b").unwrap(), "216b7a2d-1");
        assert_eq!(selected("9c").unwrap(), "9c", "a whole id is no beginning");
        let unknown = selected("abc").unwrap_err().to_string();
        assert!(
            unknown.starts_with(
                "no move abc is under way; there are: 216b7a2d-1 (all namespaces, Copied), 9c01"
            ),
            "{unknown}"
        );
        assert!(matches!(selected(""), Err(Failure::Declined(_))));
        let ambiguous = super::tests::moves(&["9c01", "9c02"]).select(Some("9c")).map(|_| ()).unwrap_err();
        assert!(matches!(ambiguous, Failure::Several(_)));
        assert!(matches!(Moves::default().select(Some("9c")), Err(Failure::NoMove)));
    }
}
