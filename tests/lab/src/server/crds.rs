//! CRDs: made-up ones, and Cluster API's own.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::manifest::parse;
use crate::assets::assets;
use crate::kinds::text;

/// What `clusterctl init` puts on the CRDs of a provider, and Cluster API's own build for its contract versions.
const PROVIDER_LABELS: [(&str, &str); 3] = [
    ("clusterctl.cluster.x-k8s.io", ""),
    ("cluster.x-k8s.io/v1beta1", "v1beta1"),
    ("cluster.x-k8s.io/v1beta2", "v1beta2"),
];

/// What the user labels: free hosts belong to no Cluster, and their Secrets only to them.
const BY_HAND: [(&str, &str); 2] = [
    ("BareMetalHost", "clusterctl.cluster.x-k8s.io/move-hierarchy"),
    ("HardwareData", "clusterctl.cluster.x-k8s.io/move"),
];

/// Definitions of kinds.
#[derive(Debug, Clone, Default)]
pub struct Crds(Vec<Value>);

impl Crds {
    /// Those in these texts, each of which may hold several.
    pub fn parse(texts: &[impl AsRef<str>]) -> Result<Self> {
        let parsed = texts.iter().map(|text| parse(text.as_ref())).collect::<Result<Vec<_>>>()?;
        Ok(Self(parsed.into_iter().flatten().collect()))
    }

    /// Those of a release of Cluster API as `clusterctl init` leaves them, except for conversion webhooks, which nothing would answer.
    pub async fn cluster_api(version: &str) -> Result<Self> {
        let dirs = assets().await?.crds(version).await?;
        let mut crds = Vec::new();
        for (dir, provider) in [
            (dirs.core, "cluster-api"),
            (dirs.bootstrap, "bootstrap-kubeadm"),
            (dirs.control_plane, "control-plane-kubeadm"),
        ] {
            for mut crd in read_dir(&dir)? {
                let versions = crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
                let versions: Vec<String> =
                    versions.map(|version| text(version, "/name").to_owned()).collect();
                // A release before v1beta2 claims no contract that its CRDs don't have.
                let has = |label: &str| label.is_empty() || versions.iter().any(|version| version == label);
                let labels = PROVIDER_LABELS.into_iter().filter(|(_, version)| has(version));
                set_labels(&mut crd, labels.chain([("cluster.x-k8s.io/provider", provider)]));
                crds.push(crd);
            }
        }
        for mut crd in read_dir(&dirs.inventory)? {
            set_labels(&mut crd, [("clusterctl.cluster.x-k8s.io/core", "inventory")]);
            crds.push(crd);
        }
        Ok(Self(crds))
    }

    /// Metal3's as on a site that wants to move hosts.
    ///
    /// `clusterctl init` labels those of the provider. The baremetal operator's come without labels; those on hosts and on
    /// inspection results are added by hand, as in Metal3's own guide to moving.
    pub async fn metal3() -> Result<Self> {
        let mut crds = read_dir(&assets().await?.metal3()?.crds)?;
        for crd in &mut crds {
            if text(crd, "/spec/group") == "infrastructure.cluster.x-k8s.io" {
                let provider = [("cluster.x-k8s.io/provider", "infrastructure-metal3")];
                set_labels(crd, PROVIDER_LABELS.into_iter().chain(provider));
            }
            let by_hand = BY_HAND.iter().find(|(kind, _)| text(crd, "/spec/names/kind") == *kind);
            if let Some((_, label)) = by_hand {
                set_labels(crd, [("clusterctl.cluster.x-k8s.io", ""), (label, "")]);
            }
        }
        Ok(Self(crds))
    }

    /// These and others.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    pub(super) fn objects(&self) -> &[Value] {
        &self.0
    }
}

impl From<Vec<Value>> for Crds {
    fn from(objects: Vec<Value>) -> Self {
        Self(objects)
    }
}

fn read_dir(dir: &Path) -> Result<Vec<Value>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))? {
        paths.push(entry?.path());
    }
    paths.sort();
    let mut objects = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path)?;
        objects.extend(parse(&text).with_context(|| format!("read {}", path.display()))?);
    }
    Ok(objects)
}

fn set_labels<'a>(object: &mut Value, labels: impl IntoIterator<Item = (&'a str, &'a str)>) {
    let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) else { return };
    if let Some(existing) = metadata.entry("labels").or_insert_with(|| json!({})).as_object_mut() {
        existing.extend(labels.into_iter().map(|(key, value)| (key.to_owned(), value.into())));
    }
}
