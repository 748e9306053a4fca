//! Pauses and holds source objects, and waits until that is acknowledged.
//!
//! Paused side by side: Clusters, which bring every controller below them to rest, ClusterClasses, and objects that no Cluster
//! pauses (unowned roots of providers' kinds). Each pause is a matter between an object and its own controllers. Plugins' holds
//! come after that, because the controllers of a Cluster that is not paused may still write to the held objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use pivot_core::checks::gitops::find_owner;
use pivot_core::discovery::implicit_links::{is_cluster, is_cluster_class};
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::risk::Risk;
use pivot_core::objects::{merge, pause};
use pivot_core::plan::Step;
use pivot_core::plugins::hooks::Hook;
use pivot_core::records::record::Phase;
use pivot_core::records::release::{Entry, Pausing, ReleaseFate, ReleaseList};
use pivot_core::{GroupKind, Key, Kind, Object, Side, Uid};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::act::requeue;
use crate::base::events::Verb;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls::{self, PatchAuthors};
use crate::base::requests::MAX_ROUNDS;
use crate::base::requests::parking::Parking;
use crate::base::requests::side_by_side::{self, LISTS, OBJECTS, Work};
use crate::base::requests::wait::{self, WantedObjects};
use crate::read::snapshot::Snapshot;

/// Code of a pause that someone else ended.
pub(crate) const PAUSE_UNDONE: &str = "pause-undone";

/// Returns true if an object gets its own pause in the source.
pub(crate) fn pauses(job: &Job, step: &Step) -> bool {
    job.options.may_change_in(step.key.namespace.as_deref()) && starts_paused(step)
}

/// Returns true if an object's copy starts with its own pause.
fn starts_paused(step: &Step) -> bool {
    let gk = &step.key.group_kind;
    let global = step.key.namespace.is_none();
    // Core objects have no controller that acknowledges a pause; global objects serve others, too.
    let root = || step.after.is_empty() && !gk.group.is_empty() && !global;
    step.treatment().can_be_paused() && (is_cluster(gk) || is_cluster_class(gk) || root())
}

/// Returns true if an object gets its own pause or is held. No other object is written to before its copy is made.
pub(crate) fn works_on(job: &Job, step: &Step) -> bool {
    pauses(job, step) || job.is_held_kind(&step.key.group_kind)
}

/// Returns true if an object is paused in the reading alone, so that its copy starts paused. The move must not change the object
/// in the source.
pub(crate) fn pauses_copy_alone(job: &Job, step: &Step) -> bool {
    starts_paused(step) && !pauses(job, step)
}

/// The effect of pausing the objects of a reading.
#[derive(Default)]
pub(crate) struct PauseResult {
    /// Number of objects that were paused.
    pub(crate) changed: usize,
    /// Whether the source has an object in another state than the reading.
    pub(crate) is_outdated: bool,
}

/// The state of an object in the source, compared with its reading.
#[derive(PartialEq)]
enum SourceState {
    AsRead,
    Paused,
    /// Another request changed or deleted the object, or the answer to the pause was lost.
    Changed,
}

/// Pauses and holds the plan's objects.
pub(crate) async fn pause_all(job: &Job, snapshot: &Snapshot) -> Result<PauseResult, Failure> {
    let mut result = PauseResult::default();
    for held in [false, true] {
        let steps = snapshot
            .plan
            .steps
            .iter()
            .filter(|step| job.is_held_kind(&step.key.group_kind) == held && (held || pauses(job, step)));
        let work = steps.map(|step| pause_one(job, snapshot, step, pauses(job, step)).boxed());
        for state in side_by_side::write_all(OBJECTS, work.collect()).await? {
            result.changed += usize::from(state == SourceState::Paused);
            result.is_outdated |= state != SourceState::AsRead;
        }
        job.safe_point()?;
    }
    Ok(result)
}

/// The change that brings an object to rest.
pub(crate) struct Change {
    /// The patch, including its inverse.
    pub(crate) patch: Value,
    /// The plugins that hold the object, if any do.
    by: Option<PatchAuthors>,
}

