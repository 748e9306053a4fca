//! Judges moves of which one side went back to an earlier state, by the objects of both sides.
//!
//! Management clusters are restored from backups, with their records. A missing record may never have been written, may have
//! been removed at the end of its move, or may be lost. An existing record may be older than the other side's. Only the other
//! objects of both sides tell these cases apart.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::objects::pause;
use pivot_core::records::record::{FinishAlone, Finished, Phase, Record};
use pivot_core::records::release::{ReleaseFate, ReleaseList};
use pivot_core::{Both, Key, Meta, Uid};

use crate::base::outcome::failure::Failure;
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::requests::listing;
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::LISTS;
use crate::base::state::cluster_copies::{ClusterSides, KindsOfSide, ReportedEnd, Running, is_written};
use crate::base::state::moves::{FoundMove, is_of_earlier_attempt};
use crate::base::state::records::{Records, Stored};

/// Judges a move by the objects of both sides, if their records don't match or one of them is missing. `target` has the records
/// of the target. Both sides were asked.
pub(crate) async fn judge_move(
    found: &FoundMove,
    sides: &Both<Handle>,
    kinds: &Both<KindsOfSide>,
    target: &Records,
) -> Result<Option<OneSidedMove>, Failure> {
    let Some((_, record)) = found.deciding_record() else { return Ok(None) };
    let mapped = sides.target.clone().with_namespace_map(&record.scope.namespace_map);
    let sides = Both::new(sides.source.clone(), mapped);
    let clusters = ClusterSides { sides: &sides, kinds };
    match &found.at {
        Both { source: Some(source), target: None } if source.record.phase.is_committed() => {
            let summary = find_summary(target, &source.record).await?;
            let said = summary.as_ref().map_or(ReportedEnd::Nothing, ReportedEnd::Ended);
            if let Some(proof) = clusters.prove_takeover(&source.record, said).await? {
                return Ok(Some(match clusters.find_woken(&source.record, &proof).await? {
                    Some(went_back) => went_back,
                    None => OneSidedMove::TakenOver(proof),
                }));
            }
            Ok(Some(match clusters.find_running(&source.record).await? {
                Some(Running::Now(proof)) => {
                    if let Some(went_back) = clusters.find_woken(&source.record, &proof).await? {
                        return Ok(Some(went_back));
                    }
                    let without = clusters
                        .find_without_running_copy(&source.record, |copy: &Meta, original: &Meta| {
                            is_written(copy, Some(original))
                        });
                    let without = without.await?;
                    let running = clusters.find_running_unmarked(&source.record).await?;
                    let (unmarked, without) =
                        without.into_iter().partition(|cluster| running.contains(cluster));
                    OneSidedMove::PartTakenOver { proof, without, unmarked }
                }
                Some(Running::PausedAgain(_)) | None => OneSidedMove::LastCopyInSource,
            }))
        }
        Both { source: Some(source), target: Some(stored) } if found.is_of_later_attempt() => {
            let proof = format!(
                "the target has a record of a later attempt of move {}, which says that it is {}",
                source.record.move_id, stored.record.phase
            );
            judge_source_state(
                clusters,
                (&source.record, true),
                Some(proof),
                Moved { records: target, stored: Some(stored), summary: None },
            )
            .await
        }
        Both { source: Some(source), target: Some(stored) }
            if has_deleted_nothing(&source.record) && stored.record.phase >= Phase::Settled =>
        {
            // The list is removed last, and before that the source's record says whether deleting has begun.
            let committed = source.record.release_digest.as_deref();
            match target.read_committed_list(stored, committed).await {
                Ok(None) => {}
                // An unreadable list counts as existing. A command that needs the list reports the error; other moves don't.
                Ok(Some(_)) | Err(Failure::Record(_)) => return Ok(None),
                Err(other) => return Err(other),
            }
            if let Some(proof) = clusters.prove_takeover(&source.record, ReportedEnd::Settled).await? {
                return Ok(Some(match clusters.find_woken(&source.record, &proof).await? {
                    Some(went_back) => went_back,
                    None => OneSidedMove::ClosedInTarget { proof: Some(proof) },
                }));
            }
            // The target has run since then. A target in an older state lacks later changes of objects that ran there.
            Ok(Some(match clusters.find_running(&source.record).await? {
                Some(Running::Now(proof)) => match clusters.find_woken(&source.record, &proof).await? {
                    Some(went_back) => went_back,
                    None => OneSidedMove::ClosedInPart(proof),
                },
                Some(Running::PausedAgain(what)) => OneSidedMove::ClosedInPart(what),
                None => OneSidedMove::ClosedInTarget { proof: None },
            }))
        }
        Both { source: Some(source), target: at_target } if !source.record.phase.is_committed() => {
            let is_earlier = at_target
                .as_ref()
                .is_some_and(|stored| is_of_earlier_attempt(&source.record, &stored.record));
            let summary = match at_target {
                Some(_) => None,
                None => find_summary(target, &source.record).await?,
            };
            let proof = match at_target {
                // A first target that returns with paused copies has only lost later changes.
                Some(stored) if is_earlier => describe_progress(&stored.record)
                    .map(|says| format!("{says}, by the record of an earlier attempt")),
                Some(stored) => describe_progress(&stored.record),
                None => summary.as_ref().map(describe_ended),
            };
            let moved = Moved { records: target, stored: at_target.as_ref(), summary: summary.as_ref() };
            let verdict = judge_source_state(clusters, (&source.record, true), proof, moved).await?;
            let (Some(OneSidedMove::TakenOver(proof)), Some(stored)) = (&verdict, at_target) else {
                return Ok(verdict);
            };
            let comparable = !is_earlier && source.record.handover.is_none();
            if comparable && target.read_list(stored).await?.is_some() {
                return Ok(Some(OneSidedMove::SourceOutOfDate(proof.clone())));
            }
            Ok(verdict)
        }
        Both { source: None, target: Some(stored) } => {
            let Some(list) = target.read_list(stored).await? else {
                // A rollback removes the list last, after the copies, and so does the end of a move. In between, the list must
                // exist.
                let lost = stored.record.phase.is_committed() && found.orphaned;
                return Ok(lost.then_some(OneSidedMove::LastCopyInTarget));
            };
            judge_without_source_record(found, clusters, target, (stored, &list)).await
        }
        _ => Ok(None),
    }
}

