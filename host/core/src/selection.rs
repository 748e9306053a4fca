//! The set of objects that move.
//!
//! | module | content |
//! |---|---|
//! | `input` | the input of a selection |
//! | `select` | the passes that select the set |
//! | `chosen_objects` | the set, with a reason for each object |
//! | `by_cluster` | the part of the set that belongs to named Clusters |
//! | `exclude` | objects that the user excludes |
//! | `also_copy` | objects that the user also copies |
//! | `out_of_scope` | objects from outside the scope that plugins add |

pub(crate) mod also_copy;
pub(crate) mod by_cluster;
pub(crate) mod chosen_objects;
pub(crate) mod exclude;
pub(crate) mod input;
pub(crate) mod out_of_scope;
pub mod select;
