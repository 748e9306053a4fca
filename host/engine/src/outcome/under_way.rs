//! A move under way, as far as the sides that were read know.

use pivot_core::Side;
use pivot_core::record::Record;
use pivot_core::scope::Scope;
use serde::{Deserialize, Serialize};

use crate::outcome::advice::{Files, KnownSides, OneRecord, Situation, Why};

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

/// The state of one move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveStatus {
    /// The side whose record decides. If that side can't be read, the record is the other's, and the move may be further.
    pub decides: Side,
    /// That record.
    pub record: Record,
    /// Whether the move's target differs from the given one.
    pub elsewhere: bool,
    /// Whether the move was rolled back without its target, which still has a record of it.
    pub orphaned: bool,
    /// What moves, by the source's own record: the other may be a stranger's.
    #[serde(skip)]
    pub asked: Option<Scope>,
    /// What the objects show, if a side that was read has no record of it.
    #[serde(skip)]
    pub one_sided: Option<OneSidedMove>,
    /// The side of this move that was not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Side>,
}

impl MoveStatus {
    /// What is known of the move when users ask for its state. `silent` is a side that does not answer, and `into_directory` says
    /// whether the target that they named is a directory.
    pub fn situation(&self, silent: Option<Side>, into_directory: bool) -> Situation<'_> {
        let Self { record, .. } = self;
        let sides = match (silent, self.missing) {
            _ if self.elsewhere => KnownSides::OtherTarget,
            (_, Some(missing)) => KnownSides::NotGiven(missing),
            (Some(silent), None) => KnownSides::Silent(silent),
            (None, None) if into_directory => KnownSides::IntoDirectory,
            (None, None) => KnownSides::Both,
        };
        let one_sided = match &self.one_sided {
            Some(lost) => Some(OneRecord::Lost(lost)),
            None => self.orphaned.then_some(OneRecord::RolledBack),
        };
        // Its file is one that only its user can name.
        let files = if record.plan.is_some() { Files::OtherInputs } else { Files::Named };
        Situation {
            record,
            phase: record.phase,
            sides,
            one_sided,
            files,
            not_imported: false,
            why: Why::Asked,
        }
    }
}
