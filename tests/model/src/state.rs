//! A state: both sides, both runs, and how much may still go wrong.

use crate::pair::{Content, Items, Lock, Move, OneOfTwo, Pair, PerLock, Run};
use crate::process::{Process, Step};

/// Everything that matters at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The side that objects leave.
    pub source: Source,
    /// The side that they go to.
    pub target: Target,
    /// The run at each of the two terminals.
    pub runs: Pair<Process>,
    /// The last content that users gave each object.
    pub latest: Pair<Content>,
    /// How each move ended.
    pub ended: Pair<Option<End>>,
    /// What may still go wrong.
    pub left: Faults,
}

impl State {
    /// Whether a run believes that it holds a lock that it lost.
    pub fn robbed(&self, run: Run) -> bool {
        let held =
            |lock: Lock| self.source.leases[lock].is_some_and(|lease| lease.holder == Holder::Run(run));
        Lock::EACH.into_iter().any(|lock| self.runs[run].taken[lock] && !held(lock))
    }

    /// Drops what nobody will read any more, so that states that differ in nothing else become one.
    pub fn forget(&mut self) {
        for run in Run::BOTH {
            let process = &mut self.runs[run];
            if process.step.has_read_records() {
                let base = if process.step.still_copies() { process.base } else { Pair(None, None) };
                let Process { step, id, gone, taken, .. } = *process;
                *process = Process { step, id, gone, taken, base, ..Process::IDLE };
            }
            for lock in Lock::EACH {
                let judges = match process.step {
                    Step::JudgeClaim(judged, ..)
                    | Step::JudgeOther(judged, ..)
                    | Step::WriteClaim(judged)
                    | Step::SetAside(judged) => judged == lock,
                    _ => false,
                };
                if let Some(lease) =
                    self.source.leases[lock].as_mut().filter(|_| !judges && process.stale != Some(lock))
                {
                    lease.known_to[run] = false;
                }
            }
        }
    }
}

/// The source's API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// Lost for good. What was there stays in the model, but nobody can reach it.
    pub lost: bool,
    /// The objects.
    pub objects: Pair<Option<Object>>,
    /// The Leases.
    pub leases: PerLock<Option<Lease>>,
    /// One record for each unfinished move.
    pub records: Pair<Option<SourceRecord>>,
}

/// The target's API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Lost for good, as in the source.
    pub lost: bool,
    /// The copies.
    pub copies: Pair<Option<Copied>>,
    /// One record for each move that was committed here.
    pub records: Pair<Option<TargetRecord>>,
    /// The release list of each move: the content with which an object was copied.
    pub lists: Pair<Option<Pair<Option<Content>>>>,
}

/// An object in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// Who paused it, by the undo annotation. None: it is active.
    pub paused_by: Option<Move>,
    /// What users wrote.
    pub content: Content,
}

/// An object in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Copied {
    /// Whether controllers act on it.
    pub active: bool,
    /// The move that created it.
    pub mark: Move,
    /// The content that was copied.
    pub content: Content,
}

/// A Lease. `known_to` stands for resourceVersion: who read or wrote it since the last write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// Who holds it.
    pub holder: Holder,
    /// The move for which it was taken.
    pub claim: Move,
    /// Runs whose compare-and-swap would succeed.
    pub known_to: Pair<bool>,
}

/// Who holds a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// Nobody: the run stopped, its claim stays.
    Nobody,
    /// A live run.
    Run(Run),
    /// A dead run: nobody renews the Lease.
    Dead,
}

/// The record in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceRecord {
    /// The phase of the move.
    pub phase: Phase,
    /// Namespaces in which the move has paused something, or is about to.
    pub touched: Items,
    /// Runs whose compare-and-swap would succeed.
    pub known_to: Pair<bool>,
}

/// The record in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetRecord {
    /// The phase of the move.
    pub phase: Phase,
    /// Runs whose compare-and-swap would succeed.
    pub known_to: Pair<bool>,
}

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Source: objects are being paused.
    Paused,
    /// Source: copies are being created.
    Copied,
    /// Source: controllers of the target are to see the copies.
    Ready,
    /// Source: the point of no return.
    Committed,
    /// Target: copies are being resumed.
    Live,
    /// Both: the source's objects are being deleted.
    Released,
    /// Target: holds are being released.
    Settled,
    /// Target: the summary that stays.
    Finished,
}

/// How a move ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The objects are in the target.
    Moved,
    /// Everything is as before.
    RolledBack,
}

/// What may still go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// Runs that die, or stop midway.
    pub crashes: u8,
    /// Requests that take effect but whose answer is lost.
    pub answers: u8,
    /// A user's edits of a source object.
    pub edits: u8,
    /// The source is lost for good.
    pub source: bool,
    /// The target is lost for good.
    pub target: bool,
    /// `--break-lease` of a live run.
    pub take_overs: u8,
}
