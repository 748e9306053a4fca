//! Recovers a committed move that its target lost, because the target was restored from a backup of before the commit.
//!
//! The source is made authoritative again, as a new attempt of the same move: its record goes back to Copied. The target's
//! changes to the machines are unknown. So users have to accept that risk, and each Cluster stays paused until it is named.
//!
//! The attempt has its own key for the proofs of its copies. If the first target returns, its copies don't count for this
//! attempt, and are known as copies of an earlier one.
//!
//! A move before its commit is treated in the same way if a copy has lost its undo annotation. The copy may have lost only the
//! annotation, or the target took over and paused it again. Such a move can only be rolled back.
//!
//! If a run dies before it has written the source's record, the move can be recovered in the same way.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use pivot_core::copies::mark::claimed_original;
use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::risk::Risk;
use pivot_core::objects::pause;
use pivot_core::plan::Step;
use pivot_core::records::record::{FinishAlone, Phase, Record};
use pivot_core::records::release::UidSet;
use pivot_core::records::route::Ends;
use pivot_core::request::scope::ClusterName;
use pivot_core::{Both, Key, Side, Uid};

use crate::act::{guard, pausing};
use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::options::Options;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::setup::Setup;
use crate::base::state::cluster_copies::{ClusterSides, Running};
use crate::base::state::locks::Locks;
use crate::base::state::moves::FoundMove;
use crate::drive::open::Opened;
use crate::drive::rollback;
use crate::drive::sequence::ActiveMove;
use crate::read::readings;
use crate::read::snapshot::Snapshot;

/// Largest number of Clusters that a note names.
const MOST_NAMED_CLUSTERS: usize = 20;

/// Largest number of objects that a refusal names.
const MOST_NAMED_OBJECTS: usize = 5;

/// Returns a new key for the proofs of one attempt's copies.
pub(crate) fn new_copy_key() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Returns true if the target lost this move after its commit: it has no record and no complete copy of it. Another cluster
/// proves nothing: it may be named by mistake, or the Clusters may have moved on to it.
fn is_lost_by_target(found: &FoundMove) -> bool {
    found.one_sided == Some(OneSidedMove::LastCopyInSource)
}

/// Returns true if this run has to make the source authoritative again.
pub(crate) fn should_recover(found: &FoundMove, options: &Options, ends: Ends) -> bool {
    let has_absent = ends.source.is_absent() || ends.target.is_absent();
    let asked = options.accept.contains(Risk::WorldChanged) && !has_absent;
    asked
        && !found.elsewhere
        && (is_lost_by_target(found) || matches!(found.one_sided, Some(OneSidedMove::PausedAgain(_))))
}

/// Returns the record of the next attempt.
pub(crate) fn record_of_next_attempt(lost: &Record) -> Result<Record, Failure> {
    let refused = |why: &str| Failure::Declined(format!("move {} can't be recovered: {why}", lost.move_id));
    if lost.phase >= Phase::Released {
        return Err(refused(
            "its source's record says that deleting from the source has begun: what is left there is the last copy. Keep it, paused, and restore \
             the target from a backup of after the commit",
        ));
    }
    if lost.handover.is_some() {
        return Err(refused("its source was handed over in files, which can be imported again"));
    }
    // Before the commit nothing is deleted from the source.
    let provable = lost.release_uids.is_some() || !lost.phase.is_committed();
    let Some(key) = lost.copy_key.as_ref().filter(|_| provable) else {
        return Err(refused(
            "an older pivot-host wrote it, and nothing shows whether its source is complete",
        ));
    };
    let mut earlier_copy_keys = lost.earlier_copy_keys.clone();
    earlier_copy_keys.push(key.clone());
    Ok(Record {
        phase: Phase::Copied,
        copy_key: Some(new_copy_key()),
        earlier_copy_keys,
        finish_alone: lost.finish_alone.map(|_| FinishAlone::Requested),
        release_digest: None,
        release_uids: None,
        release_chunks: 0,
        committed_at: None,
        ..lost.clone()
    })
}

/// Reports for how long the target may have run the Clusters of a move that it lost. The time is the same for all of them:
/// nothing in the source tells them apart.
pub(crate) async fn report_target_run_time(
    found: &FoundMove,
    opened: &Opened,
    setup: &Setup,
    locks: Option<&Locks>,
) -> Result<(), Failure> {
    let Some(source) = found.at.source.as_ref().filter(|_| is_lost_by_target(found)) else { return Ok(()) };
    let clusters = ClusterSides { sides: &opened.sides, kinds: &opened.kinds };
    let clusters: Vec<Key> =
        clusters.list_originals(&source.record).await?.iter().map(|cluster| cluster.key()).collect();
    // The source's locks: one clock for both times.
    let now = match locks {
        Some(locks) => locks.read_time().await?,
        None => None,
    };
    let since = match (&source.written, now) {
        (Some(written), Some(now)) => match describe_span(written, &now) {
            Some(long) => format!("up to {long}: since its commit at {written} by the source's clock"),
            None => format!("some time since its commit at {written} by the source's clock"),
        },
        (Some(written), None) => format!("some time since its commit at {written} by the source's clock"),
        (None, _) => "some time since its commit, whenever that was".to_owned(),
    };
    let text = format!(
        "the target may have run each of these Clusters of move {}, and changed its machines, for {since}: {}",
        source.record.move_id,
        some_of(&clusters, MOST_NAMED_CLUSTERS)
    );
    setup.watcher.event(Event::note("target-may-have-run", text));
    Ok(())
}

