//! What is explored: the rules of the protocol, each of which can be broken, and who does what.

use crate::pair::{Items, Move, Pair};
use crate::state::Faults;

/// The rules that keep a move safe. A test breaks one, and the checker must find which promise it protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The commit writes the target's record before the source's.
    pub target_commits_first: bool,
    /// Copies are resumed only after the source's record says Committed.
    pub resume_after_commit: bool,
    /// A source object is deleted only in the version that was copied.
    pub delete_by_version: bool,
    /// A run that took one kind of lock checks the other kind.
    pub look_at_other: bool,
    /// The unfinished move of a dead run locks others out.
    pub honor_claims: bool,
    /// A Lease whose holder may be alive is left alone until it hasn't changed for its duration.
    pub wait_for_fence: bool,
    /// A stale Lease is taken at the version that was watched, or not at all.
    pub take_watched_version: bool,
    /// After `--break-lease` of a live run: nothing is done, not even released, before that run must have noticed.
    pub take_over_waits: bool,
    /// Under the locks, the record of another move that touched the same namespaces is a refusal.
    pub refuse_overlap: bool,
    /// A rollback removes the target's record before the copies and the source's record.
    pub forget_target_first: bool,
    /// A rollback removes the target's record only in the version that it read under its locks.
    pub forget_by_version: bool,
    /// The two sides are told apart.
    pub tell_apart: bool,
    /// The commit waits until the target's controllers have shown that they see the copies.
    pub await_signs: bool,
}

impl Rules {
    /// All of them.
    pub const KEPT: Self = Self {
        target_commits_first: true,
        resume_after_commit: true,
        delete_by_version: true,
        look_at_other: true,
        honor_claims: true,
        wait_for_fence: true,
        take_watched_version: true,
        take_over_waits: true,
        refuse_overlap: true,
        forget_target_first: true,
        forget_by_version: true,
        tell_apart: true,
        await_signs: true,
    };
}

/// What a move covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// All namespaces, under the one lock for all.
    pub all: bool,
    /// Namespaces that are known from the start.
    pub first: Items,
    /// Namespaces that the second list finds.
    pub late: Items,
}

impl Scope {
    /// Every namespace.
    pub const ALL: Self = Self { all: true, first: Items::ALL, late: Items::NONE };
    /// Both namespaces, known from the start.
    pub const BOTH: Self = Self { all: false, first: Items::ALL, late: Items::NONE };
    /// The Cluster's namespace alone.
    pub const CLUSTER: Self = Self { all: false, first: Pair(true, false), late: Items::NONE };
    /// The host's namespace alone.
    pub const HOST: Self = Self { all: false, first: Pair(false, true), late: Items::NONE };
    /// The Cluster's namespace, then the host's.
    pub const CLUSTER_THEN_HOST: Self =
        Self { all: false, first: Pair(true, false), late: Pair(false, true) };
    /// The host's namespace, then the Cluster's.
    pub const HOST_THEN_CLUSTER: Self =
        Self { all: false, first: Pair(false, true), late: Pair(true, false) };

    /// All that it covers in the end.
    pub fn items(&self) -> Items {
        self.first.with(self.late)
    }
}

/// One model: the commands at the two terminals, and what may go wrong.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The scope of the moves that each terminal starts and resumes.
    pub scopes: Pair<Scope>,
    /// What may go wrong.
    pub faults: Faults,
    /// Whether somebody may give the source for both sides.
    pub to_itself: bool,
    /// True if controllers of the target are at work.
    pub has_controllers: bool,
    /// What must be possible in it, by the names in [`crate::properties`].
    pub shows: &'static [&'static str],
    /// The rules that are kept.
    pub rules: Rules,
}

impl Config {
    /// Two terminals, no faults, all rules kept.
    pub const fn new(one: Scope, two: Scope) -> Self {
        let faults = Faults { crashes: 0, answers: 0, edits: 0, source: false, target: false, take_overs: 0 };
        Self {
            scopes: Pair(one, two),
            faults,
            to_itself: false,
            has_controllers: true,
            shows: &[],
            rules: Rules::KEPT,
        }
    }

    /// The same, with these faults.
    pub const fn with(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// The same, where this must be possible.
    pub const fn showing(self, shows: &'static [&'static str]) -> Self {
        Self { shows, ..self }
    }

    /// The same with other rules.
    pub const fn by(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Whether two moves are the same command: typing one again resumes the other.
    pub fn same(&self, one: Move, two: Move) -> bool {
        self.scopes[one] == self.scopes[two]
    }
}
