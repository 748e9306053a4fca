//! What a controller is told, and what its attempts share.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pivot_core::Both;
use pivot_core::part::Part;
use pivot_engine::{Plugins, Stop};

use crate::clusters::Opener;
use crate::home::Home;
use crate::metrics::Metrics;
use crate::turns::Turns;

/// How a controller runs.
#[derive(Clone)]
pub struct Settings {
    /// Its own namespace: for its Lease, and for the ways to targets that it keeps.
    pub namespace: String,
    /// Where leases and records of moves are kept, on both sides.
    pub record_namespace: String,
    /// What every move out of its cluster carries along.
    pub also_copy: BTreeSet<Part>,
    /// Its name among the controllers of its cluster.
    pub identity: String,
    /// The most moves at work at once. As many again may wait for others.
    pub at_once: usize,
    /// The longest wait that a Pivot may ask for: a move that waits holds what it has read.
    pub longest_wait: Duration,
    /// Bytes of a release list that are read: a move that fits into the controller's memory has a shorter one.
    pub release_list_limit: usize,
    /// Flags of kubectl for the two sides of a move, in commands that readers of a Pivot can paste.
    pub kubectl_flags: Both<Vec<String>>,
    /// Why a move stopped, for people.
    pub explain: fn(&Stop) -> String,
}

/// What all attempts share.
pub(crate) struct Shared {
    pub(crate) home: Arc<Home>,
    pub(crate) opener: Arc<dyn Opener>,
    pub(crate) plugins: Arc<dyn Fn() -> Plugins + Send + Sync>,
    pub(crate) settings: Settings,
    pub(crate) metrics: Arc<Metrics>,
    /// For moves.
    pub(crate) turns: Arc<Turns>,
    /// For reading a Pivot and opening its clusters, which may not answer.
    pub(crate) opening_turns: Arc<Turns>,
}
