//! Handles a source that went back to before the commit of a move, while its target went on.
//!
//! The source is out of date. Its Clusters are paused first. Then the move is committed again by the list of its target, so
//! that the source's objects are deleted as at the end of any move.
//!
//! The target's list decides nothing alone. The source's own record must select each object, the object must be as it was
//! copied, and its Cluster must run in the target.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::messages::refusal::some_of;
use pivot_core::messages::risk::Risk;
use pivot_core::records::release::{Entry, ReleaseFate, ReleaseList};
use pivot_core::request::scope::ClusterName;
use pivot_core::{Both, Key, Meta, Uid};

use crate::act::{live, pausing, release};
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::requests::side_by_side::{self, OBJECTS, Work};
use crate::base::state::cluster_copies::ClusterSides;
use crate::drive::recovery::refuse_source;
use crate::drive::sequence::ActiveMove;
use crate::read::readings;
use crate::read::snapshot::Snapshot;

/// Pauses the Clusters of such a source whose copies run. They are out of date, so this move has no way to undo that pause.
///
/// A source without a record of the move may be in service, and the target could name Clusters of others. There, only Clusters
/// that the user names are paused.
pub(crate) async fn pause_clusters(active: &ActiveMove, one_sided: &OneSidedMove) -> Result<(), Failure> {
    let named = active.job.command.clusters_to_pause();
    let (OneSidedMove::SourceWentBack { proof, .. } | OneSidedMove::ClaimedByTarget { claim: proof, .. }) =
        one_sided
    else {
        return Ok(());
    };
    let in_source = active.journal.stored_in_source().ok();
    if in_source.is_none() && named.is_empty() {
        return Ok(());
    }
    let record = in_source.unwrap_or(&active.journal.record);
    let job = &active.job;
    let sides = Both::new(job.source.clone(), job.target.clone());
    let mut clusters = ClusterSides { sides: &sides, kinds: &job.kinds }.find_managed_twice(record).await?;
    if in_source.is_none() {
        let there: BTreeSet<ClusterName> = clusters.iter().map(ClusterName::from_key).collect();
        if let Some(unknown) = named.difference(&there).next() {
            return Err(Failure::NoCluster { named: unknown.to_string(), there: clusters });
        }
        clusters.retain(|key| named.contains(&ClusterName::from_key(key)));
    }
    if clusters.is_empty() {
        return Ok(());
    }
    let pauses =
        clusters.iter().map(|key: &Key| -> Work<'_, ()> { pausing::pause_for_good(job, key).boxed() });
    side_by_side::write_all(OBJECTS, pauses.collect()).await?;
    Err(Failure::SourcePaused { proof: proof.clone(), clusters })
}

/// Commits the move again, by the target's list. From then on it is a committed move like any other. A run that dies here
/// leaves either the old state or a committed move.
///
/// # Errors
///
/// Fails if an object of the source was not copied, or not in this state, or is not paused. Fails also if a Cluster has no
/// running copy of the same workload cluster.
pub(crate) async fn commit_again(active: &mut ActiveMove) -> Result<(), Failure> {
    let job = active.job.clone();
    let list = active.journal.list_in_target().await?;
    let snapshot = read_at_rest(&job).await?;
    check_selection(&job, &snapshot, &list).await?;
    let (marks, may_be_gone) = (BTreeSet::from([job.move_id.clone()]), BTreeSet::new());
    check_clusters(active).await?;
    pausing::check_still_paused(&job, &list).await?;
    live::check_copies(&job, &list, &marks, &may_be_gone).await?;
    check_contents(&job, &list).await?;
    job.safe_point()?;
    active.journal.commit_again(&list).await?;
    active.one_sided = None;
    Ok(())
}

/// Reads the source once its controllers have acknowledged the pause. A controller that still takes a Cluster for unpaused
/// would react to the deletion of its objects.
async fn read_at_rest(job: &Arc<Job>) -> Result<Snapshot, Failure> {
    let deadline = job.parking.deadline(job.options.pause_timeout);
    loop {
        let snapshot = readings::read_again(job).await?;
        let left = deadline.time_left();
        if pausing::wait_until_acknowledged(job, &snapshot, left).await? {
            return Ok(snapshot);
        }
    }
}

/// Returns the entries of objects that are deleted from the source.
fn entries_to_delete(list: &ReleaseList) -> impl Iterator<Item = &Entry> {
    list.entries.iter().filter(|entry| entry.fate == ReleaseFate::Delete)
}

/// Refuses if the source would move an object that the list doesn't have, or if the list deletes an object that the source wouldn't move.
async fn check_selection(job: &Job, snapshot: &Snapshot, list: &ReleaseList) -> Result<(), Failure> {
    if !snapshot.plan.refusals.is_empty() {
        return Err(Failure::Refused(snapshot.plan.refusals.clone()));
    }
    let steps = snapshot.plan.steps.iter();
    let moving = steps.filter(|step| step.treatment().is_deleted_from_source(job.route));
    let listed: BTreeSet<&Uid> = list.entries.iter().map(|entry| &entry.uid).collect();
    let more: Vec<Key> =
        moving.clone().filter(|step| !listed.contains(&step.uid)).map(|step| step.key.clone()).collect();
    if !more.is_empty() {
        let message = format!(
            "the source has {}, which the move did not copy: the source may have created them since it was restored",
            some_of(&more, 5)
        );
        let remedy =
            "keep the source, paused, and compare with the cloud or the rack what these objects stand for";
        return Err(refuse_source("not-copied", &more, message, remedy));
    }
    let selected: BTreeSet<&Uid> = moving.map(|step| &step.uid).collect();
    let others = entries_to_delete(list).filter(|entry| !selected.contains(&entry.uid));
    let looks = others.map(|entry| -> Work<'_, Option<Key>> {
        async move {
            let there = job.source.get(&job.kind_of_entry(entry), &entry.key).await?;
            Ok(there.filter(|object| object.meta.uid == entry.uid).map(|_| entry.key.clone()))
        }
        .boxed()
    });
    let mut others: Vec<Key> =
        side_by_side::try_all(OBJECTS, looks.collect()).await?.into_iter().flatten().collect();
    others.sort_unstable();
    match others.is_empty() {
        true => Ok(()),
        false => {
            let message = format!(
                "the target's list of the move has {}, which the source's record does not select",
                some_of(&others, 5)
            );
            let remedy =
                "keep the source, paused, and find out who changed these objects, or the target's record";
            Err(refuse_source("not-selected", &others, message, remedy))
        }
    }
}

