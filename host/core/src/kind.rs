//! Kinds of objects as one side serves them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// API group and kind: what an object is, whatever version it is read in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupKind {
    /// API group; empty for the core group.
    pub group: String,
    /// Kind, in CamelCase.
    pub kind: String,
}

impl GroupKind {
    /// A group and kind.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), kind: kind.into() }
    }

    /// Whether this is the given group and kind.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Whether this kind, or pattern of kinds, covers another: `*` as kind means every kind of the group.
    pub fn covers(&self, kind: &Self) -> bool {
        self.group == kind.group && (self.kind == "*" || self.kind == kind.kind)
    }

    /// The narrower of two kinds or patterns of kinds, where one covers the other.
    pub fn narrower_of<'a>(&'a self, other: &'a Self) -> Option<&'a Self> {
        if self.covers(other) { Some(other) } else { other.covers(self).then_some(self) }
    }

    /// Whether objects of this kind come and go without anyone moving, keeping or missing them. Core Events and those of
    /// `events.k8s.io` are the same objects.
    pub fn is_event(&self) -> bool {
        self.is("", "Event") || self.is("events.k8s.io", "Event")
    }

    /// Whether objects of this kind define others: deleting one deletes all that it defines.
    pub(crate) fn is_definition(&self) -> bool {
        self.is("apiextensions.k8s.io", "CustomResourceDefinition")
    }

    /// Whether objects of this kind hold data that must never be printed.
    pub fn is_secret(&self) -> bool {
        self.is("", "Secret")
    }
}

/// Whether it is a group of Kubernetes itself: all others have a domain, and `k8s.io` is reserved for it, but for `x-k8s.io`.
pub fn is_kubernetes_group(group: &str) -> bool {
    !group.contains('.') || (group.ends_with(".k8s.io") && !group.ends_with(".x-k8s.io"))
}

/// In the spelling of users: `Machine.cluster.x-k8s.io`, `Secret`.
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

/// What the labels of a kind's definition say about moving. Only their presence counts, not their value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KindLabels {
    /// The kind takes part in discovery.
    pub discover: bool,
    /// Every object of the kind moves.
    pub moves: bool,
    /// Every object of the kind moves, with all below it.
    pub hierarchy: bool,
    /// This user can't read the definition, so its labels are unknown.
    pub unread: bool,
}

/// A listable kind as one side serves it. Manifests of earlier releases spell its fields with underscores.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kind {
    /// Group and kind.
    #[serde(alias = "group_kind")]
    pub group_kind: GroupKind,
    /// The version objects are read and written in.
    pub version: String,
    /// The resource name in URLs.
    pub plural: String,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Whether status is written through a subresource (and dropped from a create).
    #[serde(alias = "status_subresource")]
    pub status_subresource: bool,
    /// All served versions, the server's preferred one first.
    pub served: Vec<String>,
    /// What the definition's labels say.
    pub labels: KindLabels,
}

impl Kind {
    /// `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        let group = &self.group_kind.group;
        if group.is_empty() { self.version.clone() } else { format!("{group}/{}", self.version) }
    }

    /// Whether objects of the kind are read regardless of plugins: its definition is labelled, or it is one of the two core kinds
    /// that Clusters use.
    pub(crate) fn is_always_read(&self) -> bool {
        self.labels.discover || self.group_kind.is("", "Secret") || self.group_kind.is("", "ConfigMap")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_kind_reads_back_what_it_prints() {
        for text in ["Secret", "Machine.cluster.x-k8s.io"] {
            assert_eq!(text.parse::<GroupKind>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn only_kubernetes_own_events_are_events() {
        let events = |kind: &str| kind.parse::<GroupKind>().unwrap().is_event();
        assert!(events("Event") && events("Event.events.k8s.io"));
        assert!(!events("Event.calendar.example.org"));
    }

    #[test]
    fn a_star_covers_every_kind_of_its_group_and_no_other() {
        let covers =
            |wide: &str, kind: &str| wide.parse::<GroupKind>().unwrap().covers(&kind.parse().unwrap());
        assert!(covers("*.metal3.io", "BareMetalHost.metal3.io"));
        assert!(covers("Secret", "Secret") && covers("*", "Secret"));
        assert!(!covers("*.metal3.io", "Secret") && !covers("*", "BareMetalHost.metal3.io"));
        assert!(!covers("BareMetalHost.metal3.io", "*.metal3.io"));
    }
}
