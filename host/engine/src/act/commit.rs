//! The last check before the point of no return: the copy must be complete and match the current source.
//!
//! Before the commit, a change in the source is simply copied again. After the commit, the source is deleted state by state,
//! and a state that was not copied would be lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::messages::refusal::some_of;
use pivot_core::plan::Step;
use pivot_core::plugins::hooks::Hook;
use pivot_core::plugins::reach;
use pivot_core::records::record::Phase;
use pivot_core::records::release::{self, Entry, ReleaseFate, ReleaseKind, ReleaseList};
use pivot_core::{GroupKind, Key, Meta, Object, Side, Uid};
use pivot_places::{PlaceError, Preconditions};
use serde_json::json;

use crate::act::copy::{self, Copied, Copies};
use crate::base::events::{Event, Verb};
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::MAX_ROUNDS;
use crate::base::requests::side_by_side::{self, LISTS};
use crate::check::before_pause;
use crate::check::existing::{self, UsedObjects};
use crate::read::planning;
use crate::read::snapshot::Snapshot;

/// Result of one comparison of both sides.
pub(crate) enum SideComparison {
    /// The copy is complete and matches the source.
    Same,
    /// The source has changed.
    Changed,
    /// These copies, by their originals' UIDs, are not as the move wrote them.
    CopiesChanged(BTreeSet<Uid>),
}

/// Compares both sides with the copied objects.
pub(crate) async fn compare_sides(job: &Job, copies: &Copies) -> Result<SideComparison, Failure> {
    let snapshot = &copies.snapshot;
    let (source, target) = tokio::try_join!(
        existing::list_identities(job, snapshot, Side::Source),
        existing::list_identities(job, snapshot, Side::Target)
    )?;
    check_complete(job, copies, &target)?;
    if !is_source_unchanged(job, snapshot, &source)? {
        return Ok(SideComparison::Changed);
    }
    let changed = find_changed_copies(job, copies, &target).await?;
    Ok(if changed.is_empty() { SideComparison::Same } else { SideComparison::CopiesChanged(changed) })
}

/// Checks that the copies are complete, and returns those that are not as the move wrote them, by their originals' UIDs.
pub(crate) async fn compare_copies(job: &Job, copies: &Copies) -> Result<BTreeSet<Uid>, Failure> {
    let target = existing::list_identities(job, &copies.snapshot, Side::Target).await?;
    check_complete(job, copies, &target)?;
    find_changed_copies(job, copies, &target).await
}

/// Finds copies that others changed more than controllers change paused objects. Copies with the last written version are not
/// read again. Objects from manifests already run, so they are not compared.
async fn find_changed_copies(
    job: &Job,
    copies: &Copies,
    here: &BTreeMap<Key, Meta>,
) -> Result<BTreeSet<Uid>, Failure> {
    if !job.route.target_runs() {
        return Ok(BTreeSet::new());
    }
    let mut written: BTreeMap<_, BTreeMap<&Key, &Step>> = BTreeMap::new();
    for step in copies.snapshot.plan.steps.iter().filter(|step| step.treatment().is_compared()) {
        let copied = copies.get_made(step)?;
        let version = here.get(&step.key).map(|meta| &meta.resource_version);
        if copied.used || version == Some(&copied.version) {
            continue;
        }
        // Read in the version in which it was written: another version of its kind has another content.
        let kind = job.kind_of_copy(copies.snapshot.object(step)?)?;
        let place = (kind.group_kind.clone(), kind.version.clone(), step.key.namespace.as_deref());
        written.entry(place).or_default().insert(&step.key, step);
    }
    let lists = written.into_values().map(|steps| find_changed_in_list(job, copies, steps).boxed());
    let changed = side_by_side::try_all(LISTS, lists.collect()).await?;
    Ok(changed.into_iter().flatten().collect())
}