/// Returns the change that brings an object to rest. Returns `None` if this move already made the change, or none is needed.
pub(crate) async fn find_change(job: &Job, object: &Object, pauses: bool) -> Result<Option<Change>, Failure> {
    if pause::is_ours(&object.meta, &job.move_id) {
        return Ok(None);
    }
    let unreadable = |error| Failure::Object(Side::Source, error);
    let own = if pauses { pause::pause_patch(object).map_err(unreadable)? } else { None };
    let hold = calls::ask_for_patch(&job.plugins, Hook::Hold, object, None).await?;
    let (hold, by) = hold.map(|hold| (hold.patch, hold.by)).unzip();
    let change = match (own, hold) {
        (None, None) => return Ok(None),
        (Some(own), None) => own,
        (None, Some(hold)) => hold,
        (Some(mut own), Some(hold)) => {
            calls::join_patches(&mut own, hold);
            own
        }
    };
    let before = object.value().map_err(unreadable)?;
    Ok(Some(Change { patch: pause::with_undo(&before, change, &job.move_id), by }))
}

async fn pause_one(
    job: &Job,
    snapshot: &Snapshot,
    step: &Step,
    pauses: bool,
) -> Result<SourceState, Failure> {
    let kind = job.kind(Side::Source, &step.key.group_kind)?;
    let mut object = snapshot.object(step)?.clone();
    let mut state = SourceState::AsRead;
    for _ in 0..MAX_ROUNDS {
        let Some(Change { mut patch, by }) = find_change(job, &object, pauses).await? else {
            return Ok(state);
        };
        // The inverse is valid for this state only.
        merge::apply_patch(
            &mut patch,
            &json!({"metadata": {"resourceVersion": object.meta.resource_version}}),
        );
        match job.source.patch(kind, &step.key, &patch).await {
            Ok(_) => {
                let verb = if by.is_some() { Verb::Held } else { Verb::Paused };
                job.report_object(Phase::Paused, verb, &step.key, Side::Source);
                return Ok(SourceState::Paused);
            }
            Err(PlaceError::Conflict(_)) => match job.source.get(kind, &step.key).await? {
                Some(now) => (object, state) = (now, SourceState::Changed),
                // Gone without our doing: the next reading will not have it either.
                None => return Ok(SourceState::Changed),
            },
            Err(PlaceError::NotFound(_)) => return Ok(SourceState::Changed),
            Err(error) => {
                let doing = by
                    .as_ref()
                    .map_or_else(|| "pausing".to_owned(), |by| format!("pausing, as {by} holds it,"));
                let error = by.iter().fold(error, |error, by| by.answer(error));
                return Err(job.source.request_failure(doing, Some(&step.key), error));
            }
        }
    }
    let error = PlaceError::Conflict(format!("it changed {MAX_ROUNDS} times while being paused"));
    Err(job.source.request_failure("pausing", Some(&step.key), error))
}

/// Pauses a Cluster of the source that is out of date, so that no move unpauses it.
pub(crate) async fn pause_for_good(job: &Job, key: &Key) -> Result<(), Failure> {
    let kind = job.kind(Side::Source, &key.group_kind)?;
    let Some(object) = job.source.get(kind, key).await? else { return Ok(()) };
    let patch = pause::pause_out_of_date_patch(&object, &job.move_id);
    let Some(patch) = patch.map_err(|error| Failure::Object(Side::Source, error))? else { return Ok(()) };
    match job.source.patch(kind, key, &patch).await {
        Ok(_) => {
            job.report_object(Phase::Paused, Verb::Paused, key, Side::Source);
            Ok(())
        }
        Err(PlaceError::NotFound(_)) => Ok(()),
        Err(error) => Err(job.source.request_failure("pausing", Some(key), error)),
    }
}

