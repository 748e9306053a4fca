//! Deletes copied objects from the source, dependents first, and unpauses the kept ones.
//!
//! Each object takes two requests. The first is a merge patch that is bound to the copied state. The patch removes the
//! finalizers and marks the delete as part of a move. The second is a delete that is bound to the state after the patch. In
//! between, no change of the object goes unnoticed.
//!
//! Both go from dependents to owners, each as soon as allowed. The patch is sent no sooner than needed: a run that dies leaves
//! objects without their finalizers, and controllers put them back. Secrets and ConfigMaps without finalizers need no patch: a
//! delete that is bound to the copied state is enough.
//!
//! Controllers of a paused Cluster sometimes put their finalizers back. Then the object is deleted with its finalizers and its
//! pause, and the finalizers are removed while it waits: a server rejects new finalizers on an object that is being deleted.
//! The object's annotations are never replaced: without its pause, a controller would tear down the real resources.
//!
//! The target may have been found by a kubeconfig in a Secret. That Secret is deleted by [`delete_last`], when only closing the
//! move is left: a run that continues then needs only the source. The first patch removes its owners, or the garbage collector
//! would delete it with them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::stream::{self, StreamExt, TryStreamExt};
use pivot_core::copies::body;
use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::objects::{merge, names};
use pivot_core::plugins::hooks::Hook;
use pivot_core::records::record::Phase;
use pivot_core::records::release::{
    Entry, Pausing, ReleaseFate, ReleaseList, comparable_content, content_digest,
};
use pivot_core::{GroupKind, Kind, Object, Side, Uid};
use pivot_places::{PlaceError, Preconditions};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::act::unpausing;
use crate::base::events::Verb;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls;
use crate::base::requests::MAX_ROUNDS;
use crate::base::requests::dataflow::{self, NodeRole, Parts};
use crate::base::requests::side_by_side::{OBJECTS, Work};
use crate::base::requests::webhooks::outlast_refusals;

/// Largest number of patched objects whose delete has not started. The limit of concurrent requests applies to started deletes: each is
/// under way, or waits for the record that allows it.
const MAX_PATCHED_AHEAD: usize = 64;

/// Deletes or unpauses every object of the list.
///
/// An object's patch waits for its dependents' patches, and its delete for their deletes. So requests for an owner and its
/// dependents overlap, and still no owner is deleted before its dependents. Nothing is deleted or unpaused before `may_delete`
/// is true. `copied` is the source as this run copied it.
pub(crate) async fn release_all(
    job: &Arc<Job>,
    list: &Arc<ReleaseList>,
    copied: Option<&Inventory>,
    may_delete: MayDelete,
) -> Result<PreparedDeletes, Failure> {
    let (patch, delete) = (|entry: usize| 2 * entry, |entry: usize| 2 * entry + 1);
    let mut after: Vec<Vec<usize>> = Vec::with_capacity(2 * list.entries.len());
    let mut parts = Parts { of: Vec::with_capacity(2 * list.entries.len()), most: MAX_PATCHED_AHEAD };
    for (index, entry) in list.entries.iter().enumerate() {
        let patched = entry.fate == ReleaseFate::Delete && !entry.can_be_deleted_directly();
        parts.of.extend(if patched { [NodeRole::Begin, NodeRole::End] } else { [NodeRole::Whole; 2] });
        after.push(entry.after.iter().map(|&dependent| patch(dependent)).collect());
        let dependents = entry.after.iter().map(|&dependent| delete(dependent));
        after.push(dependents.chain([patch(index)]).collect());
    }
    let ready: PreparedDeletes = Arc::new(list.entries.iter().map(|_| OnceLock::new()).collect());
    let then = Arc::new(find_without_digest(list, copied));
    let made = ready.clone();
    dataflow::run_parts(&after, &parts, job.limiter(Side::Source), &job.halter, |node| {
        let (job, list, ready, then, mut may_delete) =
            (job.clone(), list.clone(), ready.clone(), then.clone(), may_delete.clone());
        async move {
            let bug = || Failure::Bug(format!("no entry {}", node / 2));
            let entry = list.entries.get(node / 2).ok_or_else(bug)?;
            let slot = ready.get(node / 2).ok_or_else(bug)?;
            if node % 2 == 1 && may_delete.wait_for(|may| *may).await.is_err() {
                return Err(Failure::Bug(
                    "nothing was released, because that could not be written down".into(),
                ));
            }
            let then = then.get(&entry.uid);
            match (entry.fate, node % 2) {
                (ReleaseFate::Keep, 0) => Ok(()),
                (ReleaseFate::Keep, _) => unpause_kept(&job, entry).await,
                (ReleaseFate::Delete, 0) => {
                    prepare_delete(&job, entry, then).await.map(|made| drop(slot.set(made)))
                }
                (ReleaseFate::Delete, _) if entry.last => Ok(()),
                (ReleaseFate::Delete, _) => {
                    delete_prepared(&job, entry, then, slot.get().ok_or_else(bug)?).await
                }
            }
        }
    })
    .await?;
    Ok(made)
}