/// Returns the changed copies of one kind and namespace. The list is dropped before the next is read.
async fn find_changed_in_list(
    job: &Job,
    copies: &Copies,
    steps: BTreeMap<&Key, &Step>,
) -> Result<Vec<Uid>, Failure> {
    let Some(first) = steps.values().next() else { return Ok(Vec::new()) };
    let kind = job.kind_of_copy(copies.snapshot.object(first)?)?;
    let mut changed = Vec::new();
    for object in job.target.list(&kind, first.key.namespace.as_deref()).await?.objects {
        let Some(step) = steps.get(&object.key()) else { continue };
        let value = object.value().map_err(|error| Failure::Object(Side::Target, error))?;
        if !copies.get_made(step)?.content.matches_copy(&kind.group_kind, &value) {
            changed.push(step.uid.clone());
        }
    }
    Ok(changed)
}

/// Makes changed copies again.
pub(crate) async fn copy_again(
    job: &Arc<Job>,
    copies: &Copies,
    changed: &BTreeSet<Uid>,
) -> Result<Arc<Copies>, Failure> {
    let steps = copies.snapshot.plan.steps.iter().filter(|step| changed.contains(&step.uid));
    let keys: Vec<Key> = steps.map(|step| job.target.own_name(&step.key)).collect();
    let text = format!(
        "{} was changed in the target; until the commit the source is authoritative",
        some_of(&keys, 5)
    );
    job.report(Event::warning("copies-changed", text));
    let fresh = Arc::new(copies.leave_out(&changed.iter().collect()));
    copy::copy_all(job, &fresh, &Arc::new(copies.used_objects())).await?;
    Ok(fresh)
}

/// Checks that every copy exists, is the created object, is not being deleted, and has only existing owners. Objects from
/// manifests may already be deleted by their controllers.
fn check_complete(job: &Job, copies: &Copies, here: &BTreeMap<Key, Meta>) -> Result<(), Failure> {
    let uids: BTreeSet<&Uid> = here.values().map(|meta| &meta.uid).collect();
    let mut ended = Vec::new();
    for step in &copies.snapshot.plan.steps {
        let copied = copies.get_made(step)?;
        let lost = |what: &str| {
            let object = job.target.own_name(&step.key);
            Failure::Lost { object, fields: vec![what.to_owned()] }
        };
        match here.get(&step.key) {
            // For example a finished Job: no object of the source is lost.
            there if !step.treatment().is_compared() => {
                if there.is_none_or(|meta| meta.uid != copied.uid || meta.is_being_deleted()) {
                    ended.push(job.target.own_name(&step.key));
                }
            }
            None => return Err(lost("the whole object: it is gone")),
            Some(meta) if meta.uid != copied.uid => {
                return Err(lost("the whole object: another has its name"));
            }
            Some(meta) if meta.is_being_deleted() => {
                return Err(lost("the whole object: it is being deleted"));
            }
            Some(meta) if !copied.used => {
                if let Some(owner) = meta.owner_references.iter().find(|owner| !uids.contains(&owner.uid)) {
                    return Err(lost(&format!(
                        "its owner {} {}, which is not there",
                        owner.kind, owner.name
                    )));
                }
            }
            Some(_) => {}
        }
    }
    if !ended.is_empty() {
        let text = format!(
            "{} were added to the target and are already deleted there; they are not created again",
            some_of(&ended, 5)
        );
        job.report(Event::warning("manifest-gone", text));
    }
    Ok(())
}

