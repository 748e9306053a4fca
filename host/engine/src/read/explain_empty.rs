//! Explains why a requested namespace, or the requested names, have nothing to move.
//!
//! Most often a name is mistyped or belongs to another cluster. Two more requests show whether the namespace exists, and where
//! Clusters are.

use std::collections::BTreeSet;

use pivot_core::messages::refusal::some_of;
use pivot_core::messages::safe_text::did_you_mean;
use pivot_core::objects::names;
use pivot_core::request::scope::{ClusterName, Namespaces};
use pivot_core::{GroupKind, Key};

use crate::base::job::Job;
use crate::base::kinds::Kinds;
use crate::base::outcome::failure::Failure;

/// Largest number of Clusters or namespaces that a message names.
const MAX_NAMED: usize = 5;

/// Adds to a [`Failure::Empty`] where Clusters are. Returns other failures unchanged.
pub(crate) async fn explain_empty(job: &Job, failure: Failure) -> Failure {
    match (failure, &job.options.scope.namespaces) {
        (Failure::Empty(why), _) if job.options.scope.describe_clusters().is_some() => {
            Failure::Empty(match list_cluster_names(job).await {
                Some(there) if there.is_empty() => format!("{why}; there are no Clusters"),
                Some(there) => {
                    let known: Vec<&str> = there.iter().map(|cluster| cluster.name.as_str()).collect();
                    let typed = job.options.scope.clusters.iter().map(|cluster| cluster.name.as_str());
                    let mut similar =
                        typed.filter(|name| !known.contains(name)).map(|name| did_you_mean(name, &known));
                    let similar = similar.find(|words| !words.is_empty()).unwrap_or_default();
                    format!(
                        "{why}{similar}; there are Clusters {}",
                        some_of(&Vec::from_iter(&there), MAX_NAMED)
                    )
                }
                None => why,
            })
        }
        (Failure::Empty(why), Namespaces::One(name)) => {
            let why =
                if is_missing(job, name).await { format!("the source has no namespace {name}") } else { why };
            Failure::Empty(match find_namespaces_with_clusters(job).await {
                Some(namespaces) if namespaces.is_empty() => {
                    format!("{why}; there are no Clusters in other namespaces either")
                }
                Some(namespaces) => {
                    let known: Vec<&str> = namespaces.iter().map(String::as_str).collect();
                    let similar = did_you_mean(name, &known);
                    format!("{why}{similar}; there are Clusters in {}", some_of(&namespaces, MAX_NAMED))
                }
                None => why,
            })
        }
        (other, _) => other,
    }
}

/// Returns true if the source has no such namespace. A directory has each namespace that something is in. Without permission to
/// read it, a namespace doesn't count as missing.
async fn is_missing(job: &Job, name: &str) -> bool {
    let namespace = GroupKind::new("", "Namespace");
    let Some(kind) = job.kinds.source.get(&namespace).filter(|_| job.source.capabilities().judges) else {
        return false;
    };
    matches!(job.source.get(kind, &Key::new(namespace, None, name)).await, Ok(None))
}

/// Returns the namespaces that have Clusters; `None` if the user can't list Clusters.
async fn find_namespaces_with_clusters(job: &Job) -> Option<Vec<String>> {
    let there = list_cluster_names(job).await?.into_iter();
    let namespaces: BTreeSet<String> = there.map(|cluster| cluster.namespace).collect();
    Some(namespaces.into_iter().collect())
}

/// Returns the Clusters of all namespaces; `None` without permission to list them.
async fn list_cluster_names(job: &Job) -> Option<BTreeSet<ClusterName>> {
    let kind = job.kinds.source.get(&GroupKind::new(names::GROUP_CLUSTER, "Cluster"))?;
    let metas = job.source.list_meta(kind, None).await.ok()?;
    Some(metas.into_iter().filter_map(|meta| Some(ClusterName::new(meta.namespace?, meta.name))).collect())
}

/// Returns the reason if no kind in the source is labelled for a move: its definitions were not installed by clusterctl.
pub(crate) fn explain_unlabelled(kinds: &Kinds) -> Option<String> {
    let cluster = kinds.source.get(&GroupKind::new(names::GROUP_CLUSTER, "Cluster"));
    match cluster {
        None => Some(
            "Cluster API is not installed in the source: there is no kind Cluster.cluster.x-k8s.io".into(),
        ),
        Some(kind) if !kind.labels.discover => Some(format!(
            "the CRD of Cluster is not labelled for move: {} is missing, as on CRDs that were not installed by clusterctl",
            names::LABEL_DISCOVER
        )),
        Some(_) => None,
    }
}
