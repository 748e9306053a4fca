//! The input of a selection.

use crate::discovery::graph::Graph;
use crate::discovery::implicit_links::is_cluster;
use crate::discovery::inventory::Inventory;
use crate::plugins::reach;
use crate::plugins::relations::{Relations, Said};
use crate::request::scope::Scope;
use crate::{Key, Object};

/// The objects of the source, their ties, the user's scope and the plugins' relations. Objects are indices of the inventory.
#[derive(Clone, Copy)]
pub(crate) struct SelectionInput<'a> {
    pub(crate) inventory: &'a Inventory,
    pub(crate) graph: &'a Graph,
    pub(crate) scope: &'a Scope,
    pub(crate) relations: &'a Relations,
}

impl<'a> SelectionInput<'a> {
    pub(crate) fn key(&self, object: usize) -> Option<&'a Key> {
        self.inventory.keys().get(object)
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = (usize, &'a Object)> {
        self.inventory.objects().iter().enumerate()
    }

    pub(crate) fn matches(&self, object: usize, test: impl Fn(&Object) -> bool) -> bool {
        self.inventory.get(object).is_some_and(test)
    }

    pub(crate) fn is_cluster(&self, object: usize) -> bool {
        self.matches(object, |object| is_cluster(&object.kind.group_kind))
    }

    /// Returns a plugin's statement that it leaves an object in the source.
    pub(crate) fn find_leave(&self, object: usize) -> Option<&'a Said> {
        self.relations.find_leave(&self.inventory.get(object)?.meta.uid)
    }

    /// Returns true if a relation between two objects stays inside one namespace of the scope.
    pub(crate) fn is_inside(&self, one: usize, other: usize) -> bool {
        let keys = self.key(one).zip(self.key(other));
        keys.is_some_and(|(one, other)| reach::is_inside(self.scope, one, other))
    }
}
