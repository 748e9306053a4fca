//! Creates the copies, owners first: each object as soon as its owners exist.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use pivot_core::copies::body;
use pivot_core::copies::content::CopyContent;
use pivot_core::copies::conversion;
use pivot_core::objects::{merge, names};
use pivot_core::plan::Step;
use pivot_core::plugins::hooks::Hook;
use pivot_core::records::record::Phase;
use pivot_core::records::release::comparable_content;
use pivot_core::{Key, Meta, Object, OwnerReference, Side, Uid};
use pivot_places::{Change, PlaceError, Subresource};
use serde_json::{Value, json};

use crate::base::events::Verb;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls;
use crate::base::requests::{MAX_ROUNDS, dataflow};
use crate::check::existing::{self, CopyVerdict, UsedObjects};
use crate::read::copy_body;
use crate::read::snapshot::Snapshot;

/// The result of copying an object.
#[derive(Clone, Debug)]
pub(crate) struct Copied {
    /// The UID in the target.
    pub(crate) uid: Uid,
    /// True if this run created it, and its server left out the status.
    pub(crate) is_fresh: bool,
    /// Whether a plugin restored its status.
    pub(crate) restored: bool,
    /// Whether the target already had it and it is used unchanged.
    pub(crate) used: bool,
    /// The version that this move wrote last.
    pub(crate) version: String,
    /// The content that only this move may change.
    pub(crate) content: CopyContent,
}

impl Copied {
    /// Returns an object of the target that is used unchanged.
    fn from_existing(uid: Uid) -> Self {
        Self {
            uid,
            is_fresh: false,
            restored: false,
            used: true,
            version: String::new(),
            content: CopyContent::default(),
        }
    }
}

/// One reading of the source, and the copies of its objects in the target.
pub(crate) struct Copies {
    pub(crate) snapshot: Arc<Snapshot>,
    /// By the source's UIDs: a dependent's owner reference leads to the owner's copy.
    made: BTreeMap<Uid, OnceLock<Copied>>,
}

impl Copies {
    /// Starts with the copies that are already made.
    pub(crate) fn new(snapshot: &Arc<Snapshot>, mut known: BTreeMap<Uid, Copied>) -> Self {
        let mut slot = |uid: &Uid| known.remove(uid).map_or_else(OnceLock::new, OnceLock::from);
        let made = snapshot.plan.steps.iter().map(|step| (step.uid.clone(), slot(&step.uid))).collect();
        Self { snapshot: snapshot.clone(), made }
    }

    /// Returns the copy of the object with this UID in the source, if it is made.
    pub(crate) fn get(&self, uid: &Uid) -> Option<&Copied> {
        self.made.get(uid)?.get()
    }

    /// Returns the UIDs of the copies in the target.
    pub(crate) fn uids(&self) -> impl Iterator<Item = &Uid> {
        self.made.values().filter_map(|copied| copied.get()).map(|copied| &copied.uid)
    }

    /// Returns the copy of a step's object. Fails if it is not made yet.
    pub(crate) fn get_made(&self, step: &Step) -> Result<&Copied, Failure> {
        self.get(&step.uid).ok_or_else(|| Failure::Bug(format!("{} was not copied", step.key)))
    }

    /// Returns the other copies of the same reading.
    pub(crate) fn leave_out(&self, left_out: &BTreeSet<&Uid>) -> Self {
        let kept = self.made.iter().filter(|(uid, _)| !left_out.contains(uid));
        let known = kept.filter_map(|(uid, copied)| Some((uid.clone(), copied.get()?.clone())));
        Self::new(&self.snapshot, known.collect())
    }

    /// Returns the first of these objects, in the order of creation.
    pub(crate) fn find_first(&self, uids: &BTreeSet<Uid>) -> Option<&Key> {
        self.snapshot.plan.steps.iter().find(|step| uids.contains(&step.uid)).map(|step| &step.key)
    }

    /// Returns the objects of the target that are used unchanged.
    pub(crate) fn used_objects(&self) -> UsedObjects {
        let steps = self.snapshot.plan.steps.iter();
        let used = steps.filter_map(|step| Some((step, self.get(&step.uid).filter(|copied| copied.used)?)));
        used.map(|(step, copied)| (step.key.clone(), copied.uid.clone())).collect()
    }

    /// Returns true if this move created an owner of the object.
    fn contains_owner_of(&self, meta: &Meta) -> bool {
        let mut created = self.made.values().filter_map(OnceLock::get).filter(|copied| !copied.used);
        created.any(|copied| meta.owner_references.iter().any(|owner| owner.uid == copied.uid))
    }

    /// Returns true if some copies are not made yet.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.made.values().any(|copied| copied.get().is_none())
    }
}

