//! Drops the lost workers of restored Clusters: Machines that were deleted after the backup.
//!
//! The Cluster stays paused meanwhile, so that no controller deletes a machine or creates one. A run that dies leaves a Cluster that
//! still differs, and the next run with the same command continues.

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::messages::refusal::Refusal;
use pivot_core::objects::pause;
use pivot_core::records::record::{Phase, Record};
use pivot_core::{Key, Side, Uid};
use pivot_places::PlaceError;
use serde_json::json;

use crate::act::pausing::PAUSE_UNDONE;
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
        require_pause(job, &paused.cluster).await?;
        removal::remove_copies(job, record, Phase::Live, copies.clone()).await?;
        keys.extend(copies.iter().map(|(key, _)| key.clone()));
        // After the Machines: an owner that wants fewer than it has may delete a machine that lives.
        for (owner, (uid, replicas)) in replicas {
            require_pause(job, &paused.cluster).await?;
            set_replicas(job, owner, uid, *replicas).await?;
        }
    }
    Ok(removed)
}

/// Fails unless this move's pause of a Cluster is in effect. Someone may have ended it since the Clusters were compared.
async fn require_pause(job: &Job, cluster: &Key) -> Result<(), Failure> {
    let kind = job.kind(Side::Target, &cluster.group_kind)?;
    let now = job.target.get(kind, cluster).await?;
    let is_paused = match &now {
        Some(now) => {
            let paused = pause::is_paused(now).map_err(|error| Failure::Object(Side::Target, error))?;
            paused && pause::is_ours(&now.meta, &job.move_id)
        }
        None => false,
    };
    match is_paused {
        true => Ok(()),
        false => {
            let cluster = job.target.own_name(cluster);
            Err(Failure::from_refusal(Refusal {
                code: PAUSE_UNDONE,
                side: Side::Target,
                message: format!(
                    "someone unpaused {cluster} while its lost workers were dropped: its controllers may create Machines for them"
                ),
                object: Some(cluster),
                others: Vec::new(),
                remedies: vec!["stop whatever unpauses it, pause it by hand, and repeat the command".into()],
            }))
        }
    }
}

/// Sets the number of Machines that a MachineSet or a MachineDeployment wants. An object of the same name with another UID is refused.
async fn set_replicas(job: &Job, owner: &Key, uid: &Uid, replicas: usize) -> Result<(), Failure> {
    let kind = job.kind(Side::Target, &owner.group_kind)?;
    let patch = json!({"metadata": {"uid": uid}, "spec": {"replicas": replicas}});
    match job.target.patch(kind, owner, &patch).await {
        Ok(_) => {}
        Err(PlaceError::NotFound(_)) => return Ok(()),
        Err(error) => return Err(job.target.request_failure("setting the replicas of", Some(owner), error)),
    }
    let owner = job.target.own_name(owner);
    let text = format!("the replicas of {owner} are set to {replicas}, the number of Machines that are left");
    job.report(Event::note("replicas-set", text));
    Ok(())
}
