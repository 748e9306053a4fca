//! Deleting what was copied, dependents first, and un-pausing what stays.
//!
//! Two requests an object: a merge patch that takes the finalizers off and says why, bound to the state that was
//! copied; then a delete bound to the state that patch made. In between nothing can happen to the object unnoticed.
//!
//! Controllers of a paused Cluster still put their finalizers back at times. Then the object is deleted with them on,
//! its pause in place, and they are taken off while it waits: on an object that is being deleted a server refuses new
//! ones. Its annotations are never replaced: an object that is being deleted and has lost its pause is one that a
//! controller tears down for real.

use std::sync::Arc;

use pivot_core::record::Phase;
use pivot_core::refusal::Side;
use pivot_core::release::{Entry, Fate, Quiet, ReleaseList, content, digest};
use pivot_core::{Kind, Object, body, names};
use pivot_places::{PlaceError, Preconditions};
use serde_json::{Value, json};

use crate::events::Event;
use crate::failure::Failure;
use crate::flow;
use crate::job::Job;
use crate::quiet;

/// How often an object may change under our hands.
const ROUNDS: usize = 5;

/// Releases the whole list.
pub(crate) async fn all(job: &Arc<Job>, list: &Arc<ReleaseList>) -> Result<(), Failure> {
    let after: Vec<Vec<usize>> = list.entries.iter().map(|entry| entry.after.clone()).collect();
    flow::run(&after, job.limiter(Side::Source), &job.halter, |index| {
        let (job, list) = (job.clone(), list.clone());
        async move {
            let entry = list.entries.get(index).ok_or_else(|| Failure::Bug(format!("no entry {index}")))?;
            match entry.fate {
                Fate::Delete => delete(&job, entry).await?,
                Fate::Keep => keep(&job, entry).await?,
            }
            Ok(())
        }
    })
    .await
}

/// The kind as the list names it: the list, not what is served today, says in which version a state was copied.
fn kind_of(job: &Job, entry: &Entry) -> Arc<Kind> {
    match job.kinds.source.get(&entry.kind.group_kind) {
        Some(kind) if kind.version == entry.kind.version => kind.clone(),
        Some(kind) => Arc::new(Kind { version: entry.kind.version.clone(), ..Kind::clone(kind) }),
        None => Arc::new(Kind {
            group_kind: entry.kind.group_kind.clone(),
            version: entry.kind.version.clone(),
            plural: entry.kind.plural.clone(),
            namespaced: entry.key.namespace.is_some(),
            status_subresource: false,
            served: Vec::new(),
            labels: Default::default(),
        }),
    }
}

async fn keep(job: &Job, entry: &Entry) -> Result<(), Failure> {
    if entry.quiet == Quiet::Untouched {
        return Ok(());
    }
    let kind = kind_of(job, entry);
    if quiet::take_back(&job.source, &kind, &entry.key, &job.move_id, None).await? {
        job.tell(Event::Done(Phase::Released, &entry.key, "kept and resumed", Side::Source));
    }
    Ok(())
}