/// Waits until providers no longer block the plan's objects and controllers have acknowledged the pause. Returns true if there was
/// nothing to wait for, so that the reading is still current.
pub(crate) async fn wait_until_acknowledged(
    job: &Job,
    snapshot: &Snapshot,
    left: Duration,
) -> Result<bool, Failure> {
    let assume = job.options.accept.contains(Risk::PauseUnchecked);
    let lacks = |object: &Object| {
        let pending =
            pause::find_pending(object, assume).map_err(|error| Failure::Object(Side::Source, error))?;
        Ok(pending.map(|pending| pending.to_string()))
    };
    let pauses_here = |step: &Step| {
        step.treatment().can_be_paused() && job.options.may_change_in(step.key.namespace.as_deref())
    };
    if assume {
        for step in snapshot.plan.steps.iter().filter(|step| pauses_here(step)) {
            let pending = pause::find_pending(snapshot.object(step)?, false);
            if pending.map_err(|error| Failure::Object(Side::Source, error))?
                == Some(pause::Pending::NotAcknowledged)
            {
                job.used_risks.insert(Risk::PauseUnchecked);
            }
        }
    }
    let waits = |step: &Step| Ok(pauses_here(step) && lacks(snapshot.object(step)?)?.is_some());
    let waiting = snapshot.keys_by_kind(job, Side::Source, waits)?;
    if waiting.is_empty() {
        return Ok(true);
    }
    let until = |waiting: BTreeMap<Arc<Kind>, BTreeSet<Key>>, time, parking| {
        let waiting = waiting.into_iter().map(|(kind, keys)| (kind, WantedObjects::all_of(keys))).collect();
        wait::wait_for_objects(&job.source, waiting, &lacks, time, (&job.halter, parking), &*job.watcher)
    };
    match until(waiting.clone(), left.min(requeue::PATIENCE), &Parking::default()).await {
        Err(Failure::TimedOut(_)) if left > requeue::PATIENCE && !assume => {
            requeue::poke_all(job, waiting.clone()).await?;
            until(waiting, left.saturating_sub(requeue::PATIENCE), &job.parking).await?;
        }
        other => other?,
    }
    Ok(false)
}

/// An object that was unpaused, and its owner in a GitOps tool.
type Awake = (Key, Option<Key>);

/// Refuses to go on if a paused object was unpaused, for example by a GitOps tool. Uses one list per kind and namespace, because
/// there may be hundreds of Clusters or hosts.
pub(crate) async fn check_still_paused(job: &Job, list: &ReleaseList) -> Result<(), Failure> {
    let paused = list
        .entries
        .iter()
        .filter(|entry| entry.pausing != Pausing::Untouched && entry.fate == ReleaseFate::Delete);
    let mut places: BTreeMap<(&GroupKind, Option<&str>), BTreeMap<&Uid, &Entry>> = BTreeMap::new();
    for entry in paused {
        let place = (&entry.key.group_kind, entry.key.namespace.as_deref());
        places.entry(place).or_default().insert(&entry.uid, entry);
    }
    let looks = places.into_iter().map(|((group_kind, namespace), entries)| -> Work<'_, Vec<Awake>> {
        async move {
            let objects = match job.source.list(job.kind(Side::Source, group_kind)?, namespace).await {
                // Gone with its definition.
                Err(Failure::Place { error: PlaceError::NotFound(_), .. }) => Vec::new(),
                other => other?.objects,
            };
            let mut awake = Vec::new();
            for now in &objects {
                let Some(entry) = entries.get(&now.meta.uid) else { continue };
                let paused = pause::is_paused(now).map_err(|error| Failure::Object(Side::Source, error))?;
                // Only a pause in Cluster API's own way is visible without our annotation.
                let still = match entry.pausing {
                    Pausing::Held => pause::is_ours(&now.meta, &job.move_id),
                    _ => paused || pause::is_poke(&now.meta, &job.move_id),
                };
                if !still {
                    awake.push((entry.key.clone(), find_owner(now)));
                }
            }
            Ok(awake)
        }
        .boxed()
    });
    let awake = side_by_side::try_all(LISTS, looks.collect()).await?;
    let (awake, owners): (Vec<Key>, Vec<Option<Key>>) = awake.into_iter().flatten().unzip();
    let owners: BTreeSet<Key> = owners.into_iter().flatten().collect();
    let suspects = match owners.is_empty() {
        true => "a GitOps tool".to_owned(),
        false => some_of(&owners.iter().collect::<Vec<_>>(), 5),
    };
    match awake.first() {
        None => Ok(()),
        Some(first) => Err(Failure::from_refusal(Refusal {
            code: PAUSE_UNDONE,
            side: Side::Source,
            object: Some(first.clone()),
            others: awake.iter().skip(1).cloned().collect(),
            message: format!(
                "someone unpaused {} after they were copied: both sides may be reconciling them",
                some_of(&awake, 5)
            ),
            remedies: vec![
                format!("stop whatever unpauses them ({suspects}?), pause them by hand, and resume").into(),
            ],
        })),
    }
}
