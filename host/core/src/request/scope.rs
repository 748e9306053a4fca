//! The scope of a move: its objects, and the risks that the user accepts.
//!
//! The scope is stored in the move's record, so that a run that resumes it makes the same decisions.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::messages::refusal::some_of;
use crate::messages::risk::AcceptedRisks;
use crate::objects::names::GROUP_CLUSTER;
use crate::objects::selector::Part;
use crate::request::manifest_object::Added;
use crate::request::mapping::NamespaceMap;
use crate::{GroupKind, Key};

/// Largest number of Clusters, or parts, that a line names.
const SHOWN: usize = 5;

/// The namespaces that move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Namespaces {
    /// All of them.
    All,
    /// One namespace.
    One(String),
}

impl Namespaces {
    /// Returns these namespaces by their names in the target.
    pub fn in_target(&self, map: &NamespaceMap) -> Self {
        match self {
            Self::All => Self::All,
            Self::One(one) => Self::One(map.in_target(one).to_owned()),
        }
    }
}

/// A Cluster, as people name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterName {
    /// Namespace of the Cluster.
    pub namespace: String,
    /// Name of the Cluster.
    pub name: String,
}

impl ClusterName {
    /// A Cluster of a namespace.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The name of the Cluster that has a key.
    pub fn from_key(cluster: &Key) -> Self {
        Self::new(cluster.namespace.as_deref().unwrap_or_default(), &cluster.name)
    }

    /// Returns the key of the Cluster.
    pub(crate) fn key(&self) -> Key {
        Key::new(GroupKind::new(GROUP_CLUSTER, "Cluster"), Some(&self.namespace), &self.name)
    }
}

/// As users write a Cluster: `namespace/name`.
impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Scope of a move: its objects, and the risks that the user accepts. The format of a record, or of a saved plan, includes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scope {
    /// Namespaces that move.
    pub namespaces: Namespaces,
    /// `--cluster`: in these namespaces, only these Clusters and what they need; if empty, everything.
    #[serde(default)]
    pub clusters: BTreeSet<ClusterName>,
    /// `--exclude`: objects that stay.
    #[serde(default)]
    pub exclude: BTreeSet<Part>,
    /// `--also-copy`: objects that no rule selects, to be copied and kept.
    #[serde(default)]
    pub also_copy: BTreeSet<Part>,
    /// `--with-manifest`: objects to create in the target next to the copies, by their names there. The manifests have their content.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub from_manifests: BTreeSet<Added>,
    /// `--map-namespace`: namespaces that have another name in the target.
    #[serde(default, skip_serializing_if = "NamespaceMap::is_empty")]
    pub namespace_map: NamespaceMap,
    /// `--accept`: risks of the choice of objects.
    #[serde(default, skip_serializing_if = "AcceptedRisks::is_empty")]
    pub accept: AcceptedRisks,
}

impl Scope {
    /// A scope that accepts no danger.
    pub fn new(namespaces: Namespaces) -> Self {
        Self {
            namespaces,
            clusters: BTreeSet::new(),
            exclude: BTreeSet::new(),
            also_copy: BTreeSet::new(),
            from_manifests: BTreeSet::new(),
            namespace_map: NamespaceMap::default(),
            accept: AcceptedRisks::default(),
        }
    }

    /// Describes the named Clusters; `None` if everything moves.
    pub fn describe_clusters(&self) -> Option<String> {
        let names: Vec<&ClusterName> = self.clusters.iter().collect();
        match names.as_slice() {
            [] => None,
            [one] => Some(format!("Cluster {one}")),
            many => Some(format!("Clusters {}", some_of(many, SHOWN))),
        }
    }

    /// Returns true if a Cluster in these namespaces moves.
    pub fn includes_cluster(&self, cluster: &Key) -> bool {
        self.clusters.is_empty() || self.clusters.iter().any(|name| name.key() == *cluster)
    }

    /// Returns true if objects of a namespace are in scope. Cluster-scoped objects always are.
    pub fn includes_namespace(&self, namespace: Option<&str>) -> bool {
        match (&self.namespaces, namespace) {
            (Namespaces::All, _) | (_, None) => true,
            (Namespaces::One(one), Some(namespace)) => one == namespace,
        }
    }
}

