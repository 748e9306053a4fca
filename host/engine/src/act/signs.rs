//! Waits, before the commit, until the target's controllers show that they see the paused copies.
//!
//! After the commit there is no way back. A target whose controllers don't run, or don't watch the namespaces of the move, is found
//! here instead, while the source can be unpaused.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::FutureExt;
use pivot_core::copies::signs;
use pivot_core::{GroupKind, Key, Object, Side};
use pivot_places::{PlaceError, Subresource};
use tokio::time::Instant;

use crate::act::copy::Copies;
use crate::act::provider_deployments;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::MAX_ROUNDS;
use crate::base::requests::listing;
use crate::base::requests::side_by_side::{self, LISTS, OBJECTS, Work};
use crate::base::requests::wait;
use crate::check::awaited_signs::{self, AwaitedSigns};
use crate::check::evidence;

/// Longest wait without a new sign, while both sides are paused. A resumed run waits again.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// Selects the copies of which a sign is awaited.
pub(crate) fn select_signs(job: &Job, copies: &Copies) -> Result<AwaitedSigns, Failure> {
    awaited_signs::select_signs(job, &copies.snapshot, |step| {
        copies.get(&step.uid).is_some_and(|copied| copied.used)
    })
}

/// Waits for the signs, and then for the Deployments of providers that give none.
pub(crate) async fn wait_for_signs(job: &Job, copies: &Copies, awaited: AwaitedSigns) -> Result<(), Failure> {
    wait_for_copies(job, copies, awaited.copies).await?;
    let timeout = LONGEST_SILENCE.min(job.options.takeover_timeout);
    provider_deployments::wait_for_deployments(job, awaited.without_sign, timeout).await
}

/// Waits for the signs on copies. A sign on a copy that this run found, and didn't make, may be older than the run: it is removed,
/// and a controller at work writes it again.
async fn wait_for_copies(
    job: &Job,
    copies: &Copies,
    awaited: BTreeMap<GroupKind, BTreeSet<BTreeSet<Key>>>,
) -> Result<(), Failure> {
    let steps = copies.snapshot.plan.steps.iter();
    let is_fresh = |uid| copies.get(uid).is_some_and(|copied| copied.is_fresh);
    let fresh: BTreeSet<&Key> = steps.filter(|step| is_fresh(&step.uid)).map(|step| &step.key).collect();
    let renewals = awaited.into_iter().map(|(kind, sets)| -> Work<'_, (GroupKind, Vec<BTreeSet<Key>>)> {
        let (mut ready, mut found) = (Vec::new(), Vec::new());
        for set in sets {
            let of_run: BTreeSet<Key> = set.iter().filter(|key| fresh.contains(key)).cloned().collect();
            if of_run.is_empty() { found.push(set) } else { ready.push(of_run) }
        }
        async move {
            if !found.is_empty() {
                ready.extend(renew_signs(job, copies, &kind, found).await?);
            }
            Ok((kind, ready))
        }
        .boxed()
    });
    let awaited: BTreeMap<GroupKind, Vec<BTreeSet<Key>>> =
        side_by_side::try_all(LISTS, renewals.collect()).await?.into_iter().collect();
    let lacks = |copy: &Object| {
        let has_sign = signs::has_sign(copy).map_err(|error| Failure::Object(Side::Target, error))?;
        Ok((!has_sign).then(|| "its controller has not seen it yet".to_owned()))
    };
    let end = Instant::now() + job.options.takeover_timeout;
    let mut missing = usize::MAX;
    loop {
        let wanted = evidence::find_wanted(job, awaited.iter().map(|(kind, sets)| (kind, sets.clone())))?;
        let timeout = LONGEST_SILENCE.min(end.saturating_duration_since(Instant::now()));
        let waits = (&job.halter, &job.parking);
        match wait::wait_for_objects(&job.target, wanted, &lacks, timeout, waits, &*job.watcher).await {
            Err(Failure::TimedOut(now)) if now.len() < missing && Instant::now() < end => missing = now.len(),
            Err(Failure::TimedOut(now)) => return Err(Failure::NotSeen(now)),
            other => return other,
        }
    }
}

/// Removes one sign of each set of copies that this run found. Returns the sets of which a new sign is awaited: the copy that lost its
/// sign, or all copies of a set without any.
async fn renew_signs(
    job: &Job,
    copies: &Copies,
    kind: &GroupKind,
    found: Vec<BTreeSet<Key>>,
) -> Result<Vec<BTreeSet<Key>>, Failure> {
    let mut signed = BTreeMap::new();
    for namespace in listing::select_namespaces(found.iter().flatten()) {
        for copy in job.target.list(job.kind(Side::Target, kind)?, namespace).await?.objects {
            if signs::has_sign(&copy).map_err(|error| Failure::Object(Side::Target, error))? {
                signed.insert(copy.key(), copy);
            }
        }
    }
    let mut sets = Vec::new();
    let mut removed = BTreeMap::new();
    for set in found {
        match set.iter().find_map(|key| signed.get_key_value(key)) {
            Some((key, copy)) => {
                sets.push(BTreeSet::from([key.clone()]));
                removed.insert(key, copy);
            }
            None => sets.push(set),
        }
    }
    let made: BTreeSet<_> = copies.uids().collect();
    let removals = removed.into_values().filter(|copy| made.contains(&copy.meta.uid));
    let removals = removals.map(|copy| -> Work<'_, ()> { remove_sign(job, copy).boxed() });
    side_by_side::write_all(OBJECTS, removals.collect()).await?;
    Ok(sets)
}

async fn remove_sign(job: &Job, found: &Object) -> Result<(), Failure> {
    let (key, uid) = (found.key(), &found.meta.uid);
    let kind = job.kind(Side::Target, &key.group_kind)?;
    let part = if kind.status_subresource { Subresource::Status } else { Subresource::None };
    let to_failure = |error| job.target.request_failure("asking the controller of", Some(&key), error);
    let mut copy = Some(found.clone());
    for _ in 0..MAX_ROUNDS {
        // The comparison before the commit refuses a copy that is gone or replaced.
        let Some(now) = copy.filter(|now| now.meta.uid == *uid) else { return Ok(()) };
        let patch = signs::removal_patch(&now).map_err(|error| Failure::Object(Side::Target, error))?;
        let Some(patch) = patch else { return Ok(()) };
        match job.target.patch_part(kind, &key, &patch, part).await {
            Ok(_) | Err(PlaceError::NotFound(_)) => return Ok(()),
            Err(PlaceError::Conflict(_)) => copy = job.target.get(kind, &key).await?,
            Err(error) => return Err(to_failure(error)),
        }
    }
    Err(to_failure(PlaceError::Conflict("it keeps changing".into())))
}
