//! Moves that only one side has a record of: what the objects show of them.
//!
//! Management clusters are restored from backups, with their records. A record that is missing may never have been written, may have
//! been removed at the end of its move, or may be lost. Only what else the two sides have tells these apart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::copy_mark::CopyMark;
use pivot_core::record::{Phase, Record};
use pivot_core::release::{Fate, ReleaseList};
use pivot_core::soft::is_cluster;
use pivot_core::{Both, GroupKind, Key, Kind, Meta, Object, Side, Uid, pause};

use crate::outcome::failure::Failure;
use crate::outcome::one_sided::OneSidedMove;
use crate::requests::listing;
use crate::requests::side::Handle;
use crate::requests::side_by_side::{self, LISTS};
use crate::state::moves::FoundMove;
use crate::state::records::Records;

/// The kinds of one side.
type KindsOfSide = BTreeMap<GroupKind, Arc<Kind>>;

/// Judges a move by the objects of both sides, if only one of them has a record of it. `target` has the records of the target.
pub(crate) async fn judge(
    found: &FoundMove,
    sides: &Both<Handle>,
    kinds: &Both<KindsOfSide>,
    target: &Records,
) -> Result<Option<OneSidedMove>, Failure> {
    match &found.at {
        Both { source: Some(source), target: None } if source.record.phase.committed() => {
            let proof = proof_of_takeover(&sides.target, &kinds.target, target, &source.record).await?;
            Ok(Some(proof.map_or(OneSidedMove::LastCopyInSource, OneSidedMove::TakenOver)))
        }
        Both { source: None, target: Some(stored) } if found.orphaned => {
            let released = match target.read_list(stored).await? {
                Some(list) => !has_any(&sides.source, &kinds.source, &list).await?,
                // A rollback that removes the copies removes the list last. Until it began, the list must be there.
                None => stored.record.phase > Phase::Copied,
            };
            Ok(released.then_some(OneSidedMove::LastCopyInTarget))
        }
        _ => Ok(None),
    }
}

/// What shows that the target took over from a source that says so: the summary of the move, or a copy that runs.
async fn proof_of_takeover(
    target: &Handle,
    kinds: &KindsOfSide,
    records: &Records,
    record: &Record,
) -> Result<Option<String>, Failure> {
    let id = &record.move_id;
    if let Some(summary) = records.finished().await?.into_iter().find(|finished| finished.move_id == *id) {
        return Ok(Some(format!("the target says that move {id} ended at {}", summary.ended)));
    }
    let mapped = target.clone().mapped(&record.scope.namespace_map);
    let running = running_copy(&mapped, kinds, record).await?;
    Ok(running.map(|key| describe_running(&key, id)))
}

/// A Cluster of the copy that runs in the target, by its name there.
pub(crate) async fn running_copy(
    target: &Handle,
    kinds: &KindsOfSide,
    record: &Record,
) -> Result<Option<Key>, Failure> {
    let Some(kind) = record.kinds.iter().find(|gk| is_cluster(gk)).and_then(|gk| kinds.get(gk)) else {
        return Ok(None);
    };
    let mark = CopyMark::from_record(record);
    // Imports have records of their own.
    let is_import =
        |meta: &Meta| record.handover.iter().flat_map(|handover| &handover.imports).any(|id| meta.marked(id));
    let is_copy = |cluster: &Object| mark.is_on(&cluster.key(), &cluster.meta) || is_import(&cluster.meta);
    let lists = record.touched.iter().map(|namespace| target.list(kind, Some(namespace)).boxed());
    for listing in side_by_side::all(LISTS, lists.collect()).await? {
        for cluster in listing.objects {
            let paused = pause::is_paused(&cluster).map_err(|error| Failure::Object(Side::Target, error))?;
            if !paused && is_copy(&cluster) {
                return Ok(Some(target.own_name(&cluster.key())));
            }
        }
    }
    Ok(None)
}

/// Says that a copy runs.
pub(crate) fn describe_running(copy: &Key, move_id: &str) -> String {
    format!("{copy}, a copy of move {move_id}, runs in the target")
}

/// Whether the source still has one of the objects that the move deletes there, or never had to delete any.
async fn has_any(source: &Handle, kinds: &KindsOfSide, list: &ReleaseList) -> Result<bool, Failure> {
    let deleted = list.entries.iter().filter(|entry| entry.fate == Fate::Delete);
    let deleted: BTreeMap<&Uid, &Key> = deleted.map(|entry| (&entry.uid, &entry.key)).collect();
    let wanted: BTreeSet<_> = deleted.values().map(|key| (&key.group_kind, &key.namespace)).collect();
    // A kind that is not served has no objects either.
    let wanted =
        wanted.into_iter().filter_map(|(gk, namespace)| Some((kinds.get(gk)?.clone(), namespace.clone())));
    for (_, listed) in listing::identities(source, LISTS, wanted.collect()).await? {
        if listed.required()?.iter().any(|meta| deleted.contains_key(&meta.uid)) {
            return Ok(true);
        }
    }
    Ok(deleted.is_empty())
}
