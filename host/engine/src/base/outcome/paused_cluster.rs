//! A Cluster that a restore left paused.

use pivot_core::Key;

/// A Cluster that a restore left paused, because its machines may have changed since the backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedCluster {
    /// The Cluster, by its name in the source.
    pub cluster: Key,
    /// Differences from its nodes, or the reason why they can't be read.
    pub reasons: Vec<String>,
    /// True if the Cluster is unpaused as soon as a user names it. False if its control plane has a node without a Machine.
    pub can_be_named: bool,
    /// True if only Machines of workers were deleted since the backup, and a user may drop their copies.
    pub can_be_dropped: bool,
}
