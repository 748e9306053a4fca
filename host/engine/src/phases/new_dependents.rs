//! What came into the source after the commit, below what is about to be deleted.
//!
//! Up to the commit whatever depends on a moved object is moved, left by a plugin or given up with `--accept-loss`. A
//! target that is waited for, or a move that is taken up days later, gives people and controllers time to add more, which
//! the garbage collector would take with its owner without a word.

use std::collections::BTreeSet;

use futures::stream::{self, StreamExt, TryStreamExt};
use pivot_core::refusal::{Refusal, some_of};
use pivot_core::release::{Fate, ReleaseList};
use pivot_core::{Key, Kind, Meta, Side, Uid};
use pivot_places::PlaceError;

use crate::job::Job;
use crate::outcome::failure::Failure;

const SIDE_BY_SIDE: usize = 64;

/// Refuses where something that was created after the move began would be collected with what it deletes.
pub(crate) async fn none(job: &Job, list: &ReleaseList, begun: Option<&str>) -> Result<(), Failure> {
    let doomed = || list.entries.iter().filter(|entry| entry.fate == Fate::Delete);
    let uids: BTreeSet<&Uid> = doomed().map(|entry| &entry.uid).collect();
    let namespaces: BTreeSet<&str> = doomed().filter_map(|entry| entry.key.namespace.as_deref()).collect();
    let accepted = &job.options.scope.accept_loss;
    let kinds = job.kinds.source.values().filter(|kind| {
        kind.namespaced && kind.group_kind.kind != "Event" && !accepted.contains(&kind.group_kind)
    });
    let lists = kinds.flat_map(|kind| namespaces.iter().map(move |namespace| (kind, *namespace)));
    let late = |meta: &Meta| {
        // Owned by what stays, too, it stays.
        let owned = !meta.owner_references.is_empty();
        owned
            && meta.creation_timestamp.as_deref() > begun
            && !uids.contains(&meta.uid)
            && meta.owner_references.iter().all(|owner| uids.contains(&owner.uid))
    };
    let found: Vec<Vec<Key>> = stream::iter(lists)
        .map(|(kind, namespace)| async move {
            let metas = listed(job, kind, namespace).await?;
            let key = |meta: Meta| Key::new(kind.group_kind.clone(), meta.namespace.as_deref(), meta.name);
            Ok::<_, Failure>(metas.into_iter().filter(late).map(key).collect())
        })
        .buffer_unordered(SIDE_BY_SIDE)
        .try_collect()
        .await?;
    let found: Vec<Key> = found.into_iter().flatten().collect();
    let Some(first) = found.first() else { return Ok(()) };
    Err(Failure::refused(Refusal {
        code: "latecomers",
        side: Side::Source,
        object: Some(first.clone()),
        message: format!(
            "{} came after the copy was made, and would be garbage-collected because what owns them is deleted",
            some_of(&found, 5)
        ),
        remedy: "put what is needed into the target by hand; delete it here, or take its owner references off, and resume".into(),
    }))
}

/// What may not be listed was warned of before the move began.
async fn listed(job: &Job, kind: &std::sync::Arc<Kind>, namespace: &str) -> Result<Vec<Meta>, Failure> {
    match job.source.list_meta(kind, Some(namespace)).await {
        Err(Failure::Place {
            error: PlaceError::NotFound(_) | PlaceError::Unsupported(..) | PlaceError::Forbidden(_),
            ..
        }) => Ok(Vec::new()),
        other => other,
    }
}
