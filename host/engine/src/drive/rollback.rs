//! Rolls a move back: its objects in the target are removed, and everything in the source is as before.
//!
//! A rollback is possible until the point of no return. The target comes first: the source stays paused while its copies exist.

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::objects::names;
use pivot_core::records::record::{Phase, Record};
use pivot_core::{Both, Key, Meta, Side};
use pivot_places::{PlaceError, Preconditions};

use crate::act::removal;
use crate::act::unpausing::{self, Undone};
use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::listing;
use crate::base::requests::side_by_side::{EMPTY_LISTS, LISTS};
use crate::base::state::cluster_copies::ClusterSides;
use crate::base::state::journal::Journal;

/// Result of a rollback.
#[derive(Clone, Copy, Debug, Default)]
pub struct RolledBack {
    /// Objects removed from the target.
    pub removed: usize,
    /// Objects unpaused in the source.
    pub unpaused: usize,
}

/// Removes the objects that the move created in the target, then unpauses the source.
///
/// A source without a record of the move has no objects that this move paused, because the record is removed last. The target's
/// record may then name objects of others.
///
/// # Errors
///
/// Fails if Clusters stay paused. In a recovered source, the user didn't name them, or their control plane has a node without a Machine.
/// In any source, the annotation that undoes their pause may be gone. The record stays, too.
pub(crate) async fn roll_back(job: &Arc<Job>, journal: &Journal) -> Result<RolledBack, Failure> {
    let record = &journal.record;
    let there = record.phase >= Phase::Copied && !job.target.end_kind.is_absent();
    let removed = if there { clear_copies(job, record).await? } else { 0 };
    if there {
        clear_namespaces(job, record).await?;
    }
    if record.phase >= Phase::Copied && job.target.end_kind.is_absent() {
        let text = format!(
            "this move left its copies in the target, paused and annotated with {}={}",
            names::MARK,
            job.move_id
        );
        job.report(Event::warning("copies-left", text));
    }
    let paused = job.source.end_kind.is_cluster() && !journal.source_record_is_gone();
    let Undone { unpaused, left_paused, undo_lost } = match paused {
        true => unpausing::undo_all(job, journal).await?,
        false => Undone::default(),
    };
    if record.phase < Phase::Copied && !job.target.end_kind.is_absent() {
        // These were created while the phase was recorded. Empty namespaces are no reason to keep the source paused.
        if let Err(failure) = clear_namespaces(job, record).await {
            let text = format!("namespaces that this move made may be left in the target, empty: {failure}");
            job.report(Event::warning("namespaces-left", text));
        }
    }
    match (left_paused.is_empty(), undo_lost.is_empty()) {
        (false, _) => Err(Failure::LeftPaused {
            side: Side::Source,
            clusters: left_paused,
            compared: job.workload_clusters.is_some(),
        }),
        (true, false) => Err(Failure::UndoLost { clusters: undo_lost }),
        (true, true) => Ok(RolledBack { removed, unpaused }),
    }
}

/// Refuses if a Cluster of the copy runs. Then the move was finished without this source (`--without-source`), and the source
/// is out of date. Without that copy, or with an update from the source, running clusters would be torn down.
pub(crate) async fn refuse_running_copies(job: &Job, record: &Record) -> Result<(), Failure> {
    if !job.target.end_kind.is_cluster() {
        return Ok(());
    }
    let sides = Both::new(job.source.clone(), job.target.clone());
    match (ClusterSides { sides: &sides, kinds: &job.kinds }).find_running(record).await? {
        Some(running) => {
            let (move_id, one_sided) = (job.move_id.clone(), running.into());
            Err(Failure::OneSidedMove { move_id, one_sided })
        }
        None => Ok(()),
    }
}

/// Removes every object in the target that any attempt of the move made. Namespaces stay: a server takes some time to delete
/// one, and until then the next attempt can create nothing in it.
pub(crate) async fn clear_copies(job: &Arc<Job>, record: &Record) -> Result<usize, Failure> {
    let copies = find_copies(job, record).await?;
    let removed = copies.len();
    removal::remove_copies(job, record, Phase::Copied, copies).await?;
    Ok(removed)
}

