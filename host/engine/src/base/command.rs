//! The commands that write, with the arguments that only some of them have.

use std::collections::BTreeSet;

use pivot_core::Side;
use pivot_core::request::scope::ClusterName;

/// Arguments of a resume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// The move, by its id or the beginning of that. Without one, only one may be under way.
    pub move_id: Option<String>,
    /// The source is unreachable for good.
    pub without_source: bool,
    /// The files of a handover were imported into the target.
    pub imported: bool,
    /// The Clusters that may be unpaused, by their names in the source.
    pub unpause: BTreeSet<ClusterName>,
    /// The restored Clusters whose lost workers may be dropped, by their names in the source.
    pub drop: BTreeSet<ClusterName>,
    /// The Clusters of the source that may be paused although only the target says that they moved.
    pub pause: BTreeSet<ClusterName>,
}

/// Arguments of a rollback.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollback {
    /// The move, by its id or the beginning of that. Without one, only one may be under way.
    pub move_id: Option<String>,
    /// The side that is unreachable for good. Without its target, the source is unpaused all the same.
    pub absent: Option<Side>,
    /// The Clusters that may be unpaused, by their names in the source.
    pub unpause: BTreeSet<ClusterName>,
}

/// A command under the locks, with its own arguments.
#[derive(Clone)]
pub(crate) enum Command {
    Start,
    Resume(Resume),
    Rollback(Rollback),
    FinishAlone { move_id: Option<String> },
}

impl Command {
    /// The move that the command names, by its id or the beginning of that.
    pub(crate) fn named_move(&self) -> Option<&str> {
        match self {
            Self::Start => None,
            Self::Resume(Resume { move_id, .. })
            | Self::Rollback(Rollback { move_id, .. })
            | Self::FinishAlone { move_id } => move_id.as_deref(),
        }
    }

    /// The side that the command goes without.
    pub(crate) fn absent_side(&self) -> Option<Side> {
        match self {
            Self::Start => None,
            Self::Resume(resume) => resume.without_source.then_some(Side::Source),
            Self::Rollback(rollback) => rollback.absent,
            Self::FinishAlone { .. } => Some(Side::Source),
        }
    }

    /// Returns true if the files of a handover were imported into the target.
    pub(crate) fn is_after_import(&self) -> bool {
        matches!(self, Self::Resume(Resume { imported: true, .. }))
    }

    /// The Clusters that may be unpaused, by their names in the source.
    pub(crate) fn clusters_to_unpause(&self) -> &BTreeSet<ClusterName> {
        match self {
            Self::Resume(Resume { unpause, .. }) | Self::Rollback(Rollback { unpause, .. }) => unpause,
            Self::Start | Self::FinishAlone { .. } => &NO_CLUSTERS,
        }
    }

    /// The restored Clusters whose lost workers may be dropped, by their names in the source.
    pub(crate) fn clusters_to_drop(&self) -> &BTreeSet<ClusterName> {
        match self {
            Self::Resume(resume) => &resume.drop,
            Self::Start | Self::Rollback(_) | Self::FinishAlone { .. } => &NO_CLUSTERS,
        }
    }

    /// The Clusters of the source that may be paused although only the target says that they moved.
    pub(crate) fn clusters_to_pause(&self) -> &BTreeSet<ClusterName> {
        match self {
            Self::Resume(resume) => &resume.pause,
            Self::Start | Self::Rollback(_) | Self::FinishAlone { .. } => &NO_CLUSTERS,
        }
    }
}

static NO_CLUSTERS: BTreeSet<ClusterName> = BTreeSet::new();