/// Copies every step of the plan that is not copied yet.
pub(crate) async fn copy_all(
    job: &Arc<Job>,
    copies: &Arc<Copies>,
    used: &Arc<UsedObjects>,
) -> Result<(), Failure> {
    let after: Vec<Vec<usize>> = copies.snapshot.plan.steps.iter().map(|step| step.after.clone()).collect();
    dataflow::run(&after, job.limiter(Side::Target), &job.halter, |index| {
        let (job, used, copies) = (job.clone(), used.clone(), copies.clone());
        async move {
            let bug = || Failure::Bug(format!("no step {index}"));
            let step = copies.snapshot.plan.steps.get(index).ok_or_else(bug)?;
            if copies.get(&step.uid).is_some() {
                return Ok(());
            }
            let owners = find_owners(&job, step, &copies)?;
            let (copied, verb) = copy_one(&job, step, &owners, &copies, &used).await?;
            copies.made.get(&step.uid).ok_or_else(bug)?.get_or_init(|| copied);
            job.report_object(Phase::Copied, verb, &step.key, Side::Target);
            Ok(())
        }
    })
    .await
}

/// Returns the owner references of a copy, with the UIDs in the target.
fn find_owners(job: &Job, step: &Step, copies: &Copies) -> Result<Vec<OwnerReference>, Failure> {
    let mut owners = copy_body::list_owners(job, step, copies.snapshot.object(step)?)?;
    for owner in &mut owners {
        let Some(copied) = copies.get(&owner.uid) else {
            return Err(Failure::Bug(format!("{} is copied before its owner {}", step.key, owner.name)));
        };
        owner.uid = copied.uid.clone();
    }
    Ok(owners)
}

async fn copy_one(
    job: &Job,
    step: &Step,
    owners: &[OwnerReference],
    copies: &Copies,
    used: &UsedObjects,
) -> Result<(Copied, Verb), Failure> {
    if let Some(uid) = used.get(&step.key) {
        return Ok((Copied::from_existing(uid.clone()), Verb::Used));
    }
    let object = copies.snapshot.object(step)?;
    let kind = &job.kind_of_copy(object)?;
    let (body, adapted) = copy_body::build_copy_body(job, step, object, owners).await?;
    let creating =
        || adapted.as_ref().map_or("creating".to_owned(), |by| format!("creating, as {by} adapts it,"));
    let quoting = |error| adapted.iter().fold(error, |error, by| by.answer(error));
    let (created, verb) = match job.target.create(kind, &body, Change::Real).await {
        Ok(created) => (created, Verb::Created),
        Err(PlaceError::AlreadyExists(_)) => match update_existing(job, step, &body, copies, &quoting).await?
        {
            Existing::Updated(object) => (*object, Verb::Updated),
            Existing::Used(uid) => return Ok((Copied::from_existing(uid), Verb::Used)),
        },
        Err(error) => return Err(job.target.request_failure(creating(), Some(&step.key), quoting(error))),
    };
    let answer = created.value().map_err(|error| Failure::Object(Side::Target, error))?;
    // The target's controllers may have added finalizers of their own to a copy that already existed.
    let fields = match verb {
        Verb::Created => conversion::find_lost_fields(kind, &body, &answer),
        _ => {
            let (body, answer) = (comparable_content(&body, false), comparable_content(&answer, false));
            conversion::find_lost_fields(kind, &body, &answer)
        }
    };
    if !fields.is_empty() {
        let fields = adapted.iter().fold(fields, |fields, by| by.fields(fields));
        return Err(Failure::Lost { object: job.target.own_name(&step.key), fields });
    }
    let content = CopyContent::new(&step.key.group_kind, &body, &answer);
    let mut version = created.meta.resource_version.clone();
    if object.meta.has_applier() && job.target.capabilities().judges {
        version = give_back_ownership(job, object, step).await?;
    }
    let restored = restore_status(job, object, &created, step).await?;
    let copied = Copied {
        uid: created.meta.uid,
        is_fresh: verb == Verb::Created && kind.status_subresource && restored.is_none(),
        restored: restored.is_some(),
        used: false,
        version: restored.unwrap_or(version),
        content,
    };
    Ok((copied, verb))
}

enum Existing {
    Updated(Box<Object>),
    Used(Uid),
}