/// Removes all copies if an earlier attempt made one, as in a target that returned. The last attempt would treat such copies as
/// others' objects.
pub(crate) async fn clear_earlier_attempts(job: &Arc<Job>, record: &Record) -> Result<(), Failure> {
    let copies = find_copies(job, record).await?;
    match copies.iter().all(|(key, meta)| job.copy_mark.is_on(key, meta)) {
        true => Ok(()),
        false => clear_copies(job, record).await.map(drop),
    }
}

/// Removes the namespaces that the move created.
async fn clear_namespaces(job: &Job, record: &Record) -> Result<(), Failure> {
    // The record namespace has records of other moves, or will have some.
    let removed = record.created_namespaces.iter().filter(|name| **name != job.options.record_namespace);
    for namespace in removed {
        remove_namespace(job, namespace).await?;
    }
    Ok(())
}

/// Finds every object in the target that any attempt of this move made.
pub(crate) async fn find_copies(job: &Job, record: &Record) -> Result<Vec<(Key, Meta)>, Failure> {
    // The namespaces of a cluster are removed once they are empty.
    let keeps_namespaces = job.target.capabilities().judges;
    let kinds = record.kinds.iter().filter(|gk| !(keeps_namespaces && gk.is("", "Namespace")));
    let kinds = kinds.filter_map(|gk| job.kinds.target.get(gk));
    let wanted = listing::collections_in(kinds, &record.copied_namespaces);
    let mut found = Vec::new();
    for ((kind, _), listed) in listing::list_metas(&job.target, LISTS, wanted).await? {
        let all = listed.require()?.into_iter().map(|meta| (listing::key_of_meta(&kind, &meta), meta));
        found.extend(all.filter(|(key, meta)| job.copy_mark.is_of_any_attempt(key, meta)));
    }
    Ok(found)
}

/// Removes a namespace that this move created, if it is empty.
async fn remove_namespace(job: &Job, name: &str) -> Result<(), Failure> {
    let kind = job.core_kind(Side::Target, "", "Namespace")?;
    let key = Key::new(kind.group_kind.clone(), None, name);
    let Some(there) = job.target.get(kind, &key).await?.filter(|there| there.meta.has_mark(&job.move_id))
    else {
        return Ok(());
    };
    if let Some(inhabitant) = find_inhabitant(job, name).await? {
        let (name, inhabitant) = (job.target.own_name(&key).name, job.target.own_name(&inhabitant));
        job.report(Event::Note {
            code: "namespace-kept".into(),
            text: format!("namespace {name} in the target is kept: it contains {inhabitant}"),
            object: Some(inhabitant),
            remedies: Vec::new(),
        });
        return Ok(());
    }
    let preconditions = Preconditions { uid: Some(there.meta.uid), resource_version: None };
    match job.target.delete(kind, &key, preconditions).await {
        Ok(()) | Err(PlaceError::NotFound(_)) => Ok(()),
        Err(error) => Err(job.target.request_failure("removing", Some(&key), error)),
    }
}

/// Returns an object in a namespace, other than the objects that every namespace has.
async fn find_inhabitant(job: &Job, namespace: &str) -> Result<Option<Key>, Failure> {
    let always: BTreeSet<(&str, &str)> =
        [("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")].into_iter().collect();
    let kinds = job.kinds.target.values().filter(|kind| kind.namespaced && !kind.group_kind.is_event());
    let wanted = listing::collections_in(kinds, &BTreeSet::from([namespace.to_owned()]));
    for ((kind, _), listed) in listing::list_metas(&job.target, EMPTY_LISTS, wanted).await? {
        for meta in listed.require()? {
            let key = listing::key_of_meta(&kind, &meta);
            let is_usual = always.contains(&(kind.group_kind.kind.as_str(), meta.name.as_str()));
            if !is_usual && !job.copy_mark.is_of_any_attempt(&key, &meta) {
                return Ok(Some(key));
            }
        }
    }
    Ok(None)
}
