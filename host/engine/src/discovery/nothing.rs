//! Why there is nothing to move in a requested namespace. Mostly its name is mistyped, or belongs to another cluster: whether it
//! exists, and where Clusters are, is worth two more requests.

use std::collections::BTreeSet;

use pivot_core::names::GROUP_CLUSTER;
use pivot_core::refusal::some_of;
use pivot_core::scope::Namespaces;
use pivot_core::{GroupKind, Key};

use crate::job::Job;
use crate::outcome::failure::Failure;

/// How many namespaces are named.
const NAMED: usize = 5;

/// The same failure; if there is nothing to move, it also says where Clusters are.
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

/// In a directory a namespace exists once something is in it. Without permission to look, it doesn't count as missing.
async fn is_missing(job: &Job, name: &str) -> bool {
    let namespace = GroupKind::new("", "Namespace");
    let Some(kind) = job.kinds.source.get(&namespace).filter(|_| job.source.can().judges) else {
        return false;
    };
    matches!(job.source.get(kind, &Key::new(namespace, None, name)).await, Ok(None))
}

/// The namespaces that have Clusters; `None` if the user can't list those.
async fn with_clusters(job: &Job) -> Option<Vec<String>> {
    let kind = job.kinds.source.get(&GroupKind::new(GROUP_CLUSTER, "Cluster"))?;
    let metas = job.source.list_meta(kind, None).await.ok()?;
    let namespaces: BTreeSet<String> = metas.into_iter().filter_map(|meta| meta.namespace).collect();
    Some(namespaces.into_iter().collect())
}
