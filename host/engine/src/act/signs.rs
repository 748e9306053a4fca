//! Waits, before the commit, until the target's controllers show that they see the paused copies.
//!
//! After the commit there is no way back. A target whose controllers don't run, or don't watch the namespaces of the move, is found
//! here instead, while the source can be unpaused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use pivot_core::copies::signs;
use pivot_core::messages::risk::Risk;
use pivot_core::{GroupKind, Key, Object, Side};
use pivot_places::{PlaceError, Subresource};

use crate::act::copy::Copies;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::MAX_ROUNDS;
use crate::base::requests::side_by_side::{self, OBJECTS, Work};
use crate::base::requests::wait;
use crate::check::evidence;

/// Longest wait for the signs, while both sides are paused. A resumed run waits again.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The copies of which a sign is awaited, by kind: one of each set.
pub(crate) type AwaitedSigns = BTreeMap<GroupKind, BTreeSet<BTreeSet<Key>>>;

/// Selects the copies of which a sign is awaited.
pub(crate) fn select_signs(job: &Job, copies: &Copies) -> Result<AwaitedSigns, Failure> {
    if !job.route.deletes_from_source() || job.options.accept.contains(Risk::TakeoverUnchecked) {
        return Ok(AwaitedSigns::new());
    }
    let mut sources = Vec::new();
    for step in copies.snapshot.plan.steps.iter().filter(|step| step.treatment().is_compared()) {
        if !copies.get_made(step)?.used {
            sources.push(copies.snapshot.object(step)?);
        }
    }
    let mut awaited = signs::select_signs(sources).map_err(|error| Failure::Object(Side::Source, error))?;
    awaited.retain(|kind, _| {
        job.used_risks.insert_kinds(Risk::Unseen, BTreeSet::from([kind.clone()]));
        !(job.options.accept.contains_kind(Risk::Unseen, kind)
            || job.options.accept.contains_kind(Risk::Unverified, kind))
    });
    Ok(awaited)
}

/// Waits for the signs. A sign on a copy that this run found, and didn't make, may be older than the run: it is removed, and a
/// controller at work writes it again.
pub(crate) async fn wait_for_signs(job: &Job, copies: &Copies, awaited: AwaitedSigns) -> Result<(), Failure> {
    let steps = copies.snapshot.plan.steps.iter();
    let is_fresh = |uid| copies.get(uid).is_some_and(|copied| copied.is_fresh);
    let fresh: BTreeSet<&Key> = steps.filter(|step| is_fresh(&step.uid)).map(|step| &step.key).collect();
    let mut awaited: BTreeMap<GroupKind, Vec<BTreeSet<Key>>> =
        awaited.into_iter().map(|(kind, sets)| (kind, sets.into_iter().collect())).collect();
    let mut found = BTreeSet::new();
    for set in awaited.values_mut().flatten() {
        let first = set.first().cloned();
        set.retain(|key| fresh.contains(key));
        if set.is_empty() {
            set.extend(first.clone());
            found.extend(first);
        }
    }
    let removals = found.iter().map(|key| -> Work<'_, ()> { remove_sign(job, key).boxed() });
    side_by_side::write_all(OBJECTS, removals.collect()).await?;
    let lacks = |copy: &Object| {
        let has_sign = signs::has_sign(copy).map_err(|error| Failure::Object(Side::Target, error))?;
        Ok((!has_sign).then(|| "its controller has not seen it yet".to_owned()))
    };
    let timeout = LONGEST_WAIT.min(job.options.takeover_timeout);
    let wanted = evidence::find_wanted(job, awaited.iter().map(|(kind, sets)| (kind, sets.clone())))?;
    let waits = (&job.halter, &job.parking);
    match wait::wait_for_objects(&job.target, wanted, &lacks, timeout, waits, &*job.watcher).await {
        Err(Failure::TimedOut(missing)) => Err(Failure::NotSeen(missing)),
        other => other,
    }
}

async fn remove_sign(job: &Job, key: &Key) -> Result<(), Failure> {
    let kind: &Arc<_> = job.kind(Side::Target, &key.group_kind)?;
    let part = if kind.status_subresource { Subresource::Status } else { Subresource::None };
    for _ in 0..MAX_ROUNDS {
        let Some(copy) = job.target.get(kind, key).await? else { return Ok(()) };
        let patch = signs::removal_patch(&copy).map_err(|error| Failure::Object(Side::Target, error))?;
        let Some(patch) = patch else { return Ok(()) };
        match job.target.patch_part(kind, key, &patch, part).await {
            Ok(_) | Err(PlaceError::NotFound(_)) => return Ok(()),
            Err(PlaceError::Conflict(_)) => {}
            Err(error) => {
                return Err(job.target.request_failure("asking the controller of", Some(key), error));
            }
        }
    }
    // A controller that writes to the copy so often is at work.
    Ok(())
}
