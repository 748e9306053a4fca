//! What a command found or did.

use std::time::Duration;

use pivot_core::Side;
use pivot_core::record::{Finished, Phase};

use serde::Serialize;

use crate::leftover::Leftover;
use crate::outcome::under_way::MoveStatus;
use crate::phases::sequence::Done;

/// A move that was completed.
#[derive(Clone, Debug)]
pub struct Report {
    /// The move's id.
    pub move_id: String,
    /// What it did.
    pub done: Done,
    /// How long each phase took.
    pub times: Vec<(Phase, Duration)>,
}

/// The state of moves.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// The moves under way.
    pub moves: Vec<MoveStatus>,
    /// The locks and their holders.
    pub locks: Vec<LockStatus>,
    /// The side that does not answer, and why; the records are then the other side's.
    pub silent: Option<(Side, String)>,
    /// The side that was not given.
    pub missing: Option<Side>,
    /// The last moves that ended, as far as the two sides still have them, the latest first.
    pub finished: Vec<Finished>,
    /// What is left in the source, if both sides answer and no move is under way.
    pub left: Option<Leftover>,
}

/// The holder of a lock, and the move it is for.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LockStatus {
    /// The Lease.
    pub name: String,
    /// The holder; empty if there is none, and a move that stopped midway claims the lock.
    pub holder: String,
    /// The move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub move_id: Option<String>,
}