/// Returns the list with the current versions of the source's objects, for a source with another history than the list. In such
/// a source, a version of the list may be another state.
///
/// # Errors
///
/// Fails if an object is not as it was copied.
pub(crate) async fn update_versions(job: &Job, list: &ReleaseList) -> Result<ReleaseList, Failure> {
    let looks = list.entries.iter().map(|entry| -> Work<'_, Entry> {
        async move {
            let mut current = entry.clone();
            if entry.fate == ReleaseFate::Delete
                && let Some(now) = get_if_unchanged(job, &job.kind_of_entry(entry), entry, None).await?
            {
                current.resource_version = now.meta.resource_version;
            }
            Ok(current)
        }
        .boxed()
    });
    // The order stays: entries refer to each other by their positions.
    let entries = stream::iter(looks.collect::<Vec<_>>()).buffered(OBJECTS).try_collect().await?;
    Ok(ReleaseList { entries })
}

/// Deletes the objects that are deleted last. `prepared` is the result of [`release_all`] in this run.
pub(crate) async fn delete_last(
    job: &Job,
    list: &ReleaseList,
    copied: Option<&Inventory>,
    prepared: Option<PreparedDeletes>,
) -> Result<(), Failure> {
    let then = find_without_digest(list, copied);
    for (index, entry) in list.entries.iter().enumerate().filter(|(_, entry)| entry.last) {
        let (kind, then) = (job.kind_of_entry(entry), then.get(&entry.uid));
        let again;
        let ready = match prepared.as_ref().and_then(|prepared| prepared.get(index)?.get()) {
            Some(ready) => ready,
            None => {
                again = match get_if_unchanged(job, &kind, entry, then).await? {
                    Some(now) => PreparedDelete::At {
                        finalizers_back: !now.meta.finalizers.is_empty(),
                        resource_version: now.meta.resource_version,
                    },
                    None => PreparedDelete::Gone,
                };
                &again
            }
        };
        delete_prepared(job, entry, then, ready).await?;
    }
    Ok(())
}

/// Returns the copied objects of entries that have no digest.
fn find_without_digest(list: &ReleaseList, copied: Option<&Inventory>) -> BTreeMap<Uid, Object> {
    let entries = list.entries.iter().filter(|entry| entry.digest.is_none());
    let objects =
        entries.filter_map(|entry| copied?.get_by_key(&entry.key).filter(|then| then.meta.uid == entry.uid));
    objects.map(|object| (object.meta.uid.clone(), object.clone())).collect()
}

/// Becomes true once it is recorded that the move deletes.
pub(crate) type MayDelete = watch::Receiver<bool>;

/// The states after the patches, by entry.
pub(crate) type PreparedDeletes = Arc<Vec<OnceLock<PreparedDelete>>>;

/// The state after the patch or, if no patch is needed, the state that was copied.
pub(crate) enum PreparedDelete {
    /// The object is already gone.
    Gone,
    /// The object can be deleted in this state.
    At { resource_version: String, finalizers_back: bool },
}

async fn unpause_kept(job: &Job, entry: &Entry) -> Result<(), Failure> {
    // An object that was paused only in the reading is unchanged.
    if entry.pausing == Pausing::Untouched || job.source.end_kind.is_files() {
        return Ok(());
    }
    let kind = job.kind_of_entry(entry);
    if unpausing::unpause_listed(job, &job.source, &kind, entry, None).await? {
        job.report_object(Phase::Released, Verb::Kept, &entry.key, Side::Source);
    }
    Ok(())
}

