//! Values that plugins return: those of `wit/provider.wit`, as the rest of the program uses them.
//!
//! Points are strings in the contract, because its enums can't grow. Here they are a type, because code should not compare
//! strings.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::objects::kind::GroupKind;
use crate::objects::object::Key;
use crate::plugins::reach::Reach;

/// Moments at which pivot-host calls a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// Relations between objects.
    Relate,
    /// Check whether the move may continue.
    Check,
    /// Provider-specific pause of a source object.
    Hold,
    /// Change to an object before it is created.
    Adapt,
    /// Status of an object that was just created.
    Restore,
    /// Unpauses an object at the end.
    Settle,
}

impl Hook {
    /// All hooks, in the order in which a move calls them.
    pub const ALL: [Self; 6] =
        [Self::Relate, Self::Check, Self::Hold, Self::Adapt, Self::Restore, Self::Settle];
}

/// Converts a hook to the type of the bounds of patches.
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

/// Points at which checks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// Nothing is changed yet.
    BeforePause,
    /// The source is paused and its controllers have acknowledged that.
    AfterPause,
    /// Everything is copied. After this point a rollback is impossible.
    BeforeCommit,
    /// The target's Clusters run, and nothing is deleted from the source yet.
    AfterResume,
}

impl Point {
    /// All points, in the order of a move.
    pub const ALL: [Self; 4] = [Self::BeforePause, Self::AfterPause, Self::BeforeCommit, Self::AfterResume];

    /// Returns the word that the contract uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforePause => "before-pause",
            Self::AfterPause => "after-pause",
            Self::BeforeCommit => "before-commit",
            Self::AfterResume => "after-resume",
        }
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Worth a person's attention.
    Warn,
    /// The move must wait and check again.
    Wait,
    /// The move must not continue.
    Stop,
}

/// A finding of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Severity of the finding.
    pub severity: Severity,
    /// Stable code for programs.
    pub code: String,
    /// Sentence for people.
    pub message: String,
    /// Object that the finding is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Key>,
    /// Action that a person can take.
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
    /// The object belongs to this one: it moves with it, and after it.
    Link(Key),
    /// If the object moves, this one must move too.
    Need(Key),
    /// If the object moves, this one must be copied too, and kept in the source.
    Share(Key),
    /// The object stays, for this reason.
    Leave(String),
    /// The object is copied and not deleted, for this reason.
    Keep(String),
}

/// The remaining work before an object is unpaused.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Settlement {
    /// Nothing.
    Done,
    /// Apply this merge patch of metadata, then call the plugin again.
    Patch(Value),
    /// Wait, and call the plugin again.
    Wait(Finding),
    /// The object can't be unpaused.
    Stop(Finding),
}

/// Description of a plugin, as far as the engine needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Name of the plugin.
    pub name: String,
    /// Version of the plugin.
    pub version: String,
    /// Digest of component and configuration, pinned in the record.
    pub digest: String,
    /// Signers of the plugin and their statements: `vetted by alice`.
    #[serde(default, rename = "vouchedBy", skip_serializing_if = "Vec::is_empty")]
    pub vouched_by: Vec<String>,
    /// Grants, one per line, for people who read a record later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
    /// Kinds whose objects the plugin sees. `*` as kind covers the group.
    pub kinds: Vec<GroupKind>,
    /// Reach of the plugin's relations outside the namespaces that move.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reach: Vec<Reach>,
    /// Hooks that the plugin implements.
    pub hooks: Vec<Hook>,
    /// Whether the plugin sees the data of Secrets. pivot-host prints no text that such a plugin could have written, including
    /// the paths of its patches.
    #[serde(default, rename = "secretData")]
    pub secret_data: bool,
}

impl Description {
    /// Returns true if the plugin sees objects of a kind.
    pub fn can_see(&self, kind: &GroupKind) -> bool {
        self.kinds.iter().any(|seen| seen.covers(kind))
    }

    /// Returns true if the plugin has a hook and sees objects of a kind in it.
    pub fn has_hook_for(&self, hook: Hook, kind: &GroupKind) -> bool {
        self.hooks.contains(&hook) && self.can_see(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contract and the types that mirror it must not drift apart.
    #[test]
    fn each_hook_is_a_contract_interface() {
        let wit = include_str!("../../../../wit/provider.wit");
        for hook in Hook::ALL {
            assert!(wit.contains(&format!("interface {hook} {{")), "{hook}");
            assert!(wit.contains(&format!("  export {hook};")), "{hook}");
        }
        for point in Point::ALL {
            assert!(wit.contains(&format!("`{}`", point.as_str())), "{point:?}");
        }
    }
}
