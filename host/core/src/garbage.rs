//! The garbage collector's work, done on paper: what goes once some objects are deleted.
//!
//! It deletes an object once none of its owners exists any more. An owner that exists nowhere does not save its
//! dependent, and what is collected takes its own dependents with it. An owner is looked for in its dependent's namespace, or
//! among cluster-scoped objects: whatever a reference says of an object of another namespace, that one's end is nobody's. This is the one place that says so, before the
//! commit and after it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::{Key, Kind, Meta, Uid};

/// An object that exists in the source, whatever its kind.
#[derive(Clone, Debug)]
pub struct Bystander {
    /// Its kind.
    pub kind: Arc<Kind>,
    /// Its metadata.
    pub meta: Meta,
}

impl Bystander {
    pub(crate) fn key(&self) -> Key {
        Key::new(self.kind.group_kind.clone(), self.namespace(), &self.meta.name)
    }

    fn namespace(&self) -> Option<&str> {
        if self.kind.namespaced { self.meta.namespace.as_deref() } else { None }
    }
}

/// A bystander that would be collected.
pub(crate) struct Lost<'a> {
    pub(crate) object: &'a Bystander,
    /// The owner whose end is its end.
    pub(crate) owner: &'a Uid,
    /// It may go, or all that it is below may.
    pub(crate) left: bool,
}

/// Where an object is: its namespace, or none where it is cluster-scoped.
pub(crate) type Home<'a> = Option<&'a str>;

/// What is collected once `deleted` is gone. `kept` exists and stays, as do all bystanders that are not collected; what
/// `is_left` may go, with what is below it. Linear in the number of owner references.
pub(crate) fn collected<'a>(
    deleted: &BTreeMap<&'a Uid, Home<'a>>,
    kept: impl IntoIterator<Item = (&'a Uid, Home<'a>)>,
    bystanders: &'a [Bystander],
    is_left: impl Fn(&Bystander) -> bool,
) -> Vec<Lost<'a>> {
    let others = bystanders.iter().map(|bystander| (&bystander.meta.uid, bystander.namespace()));
    let existing: BTreeMap<&Uid, Home<'_>> =
        others.chain(kept).chain(deleted.iter().map(|(uid, home)| (*uid, *home))).collect();
    let mut seen = BTreeSet::new();
    // Dependents that are not deleted, by owner; owners that exist, by dependent.
    let mut dependents: BTreeMap<&Uid, Vec<usize>> = BTreeMap::new();
    let mut holds: BTreeMap<usize, BTreeSet<&Uid>> = BTreeMap::new();
    for (index, bystander) in bystanders.iter().enumerate() {
        // The same object may be served by two groups; once is enough.
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
    // What only things that are left held, so far.
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
