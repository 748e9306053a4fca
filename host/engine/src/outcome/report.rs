//! What a command found or did.

use std::time::Duration;

use pivot_core::Side;
use pivot_core::record::{Finished, Phase};

use serde::Serialize;

use crate::leftover::Leftover;
use crate::outcome::under_way::MoveStatus;
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

/// Where moves stand.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Those under way.
    pub moves: Vec<MoveStatus>,
    /// Who holds which lock.
    pub locks: Vec<LockStatus>,
    /// The side that does not answer, and why: the records are the other side's then.
    pub silent: Option<(Side, String)>,
    /// The side that was not given.
    pub missing: Option<Side>,
    /// The last moves that ended, as far as the two sides still know, the latest first.
    pub finished: Vec<Finished>,
    /// What is left in the source, where both sides answer and no move is under way.
    pub left: Option<Leftover>,
}

/// Who holds a lock, and for which move.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LockStatus {
    /// The Lease.
    pub name: String,
    /// Who holds it; empty where nobody does, and a move that stopped midway claims it.
    pub holder: String,
    /// The move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub move_id: Option<String>,
}