/// Describes the time between two times of one clock, rounded up. Returns `None` if the second is before the first.
fn describe_span(from: &str, to: &str) -> Option<String> {
    let (from, to): (Timestamp, Timestamp) = (from.parse().ok()?, to.parse().ok()?);
    let minutes = u64::try_from(to.duration_since(from).as_secs()).ok()? / 60 + 1;
    Some(match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {} h", hours + 1),
    })
}

/// Makes the source authoritative again, if it is complete and still paused, and nothing of the move runs in the target.
pub(crate) async fn recover_source(active: &mut ActiveMove) -> Result<(), Failure> {
    let job = active.job.clone();
    let lost = active.journal.stored_in_source()?.clone();
    let at_rest = check_target(active);
    let complete = async {
        let snapshot = readings::read_again(&job).await?;
        check_complete(&job, &active.journal.record, &snapshot, &lost).await?;
        check_paused(&job, &snapshot).await?;
        check_names(&job, snapshot.plan.steps.iter().map(|step| &step.key))
    };
    tokio::try_join!(at_rest, complete)?;
    job.safe_point()?;
    // The target's record is removed first, because it may decide.
    active.journal.forget_attempts().await?;
    guard::remove_for_recovery(&job).await;
    // The copies would count as others' in the next attempt. Before the commit, the copies are the reason for the recovery, so
    // it is recorded before they are removed.
    if lost.phase.is_committed() {
        rollback::clear_copies(&job, &active.journal.record).await?;
    }
    active.journal.enter_phase(Phase::Copied).await?;
    if !lost.phase.is_committed() {
        rollback::clear_copies(&job, &active.journal.record).await?;
    }
    (active.recovers, active.one_sided) = (false, None);
    Ok(())
}

/// Refuses if the target went on with the move. Evidence is a summary, a copy that runs or, after the commit, a copy that ran.
async fn check_target(active: &ActiveMove) -> Result<(), Failure> {
    let (job, record) = (&active.job, &active.journal.record);
    let sides = Both::new(job.source.clone(), job.target.clone());
    let clusters = ClusterSides { sides: &sides, kinds: &job.kinds };
    let committed = active.journal.stored_in_source()?.phase.is_committed();
    let (ended, running) = tokio::try_join!(active.journal.ended_in_target(), clusters.find_running(record))?;
    let ended = ended.map(|ended| format!("the target says that move {} ended at {ended}", record.move_id));
    let proof = match (ended, running) {
        (Some(ended), _) => ended,
        (None, Some(Running::Now(running))) => running,
        (None, Some(Running::PausedAgain(what))) if committed => {
            return Err(Failure::Declined(format!(
                "move {} can't be recovered: {what}; in the first case the target has taken over",
                record.move_id
            )));
        }
        // The user accepted that the copy only lost its annotation.
        (None, Some(Running::PausedAgain(_)) | None) => return Ok(()),
    };
    let one_sided = OneSidedMove::TakenOver(proof);
    Err(Failure::OneSidedMove { move_id: record.move_id.clone(), one_sided })
}

/// Returns the steps that copy objects of the source.
fn source_steps(snapshot: &Snapshot) -> impl Iterator<Item = &Step> {
    snapshot.plan.steps.iter().filter(|step| step.treatment().is_in_source())
}

/// Refuses a source for the state of some of its objects.
pub(super) fn refuse_source(code: &'static str, objects: &[Key], message: String, remedy: &str) -> Failure {
    Failure::from_refusal(Refusal {
        code,
        side: Side::Source,
        object: objects.first().cloned(),
        others: objects.iter().skip(1).cloned().collect(),
        message,
        remedies: vec![remedy.into()],
    })
}

/// Refuses if the source hasn't exactly the objects that were committed. `record` is of the next attempt.
async fn check_complete(
    job: &Job,
    record: &Record,
    snapshot: &Snapshot,
    lost: &Record,
) -> Result<(), Failure> {
    let mut deleting = Vec::new();
    for step in source_steps(snapshot) {
        if snapshot.object(step)?.meta.is_being_deleted() {
            deleting.push(step.key.clone());
        }
    }
    let now: UidSet = source_steps(snapshot).map(|step| &step.uid).collect();
    // Before the commit there is no list, and nothing was deleted.
    let committed = lost.release_uids.as_ref().filter(|_| lost.phase.is_committed());
    let message = match committed {
        _ if !deleting.is_empty() => {
            format!(
                "{} are being deleted: the source is not complete",
                some_of(&deleting, MOST_NAMED_OBJECTS)
            )
        }
        Some(committed) if *committed != now => {
            let copies = rollback::find_copies(job, record).await?;
            let copies = copies.into_iter().filter_map(|(key, meta)| Some((claimed_original(&meta)?, key)));
            describe_difference(snapshot, committed, &copies.collect())
        }
        _ => return Ok(()),
    };
    let remedy = "keep the source, paused; find out what was added to it or deleted since the commit, and restore the target from a \
                  backup of after the commit";
    Err(refuse_source("source-incomplete", &deleting, message, remedy))
}

