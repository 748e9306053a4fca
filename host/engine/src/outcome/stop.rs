//! How a run ended that did not finish its move.

use std::fmt;
use std::time::Duration;

use pivot_core::record::Phase;
use pivot_core::remedy::Remedy;
use serde::{Deserialize, Serialize};

use crate::outcome::failure::{Exit, Failure};
use crate::outcome::remedies;
use crate::outcome::tally::Counts;

/// A command that makes sense after a stop, for the same two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Next {
    /// See how far the move is.
    Status,
    /// Go on.
    Resume,
    /// Undo it.
    Rollback,
    /// Go on without the source, if that is lost for good.
    ResumeWithoutSource,
    /// Undo it without the target, if that is lost for good.
    RollbackWithoutTarget,
}

/// How a run ended that did not get to its end.
#[derive(Debug)]
pub struct Stop {
    /// What failed.
    pub failure: Failure,
    /// The phase it was in; none where nothing had been written down.
    pub phase: Option<Phase>,
    /// The exit code.
    pub exit: Exit,
    /// What state both sides are in now.
    pub standing: String,
    /// What makes sense now, best first.
    pub next: Vec<Next>,
    /// The move that is meant by that; none where no move is under way.
    pub move_id: Option<String>,
    /// How long each phase took that this run finished.
    pub times: Vec<(Phase, Duration)>,
    /// What this run did to objects, undoing included.
    pub done: Counts,
}

impl Stop {
    /// What can be done about what failed, where that is more than what [`Stop::next`] says; each is a way of its own.
    pub fn remedies(&self) -> Vec<Remedy> {
        remedies::of(&self.failure, self.exit)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

impl std::error::Error for Stop {}
