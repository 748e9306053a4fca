//! The order in which objects are created: owners and link targets first.
//!
//! Layers of the graph, like the peer's: an object's layer is one more than the highest layer of its predecessors. An owner cycle
//! has no order; it is reported with the references that form it, and its ties are left out so that the rest of the plan can
//! still be shown. A cycle that includes a link does no harm: links only order, so those inside the cycle are left out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::GroupKind;
use crate::discovery::graph::{Graph, Tie};
use crate::discovery::inventory::Inventory;
use crate::selection::chosen_objects::Selection;

/// The order of a set.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// Objects by index, in the order of creation.
    pub(crate) sequence: Vec<usize>,
    /// The predecessors of each object.
    pub(crate) after: BTreeMap<usize, BTreeSet<usize>>,
    /// One cycle for each knot of owner references that no accepted drop breaks. Each object is owned by the next, the last by
    /// the first.
    pub(crate) cycles: Vec<Vec<usize>>,
    /// Owner references (dependent, owner) that are dropped to break a cycle.
    pub(crate) opened: Vec<(usize, usize)>,
    /// Links (dependent, owner) that are ignored because they are part of a cycle.
    pub(crate) ignored: Vec<(usize, usize)>,
}

#[derive(Clone, Copy)]
struct Edge {
    owner: usize,
    dependent: usize,
    hard: bool,
}

/// Orders the set. References to owners of the given kinds may be dropped to break a cycle.
pub(crate) fn order_selection(
    inventory: &Inventory,
    graph: &Graph,
    selection: &Selection,
    drop_owners: &BTreeSet<GroupKind>,
) -> Order {
    let mut order = Order::default();
    let set: Vec<usize> = selection.iter().collect();
    let mut edges: Vec<Edge> = set
        .iter()
        .flat_map(|&dependent| graph.owners(dependent).map(move |(owner, tie)| (owner, dependent, tie)))
        .filter(|(owner, _, _)| selection.has(*owner))
        .map(|(owner, dependent, tie)| Edge { owner, dependent, hard: tie == Tie::Owner })
        .collect();
    edges.sort_by_key(|edge| (edge.dependent, edge.owner, !edge.hard));
    // One object may both own another by reference and be linked with it.
    edges.dedup_by_key(|edge| (edge.dependent, edge.owner));

    let count = inventory.objects().len();
    let mut layers = assign_layers(count, &set, &edges);
    if layers.is_none() {
        order.break_cycles(inventory, &set, &mut edges, drop_owners);
        layers = assign_layers(count, &set, &edges);
    }
    let layers = layers.unwrap_or_default();
    for edge in edges {
        order.after.entry(edge.dependent).or_default().insert(edge.owner);
    }
    order.sequence = set;
    order.sequence.sort_by_key(|object| (layers.get(*object).copied(), *object));
    order
}

/// Returns the layer of each object, by Kahn's algorithm; none if there is a cycle.
fn assign_layers(count: usize, set: &[usize], edges: &[Edge]) -> Option<Vec<usize>> {
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut waits = vec![0_usize; count];
    for edge in edges {
        dependents.get_mut(edge.owner)?.push(edge.dependent);
        *waits.get_mut(edge.dependent)? += 1;
    }
    let mut layers = vec![0_usize; count];
    let mut ready: VecDeque<usize> =
        set.iter().copied().filter(|&object| waits.get(object) == Some(&0)).collect();
    let mut laid = 0;
    while let Some(object) = ready.pop_front() {
        laid += 1;
        let below = layers.get(object)? + 1;
        for &dependent in dependents.get(object)? {
            let layer = layers.get_mut(dependent)?;
            *layer = below.max(*layer);
            let wait = waits.get_mut(dependent)?;
            *wait -= 1;
            if *wait == 0 {
                ready.push_back(dependent);
            }
        }
    }
    (laid == set.len()).then_some(layers)
}

impl Order {
    /// Leaves out the ties that form cycles, and remembers them.
    fn break_cycles(
        &mut self,
        inventory: &Inventory,
        set: &[usize],
        edges: &mut Vec<Edge>,
        drop_owners: &BTreeSet<GroupKind>,
    ) {
        let knots = Knots::find(set, edges.iter().filter(|edge| edge.hard));
        edges.retain(|edge| {
            let kind = inventory.get(edge.owner).map(|owner| &owner.kind.group_kind);
            let drop =
                edge.hard && knots.contains_edge(edge) && kind.is_some_and(|kind| drop_owners.contains(kind));
            if drop {
                self.opened.push((edge.dependent, edge.owner));
            }
            !drop
        });

        let knots = Knots::find(set, edges.iter().filter(|edge| edge.hard));
        self.cycles = knots.find_cycles(edges);
        edges.retain(|edge| !(edge.hard && knots.contains_edge(edge)));

        let knots = Knots::find(set, edges.iter());
        edges.retain(|edge| {
            let ignore = !edge.hard && knots.contains_edge(edge);
            if ignore {
                self.ignored.push((edge.dependent, edge.owner));
            }
            !ignore
        });
    }
}

/// Strongly connected components: two objects are in one knot if each belongs to the other.
struct Knots {
    of: BTreeMap<usize, usize>,
}

impl Knots {
    /// Finds the knots by Kosaraju's algorithm. Its stack is on the heap, because chains of owners can have any length.
    fn find<'a>(set: &[usize], edges: impl Iterator<Item = &'a Edge>) -> Self {
        let mut graph: DiGraph<usize, (), u32> = DiGraph::new();
        let nodes: BTreeMap<usize, NodeIndex<u32>> =
            set.iter().map(|&object| (object, graph.add_node(object))).collect();
        for edge in edges {
            if let (Some(&owner), Some(&dependent)) = (nodes.get(&edge.owner), nodes.get(&edge.dependent)) {
                graph.add_edge(owner, dependent, ());
            }
        }
        let mut of = BTreeMap::new();
        for (number, members) in kosaraju_scc(&graph).into_iter().enumerate() {
            of.extend(members.into_iter().filter_map(|node| Some((*graph.node_weight(node)?, number))));
        }
        Self { of }
    }

    /// Returns true if both ends of an edge are in one knot. An object that owns itself is a knot.
    fn contains_edge(&self, edge: &Edge) -> bool {
        self.of.get(&edge.owner) == self.of.get(&edge.dependent)
    }

    /// Returns one cycle of each knot: from its first object to owners inside the knot, until an object repeats.
    fn find_cycles(&self, edges: &[Edge]) -> Vec<Vec<usize>> {
        let mut owner_of: BTreeMap<usize, usize> = BTreeMap::new();
        for edge in edges.iter().filter(|edge| edge.hard && self.contains_edge(edge)) {
            owner_of.entry(edge.dependent).or_insert(edge.owner);
        }
        let mut seen_knots = BTreeSet::new();
        let mut cycles = Vec::new();
        for &start in owner_of.keys() {
            if !self.of.get(&start).is_some_and(|knot| seen_knots.insert(*knot)) {
                continue;
            }
            let mut path = vec![start];
            let mut visited = BTreeSet::from([start]);
            let mut at = start;
            while let Some(&owner) = owner_of.get(&at) {
                if !visited.insert(owner) {
                    path.retain({
                        let mut on = false;
                        move |object| {
                            on |= *object == owner;
                            on
                        }
                    });
                    break;
                }
                path.push(owner);
                at = owner;
            }
            cycles.push(path);
        }
        cycles
    }
}
