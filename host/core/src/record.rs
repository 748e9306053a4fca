//! The record of a move: the little that must outlive a run.
//!
//! One ConfigMap on each side holds it. The source's decides until it says [`Phase::Committed`]; from then on the
//! target's does, so that a source that is gone can't block the end. Everything else is read from the objects.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hooks::Description;
use crate::kind::GroupKind;
use crate::object::Uid;
use crate::scope::Scope;

/// How far a move has come. A phase is written down before its first change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// Looked at; nothing was changed. Never written down.
    Checked,
    /// The source is being paused.
    Paused,
    /// Objects are being created in the target.
    Copied,
    /// The copy is complete and verified; the release list is written. No way back from here. The source's record stays
    /// here; the target's, which decides from now on, says [`Phase::Live`] at once.
    Committed,
    /// The target's Clusters are being resumed.
    Live,
    /// Source objects are being deleted.
    Released,
    /// Plugins let go of what they held.
    Settled,
}

impl Phase {
    /// Whether the target's record decides, and the move can only go forward.
    pub fn committed(self) -> bool {
        self >= Self::Committed
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Which plugin took part, so that a resumed run has the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Name.
    pub name: String,
    /// Version, for people.
    pub version: String,
    /// Digest of component and configuration.
    pub digest: String,
}

impl From<&Description> for Pin {
    fn from(plugin: &Description) -> Self {
        let Description { name, version, digest, .. } = plugin;
        Self { name: name.clone(), version: version.clone(), digest: digest.clone() }
    }
}

/// The record itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The move's id: also the mark on every object it creates.
    pub move_id: String,
    /// How far it has come.
    pub phase: Phase,
    /// What was asked for.
    pub scope: Scope,
    /// The clusters it is between.
    pub source: Option<Uid>,
    /// See [`Record::source`].
    pub target: Option<Uid>,
    /// Whether it is a copy into a directory.
    #[serde(default)]
    pub into_directory: bool,
    /// When it began, for people.
    pub started: String,
    /// Namespaces the move created in the target.
    pub namespaces: Vec<String>,
    /// The plugins that take part.
    pub plugins: Vec<Pin>,
    /// The kinds of the objects that move: a rollback without plugins must find those, too.
    pub kinds: BTreeSet<GroupKind>,
    /// The namespaces of the objects that are copied.
    pub touched: BTreeSet<String>,
    /// In how many pieces the release list lies beside the record.
    pub release_chunks: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_decides_from_committed_on() {
        assert!(!Phase::Copied.committed());
        assert!(Phase::Committed.committed() && Phase::Settled.committed());
    }
}
