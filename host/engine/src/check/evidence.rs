//! Evidence, before anything is deleted, that controllers of the target have taken over.
//!
//! The source decides which controllers must show evidence ([`readiness`]). A controller that could never show it is refused
//! before the pause. Otherwise users would learn too late that a target without controllers looks like one whose controllers
//! have nothing to report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::copies::conversion;
use pivot_core::copies::readiness::{self, Asked, Expectation, Moved};
use pivot_core::discovery::inventory::Inventory;
use pivot_core::messages::grouping::MAX_LISTED_NAMES;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::pause;
use pivot_core::records::release::{Pausing, ReleaseFate, ReleaseList};
use pivot_core::{GroupKind, Key, Kind, Object, Side};

use crate::base::events::{Awaited, Event};
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side_by_side::{self, OBJECTS};
use crate::base::requests::wait::{self, WantedObjects};
use crate::read::snapshot::Snapshot;

/// Refuses objects that could be deleted without any evidence that a controller took over.
pub(crate) fn refuse_unverifiable(job: &Job, snapshot: &Snapshot) -> Result<Vec<Refusal>, Failure> {
    if !job.route.deletes_from_source() {
        return Ok(Vec::new());
    }
    let steps = snapshot.plan.steps.iter();
    let deleted = steps.filter(|step| step.treatment().is_deleted_from_source(job.route));
    record_used_risks(job, deleted.clone().map(|step| &step.key.group_kind));
    if job.options.accept.contains(Risk::TakeoverUnchecked) {
        return Ok(Vec::new());
    }
    let mut moved = Vec::new();
    for step in deleted {
        let object = snapshot.object(step)?;
        let asleep = is_paused_by_user(job, object)?;
        moved.push(Moved {
            key: &step.key,
            object,
            asleep,
            held: job.is_held_kind(&step.key.group_kind),
            is_converted: is_converted(job, &step.key.group_kind),
        });
    }
    let asked = find_expectations(job, &moved)?;
    let refusals = asked.unverifiable.into_iter().filter_map(|(kind, keys)| {
        let keys: Vec<&Key> = keys.iter().collect();
        let first = (*keys.first()?).clone();
        Some(Refusal {
            code: "unverifiable",
            side: Side::Source,
            object: Some(first),
            others: keys.iter().skip(1).copied().cloned().collect(),
            message: format!(
                "nothing in the target could show that a controller has taken over {}, and they would be deleted from the source",
                some_of(&keys, 3)
            ),
            remedies: vec![Remedy::AcceptUnverified { kind }],
        })
    });
    Ok(refusals.collect())
}

/// Notes the use of risks that leave out the check of these kinds' controllers, or a part of it.
fn record_used_risks<'a>(job: &Job, kinds: impl Iterator<Item = &'a GroupKind>) {
    // No controller acts on core kinds.
    let kinds: BTreeSet<GroupKind> = kinds.filter(|kind| !kind.group.is_empty()).cloned().collect();
    if !kinds.is_empty() {
        job.used_risks.insert(Risk::TakeoverUnchecked);
    }
    job.used_risks.insert_kinds(Risk::Unverified, kinds);
}

/// Returns true if a user paused the object. A pause by this move doesn't count.
fn is_paused_by_user(job: &Job, object: &Object) -> Result<bool, Failure> {
    let paused = pause::is_paused(object).map_err(|error| Failure::Object(Side::Source, error))?;
    let paused = paused && !pause::is_out_of_date(&object.meta, &job.move_id);
    Ok(paused && !pause::is_ours(&object.meta, &job.move_id))
}

/// Returns true if the target stores a kind in a newer version than the one in which it is compared.
fn is_converted(job: &Job, kind: &GroupKind) -> bool {
    job.kind(Side::Target, kind).is_ok_and(|kind| conversion::is_converted(kind))
}

