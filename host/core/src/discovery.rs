//! Objects that were read from one side, and how they relate.
//!
//! | module | content |
//! |---|---|
//! | `inventory` | everything that was read, each object once |
//! | `graph` | owners, dependents and links |
//! | `implicit_links` | links that no owner reference expresses |
//! | `body_references` | references that bodies contain |
//! | `outside_secrets` | Secrets and ConfigMaps of other namespaces that an object names |
//! | `cluster_scoped_references` | cluster-scoped objects that the objects of a namespace refer to |
//! | `dangerous_kinds` | kinds that are dangerous to move without a plugin |

pub(crate) mod body_references;
pub mod cluster_scoped_references;
pub mod dangerous_kinds;
pub(crate) mod graph;
pub mod implicit_links;
pub mod inventory;
pub mod outside_secrets;
