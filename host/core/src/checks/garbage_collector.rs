//! Simulates the garbage collector: which objects it deletes once some objects are gone.
//!
//! The collector deletes an object once none of its owners exists any more. An owner that doesn't exist anywhere does not save
//! its dependent, and a collected object takes its own dependents with it. The collector looks for an owner in its dependent's
//! namespace, or among cluster-scoped objects. A reference to an object of another namespace therefore names no owner, and
//! deleting that object collects nothing. This is the only implementation of the rule, for before the commit and after it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{Key, Kind, Meta, Object, Uid};

/// An object of any kind that exists in the source.
#[derive(Clone, Copy, Debug)]
pub struct Bystander<'a> {
    /// Kind of the object.
    pub kind: &'a Kind,
    /// Metadata of the object.
    pub meta: &'a Meta,
}

impl<'a> From<&'a Object> for Bystander<'a> {
    fn from(object: &'a Object) -> Self {
        Self { kind: &object.kind, meta: &object.meta }
    }
}

impl<'a> Bystander<'a> {
    pub(crate) fn key(&self) -> Key {
        Key::new(self.kind.group_kind.clone(), self.namespace(), &self.meta.name)
    }

    fn namespace(&self) -> Option<&'a str> {
        if self.kind.namespaced { self.meta.namespace.as_deref() } else { None }
    }
}

/// A bystander that would be collected.
pub(crate) struct Lost<'a> {
    pub(crate) object: &'a Bystander<'a>,
    /// Owner whose deletion causes the collection.
    pub(crate) owner: &'a Uid,
    /// Whether the loss is accepted, of the object or of all that it depends on.
    pub(crate) left: bool,
}

/// Namespace of an object. None if it is cluster-scoped.
pub(crate) type Home<'a> = Option<&'a str>;

/// Returns the objects that are collected once `deleted` is gone. `kept` exists and stays, as do all bystanders that are not
/// collected. Objects that `is_left` selects may be lost, with their dependents. Linear in the number of owner references.
pub(crate) fn find_collected<'a>(
    deleted: &BTreeMap<&'a Uid, Home<'a>>,
    kept: impl IntoIterator<Item = (&'a Uid, Home<'a>)>,
    bystanders: &'a [Bystander<'a>],
    is_left: impl Fn(&Bystander<'_>) -> bool,
) -> Vec<Lost<'a>> {
    let others = bystanders.iter().map(|bystander| (&bystander.meta.uid, bystander.namespace()));
    let existing: BTreeMap<&Uid, Home<'_>> =
        others.chain(kept).chain(deleted.iter().map(|(uid, home)| (*uid, *home))).collect();
    let mut seen = BTreeSet::new();
    // Dependents that are not deleted, by owner, and existing owners, by dependent.
    let mut dependents: BTreeMap<&Uid, Vec<usize>> = BTreeMap::new();
    let mut holds: BTreeMap<usize, BTreeSet<&Uid>> = BTreeMap::new();
    for (index, bystander) in bystanders.iter().enumerate() {
        // Two groups may serve one object, which counts once.
        if deleted.contains_key(&bystander.meta.uid) || !seen.insert(&bystander.meta.uid) {
            continue;
        }
        let owners = bystander.meta.owner_references.iter().map(|owner| &owner.uid);
        let in_sight = |home: &Home<'_>| home.is_none() || *home == bystander.namespace();
        for owner in owners.filter(|owner| existing.get(owner).is_some_and(in_sight)) {
            if holds.entry(index).or_default().insert(owner) {
                dependents.entry(owner).or_default().push(index);
            }
        }
    }
    let mut lost = Vec::new();
    // Objects that so far depend only on objects that may be lost.
    let mut covered: BTreeSet<usize> = holds.keys().copied().collect();
    let mut queue: VecDeque<(&Uid, bool)> = deleted.keys().map(|uid| (*uid, false)).collect();
    while let Some((owner, left)) = queue.pop_front() {
        for &index in dependents.get(owner).into_iter().flatten() {
            if !left {
                covered.remove(&index);
            }
            let Some(held_by) = holds.get_mut(&index) else { continue };
            if !held_by.remove(owner) || !held_by.is_empty() {
                continue;
            }
            let Some(object) = bystanders.get(index) else { continue };
            let left = covered.contains(&index) || is_left(object);
            lost.push(Lost { object, owner, left });
            queue.push_back((&object.meta.uid, left));
        }
    }
    lost
}
