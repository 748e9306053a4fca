//! State that outlives a run, and decisions that follow from it.
//!
//! | module | content |
//! |---|---|
//! | `backup` | facts about a backup, for the manifest of its directory |
//! | `record` | the record of a move |
//! | `format` | the version of a format |
//! | `guard` | policies that keep a move's objects paused |
//! | `release` | the source objects that are deleted at the end, with their state and order |
//! | `saved_plan` | a plan in a file, and differences from a new plan |
//! | `cluster_identity` | the identity of a workload cluster |
//! | `plugin_set` | the plugins of two parties, compared |
//! | `route` | the kinds of both sides, and the route of a move |
//! | `treatment` | the treatment of one object by a move |

pub mod backup;
pub mod cluster_identity;
pub mod format;
pub mod guard;
pub mod plugin_set;
pub mod record;
pub mod release;
pub mod route;
pub mod saved_plan;
pub mod treatment;
