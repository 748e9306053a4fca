//! The changes to objects and leases: words that programs can compare.

use serde::{Deserialize, Serialize};

/// A change to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Paused in Cluster API's own way.
    Paused,
    /// Held by a plugin's patch.
    Held,
    /// Created from the source object.
    Created,
    /// Updated: an earlier run, or a controller, had created it.
    Updated,
    /// Found, and used unchanged.
    Used,
    /// Unpaused, or no longer held.
    Unpaused,
    /// Unpaused in the source, where it stays next to its copy.
    Kept,
    /// Deleted from the source.
    Deleted,
    /// Held by a plugin, and unpaused as the last step.
    UnpausedHeld,
    /// Removed from the target by a rollback.
    Removed,
}

/// State of a lease for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeaseState {
    /// The run holds the lease.
    Acquired,
    /// Another run, which may be dead, holds it.
    Waiting,
    /// Broke the lease of another run, and nothing else is done until that run must have noticed.
    Broken,
}