/// Removes the finalizers and marks the delete as part of a move, if the object needs that. The patch is bound to the copied
/// state.
async fn prepare_delete(job: &Job, entry: &Entry, then: Option<&Object>) -> Result<PreparedDelete, Failure> {
    let kind = job.kind_of_entry(entry);
    let mut resource_version = entry.resource_version.clone();
    if entry.can_be_deleted_directly() {
        return Ok(PreparedDelete::At { resource_version, finalizers_back: false });
    }
    for _ in 0..MAX_ROUNDS {
        let mut patch = json!({"metadata": {
            "uid": entry.uid,
            "resourceVersion": resource_version,
            "finalizers": null,
            "annotations": {names::DELETE_FOR_MOVE: ""},
        }});
        if entry.last {
            merge::apply_patch(&mut patch, &json!({"metadata": {"ownerReferences": []}}));
        }
        let prepare = || job.source.patch(&kind, &entry.key, &patch);
        match outlast_refusals(&job.halter, prepare).await {
            Ok(object) => {
                // A webhook may have put one back.
                let finalizers_back = !object.meta.finalizers.is_empty();
                return Ok(PreparedDelete::At {
                    resource_version: object.meta.resource_version,
                    finalizers_back,
                });
            }
            Err(PlaceError::NotFound(_)) => return Ok(PreparedDelete::Gone),
            Err(PlaceError::Conflict(_)) => match get_if_unchanged(job, &kind, entry, then).await? {
                None => return Ok(PreparedDelete::Gone),
                Some(now) => {
                    let being_deleted = now.meta.is_being_deleted();
                    resource_version = now.meta.resource_version;
                    if being_deleted {
                        break;
                    }
                }
            },
            Err(error) => return Err(job.source.request_failure("releasing", Some(&entry.key), error)),
        }
    }
    Ok(PreparedDelete::At { resource_version, finalizers_back: true })
}

/// Deletes an object in the state that the patch made.
async fn delete_prepared(
    job: &Job,
    entry: &Entry,
    then: Option<&Object>,
    ready: &PreparedDelete,
) -> Result<(), Failure> {
    let PreparedDelete::At { resource_version, finalizers_back } = ready else { return Ok(()) };
    let (mut resource_version, mut finalizers_back) = (resource_version.clone(), *finalizers_back);
    let kind = job.kind_of_entry(entry);
    for _ in 0..MAX_ROUNDS {
        let preconditions =
            Preconditions { uid: Some(entry.uid.clone()), resource_version: Some(resource_version.clone()) };
        let delete = || job.source.delete(&kind, &entry.key, preconditions.clone());
        match outlast_refusals(&job.halter, delete).await {
            Ok(()) if finalizers_back => return strip_finalizers(job, &kind, entry).await,
            Ok(()) => {
                job.report_object(Phase::Released, Verb::Deleted, &entry.key, Side::Source);
                return Ok(());
            }
            Err(PlaceError::NotFound(_)) => return Ok(()),
            Err(PlaceError::Conflict(_)) => match get_if_unchanged(job, &kind, entry, then).await? {
                None => return Ok(()),
                Some(now) => {
                    finalizers_back = !now.meta.finalizers.is_empty();
                    resource_version = now.meta.resource_version;
                }
            },
            Err(error) => return Err(job.source.request_failure("releasing", Some(&entry.key), error)),
        }
    }
    let error = PlaceError::Conflict(format!("it changed {MAX_ROUNDS} times while being deleted"));
    Err(job.source.request_failure("releasing", Some(&entry.key), error))
}

/// Removes the finalizers of an object that is being deleted. The rest of the object stays, above all its pause.
async fn strip_finalizers(job: &Job, kind: &Arc<Kind>, entry: &Entry) -> Result<(), Failure> {
    let patch = json!({"metadata": {"uid": entry.uid, "finalizers": null}});
    let strip = || job.source.patch(kind, &entry.key, &patch);
    match outlast_refusals(&job.halter, strip).await {
        // A conflict means another UID: the object is gone, and another one has its name.
        Ok(_) | Err(PlaceError::NotFound(_) | PlaceError::Conflict(_)) => {
            job.report_object(Phase::Released, Verb::Deleted, &entry.key, Side::Source);
            Ok(())
        }
        Err(error) => Err(job.source.request_failure("taking the finalizers off", Some(&entry.key), error)),
    }
}

