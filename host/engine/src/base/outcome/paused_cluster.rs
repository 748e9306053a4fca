//! A Cluster that a restore or a recovery left paused.

use pivot_core::Key;

/// A Cluster that a restore or a recovery left paused, because its machines may have changed since its objects were written.
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

impl PausedCluster {
    /// A Cluster that is unpaused as soon as a user names it.
    pub(crate) fn with_reasons(cluster: Key, reasons: Vec<String>) -> Self {
        Self { cluster, reasons, can_be_named: true, can_be_dropped: false }
    }

    /// Describes a Cluster that has reasons.
    pub(crate) fn describe(&self) -> String {
        format!("{}: {}", self.cluster, self.reasons.join("; "))
    }
}
