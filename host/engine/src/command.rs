//! The commands that write, with what only one of them takes.

use std::collections::BTreeSet;

use pivot_core::scope::ClusterName;

/// What only a resume takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// The files of a handover were imported into the target.
    pub imported: bool,
    /// The Clusters of the source that may be paused although only the target says that they moved.
    pub pause: BTreeSet<ClusterName>,
}

/// A command under the locks, and what only this command takes.
#[derive(Clone)]
pub(crate) enum Command {
    Start,
    Resume(Resume),
    Rollback,
    FinishAlone { move_id: Option<String> },
}

impl Command {
    /// Returns true if the files of a handover were imported into the target.
    pub(crate) fn is_after_import(&self) -> bool {
        matches!(self, Self::Resume(Resume { imported: true, .. }))
    }

    /// The Clusters of the source that may be paused although only the target says that they moved.
    pub(crate) fn clusters_to_pause(&self) -> &BTreeSet<ClusterName> {
        static NONE: BTreeSet<ClusterName> = BTreeSet::new();
        match self {
            Self::Resume(resume) => &resume.pause,
            Self::Start | Self::Rollback | Self::FinishAlone { .. } => &NONE,
        }
    }
}
