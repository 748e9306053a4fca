//! Finds the copies that are removed if a restored Cluster drops the Machines of workers without a node.
//!
//! Only copies of this move are removed. If an object that stays refers to one of them, such as a host to its consumer, nothing is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::describe::{DroppedNames, LostWorkers, find_dropped_copies};
use pivot_core::discovery::dangerous_kinds::is_dangerous;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::objects::names::GROUP_CLUSTER;
use pivot_core::records::record::Record;
use pivot_core::{GroupKind, Key, Kind, Meta, Uid};

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::paused_cluster::PausedCluster;
use crate::base::requests::listing::{self, Listed};
use crate::base::requests::side_by_side::EMPTY_LISTS;

/// A Cluster that differs from its nodes.
pub(crate) struct ComparedWorkers {
    pub(crate) paused: PausedCluster,
    /// False if its nodes can't be read.
    pub(crate) is_compared: bool,
    /// The workers that can be dropped as far as the nodes show, or the reason against it.
    pub(crate) lost: Result<LostWorkers, String>,
}

/// A Cluster that differs from its nodes, and what dropping its lost workers changes.
pub(crate) struct DifferingCluster {
    pub(crate) paused: PausedCluster,
    /// None if the workers can't be dropped.
    pub(crate) dropped: Option<DroppedWorkers>,
}

/// The changes of a Cluster that drops its lost workers.
pub(crate) struct DroppedWorkers {
    /// The copies that are removed: the Machines, and the objects that only they own.
    pub(crate) copies: Vec<(Key, Meta)>,
    /// Replicas of MachineSets and MachineDeployments, with the UID of each.
    pub(crate) replicas: BTreeMap<Key, (Uid, usize)>,
}

/// Completes the description of Clusters in files.
pub(crate) fn judge_in_files(
    job: &Job,
    files: &Inventory,
    clusters: Vec<ComparedWorkers>,
) -> Vec<DifferingCluster> {
    let judge = |compared: ComparedWorkers| {
        let lost =
            compared.lost.and_then(|lost| find_dropped(job, files, &lost).map(|dropped| (lost, dropped)));
        complete(job, compared.paused, lost)
    };
    clusters.into_iter().map(judge).collect()
}

/// Completes the description of Clusters in the target. Reads the copies in the namespaces of Clusters with lost workers.
pub(crate) async fn judge_copies(
    job: &Job,
    record: &Record,
    clusters: Vec<ComparedWorkers>,
) -> Result<Vec<DifferingCluster>, Failure> {
    let mut differing = Vec::new();
    // Clusters are sorted by namespace. One reading has the bodies of all objects in its namespace, so that only one is kept.
    let mut read: Option<(Option<String>, Inventory)> = None;
    for ComparedWorkers { paused, lost, .. } in clusters {
        let lost = match lost {
            Ok(lost) => match judge_one(job, record, &mut read, &paused.cluster, &lost).await {
                Ok(dropped) => dropped.map(|dropped| (lost, dropped)),
                Err(failure @ Failure::Halted(_)) => return Err(failure),
                // The other Clusters don't depend on it.
                Err(failure) => Err(format!("objects in the target can't be read: {failure}")),
            },
            Err(reason) => Err(reason),
        };
        differing.push(complete(job, paused, lost));
    }
    Ok(differing)
}

/// Finds what a Cluster in the target drops, or the reason why it drops nothing. Keeps the reading of its namespace.
async fn judge_one(
    job: &Job,
    record: &Record,
    read: &mut Option<(Option<String>, Inventory)>,
    cluster: &Key,
    lost: &LostWorkers,
) -> Result<Result<DroppedWorkers, String>, Failure> {
    let copies = match read.take().filter(|(namespace, _)| *namespace == cluster.namespace) {
        Some((_, copies)) => copies,
        None => read_copies(job, record, cluster.namespace.as_deref()).await?,
    };
    let mut dropped = find_own_copies(job, &copies, lost);
    // Many lists, for a Cluster that drops something in this run.
    if job.is_named_to_drop(cluster)
        && let Ok(own) = &dropped
        && let Some(reason) = find_foreign_reference(job, record, &own.copies).await?
    {
        dropped = Err(reason);
    }
    *read = Some((cluster.namespace.clone(), copies));
    Ok(dropped)
}

/// Finds what is dropped in the target, if all of it is a copy of this move.
fn find_own_copies(job: &Job, copies: &Inventory, lost: &LostWorkers) -> Result<DroppedWorkers, String> {
    let dropped = find_dropped(job, copies, lost)?;
    let owners = dropped.replicas.keys().filter_map(|key| Some((key, &copies.get_by_key(key)?.meta)));
    let mut all = dropped.copies.iter().map(|(key, meta)| (key, meta)).chain(owners);
    match all.find(|(key, meta)| !job.copy_mark.is_of_any_attempt(key, meta)) {
        Some((key, _)) => Err(format!("{key} is no copy of this move")),
        None => Ok(dropped),
    }
}

