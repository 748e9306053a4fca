//! Requests, plugins, events, failures, and the state that outlives a run: what every other layer needs.

pub(crate) mod clock;
pub(crate) mod command;
pub mod events;
pub(crate) mod job;
pub(crate) mod kinds;
pub mod options;
pub(crate) mod outcome;
pub(crate) mod plugins;
pub(crate) mod requests;
pub(crate) mod setup;
pub(crate) mod state;
pub(crate) mod workload_clusters;