/// Returns true if the source has exactly the copied objects, in the state that was copied.
fn is_source_unchanged(job: &Job, snapshot: &Snapshot, there: &BTreeMap<Key, Meta>) -> Result<bool, Failure> {
    for step in snapshot.plan.steps.iter().filter(|step| step.treatment().is_in_source()) {
        let copied = &snapshot.object(step)?.meta;
        let same = there
            .get(&step.key)
            .is_some_and(|now| now.uid == copied.uid && now.resource_version == copied.resource_version);
        if !same {
            return Ok(false);
        }
    }
    // In namespaces that don't move, only referenced objects were read, and for some kinds only the also copied objects. Labels
    // aren't read here: if a kind is also copied by a label, any new object of it is read again.
    let (scope, wishes) = (&job.options.scope, planning::collect_wishes(&job.plugins));
    let read = there.keys().filter(|key| {
        let kind = job.kinds.source.get(&key.group_kind);
        let listed = kind.is_none_or(|kind| !reach::namespaces_to_list(kind, &wishes, scope).is_empty());
        scope.includes_namespace(key.namespace.as_deref())
            && (listed || scope.also_copy.iter().any(|part| part.may_cover(key)))
    });
    // An object from a manifest is no object of the source, even if the source has one of that name.
    let added: BTreeSet<&Key> = snapshot.plan.added_steps().map(|step| &step.key).collect();
    let replaced: BTreeSet<Key> = snapshot.inventory.replaced_objects().iter().map(Object::key).collect();
    for key in read {
        let is_known = match added.contains(key) {
            true => replaced.contains(key),
            false => snapshot.inventory.index_of_key(key).is_some(),
        };
        if !is_known {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Updates the copies of an old reading of the source for a new one. Returns whether the change was more than new versions.
pub(crate) async fn bring_up_to_date(
    job: &Arc<Job>,
    old: &Copies,
    snapshot: &Arc<Snapshot>,
) -> Result<(Arc<Copies>, bool), Failure> {
    let known: BTreeSet<Key> = old.snapshot.plan.steps.iter().map(|step| step.key.clone()).collect();
    before_pause::check_new_objects(job, snapshot, &known).await?;

    let kept: BTreeSet<&Uid> = snapshot.plan.steps.iter().map(|step| &step.uid).collect();
    // Objects gone from the source are removed from the copy, dependents first.
    let mut changed = false;
    for step in old.snapshot.plan.steps.iter().rev().filter(|step| !kept.contains(&step.uid)) {
        if let Some(copied) = old.get(&step.uid).filter(|copied| !copied.used) {
            remove_copy(job, &step.key, &copied.uid).await?;
            job.report_object(Phase::Copied, Verb::Removed, &step.key, Side::Target);
            changed = true;
        }
    }
    let before: BTreeMap<&Uid, &Step> =
        old.snapshot.plan.steps.iter().map(|step| (&step.uid, step)).collect();
    let mut still = BTreeMap::new();
    let mut used = UsedObjects::new();
    for step in &snapshot.plan.steps {
        let (Some(then), Some(copied)) = (before.get(&step.uid), old.get(&step.uid)) else { continue };
        if copied.used {
            used.insert(step.key.clone(), copied.uid.clone());
        }
        if copied.used || !has_content_changed((&old.snapshot, then), (snapshot, step), copied)? {
            still.insert(step.uid.clone(), copied.clone());
        }
    }
    let fresh = Arc::new(Copies::new(snapshot, still));
    changed |= fresh.is_incomplete();
    copy::copy_all(job, &fresh, &Arc::new(used)).await?;
    Ok((fresh, changed))
}

fn has_content_changed(
    (old, then): (&Snapshot, &Step),
    (new, step): (&Snapshot, &Step),
    copied: &Copied,
) -> Result<bool, Failure> {
    let (before, now) = (old.object(then)?, new.object(step)?);
    if before.meta.resource_version == now.meta.resource_version {
        return Ok(false);
    }
    let value = |object: &Object| {
        let value = object.value().map_err(|error| Failure::Object(Side::Source, error))?;
        Ok::<_, Failure>(release::comparable_content(&value, copied.restored))
    };
    Ok(value(before)? != value(now)?)
}

/// Deletes an object that the user added. Because it was never paused, its finalizers may have work to do and are left to their
/// controllers.
pub(crate) async fn remove_added(job: &Job, key: &Key, uid: &Uid) -> Result<(), Failure> {
    let kind = job.kind(Side::Target, &key.group_kind)?;
    let failed = |error| job.target.request_failure("removing", Some(key), error);
    let preconditions = Preconditions { uid: Some(uid.clone()), resource_version: None };
    match job.target.delete(kind, key, preconditions).await {
        Ok(()) => {}
        Err(PlaceError::NotFound(_) | PlaceError::Conflict(_)) => return Ok(()),
        Err(error) => return Err(failed(error)),
    }
    if let Some(there) = job.target.get(kind, key).await?.filter(|there| there.meta.uid == *uid) {
        let key = job.target.own_name(key);
        job.report(Event::Note {
            code: "still-being-deleted".into(),
            remedies: Vec::new(),
            text: format!(
                "{key}, which was added to the target, is gone there once its controllers have removed their finalizers: {}",
                some_of(&there.meta.finalizers, 3)
            ),
            object: Some(key),
        });
    }
    Ok(())
}

/// Removes one object that this move created.
///
/// The delete names the version without finalizers. If this run dies while the request is under way, and another run restores
/// the copy's finalizers, the request has no effect.
pub(crate) async fn remove_copy(job: &Job, key: &Key, uid: &Uid) -> Result<(), Failure> {
    let kind = job.kind(Side::Target, &key.group_kind)?;
    let strip = json!({"metadata": {"uid": uid, "finalizers": null}});
    let failed = |error| job.target.request_failure("removing", Some(key), error);
    for _ in 0..MAX_ROUNDS {
        let stripped = match job.target.patch(kind, key, &strip).await {
            Ok(stripped) => stripped,
            // The object is gone, or another object has its name.
            Err(PlaceError::NotFound(_) | PlaceError::Conflict(_)) => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        let resource_version = Some(stripped.meta.resource_version);
        match job.target.delete(kind, key, Preconditions { uid: Some(uid.clone()), resource_version }).await {
            // A webhook may have put one back: on an object that is being deleted it can't.
            Ok(()) if !stripped.meta.finalizers.is_empty() => {
                return match job.target.patch(kind, key, &strip).await {
                    Ok(_) | Err(PlaceError::NotFound(_) | PlaceError::Conflict(_)) => Ok(()),
                    Err(error) => Err(failed(error)),
                };
            }
            Ok(()) | Err(PlaceError::NotFound(_)) => return Ok(()),
            // A controller has changed it in between, or another object has the name.
            Err(PlaceError::Conflict(_)) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(PlaceError::Conflict(format!("it changed {MAX_ROUNDS} times while it was being removed"))))
}

/// Returns true if a plugin will restore the status of a kind, provided that the import of the files uses the same plugins.
fn is_status_restored(job: &Job, kind: &GroupKind) -> bool {
    job.plugins.iter().any(|plugin| plugin.changes(Hook::Restore, kind))
}

/// Builds the list of the objects to delete or keep, with their states, in order. Objects from manifests come last in a plan
/// and are not in the list.
pub(crate) fn build_release_list(job: &Job, copies: &Copies) -> Result<ReleaseList, Failure> {
    let snapshot = &copies.snapshot;
    let released: Vec<&Step> =
        snapshot.plan.steps.iter().filter(|step| step.treatment().is_in_source()).collect();
    let last = released.len().saturating_sub(1);
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); released.len()];
    for (index, step) in released.iter().enumerate() {
        for &owner in &step.after {
            if let Some(list) = dependents.get_mut(owner) {
                list.push(last - index);
            }
        }
    }
    let steps = released.into_iter().zip(dependents).rev();
    let entries = steps.map(|(step, mut after)| {
        let object = snapshot.object(step)?;
        let kind = job.kind(Side::Source, &step.key.group_kind)?;
        let copied = copies.get_made(step)?;
        let with_status =
            copied.restored || (job.route.is_handover() && is_status_restored(job, &step.key.group_kind));
        let value = object.value().map_err(|error| Failure::Object(Side::Source, error))?;
        after.sort_unstable();
        let is_deleted = step.treatment().is_deleted_from_source(job.route);
        Ok(Entry {
            kind: Arc::new(ReleaseKind {
                group_kind: kind.group_kind.clone(),
                version: kind.version.clone(),
                plural: kind.plural.clone(),
            }),
            key: step.key.clone(),
            uid: step.uid.clone(),
            resource_version: object.meta.resource_version.clone(),
            fate: if is_deleted { ReleaseFate::Delete } else { ReleaseFate::Keep },
            digest: release::content_digest(&step.key.group_kind, &value, with_status),
            with_status,
            pausing: job.pausing_of(object),
            used: copied.used,
            no_finalizers: object.meta.finalizers.is_empty(),
            brought: step.is_added_by_plugin(),
            elsewhere: snapshot.plan.is_elsewhere(step),
            last: is_deleted && job.options.found_by.as_ref() == Some(&step.key),
            after,
        })
    });
    Ok(ReleaseList { entries: entries.collect::<Result<_, Failure>>()? })
}
