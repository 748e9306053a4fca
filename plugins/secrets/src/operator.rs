//! The operator's entries for Secrets, and whether they are valid.

use pivot_sdk::{Error, Glob, Key, Kind, Object, Result, Selector};
use serde::Deserialize;

use crate::rules::Rule;

const CLUSTER: Kind = Kind::new("cluster.x-k8s.io", "Cluster");
/// The label with which Cluster API marks an object's Cluster.
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

/// The plugin, with its configuration.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Secrets {
    /// The built-in rules in use; all if not set.
    pub rules: Vec<Rule>,
    /// More Secrets that stay.
    pub leave: Vec<Leave>,
    /// Secrets that move with a Cluster.
    pub take: Vec<Take>,
}

impl Default for Secrets {
    fn default() -> Self {
        Self { rules: Rule::ALL.to_vec(), leave: Vec::new(), take: Vec::new() }
    }
}

/// Secrets that stay, regardless of what else is known about them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Leave {
    /// Selector of the Secrets.
    #[serde(rename = "match")]
    pub chosen: Selector,
    /// Type of the Secrets.
    #[serde(rename = "type")]
    pub of_type: Option<Glob>,
    /// The reason.
    pub reason: Option<String>,
}

/// Secrets that move with a Cluster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Take {
    /// Selector of the Secrets.
    #[serde(rename = "match")]
    pub chosen: Selector,
    /// Type of the Secrets.
    #[serde(rename = "type")]
    pub of_type: Option<Glob>,
    /// The Cluster that they move with: `name`, or `namespace/name`.
    pub cluster: Option<String>,
    /// The label that names that Cluster, in the same namespace.
    pub cluster_label: Option<String>,
}

impl Leave {
    pub(crate) fn matches(&self, secret: &Object) -> bool {
        matches_secret(&self.chosen, self.of_type.as_ref(), secret)
    }

    pub(crate) fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or("the configuration says that it stays")
    }
}

impl Take {
    pub(crate) fn matches(&self, secret: &Object) -> bool {
        matches_secret(&self.chosen, self.of_type.as_ref(), secret)
    }

    /// Returns the Cluster that a Secret moves with. An operator who selects a Secret wants it to move: one without a Cluster
    /// must not stay behind silently.
    pub(crate) fn cluster_of(&self, index: usize, secret: &Object) -> Result<Key> {
        let namespace = secret.namespace().unwrap_or_default();
        if let Some(cluster) = &self.cluster {
            let (namespace, name) = cluster.split_once('/').unwrap_or((namespace, cluster));
            return Ok(CLUSTER.key_in(namespace, name));
        }
        let label = self.cluster_label.as_deref().unwrap_or(CLUSTER_NAME);
        match secret.label(label).filter(|name| !name.is_empty()) {
            Some(name) => Ok(CLUSTER.key_in(namespace, name)),
            None => Err(Error::invalid(format!(
                "configuration: take[{index}] selects this Secret, which has no label {label} to say which Cluster it \
                 moves with; label it, name the Cluster in take[{index}].cluster, or select less"
            ))),
        }
    }
}

fn matches_secret(chosen: &Selector, of_type: Option<&Glob>, secret: &Object) -> bool {
    // A Secret without a type is Opaque.
    let is = secret.text("/type").unwrap_or("Opaque");
    chosen.matches(secret) && of_type.is_none_or(|wanted| wanted.matches(is))
}

impl Secrets {
    /// Checks what parsing can't. Runs before each call, so that a mistake shows in the first one.
    pub(crate) fn validate(&self) -> Result<()> {
        for (index, leave) in self.leave.iter().enumerate() {
            if leave.chosen.is_empty() && leave.of_type.is_none() {
                return Err(entry_error("leave", index, "selects every Secret; give it a match or a type"));
            }
        }
        for (index, take) in self.take.iter().enumerate() {
            if take.chosen.is_empty() && take.of_type.is_none() {
                return Err(entry_error("take", index, "selects every Secret; give it a match or a type"));
            }
            if take.cluster.is_some() && take.cluster_label.is_some() {
                return Err(entry_error(
                    "take",
                    index,
                    "has both cluster and cluster-label; one of them says it",
                ));
            }
            let parts =
                |cluster: &str| cluster.split('/').count() <= 2 && cluster.split('/').all(|p| !p.is_empty());
            if let Some(bad) = take.cluster.as_deref().filter(|cluster| !parts(cluster)) {
                let why = format!("names the Cluster `{bad}`; write its name, or namespace/name");
                return Err(entry_error("take", index, &why));
            }
        }
        Ok(())
    }
}

fn entry_error(list: &str, index: usize, why: &str) -> Error {
    Error::invalid(format!("configuration: {list}[{index}] {why}"))
}
