//! One run: its command, its position, its memory.

use crate::pair::{Content, Item, Items, Lock, Move, Pair, PerLock};

/// The command that was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// `move`, or `resume` if there is a move to resume.
    Move,
    /// `rollback`.
    Rollback,
    /// `move` with the source's kubeconfig given for both sides.
    MoveToItself,
}

/// One run: what it is about to do, and what it remembers. Nothing of it survives its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// The next request.
    pub step: Step,
    /// What it was started for.
    pub command: Command,
    /// The move that it works on.
    pub id: Move,
    /// Whether it found that move's record, rather than started the move.
    pub found: bool,
    /// Whether it was started with the flag for a lost side (`--without-source`, `--without-target`).
    pub gone: bool,
    /// Locks that it took, as far as it knows.
    pub taken: PerLock<bool>,
    /// Which of those carried its claim before, and keep it when they are released midway.
    pub mine_before: PerLock<bool>,
    /// A Lease that it watched without seeing a change, at the version that it knows.
    pub stale: Option<Lock>,
    /// Whether it used `--break-lease` on a Lease whose holder was alive.
    pub took_over: bool,
    /// The second list: the content of each object that it copies.
    pub base: Pair<Option<Content>>,
}

impl Process {
    /// A terminal at which nothing runs.
    pub const IDLE: Self = Self {
        step: Step::Idle,
        command: Command::Move,
        id: Move::M1,
        found: false,
        gone: false,
        taken: PerLock { all: false, namespaces: Pair(false, false) },
        mine_before: PerLock { all: false, namespaces: Pair(false, false) },
        stale: None,
        took_over: false,
        base: Pair(None, None),
    };

    /// Whether it is running.
    pub fn lives(&self) -> bool {
        self.step != Step::Idle
    }

    /// Namespaces that its locks cover.
    pub fn covers(&self) -> Items {
        if self.taken.all { Items::ALL } else { self.taken.namespaces }
    }
}

/// Why locks are released, for readers of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// Another run holds a Lease: it is watched once nothing is held any more.
    Held(Lock),
    /// An unfinished move claims it.
    Claimed,
    /// There is nothing to move, to resume or to roll back.
    Nothing,
    /// The run stops midway.
    Stopped,
    /// The move is past the point of no return.
    Committed,
    /// A source object has changed since it was copied: a person must decide.
    Changed,
    /// The source says Committed and the target knows nothing of it.
    Forgotten,
}

/// The engine's steps: one request each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the functions of the same names say what each does, where it is done")]
pub enum Step {
    Idle,
    /// Tells the two sides apart.
    Identify,
    /// Looks for an unfinished move, before any lock is held.
    FindMove,
    Take(Lock),
    /// Reads whether the claim that was seen is valid; `free`: nobody held the Lease.
    JudgeClaim(Lock, Move, bool),
    WriteClaim(Lock),
    LookAtOther(Lock),
    JudgeOther(Lock, Move, bool),
    SetAside(Lock),
    Watch(Lock),
    GiveBack(Lock, Why),
    ReadRecords,
    EnterPaused,
    Pause(Item),
    List,
    NoteTouched(Item),
    EnterCopied,
    Create(Item),
    EnterReady,
    Verify,
    CommitList,
    CommitTarget,
    CommitSource,
    Resume(Item),
    StillPaused,
    EnterReleased,
    EnterReleasedAtSource,
    LookForLeft,
    Release(Item),
    EnterSettled,
    Settle(Item),
    CloseSource,
    CloseList,
    CloseTarget,
    /// A lock is deleted before the last write, together with which the others are released.
    UnlockBesideClose(Lock),
    ForgetTarget,
    ForgetList,
    Remove(Item),
    TakeBack(Item),
    ForgetSource,
    DeleteLock(Lock),
}

impl Step {
    /// Whether it changes something.
    pub fn writes(self) -> bool {
        !matches!(
            self,
            Self::Idle
                | Self::Identify
                | Self::FindMove
                | Self::JudgeClaim(..)
                | Self::LookAtOther(_)
                | Self::JudgeOther(..)
                | Self::Watch(_)
                | Self::ReadRecords
                | Self::List
                | Self::Verify
                | Self::StillPaused
                | Self::LookForLeft
        )
    }

    /// Whether the run has read the records and chosen what to do.
    pub fn has_read_records(self) -> bool {
        use Step as S;
        !matches!(
            self,
            S::Idle
                | S::Identify
                | S::FindMove
                | S::Take(_)
                | S::JudgeClaim(..)
                | S::WriteClaim(_)
                | S::LookAtOther(_)
                | S::JudgeOther(..)
                | S::SetAside(_)
                | S::Watch(_)
                | S::GiveBack(..)
                | S::ReadRecords
        )
    }

    /// Whether the run still needs its second list.
    pub fn still_copies(self) -> bool {
        matches!(
            self,
            Self::NoteTouched(_)
                | Self::Pause(_)
                | Self::List
                | Self::EnterCopied
                | Self::Create(_)
                | Self::EnterReady
                | Self::Verify
                | Self::CommitList
        )
    }

    /// Whether the run only has to release its locks.
    pub fn gives_back(self) -> bool {
        matches!(self, Self::GiveBack(..) | Self::DeleteLock(_))
    }

    /// Which sides it uses: the source, the target.
    pub(crate) fn needs(self) -> (bool, bool) {
        match self {
            Self::FindMove | Self::ReadRecords => (false, true),
            Self::Verify | Self::StillPaused => (true, true),
            Self::Create(_)
            | Self::CommitList
            | Self::CommitTarget
            | Self::Resume(_)
            | Self::EnterReleased
            | Self::EnterSettled
            | Self::Settle(_)
            | Self::CloseList
            | Self::CloseTarget
            | Self::ForgetTarget
            | Self::ForgetList
            | Self::Remove(_) => (false, true),
            Self::Idle | Self::Identify => (false, false),
            _ => (true, false),
        }
    }
}

/// The namespaces in which a run may change something from where it is.
pub fn works_in(process: &Process) -> Items {
    let late = process.base != Pair(None, None);
    match process.step {
        Step::Take(_) | Step::JudgeClaim(..) | Step::WriteClaim(_) if late => process.covers(),
        Step::DeleteLock(_) => Items::NONE,
        step if step.has_read_records() => process.covers(),
        _ => Items::NONE,
    }
}
