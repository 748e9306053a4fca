//! The outcome of a run that did not finish its move.

use std::fmt;
use std::time::Duration;

use pivot_core::Side;
use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::records::record::Phase;
use serde::{Deserialize, Serialize};

use crate::base::outcome::change_counts::Counts;
use crate::base::outcome::failure::{Exit, Failure};
use crate::base::outcome::remedies;

/// A command that makes sense after a stop, for the same two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Next {
    /// See how far the move is.
    Status,
    /// Continue the move.
    Resume,
    /// Undo the move.
    Rollback,
    /// Continue without the source, if that is lost for good.
    ResumeWithoutSource,
    /// Undo the move without the target, if that is lost for good.
    RollbackWithoutTarget,
    /// Continue the move: its files were imported into the target.
    FinishHandover,
    /// Undo the move, if its files were imported nowhere.
    CancelHandover,
    /// Delete from a source that went back, if it is as it was copied and each of its Clusters runs in the target.
    DeleteFromSource,
}

/// The outcome of a run that did not get to its end.
#[derive(Debug)]
pub struct Stop {
    /// The failure.
    pub failure: Failure,
    /// The phase it was in; `None` if nothing had been recorded.
    pub phase: Option<Phase>,
    /// The exit code.
    pub exit: Exit,
    /// The state of both sides now.
    pub state: String,
    /// The commands that make sense now, best first.
    pub next: Vec<Next>,
    /// The move that these commands are about; `None` if no move is under way.
    pub move_id: Option<String>,
    /// Duration of each phase that this run finished.
    pub times: Vec<(Phase, Duration)>,
    /// The changes this run made to objects, including undoing.
    pub done: Counts,
}

impl Stop {
    /// Returns true if the cause goes away by itself while clusters are being built, so that a later run can succeed. Nothing was
    /// changed. An example is a target that doesn't answer yet.
    pub fn passes(&self) -> bool {
        self.phase.is_none()
            && match &self.failure {
                Failure::Refused(refusals) => {
                    !refusals.is_empty() && refusals.iter().all(Refusal::is_transient)
                }
                Failure::Unreachable { side, .. } => *side == Side::Target,
                Failure::Place { side, error, .. } => *side == Side::Target && error.is_transient(),
                _ => false,
            }
    }

    /// Returns alternative remedies for the failure, in addition to the commands of [`Stop::next`].
    pub fn remedies(&self) -> Vec<Remedy> {
        remedies::remedies_for(&self.failure, self.exit)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

impl std::error::Error for Stop {}
