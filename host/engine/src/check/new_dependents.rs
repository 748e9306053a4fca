//! Refuses objects that were created in the source after the commit, as dependents of objects that are about to be deleted.
//!
//! At the commit, every dependent of a moved object is moved, left by a plugin, or accepted with `--accept dependents-lost`.
//! While the run waits for the target, or before a later resume, people and controllers may create more dependents. The garbage
//! collector would silently delete these with their owners.

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::checks::collateral::{Bystander, find_new_dependents};
use pivot_core::messages::risk::Risk;
use pivot_core::records::release::{ReleaseFate, ReleaseList};
use pivot_core::{GroupKind, Kind, Meta};

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::listing::{self, Collection};
use crate::base::requests::side_by_side::EMPTY_LISTS;

/// Refuses if an object that was created after the move began would be garbage-collected with the deleted ones.
pub(crate) async fn refuse_new_dependents(
    job: &Job,
    list: &ReleaseList,
    begun: Option<&str>,
) -> Result<(), Failure> {
    let deleted = list.entries.iter().filter(|entry| entry.fate == ReleaseFate::Delete);
    let namespaces: BTreeSet<String> = deleted.filter_map(|entry| entry.key.namespace.clone()).collect();
    let kinds = job.kinds.source.values().filter(|kind| kind.namespaced && !kind.group_kind.is_event());
    let mut bystanders = list_identities(job, listing::collections_in(kinds, &namespaces)).await?;
    // Owners may be cluster-scoped, too.
    let owners = bystanders.iter().flat_map(|(_, meta)| &meta.owner_references);
    let owners: BTreeSet<GroupKind> = owners.map(|owner| owner.group_kind()).collect();
    let kinds = job.kinds.source.values().filter(|k| !k.namespaced && owners.contains(&k.group_kind));
    bystanders.extend(list_identities(job, listing::collections_in(kinds, &namespaces)).await?);
    let bystanders: Vec<Bystander<'_>> =
        bystanders.iter().map(|(kind, meta)| Bystander { kind, meta }).collect();
    match find_new_dependents(list, job.options.scope.accept.kinds(Risk::DependentsLost), begun, &bystanders)
    {
        Some(refusal) => Err(Failure::from_refusal(refusal)),
        None => Ok(()),
    }
}

/// Lists the objects of all kinds that the user can list. For the others, a warning was reported before the move began.
async fn list_identities(job: &Job, wanted: Vec<Collection>) -> Result<Vec<(Arc<Kind>, Meta)>, Failure> {
    let mut found = Vec::new();
    for ((kind, _), listed) in listing::list_identities(&job.source, EMPTY_LISTS, wanted).await? {
        found.extend(listed.into_known().into_iter().map(|meta| (kind.clone(), meta)));
    }
    Ok(found)
}