/// Reads the object once more, and fails if it has changed. The object may be gone, or its controllers may have updated its
/// status.
///
/// The list has a digest of the copied state, except for Secrets. This run compares Secrets with the copied object (`then`),
/// and any other run compares them with the copy.
pub(crate) async fn get_if_unchanged(
    job: &Job,
    kind: &Arc<Kind>,
    entry: &Entry,
    then: Option<&Object>,
) -> Result<Option<Object>, Failure> {
    let Some(now) = job.source.get(kind, &entry.key).await?.filter(|now| now.meta.uid == entry.uid) else {
        return Ok(None);
    };
    let value = |object: &Object| object.value().map_err(|error| Failure::Object(Side::Source, error));
    let is = value(&now)?;
    let same = match (&entry.digest, then) {
        (Some(then), _) => {
            content_digest(&entry.key.group_kind, &is, entry.with_status).as_ref() == Some(then)
        }
        (None, Some(then)) => {
            comparable_content(&value(then)?, entry.with_status) == comparable_content(&is, entry.with_status)
        }
        (None, None) => false,
    };
    if same {
        return Ok(Some(now));
    }
    let mut fields = compare_with_copy(job, entry, &now, &is).await?;
    if fields.is_empty() && entry.digest.is_none() {
        return Ok(Some(now));
    }
    if fields.is_empty() {
        fields.push("something was removed from it".into());
    }
    Err(Failure::Changed { object: entry.key.clone(), fields })
}

/// Returns the fields in which the copy differs from the source's current object. The user would have to restore them, or give
/// them up.
///
/// Fields that only the copy has may come from the target's controllers and webhooks. Secrets, which have no digest, must match
/// both ways, or removed data would go unnoticed.
async fn compare_with_copy(
    job: &Job,
    entry: &Entry,
    now: &Object,
    is: &Value,
) -> Result<Vec<String>, Failure> {
    let kind = job.kind(Side::Target, &entry.key.group_kind)?;
    let Some(copy) = job.target.get(kind, &entry.key).await? else {
        return Ok(vec!["its copy is gone".into()]);
    };
    let copy = copy.value().map_err(|error| Failure::Object(Side::Target, error))?;
    // For the same input a plugin returns the same patch. An object that the target had before was not adapted.
    let adapted = match entry.used {
        true => None,
        false => calls::ask_for_patch(&job.plugins, Hook::Adapt, now, None).await?,
    };
    let mut wanted = is.clone();
    if let Some(adapted) = &adapted {
        merge::apply_patch(&mut wanted, &adapted.patch);
    }
    let comparable = |value| shared_content(value, &entry.key.group_kind, entry.used, entry.with_status);
    let (wanted, copy) = (comparable(&wanted), comparable(&copy));
    let mut fields = body::find_lost_fields(&wanted, &copy);
    if entry.digest.is_none() && !entry.used {
        fields.extend(body::find_lost_fields(&copy, &wanted));
    }
    fields.sort();
    fields.dedup();
    Ok(match adapted {
        Some(adapted) if !fields.is_empty() => adapted.by.fields(fields),
        _ => fields,
    })
}

/// Returns the fields that a source's object and its copy share. Owners' UIDs and pauses are left out. An object that the
/// target had before has its own metadata.
pub(crate) fn shared_content(object: &Value, kind: &GroupKind, used: bool, with_status: bool) -> Value {
    let mut content = comparable_content(object, with_status);
    if let Some(map) = content.as_object_mut().filter(|_| used) {
        map.remove("metadata");
    }
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("ownerReferences");
        // A create doesn't send this field.
        metadata.remove("generateName");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|name, _| !name.starts_with(names::OURS) && name != names::PAUSED);
        }
    }
    if is_cluster(kind)
        && let Some(spec) = content.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.remove("paused");
    }
    content
}
