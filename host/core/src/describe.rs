//! One Cluster as a tree for people: what belongs to it, in which state, as operators know it from `clusterctl describe cluster`.
//!
//! Objects in, a tree of values out. Whoever shows it draws the lines; whoever reads the objects asks [`referenced`] what else to
//! read. docs/describe.md lists where the tree differs from clusterctl's.

mod age;
mod body;
mod columns;
mod conditions;
mod filter;
mod machines;
mod members;
mod node;
mod references;
mod resource_sets;
#[cfg(test)]
mod tests;
mod tree;

pub use age::format_age;
pub use columns::{Columns, Replicas};
pub use conditions::{Condition, Tone};
pub use filter::Filter;
pub use node::{NamedObject, Node, Problem, Subject};
pub use references::{find_references, needed_kinds};
pub use tree::{Described, Tree, View, build_tree};
