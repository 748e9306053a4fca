//! Drops the lost workers of restored Clusters: Machines that were deleted after the backup.
//!
//! The Cluster stays paused meanwhile, so that no controller deletes a machine or creates one. A run that dies leaves a Cluster that
//! still differs, and the next run with the same command continues.

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::records::record::{Phase, Record};
use pivot_core::{Key, Side};
use pivot_places::PlaceError;
use serde_json::json;

use crate::act::removal;
use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::check::lost_workers::{DifferingCluster, DroppedWorkers};

/// Drops the lost workers of the Clusters that the user named. Returns the copies that were removed, or none if nothing was changed.
pub(crate) async fn drop_named(
    job: &Arc<Job>,
    record: &Record,
    differing: &[DifferingCluster],
) -> Result<Option<BTreeSet<Key>>, Failure> {
    let mut removed = None;
    for DifferingCluster { paused, dropped } in differing {
        let Some(DroppedWorkers { copies, replicas }) = dropped else { continue };
        if !job.is_named_to_drop(&paused.cluster) {
            continue;
        }
        let keys: &mut BTreeSet<Key> = removed.get_or_insert_default();
        removal::remove_copies(job, record, Phase::Live, copies.clone()).await?;
        keys.extend(copies.iter().map(|(key, _)| key.clone()));
        // After the Machines: an owner that wants fewer than it has may delete a machine that lives.
        for (owner, replicas) in replicas {
            set_replicas(job, owner, *replicas).await?;
        }
    }
    Ok(removed)
}

/// Sets the number of Machines that a MachineSet or a MachineDeployment wants.
async fn set_replicas(job: &Job, owner: &Key, replicas: usize) -> Result<(), Failure> {
    let kind = job.kind(Side::Target, &owner.group_kind)?;
    match job.target.patch(kind, owner, &json!({"spec": {"replicas": replicas}})).await {
        Ok(_) => {}
        Err(PlaceError::NotFound(_)) => return Ok(()),
        Err(error) => return Err(job.target.request_failure("setting the replicas of", Some(owner), error)),
    }
    let owner = job.target.own_name(owner);
    let text = format!("the replicas of {owner} are set to {replicas}, the number of Machines that are left");
    job.report(Event::note("replicas-set", text));
    Ok(())
}