/// Refuses if a Cluster of the source has no complete copy that runs.
async fn check_clusters(active: &ActiveMove) -> Result<(), Failure> {
    let (job, record) = (&active.job, &active.journal.record);
    let sides = Both::new(job.source.clone(), job.target.clone());
    let clusters = ClusterSides { sides: &sides, kinds: &job.kinds };
    let unchecked = job.options.accept.contains(Risk::TakeoverUnchecked);
    job.used_risks.insert(Risk::TakeoverUnchecked);
    let since = if unchecked { None } else { Some(active.journal.committed_at()?) };
    let without = clusters.find_without_running_copy(record, |copy: &Meta, original: &Meta| {
        since.is_none_or(|since| copy.is_written_by_others(since, Some(original)))
    });
    let without = without.await?;
    if without.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{} have no complete copy that runs: in the target each must be unpaused, with the same control plane endpoint and certificate \
         authority, and its controllers must have written to it since the commit",
        some_of(&without, 5)
    );
    let remedy = "keep the source, paused, and find out what became of these Clusters in the target";
    Err(refuse_source("no-running-copy", &without, message, remedy))
}

/// Refuses if an object of the source is not as it was copied.
async fn check_contents(job: &Job, list: &ReleaseList) -> Result<(), Failure> {
    let looks = entries_to_delete(list).map(|entry| -> Work<'_, Option<(Key, Vec<String>)>> {
        async move {
            match release::get_if_unchanged(job, &job.kind_of_entry(entry), entry, None).await {
                Ok(_) => Ok(None),
                Err(Failure::Changed { object, fields }) => Ok(Some((object, fields))),
                Err(other) => Err(other),
            }
        }
        .boxed()
    });
    let differ: BTreeMap<Key, Vec<String>> =
        side_by_side::try_all(OBJECTS, looks.collect()).await?.into_iter().flatten().collect();
    let Some((first, fields)) = differ.iter().next() else { return Ok(()) };
    let keys: Vec<Key> = differ.keys().cloned().collect();
    let message = format!(
        "{} are not as the move copied them ({first}: {}): the target never had what the source has now",
        some_of(&keys, 5),
        some_of(fields, 5)
    );
    let remedy = "keep the source, paused, and find out what changed them, and which side is right";
    Err(refuse_source("source-differs", &keys, message, remedy))
}