fn find_expectations(job: &Job, moved: &[Moved<'_>]) -> Result<Asked, Failure> {
    readiness::select_checks(moved, job.options.accept.kinds(Risk::Unverified))
        .map_err(|error| Failure::Object(Side::Source, error))
}

/// Waits until the target's controllers report the same as the source's did. Only writes `since` the commit count, by the
/// target's clock; without that time, writes after the copies' creation count. Nothing is expected of Clusters that are `kept_paused` in
/// the target, nor of their objects.
pub(crate) async fn wait_for_takeover(
    job: &Job,
    list: &ReleaseList,
    known: &Inventory,
    kept_paused: &BTreeSet<Key>,
    since: Option<&str>,
) -> Result<(), Failure> {
    let unverified = find_unverified_kinds(job, list);
    record_used_risks(job, unverified.iter());
    if !unverified.is_empty() {
        let kinds = if unverified.len() == 1 { "kind" } else { "kinds" };
        let text = format!(
            "as accepted, pivot-host doesn't check that the target's controllers took over {} {kinds}",
            unverified.len()
        );
        job.report(Event::warning("unverified", text));
    }
    if job.options.accept.contains(Risk::TakeoverUnchecked) {
        return Ok(());
    }
    let deletes = list.entries.iter().any(|entry| entry.fate == ReleaseFate::Delete);
    let unlisted = get_unlisted(job, list, known).await?;
    let mut moved = Vec::new();
    for entry in
        list.entries.iter().filter(|entry| !entry.used && (entry.fate == ReleaseFate::Delete || !deletes))
    {
        // An object that no longer exists won't be deleted.
        let listed = known.get_by_key(&entry.key);
        let Some(object) = listed.or_else(|| unlisted.get_by_key(&entry.key)) else { continue };
        let asleep = is_paused_by_user(job, object)? || kept_paused.contains(&entry.key);
        moved.push(Moved {
            key: &entry.key,
            object,
            asleep,
            held: entry.pausing == Pausing::Held,
            is_converted: is_converted(job, &entry.key.group_kind),
        });
    }
    let Asked { each, one_of, unverifiable: _ } = find_expectations(job, &moved)?;
    let mut sets: BTreeMap<&GroupKind, Vec<BTreeSet<Key>>> = BTreeMap::new();
    for key in each.keys() {
        sets.entry(&key.group_kind).or_default().push(BTreeSet::from([key.clone()]));
    }
    for (kind, objects) in &one_of {
        sets.insert(kind, vec![objects.keys().cloned().collect()]);
    }
    let wanted = find_wanted(job, sets)?;
    let expected: BTreeMap<Key, Expectation> = one_of.into_values().flatten().chain(each).collect();
    let lacks = |object: &Object| {
        let key = object.key();
        let Some(expectation) = expected.get(&key) else { return Ok(None) };
        let source = known.get_by_key(&key).or_else(|| unlisted.get_by_key(&key));
        let since = since.or(object.meta.creation_timestamp.as_deref()).unwrap_or_default();
        let written = object.meta.is_written_by_others(since, source.map(|source| &source.meta));
        readiness::describe_missing(expectation, object, written)
            .map_err(|error| Failure::Object(Side::Target, error))
    };
    let timeout = job.options.takeover_timeout;
    let (waits, watcher) = ((&job.halter, &job.parking), &*job.watcher);
    match wait::wait_for_objects(&job.target, wanted, &lacks, timeout, waits, watcher).await {
        Err(Failure::TimedOut(missing)) if !deletes => {
            let missing = Awaited::lines(&missing, MAX_LISTED_NAMES);
            let text = format!("the target's controllers have not taken over: {}", some_of(&missing, 3));
            job.report(Event::warning("unverified", text));
            Ok(())
        }
        Err(Failure::TimedOut(missing)) => Err(Failure::NotTakenOver(missing)),
        other => other,
    }
}

/// Returns the objects to wait for, by the target's kinds.
pub(crate) fn find_wanted<'a>(
    job: &Job,
    sets: impl IntoIterator<Item = (&'a GroupKind, Vec<BTreeSet<Key>>)>,
) -> Result<BTreeMap<Arc<Kind>, WantedObjects>, Failure> {
    let of_kind =
        |(kind, sets)| Ok((job.kind(Side::Target, kind)?.clone(), WantedObjects::one_of_each(sets)));
    sets.into_iter().map(of_kind).collect()
}

/// Reads the objects that would be deleted but are missing in `known`, by name. Lists contain only kinds that are served and
/// shown today. Without these reads, objects missing from lists would be deleted without a check of their controllers.
pub(crate) async fn get_unlisted(
    job: &Job,
    list: &ReleaseList,
    known: &Inventory,
) -> Result<Inventory, Failure> {
    if job.source.end_kind.is_absent() {
        return Ok(Inventory::default());
    }
    let deleted = list.entries.iter().filter(|entry| entry.fate == ReleaseFate::Delete && !entry.used);
    let looks = deleted.filter(|entry| known.index_of_key(&entry.key).is_none()).map(|entry| {
        async move {
            let there = job.source.get(&job.kind_of_entry(entry), &entry.key).await?;
            Ok(there.filter(|object| object.meta.uid == entry.uid))
        }
        .boxed()
    });
    let found = side_by_side::try_all(OBJECTS, looks.collect()).await?;
    Ok(Inventory::new(found.into_iter().flatten().collect()))
}

/// Returns the kinds whose takeover is not checked, because a user accepted that.
pub(crate) fn find_unverified_kinds(job: &Job, list: &ReleaseList) -> BTreeSet<GroupKind> {
    let accept = &job.options.accept;
    // Nothing is deleted from files, but their copies are verified.
    let deletes = list.entries.iter().any(|entry| entry.fate == ReleaseFate::Delete);
    let moved =
        list.entries.iter().filter(|entry| !entry.used && (entry.fate == ReleaseFate::Delete || !deletes));
    let kinds = moved.map(|entry| &entry.key.group_kind).filter(|kind| !kind.group.is_empty());
    let unverified = kinds.filter(|kind| {
        accept.contains(Risk::TakeoverUnchecked) || accept.contains_kind(Risk::Unverified, kind)
    });
    unverified.cloned().collect()
}
