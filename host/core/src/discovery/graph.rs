//! The ownership graph.
//!
//! Nodes of the petgraph are the objects of an inventory, with the same index. Edges lead from an owner to its dependent. Owners
//! are found by UID alone: the version in a reference dates from when it was written and may no longer be served (W11). Owners
//! that were not read are no nodes and are stored separately, so that no check meets an object of which only the name is known
//! (W4).

use std::collections::BTreeMap;

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

use crate::discovery::implicit_links::SoftLinks;
use crate::discovery::inventory::Inventory;
use crate::plan::Note;
use crate::plugins::relations::Relations;
use crate::{Key, OwnerReference};

/// The tie between a dependent and its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tie {
    /// An owner reference.
    Owner,
    /// A name or a reference in a body.
    Soft,
    /// A plugin's link.
    Plugin,
}

/// The ownership graph of an inventory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    edges: DiGraph<(), Tie, u32>,
    unread: BTreeMap<usize, Vec<OwnerReference>>,
}

impl Graph {
    /// Builds the graph from owner references, soft links and plugins' links.
    pub(crate) fn new(
        inventory: &Inventory,
        soft: &SoftLinks,
        relations: &Relations,
        notes: &mut Vec<Note>,
    ) -> Self {
        let count = inventory.objects().len();
        let mut graph = Self { edges: DiGraph::with_capacity(count, count), unread: BTreeMap::new() };
        for _ in inventory.objects() {
            graph.edges.add_node(());
        }
        for (dependent, object) in inventory.objects().iter().enumerate() {
            for reference in &object.meta.owner_references {
                match inventory.index_of_uid(&reference.uid) {
                    Some(owner) => graph.add_tie(owner, dependent, Tie::Owner),
                    None => graph.unread.entry(dependent).or_default().push(reference.clone()),
                }
            }
        }
        for &(dependent, owner) in &soft.links {
            graph.add_tie(owner, dependent, Tie::Soft);
        }
        for link in &relations.links {
            let Some(dependent) = inventory.index_of_uid(&link.object) else { continue };
            match inventory.index_of_key(&link.to) {
                Some(owner) if owner == dependent => {}
                Some(owner) => graph.add_tie(owner, dependent, Tie::Plugin),
                None if !inventory.is_trusted(dependent) => {}
                None => {
                    let (plugin, to) = (&link.plugin, &link.to);
                    let message = format!(
                        "plugin {plugin} links it with {to}, which was not read: the link is ignored"
                    );
                    notes.push(Note::new("link-missing", inventory.keys().get(dependent), message));
                }
            }
        }
        graph
    }

    fn add_tie(&mut self, owner: usize, dependent: usize, tie: Tie) {
        self.edges.add_edge(NodeIndex::new(owner), NodeIndex::new(dependent), tie);
    }

    /// Returns the number of ties.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.edges.edge_count()
    }

    /// Returns the owners of an object, in an arbitrary but stable order.
    pub(crate) fn owners(&self, object: usize) -> impl Iterator<Item = (usize, Tie)> {
        let edges = self.edges.edges_directed(NodeIndex::new(object), Direction::Incoming);
        edges.map(|edge| (edge.source().index(), *edge.weight()))
    }

    /// Returns the dependents of an object, in an arbitrary but stable order.
    pub(crate) fn dependents(&self, object: usize) -> impl Iterator<Item = (usize, Tie)> {
        let edges = self.edges.edges_directed(NodeIndex::new(object), Direction::Outgoing);
        edges.map(|edge| (edge.target().index(), *edge.weight()))
    }

    /// Returns the references to owners that were not read.
    pub(crate) fn unread(&self, object: usize) -> &[OwnerReference] {
        self.unread.get(&object).map_or(&[], Vec::as_slice)
    }
}

/// Returns true if a dependent's reference names the owner correctly. A reference that matches by UID alone has no effect: the
/// garbage collector looks for the owner by name, in the dependent's namespace.
pub(crate) fn matches_owner(reference: &OwnerReference, owner: &Key, dependent: &Key) -> bool {
    let named = reference.group_kind() == owner.group_kind && reference.name == owner.name;
    named && (owner.namespace.is_none() || owner.namespace == dependent.namespace)
}

/// Returns the key of an owner as the reference gives it. References don't contain the owner's namespace.
pub(crate) fn owner_key(reference: &OwnerReference) -> Key {
    Key::new(reference.group_kind(), None, &reference.name)
}
