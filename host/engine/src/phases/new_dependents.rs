//! What came into the source after the commit, below what is about to be deleted.
//!
//! Up to the commit whatever depends on a moved object is moved, left by a plugin or given up with `--accept-loss`. A
//! target that is waited for, or a move that is taken up days later, gives people and controllers time to add more, which
//! the garbage collector would take with its owner without a word.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use pivot_core::collateral::{Bystander, new_dependents};
use pivot_core::release::{Fate, ReleaseList};
use pivot_core::{GroupKind, Kind};
use pivot_places::PlaceError;

use crate::job::Job;
use crate::outcome::failure::Failure;

const SIDE_BY_SIDE: usize = 64;

/// Refuses where something that was created after the move began would be collected with what it deletes.
pub(crate) async fn none(job: &Job, list: &ReleaseList, begun: Option<&str>) -> Result<(), Failure> {
    let deleted = list.entries.iter().filter(|entry| entry.fate == Fate::Delete);
    let namespaces: BTreeSet<&str> = deleted.filter_map(|entry| entry.key.namespace.as_deref()).collect();
    let kinds = job.kinds.source.values().filter(|kind| kind.namespaced && !kind.group_kind.is_event());
    let lists = kinds.flat_map(|kind| namespaces.iter().map(move |namespace| (kind, Some(*namespace))));
    let mut bystanders = listed(job, lists).await?;
    // Owners may be cluster-scoped, too.
    let owners = bystanders.iter().flat_map(|bystander| &bystander.meta.owner_references);
    let owners: BTreeSet<GroupKind> = owners.map(|owner| owner.group_kind()).collect();
    let kinds = job.kinds.source.values().filter(|k| !k.namespaced && owners.contains(&k.group_kind));
    bystanders.extend(listed(job, kinds.map(|kind| (kind, None))).await?);
    match new_dependents(list, &job.options.scope.accept_loss, begun, &bystanders) {
        Some(refusal) => Err(Failure::refused(refusal)),
        None => Ok(()),
    }
}

async fn listed<'a>(
    job: &Job,
    lists: impl Iterator<Item = (&'a Arc<Kind>, Option<&'a str>)>,
) -> Result<Vec<Bystander>, Failure> {
    let listed = stream::iter(lists).map(|(kind, namespace)| list(job, kind, namespace));
    listed.buffer_unordered(SIDE_BY_SIDE).try_concat().await
}

/// What may not be listed was warned of before the move began.
async fn list(job: &Job, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Vec<Bystander>, Failure> {
    match job.source.list_meta(kind, namespace).await {
        Err(Failure::Place {
            error: PlaceError::NotFound(_) | PlaceError::Unsupported(..) | PlaceError::Forbidden(_),
            ..
        }) => Ok(Vec::new()),
        other => Ok(other?.into_iter().map(|meta| Bystander { kind: kind.clone(), meta }).collect()),
    }
}
