//! Kinds of objects as one side serves them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::objects::names::GROUP_CLUSTER;

/// API group and kind of an object, independent of the version in which it is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupKind {
    /// API group. Empty for the core group.
    pub group: String,
    /// Kind, in CamelCase.
    pub kind: String,
}

impl GroupKind {
    /// Creates a group and kind.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), kind: kind.into() }
    }

    /// Returns true if group and kind are equal.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Returns true if this kind, or pattern of kinds, covers another. `*` as kind stands for every kind of the group.
    pub fn covers(&self, kind: &Self) -> bool {
        self.group == kind.group && (self.kind == "*" || self.kind == kind.kind)
    }

    /// Returns the narrower of two kinds or patterns of kinds, if one covers the other.
    pub fn narrower_of<'a>(&'a self, other: &'a Self) -> Option<&'a Self> {
        if self.covers(other) { Some(other) } else { other.covers(self).then_some(self) }
    }

    /// Returns true if objects of this kind come and go without effect on a move. Core Events and those of `events.k8s.io` are
    /// the same objects.
    pub fn is_event(&self) -> bool {
        self.is("", "Event") || self.is("events.k8s.io", "Event")
    }

    /// Returns true if objects of this kind define others: deleting one deletes all objects that it defines.
    pub(crate) fn is_definition(&self) -> bool {
        self.is("apiextensions.k8s.io", "CustomResourceDefinition")
    }

    /// Returns true if objects of this kind hold data that must never be printed.
    pub fn is_secret(&self) -> bool {
        self.is("", "Secret")
    }
}

/// Returns true if the kind is Cluster.
pub fn is_cluster(kind: &GroupKind) -> bool {
    kind.is(GROUP_CLUSTER, "Cluster")
}

/// Returns true if the kind is ClusterClass.
pub fn is_cluster_class(kind: &GroupKind) -> bool {
    kind.is(GROUP_CLUSTER, "ClusterClass")
}

/// Returns true if the kind is MachineDrainRule. Controllers of Machines read its objects, and no controller acts on them.
pub(crate) fn is_drain_rule(kind: &GroupKind) -> bool {
    kind.is(GROUP_CLUSTER, "MachineDrainRule")
}

/// Returns true for groups of Kubernetes itself. All other groups have a domain. `k8s.io` is reserved for Kubernetes, except for
/// `x-k8s.io`.
pub fn is_kubernetes_group(group: &str) -> bool {
    !group.contains('.') || (group.ends_with(".k8s.io") && !group.ends_with(".x-k8s.io"))
}

/// Formats a kind as users write it: `Machine.cluster.x-k8s.io`, `Secret`.
impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.kind)
        } else {
            write!(f, "{}.{}", self.kind, self.group)
        }
    }
}

impl std::str::FromStr for GroupKind {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, group) = text.split_once('.').unwrap_or((text, ""));
        Ok(Self::new(group, kind))
    }
}

/// Labels on a kind's definition that control moves. Only their presence counts, not their value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KindLabels {
    /// Whether the kind takes part in discovery.
    pub discover: bool,
    /// Whether every object of the kind moves.
    pub moves: bool,
    /// Whether every object of the kind moves, with all its dependents.
    pub hierarchy: bool,
    /// Whether the labels are unknown because the user can't read the definition.
    pub unread: bool,
}

/// A listable kind as one side serves it. Manifests of earlier releases spell the fields with underscores.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kind {
    /// Group and kind.
    #[serde(alias = "group_kind")]
    pub group_kind: GroupKind,
    /// Version in which objects are read and written.
    pub version: String,
    /// Resource name in URLs.
    pub plural: String,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Whether status is written through a subresource (and dropped from a create).
    #[serde(alias = "status_subresource")]
    pub status_subresource: bool,
    /// All served versions, the server's preferred one first.
    pub served: Vec<String>,
    /// Labels of the definition.
    pub labels: KindLabels,
}

impl Kind {
    /// Returns `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        let group = &self.group_kind.group;
        if group.is_empty() { self.version.clone() } else { format!("{group}/{}", self.version) }
    }

    /// Returns true if objects of the kind are read regardless of plugins. The definition is labelled, or the kind is one of the
    /// two core kinds that Clusters use.
    pub(crate) fn is_always_read(&self) -> bool {
        self.labels.discover || self.group_kind.is("", "Secret") || self.group_kind.is("", "ConfigMap")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_group_kind_parses_back() {
        for text in ["Secret", "Machine.cluster.x-k8s.io"] {
            assert_eq!(text.parse::<GroupKind>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn events_of_other_groups_are_no_events() {
        let events = |kind: &str| kind.parse::<GroupKind>().unwrap().is_event();
        assert!(events("Event") && events("Event.events.k8s.io"));
        assert!(!events("Event.calendar.example.org"));
    }

    #[test]
    fn star_covers_every_kind_of_its_group() {
        let covers =
            |wide: &str, kind: &str| wide.parse::<GroupKind>().unwrap().covers(&kind.parse().unwrap());
        assert!(covers("*.metal3.io", "BareMetalHost.metal3.io"));
        assert!(covers("Secret", "Secret") && covers("*", "Secret"));
        assert!(!covers("*.metal3.io", "Secret") && !covers("*", "BareMetalHost.metal3.io"));
        assert!(!covers("BareMetalHost.metal3.io", "*.metal3.io"));
    }
}
