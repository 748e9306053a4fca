//! What the objects show of a move that only one side has a record of.

/// A move that only one side has a record of, by what the objects show. A missing record alone shows nothing: either cluster may have
/// been restored from a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OneSidedMove {
    /// The target took over, so that what its source has is out of date; with the proof.
    TakenOver(String),
    /// By the source's record it is committed, and nothing in the target shows that: the source may be the last copy.
    LastCopyInSource,
    /// The source has none of the objects, and the target says that nothing was deleted yet: the target's copies may be the last.
    LastCopyInTarget,
}

impl OneSidedMove {
    /// What the objects show of the move, and what that means.
    pub fn describe(&self, move_id: &str) -> String {
        match self {
            Self::TakenOver(proof) => format!(
                "{proof}: the target has taken over, and what the source has is out of date; keep its Clusters paused"
            ),
            Self::LastCopyInSource => format!(
                "the source says that move {move_id} is committed, and the target has neither a record nor a summary of it, and no \
                 copy that runs: the target may have been restored from a backup, and the source may be the last copy"
            ),
            Self::LastCopyInTarget => format!(
                "the target says that move {move_id} has deleted nothing yet, and its source has neither a record nor any of the \
                 objects: the source seems to have been released, and the target restored from a backup of before that, so that \
                 its copies are the last"
            ),
        }
    }
}
