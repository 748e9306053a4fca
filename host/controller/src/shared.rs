//! The settings of a controller, and the state that its attempts share.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pivot_core::Both;
use pivot_core::objects::selector::Part;
use pivot_engine::{Plugins, Stop};

use crate::clusters::Opener;
use crate::home::Home;
use crate::metrics::Metrics;
use crate::turns::Turns;

/// Settings of a controller.
#[derive(Clone)]
pub struct Settings {
    /// The controller's own namespace, with its Lease and its copies of targets' Secrets.
    pub namespace: String,
    /// Namespace of leases and records of moves, on both sides.
    pub record_namespace: String,
    /// Objects that every move out of the controller's cluster also copies.
    pub also_copy: BTreeSet<Part>,
    /// Namespaces in which a suspended Pivot is created for each Cluster that an agent of the namespace offers.
    pub accept_returns: BTreeSet<String>,
    /// Name of the controller among the controllers of its cluster.
    pub identity: String,
    /// The most moves at work at once. As many again may wait for others.
    pub at_once: usize,
    /// The longest wait that a Pivot may ask for: a move that waits holds what it has read.
    pub longest_wait: Duration,
    /// Bytes of a release list that are read: a move that fits into the controller's memory has a shorter one.
    pub release_list_limit: usize,
    /// Flags of kubectl for the two sides of a move, in commands that readers of a Pivot can paste.
    pub kubectl_flags: Both<Vec<String>>,
    /// Explains to people why a move stopped.
    pub explain: fn(&Stop) -> String,
}

/// State that all attempts share.
pub(crate) struct Shared {
    pub(crate) home: Arc<Home>,
    pub(crate) opener: Arc<dyn Opener>,
    pub(crate) plugins: Arc<dyn Fn() -> Plugins + Send + Sync>,
    pub(crate) settings: Settings,
    pub(crate) metrics: Arc<Metrics>,
    /// Turns for moves.
    pub(crate) turns: Arc<Turns>,
    /// Turns for reading a Pivot and opening its clusters, which may be unreachable.
    pub(crate) opening_turns: Arc<Turns>,
}
