//! What a command found or did.

use std::time::Duration;

use pivot_core::Side;
use pivot_core::record::{Phase, Record};

use crate::phases::sequence::Done;

/// A move that came to its end.
#[derive(Clone, Debug)]
pub struct Report {
    /// The move's id.
    pub move_id: String,
    /// What was done.
    pub done: Done,
    /// How long each phase took.
    pub times: Vec<(Phase, Duration)>,
}

/// Where a move stands.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// The record that decides, and whose it is; none where no move is under way.
    pub record: Option<(Side, Record)>,
    /// Who holds the lease.
    pub holder: Option<String>,
    /// The side that does not answer, and why: the record is the other side's then.
    pub silent: Option<(Side, String)>,
    /// Whether the move goes to another target than the one given.
    pub elsewhere: bool,
    /// Whether the move was rolled back without its target, which has a record of it still.
    pub orphaned: bool,
}
