//! What a command found or did.

use std::time::Duration;

use pivot_core::record::{Finished, Phase, RolledBackMove};
use pivot_core::{Key, Side};

use serde::Serialize;

use crate::leftover::Leftover;
use crate::outcome::under_way::MoveStatus;
use crate::phases::sequence::Done;
use crate::state::lease::DURATION;

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
    /// Leases of moves, with their holders.
    pub leases: Vec<LeaseStatus>,
    /// The side that does not answer, and why; the records are then the other side's.
    pub silent: Option<(Side, String)>,
    /// The side that was not given.
    pub missing: Option<Side>,
    /// Clusters that moves of which the given side has no record copied here, and that wait, paused.
    pub waiting_copies: Vec<WaitingCopies>,
    /// The last moves that ended, as far as the two sides still have them, the latest first.
    pub finished: Vec<Finished>,
    /// The last moves that were rolled back, as far as the two sides still have them, the latest first.
    pub rolled_back: Vec<RolledBackMove>,
    /// What is left in the source, if both sides answer and no move is under way.
    pub left: Option<Leftover>,
}

/// The holder of a lock, and the move it is for.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseStatus {
    /// The Lease.
    pub name: String,
    /// The holder; empty if there is none, and a move that stopped midway claims the lock.
    pub holder: String,
    /// The move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub move_id: Option<String>,
    /// How many seconds ago the holder renewed it, by its clock and this machine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewed_seconds_ago: Option<u64>,
}

impl LeaseStatus {
    /// Whether a run holds it that has renewed it in time.
    pub fn is_alive(&self) -> bool {
        let limit = DURATION.as_secs();
        !self.holder.is_empty() && self.renewed_seconds_ago.is_some_and(|seconds| seconds < limit)
    }
}

/// Clusters that one move copied into a cluster, paused. The move is not committed, or its records are lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingCopies {
    /// The move.
    pub move_id: String,
    /// The Clusters.
    pub clusters: Vec<Key>,
}
