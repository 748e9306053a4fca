//! What the user asked to move, and which dangers were accepted by name.
//!
//! The scope is stored in the move's record, so that a run that resumes it makes the same decisions.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::GroupKind;
use crate::format::Format;

/// Which namespaces move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Namespaces {
    /// All of them.
    All,
    /// One namespace.
    One(String),
}

/// What to move, and which risks the user accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scope {
    /// The version of this format.
    #[serde(default)]
    pub format: Format<1>,
    /// Which namespaces.
    pub namespaces: Namespaces,
    /// `--drop-owner`: references to owners of these kinds may be dropped if the owner does not move.
    #[serde(default)]
    pub drop_owners: BTreeSet<GroupKind>,
    /// `--accept-loss`: objects of these kinds may be garbage-collected in the source.
    #[serde(default)]
    pub accept_loss: BTreeSet<GroupKind>,
    /// `--without-plugin-for`: dangerous kinds that may move although no plugin handles them.
    #[serde(default)]
    pub without_plugin_for: BTreeSet<GroupKind>,
    /// `--move-paused`: Clusters that a user paused may move; they stay paused.
    #[serde(default)]
    pub move_paused: bool,
    /// `--accept-unprovisioned`: Clusters and Machines that are still being built may move.
    #[serde(default)]
    pub accept_unprovisioned: bool,
    /// `--source-is-off`: no management cluster runs the objects that the source's files were copied from any more.
    #[serde(default)]
    pub source_is_off: bool,
}

impl Scope {
    /// A scope that accepts no danger.
    pub fn new(namespaces: Namespaces) -> Self {
        Self {
            format: Format,
            namespaces,
            drop_owners: BTreeSet::new(),
            accept_loss: BTreeSet::new(),
            without_plugin_for: BTreeSet::new(),
            move_paused: false,
            accept_unprovisioned: false,
            source_is_off: false,
        }
    }

    /// Whether objects of the namespace are in scope; cluster-scoped ones always are.
    pub fn includes(&self, namespace: Option<&str>) -> bool {
        match (&self.namespaces, namespace) {
            (Namespaces::All, _) | (_, None) => true,
            (Namespaces::One(one), Some(namespace)) => one == namespace,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_namespace_includes_itself_and_what_is_cluster_scoped() {
        let scope = Scope::new(Namespaces::One("a".into()));
        assert!(scope.includes(Some("a")) && scope.includes(None) && !scope.includes(Some("b")));
        assert!(Scope::new(Namespaces::All).includes(Some("b")));
    }

    #[test]
    fn a_scope_reads_back_from_a_record() {
        let mut scope = Scope::new(Namespaces::One("a".into()));
        scope.drop_owners.insert(GroupKind::new("g", "K"));
        let text = serde_json::to_string(&scope).unwrap();
        assert_eq!(serde_json::from_str::<Scope>(&text).unwrap(), scope);
    }
}