async fn delete(job: &Job, entry: &Entry) -> Result<(), Failure> {
    let kind = kind_of(job, entry);
    let failed = |error| job.source.failed("releasing", Some(&entry.key), error);
    let mut resource_version = entry.resource_version.clone();
    let mut stripped = false;
    for _ in 0..ROUNDS {
        let patch = json!({"metadata": {
            "uid": entry.uid,
            "resourceVersion": resource_version,
            "finalizers": null,
            "annotations": {names::DELETE_FOR_MOVE: ""},
        }});
        match job.source.patch(&kind, &entry.key, &patch).await {
            Ok(object) => {
                resource_version = object.meta.resource_version;
                // A webhook may have put one back.
                stripped = object.meta.finalizers.is_empty();
                break;
            }
            Err(PlaceError::NotFound(_)) => return Ok(()),
            Err(PlaceError::Conflict(_)) => match still_as_copied(job, &kind, entry).await? {
                None => return Ok(()),
                Some(now) => {
                    let being_deleted = now.meta.deleting();
                    resource_version = now.meta.resource_version;
                    if being_deleted {
                        break;
                    }
                }
            },
            Err(error) => return Err(failed(error)),
        }
    }
    let mut finalizers_back = !stripped;
    for _ in 0..ROUNDS {
        let preconditions =
            Preconditions { uid: Some(entry.uid.clone()), resource_version: Some(resource_version.clone()) };
        match job.source.delete(&kind, &entry.key, preconditions).await {
            Ok(()) if finalizers_back => return strip(job, &kind, entry).await,
            Ok(()) => {
                job.tell(Event::Done(Phase::Released, &entry.key, "deleted", Side::Source));
                return Ok(());
            }
            Err(PlaceError::NotFound(_)) => return Ok(()),
            Err(PlaceError::Conflict(_)) => match still_as_copied(job, &kind, entry).await? {
                None => return Ok(()),
                Some(now) => {
                    finalizers_back = true;
                    resource_version = now.meta.resource_version;
                }
            },
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(PlaceError::Conflict(format!("it changed {ROUNDS} times while it was to be deleted"))))
}

/// Takes the finalizers off an object that is being deleted; everything else of it, its pause above all, stays.
async fn strip(job: &Job, kind: &Arc<Kind>, entry: &Entry) -> Result<(), Failure> {
    let patch = json!({"metadata": {"uid": entry.uid, "finalizers": null}});
    match job.source.patch(kind, &entry.key, &patch).await {
        // A conflict is about the UID: ours is gone and another has its name.
        Ok(_) | Err(PlaceError::NotFound(_) | PlaceError::Conflict(_)) => {
            job.tell(Event::Done(Phase::Released, &entry.key, "deleted", Side::Source));
            Ok(())
        }
        Err(error) => Err(job.source.failed("taking the finalizers off", Some(&entry.key), error)),
    }
}

/// Reads the object once more: gone is fine, touched by its controllers is fine, changed is not.
async fn still_as_copied(job: &Job, kind: &Arc<Kind>, entry: &Entry) -> Result<Option<Object>, Failure> {
    let Some(now) = job.source.get(kind, &entry.key).await?.filter(|now| now.meta.uid == entry.uid) else {
        return Ok(None);
    };
    let unreadable = |error| Failure::Object(Side::Source, error);
    let value = now.value().map_err(unreadable)?;
    let same = match &entry.digest {
        Some(then) => digest(&entry.key.group_kind, &value, entry.with_status).as_ref() == Some(then),
        None => same_secret(job, entry, &value).await?,
    };
    if same {
        return Ok(Some(now));
    }
    let fields = unlike_the_copy(job, entry, &value).await?;
    Err(Failure::Changed { object: entry.key.clone(), fields })
}

/// Secrets have no digest in the list: what counts is that the copy has the same data.
async fn same_secret(job: &Job, entry: &Entry, now: &Value) -> Result<bool, Failure> {
    let kind = job.kind(Side::Target, &entry.key.group_kind)?;
    let Some(copy) = job.target.get(kind, &entry.key).await? else { return Ok(false) };
    let copy = copy.value().map_err(|error| Failure::Object(Side::Target, error))?;
    Ok(["/data", "/type", "/immutable", "/metadata/labels"]
        .iter()
        .all(|path| now.pointer(path) == copy.pointer(path)))
}

/// Where the source's object says something that its copy does not: what someone would have to put back, or give up.
async fn unlike_the_copy(job: &Job, entry: &Entry, now: &Value) -> Result<Vec<String>, Failure> {
    let kind = job.kind(Side::Target, &entry.key.group_kind)?;
    let Some(copy) = job.target.get(kind, &entry.key).await? else {
        return Ok(vec!["its copy is gone".into()]);
    };
    let copy = copy.value().map_err(|error| Failure::Object(Side::Target, error))?;
    let mut wanted = content(now, entry.with_status);
    if let Some(metadata) = wanted.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("ownerReferences");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|name, _| !name.starts_with(names::OURS) && name != names::PAUSED);
        }
    }
    let mut fields = body::lost(&wanted, &copy);
    fields.retain(|field| field != "spec.paused");
    if fields.is_empty() {
        fields.push("something was removed from it".into());
    }
    Ok(fields)
}
