//! What stays in the source must not die because its owners are deleted.
//!
//! The garbage collector deletes an object once none of its owners exists any more. The peer deletes owners without
//! asking who else is below them: a VM's IP address claim goes with the Machine, and the address is given to another
//! (W3). So every listable kind of the affected namespaces is looked at, metadata only, and what would be collected
//! stops the plan unless a plugin leaves it or the user accepts the loss of its kind.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::plan::Plan;
use crate::refusal::{Refusal, kubectl, some_of};
use crate::relations::Relations;
use crate::scope::Scope;
use crate::select::takes_part;
use crate::{GroupKind, Key, Kind, Meta, Uid, names};

/// An object that exists in the source, whatever its kind.
#[derive(Clone, Debug)]
pub struct Bystander {
    /// Its kind.
    pub kind: Arc<Kind>,
    /// Its metadata.
    pub meta: Meta,
}

impl Bystander {
    fn key(&self) -> Key {
        let namespace = if self.kind.namespaced { self.meta.namespace.as_deref() } else { None };
        Key::new(self.kind.group_kind.clone(), namespace, &self.meta.name)
    }

    /// Events come and go by themselves.
    fn is_event(&self) -> bool {
        let kind = &self.kind.group_kind;
        kind.is("", "Event") || kind.is("events.k8s.io", "Event")
    }
}

/// What would be garbage-collected in the source: one refusal per kind.
///
/// An owner that exists nowhere does not save its dependent. What is below something that a plugin leaves is left
/// with it; `--accept-loss` covers the kinds it names and no others.
pub fn collateral(
    plan: &Plan,
    scope: &Scope,
    relations: &Relations,
    bystanders: &[Bystander],
) -> Vec<Refusal> {
    let mut by_kind: BTreeMap<&GroupKind, (&Kind, BTreeMap<Key, Key>)> = BTreeMap::new();
    for lost in Collection::new(plan, relations, bystanders).run() {
        let Some(bystander) = bystanders.get(lost.object) else { continue };
        let kind = &bystander.kind.group_kind;
        if !lost.left && !bystander.is_event() && !scope.accept_loss.contains(kind) {
            let owner = bystander.meta.owner_references.iter().find(|owner| owner.uid == *lost.owner);
            let owner = owner.map(|owner| Key::new(owner.group_kind(), None, &owner.name));
            let (_, found) = by_kind.entry(kind).or_insert_with(|| (&bystander.kind, BTreeMap::new()));
            found.extend(owner.map(|owner| (bystander.key(), owner)));
        }
    }
    by_kind.into_values().filter_map(|(kind, lost)| refusal(kind, &lost)).collect()
}

fn refusal(kind: &Kind, lost: &BTreeMap<Key, Key>) -> Option<Refusal> {
    let first = lost.keys().next()?;
    let names: Vec<String> = lost.iter().map(|(key, owner)| format!("{key} (below {owner})")).collect();
    let message = format!(
        "{} would stay, and be garbage-collected in the source because what owns {} is deleted",
        some_of(&names, 3),
        if names.len() == 1 { "it" } else { "them" },
    );
    let accept = format!("accept the loss: --accept-loss {}", kind.group_kind);
    let remedy = match way_to_move(kind, first) {
        Some(way) => format!("let them move too ({way}), or {accept}"),
        None => accept,
    };
    Some(Refusal::source("collateral", first.clone(), message, remedy))
}

/// How objects of a kind are made to move: those that are read anyway by their own label, custom resources by labels
/// on their definition, Kubernetes' own not at all.
fn way_to_move(kind: &Kind, first: &Key) -> Option<String> {
    let group = &kind.group_kind.group;
    if takes_part(kind) {
        Some(format!("`{}`", kubectl("label", first, &format!("{}=", names::LABEL_MOVE))))
    } else if group.contains('.') && !group.ends_with(".k8s.io") {
        let (listed, moves) = (names::LABEL_DISCOVER, names::LABEL_MOVE);
        Some(format!("labels {listed} and {moves} on the CRD of {}", kind.group_kind))
    } else {
        None
    }
}

/// A bystander that would be collected.
struct Lost<'a> {
    object: usize,
    /// The owner whose end is its end.
    owner: &'a Uid,
    /// A plugin leaves it, or what it is below.
    left: bool,
}

/// The garbage collector's work, done on paper. Linear in the number of owner references.
struct Collection<'a> {
    bystanders: &'a [Bystander],
    relations: &'a Relations,
    /// Dependents that stay, by owner.
    dependents: BTreeMap<&'a Uid, Vec<usize>>,
    /// Owners that exist, by dependent.
    holds: BTreeMap<usize, BTreeSet<&'a Uid>>,
    deleted: Vec<&'a Uid>,
}

impl<'a> Collection<'a> {
    fn new(plan: &'a Plan, relations: &'a Relations, bystanders: &'a [Bystander]) -> Self {
        let deleted: BTreeSet<&Uid> = plan.moved().map(|step| &step.uid).collect();
        let kept = plan.kept().map(|step| &step.uid);
        let existing: BTreeSet<&Uid> = bystanders
            .iter()
            .map(|bystander| &bystander.meta.uid)
            .chain(kept)
            .chain(deleted.iter().copied())
            .collect();
        let mut seen = BTreeSet::new();
        let mut dependents: BTreeMap<&Uid, Vec<usize>> = BTreeMap::new();
        let mut holds: BTreeMap<usize, BTreeSet<&Uid>> = BTreeMap::new();
        for (index, bystander) in bystanders.iter().enumerate() {
            let uid = &bystander.meta.uid;
            // The same object may be served by two groups; once is enough.
            if deleted.contains(uid) || !seen.insert(uid) {
                continue;
            }
            for owner in bystander.meta.owner_references.iter().filter(|owner| existing.contains(&owner.uid))
            {
                if holds.entry(index).or_default().insert(&owner.uid) {
                    dependents.entry(&owner.uid).or_default().push(index);
                }
            }
        }
        Self { bystanders, relations, dependents, holds, deleted: deleted.into_iter().collect() }
    }

    fn run(mut self) -> Vec<Lost<'a>> {
        let mut lost = Vec::new();
        let mut covered: BTreeSet<usize> = self.holds.keys().copied().collect();
        let mut queue: VecDeque<(&Uid, bool)> = self.deleted.iter().map(|uid| (*uid, false)).collect();
        while let Some((owner, left)) = queue.pop_front() {
            for &object in self.dependents.get(owner).into_iter().flatten() {
                if !left {
                    covered.remove(&object);
                }
                let Some(holds) = self.holds.get_mut(&object) else { continue };
                if !holds.remove(owner) || !holds.is_empty() {
                    continue;
                }
                let Some(bystander) = self.bystanders.get(object) else { continue };
                let uid = &bystander.meta.uid;
                let left = covered.contains(&object) || self.relations.left(uid).is_some();
                lost.push(Lost { object, owner, left });
                queue.push_back((uid, left));
            }
        }
        lost
    }
}

#[cfg(test)]
mod tests;
