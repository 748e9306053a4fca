//! What is explored: the direction, whether a child may finish alone, and the rules.

use std::collections::BTreeSet;
use std::sync::Mutex;

/// Where the link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The child is the target: a pivot.
    Into,
    /// The child is the source: an unpivot.
    OutOf,
}

/// The model that the checker explores.
pub struct Linked {
    /// The direction.
    pub way: Way,
    /// Whether a committed move is sealed, and its child finishes alone.
    pub seals: bool,
    /// The rules that are kept.
    pub rules: LinkRules,
    /// States from which repeating a command is known to finish: forward, and back.
    pub(crate) known: [Mutex<BTreeSet<u64>>; 2],
}

impl Linked {
    /// All rules kept.
    pub fn new(way: Way, seals: bool) -> Self {
        Self { way, seals, rules: LinkRules::KEPT, known: Default::default() }
    }

    /// The same with other rules.
    pub fn by(self, rules: LinkRules) -> Self {
        Self { rules, ..self }
    }
}

/// The rules, each of which can be broken.
#[derive(Clone, Copy, Debug)]
pub struct LinkRules {
    /// The commit writes the target's record before the source's.
    pub target_commits_first: bool,
    /// A record is written only in the version that was read.
    pub compares_records: bool,
    /// An object is deleted only in the state that was copied.
    pub deletes_as_copied: bool,
    /// A run that may go back, or copy again, looks first whether the copies run.
    pub looks_at_copies: bool,
    /// A target's record without the source's is no reason to go on.
    pub refuses_orphans: bool,
    /// A run that stops waits for the answers to what it has asked.
    pub waits_for_answers: bool,
    /// The agent ends what was asked over the old link before anything else happens: answering on a new link, or finishing alone.
    pub ends_old_requests: bool,
    /// The child's record is sealed only after the source's says Committed.
    pub seals_after_commit: bool,
    /// No copy is resumed before the seal.
    pub seals_before_resuming: bool,
    /// The agent finishes only what is sealed.
    pub finishes_sealed_only: bool,
    /// The agent finishes only while there is no link.
    pub finishes_when_away: bool,
    /// While it finishes, the agent refuses what the cell asks.
    pub refuses_meanwhile: bool,
    /// It settles what is held, too.
    pub settles_alone: bool,
    /// It doesn't close the move.
    pub leaves_open: bool,
}

impl LinkRules {
    /// All of them.
    pub const KEPT: Self = Self {
        target_commits_first: true,
        compares_records: true,
        deletes_as_copied: true,
        looks_at_copies: true,
        refuses_orphans: true,
        waits_for_answers: true,
        ends_old_requests: true,
        seals_after_commit: true,
        seals_before_resuming: true,
        finishes_sealed_only: true,
        finishes_when_away: true,
        refuses_meanwhile: true,
        settles_alone: true,
        leaves_open: true,
    };
}