/// Returns true if the source's record proves that its move is committed, and that nothing was deleted there.
fn has_deleted_nothing(record: &Record) -> bool {
    record.phase.is_committed() && record.phase < Phase::Released && record.release_uids.is_some()
}

async fn find_summary(target: &Records, record: &Record) -> Result<Option<Finished>, Failure> {
    let finished = target.list_finished().await?;
    Ok(finished.into_iter().find(|finished| finished.move_id == record.move_id))
}

fn describe_ended(summary: &Finished) -> String {
    format!("the target says that move {} ended at {}", summary.move_id, summary.ended_at)
}

/// Describes progress in a target's record that proves a commit in the source's record.
fn describe_progress(record: &Record) -> Option<String> {
    let Record { move_id, phase, finish_alone, .. } = record;
    let says = match finish_alone {
        _ if *phase > Phase::Live => format!("that move {move_id} is {phase}"),
        Some(FinishAlone::Allowed | FinishAlone::Done) => format!("that move {move_id} was committed"),
        _ => return None,
    };
    Some(format!("the target says {says}"))
}

/// Records and summary in which a target names the Clusters of a move.
struct Moved<'a> {
    records: &'a Records,
    stored: Option<&'a Stored>,
    summary: Option<&'a Finished>,
}

impl Moved<'_> {
    /// Reads the UIDs that the Clusters have in the source, as far as the target has a list or a summary.
    async fn read_recorded_cluster_uids(&self) -> Result<BTreeSet<Uid>, Failure> {
        let list = match self.stored {
            Some(stored) => self.records.read_list(stored).await?,
            None => None,
        };
        let listed = list.into_iter().flat_map(|list| list.entries);
        let listed = listed.filter(|entry| is_cluster(&entry.key.group_kind)).map(|entry| entry.uid);
        let summed = self.summary.iter().flat_map(|summary| &summary.clusters);
        Ok(listed.chain(summed.map(|cluster| cluster.uid.clone())).collect())
    }
}

