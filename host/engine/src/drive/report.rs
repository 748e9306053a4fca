//! Results of commands.

use std::collections::BTreeSet;
use std::time::Duration;

use pivot_core::messages::refusal::some_of;
use pivot_core::messages::safe_text;
use pivot_core::records::record::{Finished, Phase, RolledBackMove};
use pivot_core::{Key, Side};

use serde::Serialize;

use crate::base::outcome::under_way::MoveStatus;
use crate::base::state::lease::DURATION;
use crate::base::state::moves::{MAX_ID_BYTES, MAX_NAMED_MOVES};
use crate::drive::leftover::Leftover;
use crate::drive::sequence::Done;

/// A move that was completed.
#[derive(Clone, Debug)]
pub struct Report {
    /// The move's id.
    pub move_id: String,
    /// Result of the move.
    pub done: Done,
    /// Duration of each phase.
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
    /// The side that the user did not name.
    pub missing: Option<Side>,
    /// Paused Clusters that moves copied here, if the named side has no record of these moves.
    pub waiting_copies: Vec<WaitingCopies>,
    /// The error of a list of Clusters, which may hide more of these copies.
    pub unread_copies: Option<String>,
    /// The last moves that ended, as far as the two sides still have them, the latest first.
    pub finished: Vec<Finished>,
    /// The last moves that were rolled back, as far as the two sides still have them, the latest first.
    pub rolled_back: Vec<RolledBackMove>,
    /// Objects left in the source, if both sides answer and no move is under way.
    pub left: Option<Leftover>,
}

impl Status {
    /// Returns true if a run works on the move. Other commands have to wait until it ends.
    pub fn is_at_work(&self, move_id: &str) -> bool {
        self.leases.iter().any(|lease| lease.move_id.as_deref() == Some(move_id) && lease.is_alive())
    }

    /// Keeps only the move whose ID this is, or is the only one that begins with it, under way or ended.
    ///
    /// # Errors
    ///
    /// Fails if no move or several moves match. The error lists the moves.
    pub fn select_move(&mut self, id: &str) -> Result<(), String> {
        let under_way = self.moves.iter().map(|one| &one.record.move_id);
        let ended = self.finished.iter().map(|one| &one.move_id);
        let ids: BTreeSet<&String> =
            under_way.chain(ended).chain(self.rolled_back.iter().map(|one| &one.move_id)).collect();
        let ids: Vec<String> = ids.into_iter().cloned().collect();
        let matching: Vec<&String> = match ids.iter().find(|whole| *whole == id) {
            Some(whole) => vec![whole],
            None => ids.iter().filter(|whole| !id.is_empty() && whole.starts_with(id)).collect(),
        };
        let id = safe_text::to_line(id, MAX_ID_BYTES);
        let only = match matching[..] {
            [only] => only.clone(),
            [] if ids.is_empty() => return Err(format!("no move {id}: no move is under way, or remembered")),
            [] => return Err(format!("no move {id}; there are: {}", some_of(&ids, MAX_NAMED_MOVES))),
            _ => {
                return Err(format!(
                    "several moves begin with {id}: {}",
                    some_of(&matching, MAX_NAMED_MOVES)
                ));
            }
        };
        self.moves.retain(|one| one.record.move_id == only);
        self.finished.retain(|one| one.move_id == only);
        self.rolled_back.retain(|one| one.move_id == only);
        Ok(())
    }
}

/// The holder of a lock, and the move it is for.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseStatus {
    /// The Lease.
    pub name: String,
    /// The holder; empty if there is none, and a move that stopped partway claims the lock.
    pub holder: String,
    /// The move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub move_id: Option<String>,
    /// Seconds since the holder renewed the lock, by its clock and this machine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewed_seconds_ago: Option<u64>,
}

impl LeaseStatus {
    /// Returns true if a run holds the lock and has renewed it in time.
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

#[cfg(test)]
mod tests {
    use pivot_core::request::scope::{Namespaces, Scope};

    use super::*;

    fn rolled_back(move_id: &str) -> RolledBackMove {
        RolledBackMove {
            format: Default::default(),
            move_id: move_id.to_owned(),
            started_by: "jane".to_owned(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            ended_at: "2026-01-01T00:01:00Z".to_owned(),
            phase: Phase::Paused,
            scope: Scope::new(Namespaces::All),
            source_label: "boot".to_owned(),
            target_label: "prod".to_owned(),
        }
    }

    #[test]
    fn moves_are_selected_by_unique_prefix() {
        let all = ["4f1c", "4f2d", "4f2d-more", "9a"].map(rolled_back).to_vec();
        let select = |id| {
            let mut status = Status { rolled_back: all.clone(), ..Status::default() };
            status
                .select_move(id)
                .map(|()| status.rolled_back.into_iter().map(|one| one.move_id).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(select("9").as_deref(), Ok("9a"));
        assert_eq!(select("4f2d").as_deref(), Ok("4f2d"));
        assert_eq!(select("4f2d-").as_deref(), Ok("4f2d-more"));
        let ambiguous = select("4f").unwrap_err();
        assert_eq!(ambiguous, "several moves begin with 4f: 4f1c, 4f2d and 4f2d-more");
        for none in ["", "5"] {
            let why = select(none).unwrap_err();
            assert_eq!(why, format!("no move {none}; there are: 4f1c, 4f2d, 4f2d-more and 9a"));
        }
        let why = Status::default().select_move("9").unwrap_err();
        assert_eq!(why, "no move 9: no move is under way, or remembered");
    }
}
