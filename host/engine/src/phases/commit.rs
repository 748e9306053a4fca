//! The last look before the point of no return: is the copy whole, and is it a copy of what the source is now?
//!
//! Up to here a change in the source is simply copied again. Afterwards the source is deleted state by state, and what
//! was not copied would be lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use pivot_core::plan::Fate as PlanFate;
use pivot_core::record::Phase;
use pivot_core::release::{self, Entry, Fate, ReleaseKind, ReleaseList};
use pivot_core::{Key, Meta, Object, Side, Uid};
use pivot_places::{PlaceError, Preconditions};
use serde_json::json;

use crate::base::Base;
use crate::checks::before_pause;
use crate::checks::existing::{self, Used};
use crate::events::Verb;
use crate::job::Job;
use crate::outcome::failure::Failure;
use crate::phases::copy::{self, Copied, Copies};
use crate::phases::pausing;

/// What one look at both sides found.
pub(crate) enum Look {
    /// The copy is whole and is a copy of what the source is.
    Same,
    /// The source moved on.
    Moved,
}

/// Compares both sides with what was copied.
pub(crate) async fn look(job: &Job, base: &Base, copies: &Copies) -> Result<Look, Failure> {
    let (source, target) =
        tokio::try_join!(existing::metas(job, base, Side::Source), existing::metas(job, base, Side::Target))?;
    whole(base, copies, &target)?;
    Ok(if unchanged(job, base, &source)? { Look::Same } else { Look::Moved })
}