/// Judges whether the target went on without this state of the source: `proof` shows it, or a copy runs. `is_recorded` means
/// that the record is the source's own.
async fn judge_source_state(
    clusters: ClusterSides<'_>,
    (record, is_recorded): (&Record, bool),
    proof: Option<String>,
    moved: Moved<'_>,
) -> Result<Option<OneSidedMove>, Failure> {
    let running = match proof {
        Some(proof) => Some(Running::Now(proof)),
        None => clusters.find_running(record).await?,
    };
    // A copy that is paused again doesn't prove a takeover, so a running source needs no pause.
    let Some(Running::Now(proof)) = running else { return Ok(running.map(OneSidedMove::from)) };
    let awake = clusters.find_awake(record, &moved.read_recorded_cluster_uids().await?).await?;
    Ok(Some(match awake.is_empty() {
        true => OneSidedMove::TakenOver(proof),
        false => OneSidedMove::SourceWentBack { proof, awake, is_recorded },
    }))
}

/// Judges a move that the source has no record of, by the objects of its list.
async fn judge_without_source_record(
    found: &FoundMove,
    clusters: ClusterSides<'_>,
    records: &Records,
    (stored, list): (&Stored, &ReleaseList),
) -> Result<Option<OneSidedMove>, Failure> {
    let record = &stored.record;
    let deletes = list.entries.iter().any(|entry| entry.fate == ReleaseFate::Delete);
    let Listed { there, others } = find_listed(&clusters.sides.source, &clusters.kinds.source, list).await?;
    if there.is_empty() {
        let verdict = match others.is_empty() {
            true => OneSidedMove::LastCopyInTarget,
            false => OneSidedMove::SourceReplaced(others),
        };
        return Ok((deletes && found.orphaned).then_some(verdict));
    }
    // Objects with this move's annotations but without a record: the record was removed, and not restored.
    if there.iter().any(|meta| pause::is_ours(meta, &record.move_id)) {
        return Ok(None);
    }
    let moved = Moved { records, stored: Some(stored), summary: None };
    judge_source_state(clusters, (record, false), describe_progress(record), moved).await
}

/// The objects in the source under the names that a move deletes there.
struct Listed {
    /// Objects that moved.
    there: Vec<Meta>,
    /// Clusters with other UIDs.
    others: Vec<Key>,
}

async fn find_listed(source: &Handle, kinds: &KindsOfSide, list: &ReleaseList) -> Result<Listed, Failure> {
    let deleted = list.entries.iter().filter(|entry| entry.fate == ReleaseFate::Delete);
    let deleted: BTreeMap<&Uid, &Key> = deleted.map(|entry| (&entry.uid, &entry.key)).collect();
    let wanted: BTreeSet<_> = deleted.values().map(|key| (&key.group_kind, &key.namespace)).collect();
    // A kind that is not served has no objects either.
    let wanted =
        wanted.into_iter().filter_map(|(gk, namespace)| Some((kinds.get(gk)?.clone(), namespace.clone())));
    let names: BTreeSet<&Key> = deleted.values().copied().collect();
    let mut found = Listed { there: Vec::new(), others: Vec::new() };
    for ((kind, _), listed) in listing::list_metas(source, LISTS, wanted.collect()).await? {
        for meta in listed.require()? {
            let key = listing::key_of_meta(&kind, &meta);
            if deleted.contains_key(&meta.uid) {
                found.there.push(meta);
            } else if is_cluster(&kind.group_kind) && names.contains(&key) {
                found.others.push(key);
            }
        }
    }
    Ok(found)
}
