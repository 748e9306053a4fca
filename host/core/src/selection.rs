//! The set of objects that move, and why each is in it.

use std::collections::{BTreeMap, BTreeSet};

use crate::refusal::Refusal;

/// Why an object is in the set, by index.
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
    /// Where Clusters are named: something of theirs refers to it.
    Referred {
        by: usize,
    },
    /// The user carries it along.
    Carried,
}

/// How an object from outside the namespaces that move comes along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Brought {
    /// The plugin.
    pub(crate) plugin: String,
    /// Whether deleting it from the source was granted.
    pub(crate) delete: bool,
}

/// What naming Clusters changes, by index.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// What would move if no Cluster were named, and stays; with the Cluster it belongs to, if that is why.
    pub(crate) stays: BTreeMap<usize, Option<usize>>,
    /// What is copied and must stay in the source as well, and what uses it there.
    pub(crate) shared: BTreeMap<usize, usize>,
}

/// The set, and what selecting it found out.
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
    /// What naming Clusters changes.
    pub(crate) named: Named,
    /// The namespaces that move.
    pub(crate) moving: BTreeSet<String>,
    /// Refusals: what plugins would bring along, and aren't allowed to.
    pub(crate) refusals: Vec<Refusal>,
    /// Needs by the object that has them: indices of the relations' needs, with what is needed.
    pub(crate) needs: BTreeMap<usize, Vec<(usize, usize)>>,
    /// How many ties were followed: a measure of the work.
    pub(crate) visits: usize,
}

impl Selection {
    /// Whether an object is in the set.
    pub(crate) fn has(&self, object: usize) -> bool {
        self.reason(object).is_some()
    }

    /// Why an object is in the set.
    pub(crate) fn reason(&self, object: usize) -> Option<&Chosen> {
        self.chosen.get(object).and_then(Option::as_ref)
    }

    /// The set, by index.
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
