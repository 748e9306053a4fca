//! The set of objects that move, each with its reason.

use std::collections::{BTreeMap, BTreeSet};

use crate::messages::refusal::Refusal;

/// A reason why an object is in the set. Objects are indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    Root,
    Below {
        root: usize,
    },
    Labelled,
    Needed {
        need: usize,
    },
    /// If Clusters are named: an object of theirs refers to the object.
    Referred {
        by: usize,
    },
    /// The user also copies the object.
    Carried,
}

/// A plugin's addition of an object from outside the namespaces that move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Brought {
    /// The plugin.
    pub(crate) plugin: String,
    /// Whether deleting it from the source was granted.
    pub(crate) delete: bool,
}

/// Effects of naming Clusters. Objects are indices.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Objects that stay only because Clusters are named, with the Cluster that they belong to if that is the reason.
    pub(crate) stays: BTreeMap<usize, Option<usize>>,
    /// Objects that are copied and must be kept, each with its user in the source.
    pub(crate) shared: BTreeMap<usize, usize>,
}

/// The set, and the findings of its selection.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// Per object of the inventory.
    pub(crate) chosen: Vec<Option<Chosen>>,
    /// Objects that the user excludes.
    pub(crate) excluded: BTreeSet<usize>,
    /// Objects that stay only because a plugin leaves the object they belong to, and that object.
    pub(crate) below_left: BTreeMap<usize, usize>,
    /// Objects that plugins bring along from outside the namespaces that move.
    pub(crate) brought: BTreeMap<usize, Brought>,
    /// Effects of naming Clusters.
    pub(crate) named: Named,
    /// The namespaces that move.
    pub(crate) moving: BTreeSet<String>,
    /// Refusals of objects that plugins may not add.
    pub(crate) refusals: Vec<Refusal>,
    /// Needs by the object that has them: indices of the relations' needs, with what is needed.
    pub(crate) needs: BTreeMap<usize, Vec<(usize, usize)>>,
    /// Number of ties that were followed: a measure of the work.
    pub(crate) visits: usize,
}

impl Selection {
    /// Returns true if an object is in the set.
    pub(crate) fn has(&self, object: usize) -> bool {
        self.reason(object).is_some()
    }

    /// Returns the reason why an object is in the set, if it is.
    pub(crate) fn reason(&self, object: usize) -> Option<&Chosen> {
        self.chosen.get(object).and_then(Option::as_ref)
    }

    /// Returns the indices of the objects in the set.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.chosen.iter().enumerate().filter(|(_, why)| why.is_some()).map(|(index, _)| index)
    }

    /// Puts an object into the set; returns whether it is new.
    pub(crate) fn choose(&mut self, object: usize, why: Chosen) -> bool {
        match self.chosen.get_mut(object) {
            Some(slot @ None) => {
                *slot = Some(why);
                true
            }
            _ => false,
        }
    }
}
