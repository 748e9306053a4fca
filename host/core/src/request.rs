//! Input of a user: the scope of a move, names of namespaces, manifests.
//!
//! | module | content |
//! |---|---|
//! | `scope` | the objects that a user wants to move, and the accepted risks |
//! | `mapping` | namespaces that have another name in the target |
//! | `manifest_object` | an object from a manifest |
//! | `selector_syntax` | kinds and selectors as users type them |
//! | `validate` | rules for the names of objects, kinds and labels |
//! | `network` | networks, and addresses that are reached only if the operator names them |

pub mod manifest_object;
pub mod mapping;
pub mod network;
pub mod scope;
pub mod selector_syntax;
pub mod validate;
