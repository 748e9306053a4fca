//! What plugins return: the values of `wit/provider.wit`, as the rest of the program uses them.
//!
//! Points are strings in the contract, because its enums can't grow; here they are a type, because code should not compare strings.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kind::GroupKind;
use crate::object::Key;
use crate::reach::Reach;

/// The moments in which a plugin is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// How objects belong together.
    Relate,
    /// Whether the move may go on.
    Check,
    /// A provider-specific pause of a source object.
    Hold,
    /// A change to an object about to be created.
    Adapt,
    /// The status of an object just created.
    Restore,
    /// Releases an object at the end.
    Settle,
}

impl Hook {
    /// All hooks, in the order in which a move calls them.
    pub const ALL: [Self; 6] =
        [Self::Relate, Self::Check, Self::Hold, Self::Adapt, Self::Restore, Self::Settle];
}

/// The same hook, as the bounds of patches name it.
impl From<Hook> for pivot_bounds::Hook {
    fn from(hook: Hook) -> Self {
        match hook {
            Hook::Relate => Self::Relate,
            Hook::Check => Self::Check,
            Hook::Hold => Self::Hold,
            Hook::Adapt => Self::Adapt,
            Hook::Restore => Self::Restore,
            Hook::Settle => Self::Settle,
        }
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Relate => "relate",
            Self::Check => "check",
            Self::Hold => "hold",
            Self::Adapt => "adapt",
            Self::Restore => "restore",
            Self::Settle => "settle",
        })
    }
}

/// The points at which checks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Nothing is changed yet.
    BeforePause,
    /// The source is paused and its controllers have acknowledged that.
    AfterPause,
    /// Everything is copied; after this there is no way back.
    BeforeCommit,
    /// The target's Clusters run; nothing is deleted from the source yet.
    AfterResume,
}

impl Point {
    /// The contract's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforePause => "before-pause",
            Self::AfterPause => "after-pause",
            Self::BeforeCommit => "before-commit",
            Self::AfterResume => "after-resume",
        }
    }
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Worth a person's attention.
    Warn,
    /// Not yet: ask again.
    Wait,
    /// The move may not go on.
    Stop,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How severe it is.
    pub severity: Severity,
    /// A stable code for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// The object it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Key>,
    /// What a person can do about it.
    pub remedy: String,
}

/// A finding, and the plugin whose check found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PluginFinding {
    /// Name of the plugin.
    pub plugin: String,
    /// Finding of the check.
    #[serde(flatten)]
    pub finding: Finding,
}

/// A plugin's statement about how one object relates to others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// It belongs to this object: it moves when that moves, and after it.
    Link(Key),
    /// When it moves, this object must move too.
    Need(Key),
    /// When it moves, this object must be copied too, and kept in the source.
    Share(Key),
    /// It stays, for this reason.
    Leave(String),
    /// It is copied and not deleted, for this reason.
    Keep(String),
}

/// What is still to be done before an object is released.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Settlement {
    /// Nothing.
    Done,
    /// This merge patch of metadata; then ask again.
    Patch(Value),
    /// Nothing yet.
    Wait(Finding),
    /// It can't be released.
    Stop(Finding),
}

/// What a plugin is, as far as the engine needs to know it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Digest of its component and configuration; pinned in the record.
    pub digest: String,
    /// Who vouches for it, and for what: `vetted by alice`.
    #[serde(default, rename = "vouchedBy", skip_serializing_if = "Vec::is_empty")]
    pub vouched_by: Vec<String>,
    /// What it is granted, a line each, for people who look at a record later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
    /// Kinds whose objects it is shown; `*` as kind covers the group.
    pub kinds: Vec<GroupKind>,
    /// How far its relations reach beyond the namespaces that move.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reach: Vec<Reach>,
    /// The hooks it has.
    pub hooks: Vec<Hook>,
    /// It sees the data of Secrets: no text it could have written is printed, its patches' paths included.
    #[serde(default, rename = "secretData")]
    pub secret_data: bool,
}

impl Description {
    /// Whether it wants to see objects of the kind.
    pub fn can_see(&self, kind: &GroupKind) -> bool {
        self.kinds.iter().any(|seen| seen.covers(kind))
    }

    /// Whether it has the hook and wants to see the kind in it.
    pub fn has_hook_for(&self, hook: Hook, kind: &GroupKind) -> bool {
        self.hooks.contains(&hook) && self.can_see(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contract and the types that mirror it must not drift apart.
    #[test]
    fn each_hook_is_an_interface_of_the_contract() {
        let wit = include_str!("../../../wit/provider.wit");
        for hook in Hook::ALL {
            assert!(wit.contains(&format!("interface {hook} {{")), "{hook}");
            assert!(wit.contains(&format!("  export {hook};")), "{hook}");
        }
        for point in [Point::BeforePause, Point::AfterPause, Point::BeforeCommit, Point::AfterResume] {
            assert!(wit.contains(&format!("`{}`", point.as_str())), "{point:?}");
        }
    }
}