/// Describes how the source differs from the committed objects. The record has only a digest of these. Names come from the
/// `copies` that the target still has, by their originals.
fn describe_difference(snapshot: &Snapshot, committed: &UidSet, copies: &BTreeMap<Uid, Key>) -> String {
    let here: BTreeSet<&Uid> = source_steps(snapshot).map(|step| &step.uid).collect();
    let missing: Vec<&Key> =
        copies.iter().filter(|(uid, _)| !here.contains(uid)).map(|(_, key)| key).collect();
    let is_whole = copies.keys().collect::<UidSet>() == *committed;
    let new = source_steps(snapshot).filter(|step| is_whole && !copies.contains_key(&step.uid));
    let new: Vec<&Key> = new.map(|step| &step.key).collect();
    let mut message = format!(
        "the {} objects that would move now are not the {} that were committed: nothing shows that the source is complete",
        here.len(),
        committed.count
    );
    if !missing.is_empty() {
        message += &format!(
            "; the target has copies of {}, which the source lacks",
            some_of(&missing, MOST_NAMED_OBJECTS)
        );
    }
    if !new.is_empty() {
        message += &format!("; {} were not committed", some_of(&new, MOST_NAMED_OBJECTS));
    }
    if missing.is_empty() && new.is_empty() {
        let least = committed.count.saturating_sub(here.len());
        message += &match least {
            0 => "; neither side has the names of those that differ".to_owned(),
            least => format!("; at least {least} are missing, and neither side has their names"),
        };
    }
    message
}

/// Refuses if an object that the move paused or held is not paused or held any more.
async fn check_paused(job: &Job, snapshot: &Snapshot) -> Result<(), Failure> {
    let mut awake = Vec::new();
    for step in source_steps(snapshot) {
        let object = snapshot.object(step)?;
        let ours = pause::is_ours(&object.meta, &job.move_id);
        let lost_undo = is_cluster(&step.key.group_kind)
            && !ours
            && !job.options.scope.accept.contains(Risk::AlreadyPaused);
        if lost_undo || pausing::find_change(job, object, pausing::pauses(job, step)).await?.is_some() {
            awake.push(step.key.clone());
        }
    }
    if awake.is_empty() {
        return Ok(());
    }
    let message = format!("{} are not as the move paused them: they may be in service", some_of(&awake, 5));
    let remedy = "find out who unpaused them, and whether the source's controllers or the target's worked on their machines since";
    Err(refuse_source("pause-undone", &awake, message, remedy))
}

/// Refuses names of Clusters that don't move.
fn check_names<'a>(job: &Job, moving: impl IntoIterator<Item = &'a Key>) -> Result<(), Failure> {
    let there: Vec<Key> = moving.into_iter().filter(|key| is_cluster(&key.group_kind)).cloned().collect();
    let names: BTreeSet<ClusterName> = there.iter().map(ClusterName::from_key).collect();
    let named = job.command.clusters_to_unpause().union(job.command.clusters_to_drop());
    match named.filter(|name| !names.contains(name)).min() {
        Some(unknown) => Err(Failure::NoCluster { named: unknown.to_string(), there }),
        None => Ok(()),
    }
}

/// Refuses options of a recovery for a move that needs none, and names that none of its Clusters has. The options are allowed
/// for a run that continues an accepted recovery, or that only ends the move.
pub(crate) async fn check_options(active: &ActiveMove) -> Result<(), Failure> {
    let (job, record) = (&active.job, &active.journal.record);
    let accepts = job.options.accept.contains(Risk::WorldChanged);
    let names_none =
        job.command.clusters_to_unpause().is_empty() && job.command.clusters_to_drop().is_empty();
    if !accepts && names_none {
        return Ok(());
    }
    // In any move, a Cluster may have lost the annotation that undoes its pause.
    if record.is_recovered() || !accepts {
        let sides = Both::new(job.source.clone(), job.target.clone());
        let clusters = ClusterSides { sides: &sides, kinds: &job.kinds };
        return match names_none {
            true => Ok(()),
            false => check_names(job, &clusters.find_all(record).await?),
        };
    }
    let continues = record.source_went_back || active.journal.source_record_is_gone();
    if continues && names_none {
        return Ok(());
    }
    Err(Failure::Declined(format!(
        "nothing shows that the target lost move {} ({}): it is resumed or rolled back as any other",
        record.move_id, record.phase
    )))
}

/// Refuses to copy a move again that was not committed: its copies may have run, and must be removed first.
pub(crate) fn check_may_copy_again(active: &ActiveMove) -> Result<(), Failure> {
    match &active.one_sided {
        Some(one_sided @ OneSidedMove::PausedAgain(_)) => {
            Err(Failure::OneSidedMove { move_id: active.job.move_id.clone(), one_sided: one_sided.clone() })
        }
        _ => Ok(()),
    }
}
