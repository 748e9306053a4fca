//! Makes a [`Plan`](crate::plan::Plan) from the inventory, the scope and the plugins' relations.
//!
//! | module | content |
//! |---|---|
//! | `make` | the planner itself |
//! | `clusters` | the Cluster that each step belongs to |
//! | `mapping_check` | refusals because of other names of namespaces |
//! | `fate` | objects that are deleted from the source or kept |
//! | `creation_order` | the order of creation |
//! | `add_to_plan` | steps for objects from manifests |

pub mod add_to_plan;
mod clusters;
pub(crate) mod creation_order;
pub(crate) mod fate;
mod make;
mod mapping_check;

pub use make::make_plan;

#[cfg(test)]
mod tests;