/// Whether every copy is there, is the one that was made, lives, and has owners that are there.
fn whole(base: &Base, copies: &Copies, here: &BTreeMap<Key, Meta>) -> Result<(), Failure> {
    let uids: BTreeSet<&Uid> = here.values().map(|meta| &meta.uid).collect();
    for (step, copied) in base.plan.steps.iter().zip(copies.iter()) {
        let Some(copied) = copied.get() else {
            return Err(Failure::Bug(format!("{} was not copied", step.key)));
        };
        let lost = |what: &str| Failure::Lost { object: step.key.clone(), fields: vec![what.to_owned()] };
        match here.get(&step.key) {
            None => return Err(lost("the whole object: it is gone")),
            Some(meta) if meta.uid != copied.uid => {
                return Err(lost("the whole object: another has its name"));
            }
            Some(meta) if meta.deleting() => return Err(lost("the whole object: it is being deleted")),
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
    Ok(())
}

/// Whether the source's objects are still in the state that was copied, none more and none less.
fn unchanged(job: &Job, base: &Base, there: &BTreeMap<Key, Meta>) -> Result<bool, Failure> {
    for step in &base.plan.steps {
        let copied = &base.object(step)?.meta;
        let same = there
            .get(&step.key)
            .is_some_and(|now| now.uid == copied.uid && now.resource_version == copied.resource_version);
        if !same {
            return Ok(false);
        }
    }
    // Of namespaces that are not moved only what is referred to was read.
    let asked_for = |key: &&Key| job.options.scope.includes(key.namespace.as_deref());
    Ok(there.keys().filter(asked_for).all(|key| base.inventory.by_key(key).is_some()))
}

/// Brings the copy of an old reading of the source up to date with a new one. Says whether anything but versions had
/// changed.
pub(crate) async fn again(
    job: &Arc<Job>,
    old: &Base,
    base: &Arc<Base>,
    copies: &Copies,
) -> Result<(Copies, bool), Failure> {
    let known: BTreeSet<Key> = old.plan.steps.iter().map(|step| step.key.clone()).collect();
    before_pause::newcomers(job, base, &known).await?;

    let made: BTreeMap<&Uid, (usize, &Copied)> = old
        .plan
        .steps
        .iter()
        .zip(copies.iter())
        .enumerate()
        .filter_map(|(index, (step, copied))| Some((&step.uid, (index, copied.get()?))))
        .collect();
    let kept: BTreeSet<&Uid> = base.plan.steps.iter().map(|step| &step.uid).collect();
    // Gone from the source: gone from the copy, dependents first.
    let mut changed = false;
    for step in old.plan.steps.iter().rev().filter(|step| !kept.contains(&step.uid)) {
        if let Some((_, copied)) = made.get(&step.uid)
            && !copied.used
        {
            remove(job, &step.key, &copied.uid).await?;
            job.tell_object(Phase::Copied, Verb::Removed, &step.key, Side::Target);
            changed = true;
        }
    }
    let fresh: Vec<OnceLock<Copied>> = base
        .plan
        .steps
        .iter()
        .map(|step| {
            let slot = OnceLock::new();
            if let Some((index, copied)) = made.get(&step.uid)
                && (copied.used || !content_changed(old, *index, base, step, copied)?)
            {
                slot.get_or_init(|| (*copied).clone());
            }
            Ok(slot)
        })
        .collect::<Result<_, Failure>>()?;
    changed |= fresh.iter().any(|slot| slot.get().is_none());
    let fresh: Copies = Arc::new(fresh);
    let used: Arc<Used> = Arc::new(
        base.plan
            .steps
            .iter()
            .filter_map(|step| {
                made.get(&step.uid).filter(|(_, c)| c.used).map(|(_, c)| (step.key.clone(), c.uid.clone()))
            })
            .collect(),
    );
    copy::all(job, base, &used, &fresh).await?;
    Ok((fresh, changed))
}

fn content_changed(
    old: &Base,
    index: usize,
    new: &Base,
    step: &pivot_core::plan::Step,
    copied: &Copied,
) -> Result<bool, Failure> {
    let bug = || Failure::Bug(format!("no step {index}"));
    let before = old.object(old.plan.steps.get(index).ok_or_else(bug)?)?;
    let now = new.object(step)?;
    if before.meta.resource_version == now.meta.resource_version {
        return Ok(false);
    }
    let value = |object: &Object| {
        let value = object.value().map_err(|error| Failure::Object(Side::Source, error))?;
        Ok::<_, Failure>(release::content(&value, copied.restored))
    };
    Ok(value(before)? != value(now)?)
}

/// Removes one object that this move created.
pub(crate) async fn remove(job: &Job, key: &Key, uid: &Uid) -> Result<(), Failure> {
    let kind = job.kind(Side::Target, &key.group_kind)?;
    let strip = json!({"metadata": {"uid": uid, "finalizers": null}});
    let failed = |error| job.target.failed("removing", Some(key), error);
    match job.target.patch(kind, key, &strip).await {
        Ok(_) => {}
        // Gone, or another object has the name now: ours is not there any more.
        Err(PlaceError::NotFound(_) | PlaceError::Conflict(_)) => return Ok(()),
        Err(error) => return Err(failed(error)),
    }
    let preconditions = Preconditions { uid: Some(uid.clone()), resource_version: None };
    match job.target.delete(kind, key, preconditions).await {
        Ok(()) | Err(PlaceError::NotFound(_) | PlaceError::Conflict(_)) => {}
        Err(error) => return Err(failed(error)),
    }
    // A controller may have put its finalizer back in between; on an object that is being deleted it can't.
    match job.target.get(kind, key).await? {
        Some(there) if there.meta.uid == *uid && there.meta.deleting() => {
            match job.target.patch(kind, key, &strip).await {
                Ok(_) | Err(PlaceError::NotFound(_) | PlaceError::Conflict(_)) => Ok(()),
                Err(error) => Err(failed(error)),
            }
        }
        _ => Ok(()),
    }
}

/// What is released, in which state and order.
pub(crate) fn release_list(job: &Job, base: &Base, copies: &Copies) -> Result<ReleaseList, Failure> {
    let last = base.plan.steps.len().saturating_sub(1);
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); base.plan.steps.len()];
    for (index, step) in base.plan.steps.iter().enumerate() {
        for &owner in &step.after {
            if let Some(list) = dependents.get_mut(owner) {
                list.push(last - index);
            }
        }
    }
    let steps = base.plan.steps.iter().zip(copies.iter()).zip(dependents).rev();
    let entries = steps.map(|((step, copied), mut after)| {
        let object = base.object(step)?;
        let kind = job.kind(Side::Source, &step.key.group_kind)?;
        let copied = copied.get().ok_or_else(|| Failure::Bug(format!("{} was not copied", step.key)))?;
        let with_status = copied.restored;
        let value = object.value().map_err(|error| Failure::Object(Side::Source, error))?;
        after.sort_unstable();
        Ok(Entry {
            kind: ReleaseKind {
                group_kind: kind.group_kind.clone(),
                version: kind.version.clone(),
                plural: kind.plural.clone(),
            },
            key: step.key.clone(),
            uid: step.uid.clone(),
            resource_version: object.meta.resource_version.clone(),
            fate: if step.fate == PlanFate::Move { Fate::Delete } else { Fate::Keep },
            digest: release::digest(&step.key.group_kind, &value, with_status),
            with_status,
            quiet: pausing::quiet(job, object),
            used: copied.used,
            no_finalizers: object.meta.finalizers.is_empty(),
            after,
        })
    });
    Ok(ReleaseList { entries: entries.collect::<Result<_, Failure>>()? })
}
