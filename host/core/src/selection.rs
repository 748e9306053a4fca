//! The set of objects that move, and why each is in it.

use std::collections::{BTreeMap, BTreeSet};

use crate::refusal::Refusal;

/// Why an object is in the set, by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    Root,
    Below { root: usize },
    Labelled,
    Needed { need: usize },
}

/// Through whom an object comes along that is outside of what moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Brought {
    /// The plugin.
    pub(crate) plugin: String,
    /// Whether it was granted that this is deleted from the source.
    pub(crate) delete: bool,
}

/// The set, and what was learned on the way.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// Per object of the inventory.
    pub(crate) chosen: Vec<Option<Chosen>>,
    /// Objects that stay only because a plugin leaves what they belong to, and what that is.
    pub(crate) below_left: BTreeMap<usize, usize>,
    /// Objects that plugins bring along from outside of what moves.
    pub(crate) brought: BTreeMap<usize, Brought>,
    /// The namespaces that move.
    pub(crate) moving: BTreeSet<String>,
    /// Why not to go on: what plugins would bring along, and may not.
    pub(crate) refusals: Vec<Refusal>,
    /// Needs by the object that has them: indices of the relations' needs, with what is needed.
    pub(crate) needs: BTreeMap<usize, Vec<(usize, usize)>>,
    /// How many ties were followed: the work done.
    pub(crate) visits: usize,
}

impl Selection {
    /// Whether an object is in the set.
    pub(crate) fn has(&self, object: usize) -> bool {
        self.why(object).is_some()
    }

    /// Why it is.
    pub(crate) fn why(&self, object: usize) -> Option<&Chosen> {
        self.chosen.get(object).and_then(Option::as_ref)
    }

    /// The set, by index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.chosen.iter().enumerate().filter(|(_, why)| why.is_some()).map(|(index, _)| index)
    }

    /// Puts an object into the set; says whether that is new.
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