/// The scope in words: `namespace ns without Secret/ns/a, carrying Secret/ns/b, adding ConfigMap/ns/c`.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.describe_clusters(), &self.namespaces) {
            (Some(named), _) => f.write_str(&named)?,
            (None, Namespaces::All) => f.write_str("all namespaces")?,
            (None, Namespaces::One(one)) => write!(f, "namespace {one}")?,
        }
        if !self.namespace_map.is_empty() {
            write!(f, " ({} in the target)", self.namespace_map)?;
        }
        for (parts, how) in [(&self.exclude, " without"), (&self.also_copy, ", carrying")] {
            if !parts.is_empty() {
                write!(f, "{how} {}", some_of(&parts.iter().collect::<Vec<_>>(), SHOWN))?;
            }
        }
        if !self.from_manifests.is_empty() {
            let added: Vec<Part> =
                self.from_manifests.iter().map(|added| Part::of_object(&added.object)).collect();
            write!(f, ", adding {}", some_of(&added, SHOWN))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Uid;
    use crate::messages::risk::Risk;

    #[test]
    fn one_namespace_includes_cluster_scoped_objects() {
        let scope = Scope::new(Namespaces::One("a".into()));
        assert!(
            scope.includes_namespace(Some("a"))
                && scope.includes_namespace(None)
                && !scope.includes_namespace(Some("b"))
        );
        assert!(Scope::new(Namespaces::All).includes_namespace(Some("b")));
    }

    #[test]
    fn scopes_print_in_few_words() {
        let mut scope = Scope::new(Namespaces::All);
        assert_eq!(scope.to_string(), "all namespaces");
        scope.namespaces = Namespaces::One("ns".into());
        assert_eq!(scope.to_string(), "namespace ns");
        scope.clusters.insert(ClusterName::new("ns", "b"));
        assert_eq!(scope.to_string(), "Cluster ns/b");
        scope.clusters.insert(ClusterName::new("ns", "a"));
        assert_eq!(scope.to_string(), "Clusters ns/a and ns/b");
        let pairs = [("ns", "prod"), ("x", "y")].map(|(from, to)| (from.to_owned(), to.to_owned()));
        scope.namespace_map = NamespaceMap::new(pairs).unwrap();
        assert_eq!(scope.to_string(), "Clusters ns/a and ns/b (ns as prod, x as y in the target)");
        scope.exclude.insert(Part::of_kind(GroupKind::new("g", "K")));
        assert_eq!(
            scope.to_string(),
            "Clusters ns/a and ns/b (ns as prod, x as y in the target) without K.g"
        );
        scope.also_copy.insert(Part::of_kind(GroupKind::new("", "Secret")));
        let text = "Clusters ns/a and ns/b (ns as prod, x as y in the target) without K.g, carrying Secret";
        assert_eq!(scope.to_string(), text);
        let (object, uid) = (crate::testing::key("ConfigMap ns/bom"), Uid("added-1".into()));
        scope.from_manifests.insert(Added { object, uid });
        assert_eq!(scope.to_string(), format!("{text}, adding ConfigMap/ns/bom"));
    }

    /// An older version that knows no Clusters must not take it for a move of everything.
    #[test]
    fn scopes_with_unknown_fields_are_refused() {
        let mut scope = serde_json::to_value(Scope::new(Namespaces::All)).unwrap();
        assert_eq!(serde_json::from_value::<Scope>(scope.clone()).unwrap(), Scope::new(Namespaces::All));
        scope["machines"] = serde_json::json!([]);
        assert!(serde_json::from_value::<Scope>(scope).is_err());
    }

    #[test]
    fn a_scope_reads_back_from_a_record() {
        let mut scope = Scope::new(Namespaces::One("a".into()));
        scope.accept.insert_kind(Risk::OwnerDropped, GroupKind::new("g", "K"));
        scope.clusters.insert(ClusterName::new("a", "c"));
        scope.exclude.insert(Part::of_object(&crate::testing::key("Secret a/b")));
        scope.also_copy.insert(Part::of_object(&crate::testing::key("Identity i")));
        let object = crate::testing::key("Secret a/added");
        scope.from_manifests.insert(Added { object, uid: Uid("added-1".into()) });
        let text = serde_json::to_string(&scope).unwrap();
        assert_eq!(serde_json::from_str::<Scope>(&text).unwrap(), scope);
    }
}
