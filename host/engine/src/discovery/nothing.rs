//! Why there is nothing to move where one namespace was asked for. Mostly its name is mistyped, or it is another cluster's:
//! whether it is there, and where Clusters are, is worth two more requests.

use std::collections::BTreeSet;

use pivot_core::names::GROUP_CLUSTER;
use pivot_core::refusal::some_of;
use pivot_core::scope::Namespaces;
use pivot_core::{GroupKind, Key};

use crate::job::Job;
use crate::outcome::failure::Failure;

/// How many namespaces are named.
const NAMED: usize = 5;

/// The same failure; one that says that there is nothing to move says where there is something.
pub(crate) async fn explained(job: &Job, failure: Failure) -> Failure {
    match (failure, &job.options.scope.namespaces) {
        (Failure::Empty(why), Namespaces::One(name)) => {
            let why =
                if is_missing(job, name).await { format!("the source has no namespace {name}") } else { why };
            Failure::Empty(match with_clusters(job).await {
                Some(namespaces) if namespaces.is_empty() => {
                    format!("{why}; there are no Clusters in other namespaces either")
                }
                Some(namespaces) => {
                    format!("{why}; there are Clusters in {}", some_of(&namespaces, NAMED))
                }
                None => why,
            })
        }
        (other, _) => other,
    }
}

/// In a directory a namespace is there as soon as something lies in it; who may not look is not told.
async fn is_missing(job: &Job, name: &str) -> bool {
    let namespace = GroupKind::new("", "Namespace");
    let Some(kind) = job.kinds.source.get(&namespace).filter(|_| job.source.can().judges) else {
        return false;
    };
    matches!(job.source.get(kind, &Key::new(namespace, None, name)).await, Ok(None))
}

/// The namespaces in which there are Clusters; none where they may not be listed.
async fn with_clusters(job: &Job) -> Option<Vec<String>> {
    let kind = job.kinds.source.get(&GroupKind::new(GROUP_CLUSTER, "Cluster"))?;
    let metas = job.source.list_meta(kind, None).await.ok()?;
    let namespaces: BTreeSet<String> = metas.into_iter().filter_map(|meta| meta.namespace).collect();
    Some(namespaces.into_iter().collect())
}
