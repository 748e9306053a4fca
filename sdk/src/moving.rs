//! The move in which a plugin is called.

use crate::{Key, Kind};

/// One of the two clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The cluster that the objects come from.
    Source,
    /// The cluster that the objects go to.
    Target,
}

impl Side {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Source, Self::Target];

    /// The contract's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Target => "target",
        }
    }
}

/// The points of a move at which `check` is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// Nothing is changed yet.
    BeforePause,
    /// The source is paused and its controllers have acknowledged that. Nothing is in the target yet.
    AfterPause,
    /// Everything is in the target, paused. After this there is no way back.
    BeforeCommit,
    /// The target's Clusters run; nothing is deleted from the source yet.
    AfterResume,
    /// A point that a newer host has and this SDK doesn't know.
    Other,
}

impl Point {
    /// Parses the contract's word.
    pub fn from_word(word: &str) -> Self {
        match word {
            "before-pause" => Self::BeforePause,
            "after-pause" => Self::AfterPause,
            "before-commit" => Self::BeforeCommit,
            "after-resume" => Self::AfterResume,
            _ => Self::Other,
        }
    }

    /// Returns true if the source's objects are still authoritative.
    pub fn is_before_copy(self) -> bool {
        matches!(self, Self::BeforePause | Self::AfterPause)
    }
}

/// A namespace that moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Name in the source.
    pub source: String,
    /// Name in the target.
    pub target: String,
}

impl Namespace {
    /// Returns the namespace's name on a side.
    pub fn name_on(&self, side: Side) -> &str {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }
}

/// The move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Move {
    /// Id of the move.
    pub id: String,
    /// The namespaces that move.
    pub namespaces: Vec<Namespace>,
    /// The objects of the plugin's kinds that move.
    pub objects: Vec<Key>,
}

impl Move {
    /// The objects of a kind that move.
    pub fn of_kind<'a>(&'a self, kind: &'a Kind) -> impl Iterator<Item = &'a Key> {
        self.objects.iter().filter(move |key| kind.matches(&key.kind))
    }

    /// Returns true if an object moves.
    pub fn contains_object(&self, key: &Key) -> bool {
        self.objects.contains(key)
    }
}

/// The moments in which a plugin is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    /// Relations between objects.
    Relate,
    /// Findings that decide whether the move may continue.
    Check,
    /// A provider-specific pause of a source object.
    Hold,
    /// A change to an object about to be created.
    Adapt,
    /// The status of an object just created.
    Restore,
    /// Releasing an object at the end.
    Settle,
}

impl Hook {
    /// The contract's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Relate => "relate",
            Self::Check => "check",
            Self::Hold => "hold",
            Self::Adapt => "adapt",
            Self::Restore => "restore",
            Self::Settle => "settle",
        }
    }

    /// Returns the side that the hook changes; none for hooks that change nothing.
    pub fn changed_side(self) -> Option<Side> {
        match self {
            Self::Relate | Self::Check => None,
            Self::Hold => Some(Side::Source),
            Self::Adapt | Self::Restore | Self::Settle => Some(Side::Target),
        }
    }
}
