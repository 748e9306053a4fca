//! The changes to objects and leases, and the dangers: words that programs can compare.

use serde::{Deserialize, Serialize};

/// What was done to an object.
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
    /// Un-paused, or no longer held.
    Resumed,
    /// Un-paused in the source, where it stays beside its copy.
    Kept,
    /// Deleted from the source.
    Deleted,
    /// Un-paused as the last step, after plugins settled it.
    Settled,
    /// Removed from the target by a rollback.
    Removed,
}

/// A danger that users accept by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Danger {
    /// Copies lack references to owners of these kinds.
    OwnersDropped,
    /// Objects of these kinds are garbage-collected with what is deleted.
    DependentsLost,
    /// Kinds that are dangerous to move have no plugin.
    NoPlugin,
    /// Pools of these kinds give out addresses on both sides.
    PoolsShared,
    /// Objects of these kinds have the old name of a mapped namespace somewhere.
    OldNamespaces,
    /// Objects that someone else paused are moved.
    AlreadyPaused,
    /// Clusters and Machines that are not provisioned are moved.
    NotProvisioned,
    /// The source is files, and it is unknown whether the clusters they were copied from still run.
    SourceMayLiveOn,
    /// Shared objects of the target are used although they differ.
    ExistingDiffers,
    /// The source's controllers are not waited for.
    PauseUnconfirmed,
    /// The target's controllers of these kinds are not waited for.
    KindsUnverified,
    /// The target's controllers are not waited for.
    TargetUnconfirmed,
    /// Another run's lease is not waited for.
    LeaseTakenOver,
    /// The plugins differ from those that the move was begun with.
    PluginsChanged,
    /// The move is finished without its source.
    SourceGone,
    /// The move is rolled back without its target.
    TargetGone,
    /// The target lost a committed move, and its source becomes authoritative again: nothing shows what the target did meanwhile.
    WorldChanged,
    /// A source that was handed over in files is deleted although copies of these kinds have changed, or gone, since the import.
    CopiesChanged,
    /// A source that was handed over in files is resumed, and nothing shows that they were imported nowhere.
    NotImported,
}

/// What a run does about a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeaseState {
    /// It holds the lease.
    Taken,
    /// Another run, which may be dead, holds it.
    Waiting,
    /// It was taken from another run, and nothing else is done until that run must have noticed.
    TakenOver,
}
