//! How a run ended that did not finish its move.

use std::fmt;

use pivot_core::record::Phase;

use crate::outcome::failure::{Exit, Failure};
use crate::outcome::remedies;

/// How a run ended that did not get to its end.
#[derive(Debug)]
pub struct Stop {
    /// What failed.
    pub failure: Failure,
    /// The phase it was in; none where nothing had been written down.
    pub phase: Option<Phase>,
    /// The exit code.
    pub exit: Exit,
    /// How both sides stand now.
    pub standing: String,
    /// Commands that make sense now: `resume`, `rollback`, `move`.
    pub next: Vec<&'static str>,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.failure, remedies::of(&self.failure, self.exit).unwrap_or_default())
    }
}

impl std::error::Error for Stop {}
