//! One Cluster as a tree for people: its objects and their states, as operators know it from `clusterctl describe cluster`.
//!
//! Functions here take objects and return a tree of values. The command draws the lines. Before it reads objects, it asks
//! [`find_references`] which other objects are needed. docs/describe.md lists the differences from clusterctl's tree.

mod age;
mod body;
mod columns;
mod conditions;
mod dropped_copies;
mod dropped_names;
mod filter;
mod lost_workers;
mod machines;
mod members;
mod node;
mod node_differences;
mod references;
mod resource_sets;
#[cfg(test)]
mod tests;
mod tree;

pub use age::format_age;
pub use columns::{Columns, Replicas};
pub use conditions::{Condition, Tone};
pub use dropped_copies::find_dropped_copies;
pub use dropped_names::DroppedNames;
pub use filter::Filter;
pub use lost_workers::LostWorkers;
pub use node::{NamedObject, Node, Problem, Subject};
pub use node_differences::{ComparedCluster, NodeDifferences, find_control_plane, find_provider_ids};
pub use references::{find_references, needed_kinds};
pub use tree::{Described, Tree, View, build_tree};
