//! Checks of a plan before anything is changed.
//!
//! | module | content |
//! |---|---|
//! | `preflight` | checks of the objects that would move |
//! | `unusable_objects` | names and bodies that a move can't work with |
//! | `served_versions` | kinds and versions that the target serves |
//! | `stored_versions` | versions in which the source stores objects |
//! | `providers` | providers that the target runs |
//! | `provider_deployments` | objects that the controllers of these providers watch |
//! | `stopped_providers` | providers of the target whose Deployments don't run |
//! | `nodes` | nodes of the target that can run controllers |
//! | `collateral` | objects that stay and would lose their owners |
//! | `dangling` | objects that stay and would be missing in the target |
//! | `fitting_plugins` | bundled plugins that are made for the kinds of a plan |
//! | `extensions` | runtime extensions that moved Clusters need in the target |
//! | `gitops` | objects that a GitOps tool would create again in the source |
//! | `drain_rules` | MachineDrainRules that stay |
//! | `garbage_collector` | a simulation of the garbage collector |

pub mod collateral;
pub mod dangling;
pub mod drain_rules;
pub mod extensions;
pub mod fitting_plugins;
pub(crate) mod garbage_collector;
pub mod gitops;
pub mod nodes;
pub mod preflight;
pub mod provider_deployments;
pub mod providers;
pub mod served_versions;
pub mod stopped_providers;
pub mod stored_versions;
pub mod unusable_objects;
