//! The requests of a run, by the engine's names, and to which side each goes.

use crate::linked::rules::Way;
use crate::pair::Item;

/// The engine's steps, one request each. Those of [`crate::Step`] that are needed, by the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "`run` has each by its name, and says what it does")]
pub enum Step {
    Idle,
    ReadRecords,
    /// Whether the copies run: then somebody finished the move without this source.
    LookAtCopies,
    EnterPaused,
    Pause(Item),
    List,
    EnterCopied,
    Create(Item),
    Verify,
    CommitTarget,
    CommitSource,
    Seal,
    Resume(Item),
    StillPaused,
    EnterReleased,
    /// The source's record says so, too, before anything is deleted.
    EnterReleasedAtSource,
    Release(Item),
    LookForLeft,
    EnterSettled,
    Settle(Item),
    CloseSource,
    CloseTarget,
    ForgetTarget,
    Remove(Item),
    TakeBack(Item),
    ForgetSource,
}

impl Step {
    /// The same about this object, if it is about one.
    pub fn about(self, item: Item) -> Self {
        match self {
            Self::Pause(_) => Self::Pause(item),
            Self::Create(_) => Self::Create(item),
            Self::Release(_) => Self::Release(item),
            Self::Remove(_) => Self::Remove(item),
            Self::TakeBack(_) => Self::TakeBack(item),
            other => other,
        }
    }

    /// Whether it only looks.
    pub fn reads(self) -> bool {
        matches!(
            self,
            Self::Idle
                | Self::ReadRecords
                | Self::LookAtCopies
                | Self::List
                | Self::Verify
                | Self::StillPaused
                | Self::LookForLeft
        )
    }

    /// Whether it is asked over the link.
    pub fn is_far(self, way: Way) -> bool {
        match self {
            Self::Idle => false,
            Self::ReadRecords | Self::Verify | Self::StillPaused => true,
            Self::EnterPaused
            | Self::Pause(_)
            | Self::List
            | Self::EnterCopied
            | Self::CommitSource
            | Self::EnterReleasedAtSource
            | Self::Release(_)
            | Self::LookForLeft
            | Self::CloseSource
            | Self::TakeBack(_)
            | Self::ForgetSource => way == Way::OutOf,
            Self::LookAtCopies
            | Self::Create(_)
            | Self::CommitTarget
            | Self::Seal
            | Self::Resume(_)
            | Self::EnterReleased
            | Self::EnterSettled
            | Self::Settle(_)
            | Self::CloseTarget
            | Self::ForgetTarget
            | Self::Remove(_) => way == Way::Into,
        }
    }
}
