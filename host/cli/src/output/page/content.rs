//! The objects of a plan in its page: short rows, because a page can have thousands.

use std::collections::BTreeMap;

use pivot_core::Key;
use pivot_core::plan::{Fate, Plan, Stay, Step};
use pivot_core::records::saved_plan::{SavedFate, SavedPlan, SavedStay, SavedStep};
use pivot_engine::Summary;
use serde::Serialize;

use crate::output::answer::{NeededObject, find_needed_objects};
use crate::output::foreseen::foreseen_changes;
use crate::output::saved::{count_objects, needed_by_saved_plan};

/// The objects of a plan. Thousands of objects share few words: rows have indices of them.
#[derive(Serialize)]
pub(super) struct Content<'a> {
    summary: Summary,
    words: Vec<String>,
    steps: Vec<StepRow<'a>>,
    stays: Vec<StayRow<'a>>,
    needed: Vec<NeededRow>,
    moves: Vec<UnderWay<'a>>,
}

/// Kind, namespace, name, fate, why it moves, why it is kept, Cluster, objects that must exist first, UID, owners that the copy
/// will lack, the existing object of the target, and changes by plugins.
#[derive(Serialize)]
struct StepRow<'a>(
    Word,
    Word,
    &'a str,
    &'static str,
    Word,
    Word,
    Word,
    &'a [usize],
    &'a str,
    Vec<Word>,
    Vec<Word>,
);

/// Kind, namespace, name, why it stays.
#[derive(Serialize)]
struct StayRow<'a>(Word, Word, &'a str, Word);

/// An object that stays although moved objects need it.
#[derive(Serialize)]
struct NeededRow {
    object: String,
    by: Vec<String>,
    /// True if the user accepted that the object stays.
    accepted: bool,
}

impl From<NeededObject<'_>> for NeededRow {
    fn from(NeededObject { object, by, is_accepted }: NeededObject<'_>) -> Self {
        let by = by.iter().map(ToString::to_string).collect();
        Self { object: object.to_string(), by, accepted: is_accepted }
    }
}

#[derive(Serialize)]
pub(super) struct UnderWay<'a> {
    pub(super) lines: Vec<String>,
    pub(super) next: &'a [String],
}

/// An index of a word; negative: none.
type Word = i64;

#[derive(Default)]
struct Words {
    all: Vec<String>,
    index: BTreeMap<String, Word>,
}

impl Words {
    fn intern(&mut self, word: impl ToString) -> Word {
        let word = word.to_string();
        if let Some(index) = self.index.get(&word) {
            return *index;
        }
        let index = self.all.len().try_into().unwrap_or(-1);
        self.all.push(word.clone());
        self.index.insert(word, index);
        index
    }

    fn maybe(&mut self, word: Option<impl ToString>) -> Word {
        word.map_or(-1, |word| self.intern(word))
    }

    fn step<'a>(&mut self, step: &'a Step) -> StepRow<'a> {
        let Step { key, uid, after, dropped_owners, fate, why, cluster, in_target, changes, .. } = step;
        let (fate, keep) = match fate {
            Fate::Move => ("move", -1),
            Fate::Keep(reason) => ("keep", self.intern(reason)),
            Fate::FromManifest => ("add", -1),
        };
        let Key { group_kind, namespace, name } = key;
        let dropped = dropped_owners
            .iter()
            .map(|owner| self.intern(format!("{} {}", owner.kind, owner.name)))
            .collect();
        let (kind, namespace) = (self.intern(group_kind), self.maybe(namespace.as_ref()));
        let (why, cluster) = (self.intern(why), self.maybe(cluster.as_ref()));
        let foreseen = foreseen_changes(in_target.as_ref(), changes).map(|one| self.intern(one)).collect();
        StepRow(kind, namespace, name, fate, why, keep, cluster, after, &uid.0, dropped, foreseen)
    }

    fn saved_step<'a>(&mut self, step: &'a SavedStep) -> StepRow<'a> {
        let SavedStep { object, uid, after, fate, why, dropped_owners, in_target, changes, cluster, .. } =
            step;
        let Key { group_kind, namespace, name } = object;
        let (kind, namespace) = (self.intern(group_kind), self.maybe(namespace.as_ref()));
        let (fate, keep) = match fate {
            SavedFate::Move => ("move", -1),
            SavedFate::Keep => ("keep", self.intern(why)),
            SavedFate::FromManifest => ("add", -1),
        };
        let (why, cluster) = (self.intern(why), self.maybe(cluster.as_ref()));
        let dropped = dropped_owners.iter().map(|owner| self.intern(owner)).collect();
        let foreseen = foreseen_changes(in_target.as_ref(), changes).map(|one| self.intern(one)).collect();
        StepRow(kind, namespace, name, fate, why, keep, cluster, after, &uid.0, dropped, foreseen)
    }

    fn stay_row<'a>(&mut self, key: &'a Key, reason: impl ToString) -> StayRow<'a> {
        let Key { group_kind, namespace, name } = key;
        StayRow(self.intern(group_kind), self.maybe(namespace.as_ref()), name, self.intern(reason))
    }
}

impl<'a> Content<'a> {
    /// `notes` are codes and objects of the notes of the run.
    pub(super) fn from_plan<'b>(
        plan: &'a Plan,
        notes: impl IntoIterator<Item = (&'b str, Option<&'b Key>)>,
        moves: Vec<UnderWay<'a>>,
    ) -> Self
    where
        'a: 'b,
    {
        let mut words = Words::default();
        let steps = plan.steps.iter().map(|step| words.step(step)).collect();
        let stays = plan.stays.iter().map(|Stay { key, reason }| words.stay_row(key, reason)).collect();
        let dangling =
            plan.refusals.iter().map(|one| (one.code, one.object.iter().chain(&one.others).collect()));
        let needed = find_needed_objects(dangling, notes, &plan.steps.iter().map(|step| &step.key).collect());
        Self {
            summary: plan.into(),
            words: words.all,
            steps,
            stays,
            needed: needed.into_iter().map(NeededRow::from).collect(),
            moves,
        }
    }

    pub(super) fn from_saved_plan(plan: &'a SavedPlan) -> Self {
        let mut words = Words::default();
        let steps: Vec<_> = plan.steps.iter().map(|step| words.saved_step(step)).collect();
        let stays = plan.stays.iter().map(|SavedStay { object, why }| words.stay_row(object, why)).collect();
        Self {
            summary: count_objects(plan),
            words: words.all,
            steps,
            stays,
            needed: needed_by_saved_plan(plan).into_iter().map(NeededRow::from).collect(),
            moves: Vec::new(),
        }
    }
}