/// Updates or uses an existing object whose name the copy needs. There are three cases: this move's own copy from an earlier
/// run (or from a create whose answer got lost), an object that a controller created for a copied owner, or an object of
/// others.
async fn update_existing(
    job: &Job,
    step: &Step,
    body: &Value,
    copies: &Copies,
    quoting: &impl Fn(PlaceError) -> PlaceError,
) -> Result<Existing, Failure> {
    let kind = &job.kind_of_copy(copies.snapshot.object(step)?)?;
    for _ in 0..MAX_ROUNDS {
        let Some(there) = job.target.get(kind, &step.key).await? else {
            match job.target.create(kind, body, Change::Real).await {
                Ok(created) => return Ok(Existing::Updated(Box::new(created))),
                Err(PlaceError::AlreadyExists(_)) => continue,
                Err(error) => {
                    return Err(job.target.request_failure("creating", Some(&step.key), quoting(error)));
                }
            }
        };
        if !job.copy_mark.is_on(&step.key, &there.meta) && !copies.contains_owner_of(&there.meta) {
            return match existing::judge_existing(job, &copies.snapshot, step).await? {
                CopyVerdict::Use(uid, _) => Ok(Existing::Used(uid)),
                CopyVerdict::Gone => continue,
                CopyVerdict::Foreign(refusal) => Err(Failure::from_refusal(refusal)),
            };
        }
        let now = there.value().map_err(|error| Failure::Object(Side::Target, error))?;
        // Status is left to the target's controllers.
        let with_status = !kind.status_subresource;
        let (now, wanted) = (comparable_content(&now, with_status), comparable_content(body, with_status));
        let is_compared = step.treatment().is_compared();
        let mut change = if is_compared {
            merge::derive_patch(&now, &wanted)
        } else {
            // The object is not paused, so later changes by the target's controllers stay.
            (!body::find_lost_fields(&wanted, &now).is_empty()).then_some(wanted)
        };
        if let Some(undo) = undo_to_restore(&there, body).filter(|_| is_compared) {
            let patch = change.get_or_insert_with(|| json!({}));
            merge::apply_patch(patch, &json!({"metadata": {"annotations": {names::UNDO: undo}}}));
        }
        if let Some(finalizers) = finalizers_to_restore(&there, body) {
            let patch = change.get_or_insert_with(|| json!({}));
            merge::apply_patch(patch, &json!({"metadata": {"finalizers": finalizers}}));
        }
        let Some(mut patch) = change else {
            return Ok(Existing::Updated(Box::new(there)));
        };
        merge::apply_patch(
            &mut patch,
            &json!({"metadata": {"resourceVersion": there.meta.resource_version}}),
        );
        match job.target.patch(kind, &step.key, &patch).await {
            Ok(object) => return Ok(Existing::Updated(Box::new(object))),
            Err(PlaceError::Conflict(_) | PlaceError::NotFound(_)) => continue,
            Err(error) => {
                return Err(job.target.request_failure(
                    "bringing up to date",
                    Some(&step.key),
                    quoting(error),
                ));
            }
        }
    }
    Err(job.target.request_failure(
        "creating",
        Some(&step.key),
        PlaceError::Conflict("it keeps changing".into()),
    ))
}

/// Returns the annotation that undoes a pause if a copy lacks it. Without the annotation, no run unpauses the copy.
fn undo_to_restore<'a>(there: &Object, body: &'a Value) -> Option<&'a str> {
    let undo = body.pointer("/metadata/annotations")?.get(names::UNDO)?.as_str()?;
    (there.meta.annotations.get(names::UNDO).map(String::as_str) != Some(undo)).then_some(undo)
}

/// Returns the complete finalizers of a copy that lacks some of its body's. A rollback removes finalizers before it deletes the
/// copy, and may have died in between.
///
/// Returns `None` if none is missing, or if the copy is being deleted: no server adds finalizers then.
fn finalizers_to_restore(there: &Object, body: &Value) -> Option<Vec<String>> {
    let (now, wanted) = (&there.meta.finalizers, body.pointer("/metadata/finalizers")?.as_array()?);
    let wanted = wanted.iter().filter_map(Value::as_str).map(str::to_owned);
    let missing: Vec<String> = wanted.filter(|name| !now.contains(name)).collect();
    (!missing.is_empty() && !there.meta.is_being_deleted()).then(|| [missing, now.clone()].concat())
}

/// Restores field ownership: a server-side applier can't remove fields that another manager owns. Returns the version.
async fn give_back_ownership(job: &Job, object: &Object, step: &Step) -> Result<String, Failure> {
    let kind = &job.kind_of_copy(object)?;
    let source = object.value().map_err(|error| Failure::Object(Side::Source, error))?;
    let result = job.target.patch(kind, &step.key, &copy_body::field_ownership(&source)).await;
    result
        .map(|object| object.meta.resource_version)
        .map_err(|error| job.target.request_failure("giving back field ownership of", Some(&step.key), error))
}

/// Lets a plugin restore the status. Returns the version if it did.
async fn restore_status(
    job: &Job,
    object: &Object,
    created: &Object,
    step: &Step,
) -> Result<Option<String>, Failure> {
    let Some(wanted) =
        calls::ask_for_patch(copy_body::plugins_of_step(job, step), Hook::Restore, object, Some(created))
            .await?
    else {
        return Ok(None);
    };
    let kind = &job.kind_of_copy(object)?;
    let part = if kind.status_subresource { Subresource::Status } else { Subresource::None };
    let result = job.target.patch_part(kind, &step.key, &wanted.patch, part).await;
    let restored = result.map(|object| Some(object.meta.resource_version));
    restored.map_err(|error| {
        let doing = format!("restoring the status, with a patch of {}, of", wanted.by);
        job.target.request_failure(doing, Some(&step.key), wanted.by.answer(error))
    })
}