/// Looks for objects of kinds that the move doesn't have, with one of the copies as an owner: the garbage collector would delete them.
/// Other objects may refer to a copy in a label or an annotation, such as a host that someone else created.
/// Returns the reason why nothing is dropped, if there is one or may be one.
async fn find_foreign_reference(
    job: &Job,
    record: &Record,
    copies: &[(Key, Meta)],
) -> Result<Option<String>, Failure> {
    let uids: BTreeSet<&Uid> = copies.iter().map(|(_, meta)| &meta.uid).collect();
    let in_target = |namespace: &str| job.target.own_namespace(namespace).to_owned();
    let names = DroppedNames::new(copies.iter().map(|(key, meta)| (key, meta)), in_target);
    let namespaces: BTreeSet<String> = copies.iter().filter_map(|(key, _)| key.namespace.clone()).collect();
    let is_other = |kind: &&Arc<Kind>| kind.namespaced && !record.kinds.contains(&kind.group_kind);
    let kinds = job.kinds.target.values().filter(is_other).filter(|kind| !kind.group_kind.is_event());
    let wanted = listing::collections_in(kinds, &namespaces);
    for ((kind, _), listed) in listing::list_metas(&job.target, EMPTY_LISTS, wanted).await? {
        let is_owned = |meta: &Meta| meta.owner_references.iter().any(|owner| uids.contains(&owner.uid));
        if let Listed::Forbidden(_) = listed {
            let kind = &kind.group_kind;
            return Ok(Some(format!("{kind} can't be listed, and one may belong to a lost Machine")));
        }
        for meta in listed.into_known() {
            let object = listing::key_of_meta(&kind, &meta);
            if is_owned(&meta) {
                return Ok(Some(format!("{object} is no copy of this move")));
            }
            if let Some((named, field)) = names.find_reference(&meta) {
                return Ok(Some(format!("{object} stays, and refers to {named} in {field}")));
            }
        }
    }
    Ok(None)
}

/// Finds the Machines, the objects that only they own, and the owners that want another number of replicas.
fn find_dropped(job: &Job, objects: &Inventory, lost: &LostWorkers) -> Result<DroppedWorkers, String> {
    // A host outlives the machine that it serves, and a Machine of Cluster API is only dropped by its own node.
    let may_follow =
        |kind: &GroupKind| kind.group != GROUP_CLUSTER && !is_dangerous(kind) && !job.is_held_kind(kind);
    let in_target = |namespace: &str| job.target.own_namespace(namespace).to_owned();
    let keys = find_dropped_copies(objects, &lost.machines, may_follow, in_target)?;
    let with_meta = |key: &Key| Some((key.clone(), objects.get_by_key(key)?.meta.clone()));
    let copies = keys.into_iter().filter_map(with_meta).collect();
    let with_uid = |(key, wanted): (&Key, &usize)| match objects.get_by_key(key) {
        Some(owner) => Ok((key.clone(), (owner.meta.uid.clone(), *wanted))),
        None => Err(format!("{key} is gone")),
    };
    let replicas = lost.replicas.iter().map(with_uid).collect::<Result<_, String>>()?;
    Ok(DroppedWorkers { copies, replicas })
}

/// Adds what can be dropped to the description of a Cluster. The reason against it is added if the user asked for it.
fn complete(
    job: &Job,
    mut paused: PausedCluster,
    lost: Result<(LostWorkers, DroppedWorkers), String>,
) -> DifferingCluster {
    paused.can_be_dropped = lost.is_ok();
    let is_named = job.is_named_to_drop(&paused.cluster);
    match lost {
        Ok((lost, dropped)) => {
            paused.reasons.push(lost.to_string());
            DifferingCluster { paused, dropped: Some(dropped) }
        }
        Err(reason) => {
            paused.reasons.extend(is_named.then(|| format!("nothing is dropped: {reason}")));
            DifferingCluster { paused, dropped: None }
        }
    }
}

/// Reads all objects of the move's kinds in a namespace of the target.
async fn read_copies(job: &Job, record: &Record, namespace: Option<&str>) -> Result<Inventory, Failure> {
    let kinds = record.kinds.iter().filter_map(|gk| job.kinds.target.get(gk)).filter(|kind| kind.namespaced);
    let mut objects = Vec::new();
    for kind in kinds {
        objects.extend(job.target.list(kind, namespace).await?.objects);
    }
    Ok(Inventory::new(objects))
}
