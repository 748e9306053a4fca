//! Work that is under way in a cluster that is backed up.
//!
//! A move refuses such objects, or waits. A backup that did the same would never end on a cluster that scales by itself. So the manifest
//! names the work. Another move's pause is no such work: only its end removes the pause, and a lost source can't end it.
//!
//! A move from such a backup finds the same objects in the same state. It reports the work that the manifest lists, and refuses only
//! other work. For example, an unlisted Machine without a node came into the files by another way.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::messages::grouping::MAX_LISTED_NAMES;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::plan::Step;
use pivot_core::plugins::hooks::PluginFinding;
use pivot_core::records::backup::UnfinishedWork;
use pivot_core::{Key, OwnerReference, Side, Uid};
use pivot_places::{ChangedObjects, PlaceError};

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls;
use crate::read::snapshot::Snapshot;

/// Codes of the refusals that describe the state of an object, and not a defect of the plan.
const OF_STATES: [&str; 3] = ["not-provisioned", "being-deleted", "already-paused"];

/// Code of an object that changed while a backup read it.
const CHANGE_DURING_READING: &str = "changed-while-read";

/// Separates work that is under way from refusals that also apply to a backup.
pub(crate) fn split_refusals(
    snapshot: &Snapshot,
    refusals: Vec<Refusal>,
) -> (Vec<UnfinishedWork>, Vec<Refusal>) {
    let (of_states, others): (Vec<Refusal>, Vec<Refusal>) =
        refusals.into_iter().partition(|refusal| OF_STATES.contains(&refusal.code));
    let entries = of_states.into_iter().flat_map(|refusal| {
        let objects: Vec<Key> = refusal.object.into_iter().chain(refusal.others).collect();
        let (code, message) = (refusal.code, refusal.message);
        objects.into_iter().map(move |object| describe_work(snapshot, Some(object), code, message.clone()))
    });
    (entries.collect(), others)
}

/// Asks plugins for findings because of which a move would wait or stop.
pub(crate) async fn ask_plugins(job: &Job, snapshot: &Snapshot) -> Result<Vec<UnfinishedWork>, Failure> {
    let found = calls::find_obstacles(job, &snapshot.plugin_view()).await?;
    let entries = found.into_iter().map(|PluginFinding { plugin, finding }| {
        let message = format!("plugin {plugin}: {}", finding.message);
        describe_work(snapshot, finding.object, &finding.code, message)
    });
    Ok(entries.collect())
}

/// Returns the objects that changed while they were listed: their Clusters may be of two times in the files.
///
/// Fails with `Expired` if another attempt of the backup may find them at rest.
pub(crate) async fn find_changed(job: &Job, snapshot: &Snapshot) -> Result<Vec<UnfinishedWork>, Failure> {
    let place = &job.source.place;
    let changed = job.source.retry(|| place.find_changed()).await;
    let fail = |error| job.source.request_failure("listing once more", None, error);
    let ChangedObjects { changed, gone } = changed.map_err(fail)?;
    let by_key: BTreeMap<&Key, &Step> = snapshot.plan.steps.iter().map(|step| (&step.key, step)).collect();
    let by_uid: BTreeMap<&Uid, &Step> = snapshot.plan.steps.iter().map(|step| (&step.uid, step)).collect();
    // Other objects are not in the files, and change all the time.
    let find_cluster = |key: &Key, owners: &[OwnerReference]| match by_key.get(key) {
        Some(_) if is_cluster(&key.group_kind) => Some(Some(key.clone())),
        Some(step) => Some(step.cluster.clone()),
        None => owners.iter().find_map(|owner| by_uid.get(&owner.uid)).map(|owner| match &owner.cluster {
            None if is_cluster(&owner.key.group_kind) => Some(owner.key.clone()),
            of_owner => of_owner.clone(),
        }),
    };
    let mut all: BTreeMap<Key, Option<Key>> = BTreeMap::new();
    for (key, meta) in changed {
        all.extend(find_cluster(&key, &meta.owner_references).map(|cluster| (key, cluster)));
    }
    for key in gone {
        all.extend(find_cluster(&key, &[]).map(|cluster| (key, cluster)));
    }
    let changed: Vec<&Key> = all.keys().collect();
    if !changed.is_empty() && !job.options.backup_accepts_changes {
        let text = format!("objects changed while they were listed, for example {}", some_of(&changed, 3));
        return Err(fail(PlaceError::Expired(text)));
    }
    let entries = all.into_iter().map(|(key, cluster)| {
        let message = format!("{key} changed while it was read");
        UnfinishedWork { cluster, object: Some(key), code: CHANGE_DURING_READING.to_owned(), message }
    });
    Ok(entries.collect())
}

fn describe_work(snapshot: &Snapshot, object: Option<Key>, code: &str, message: String) -> UnfinishedWork {
    let step = object.as_ref().and_then(|key| snapshot.plan.steps.iter().find(|step| step.key == *key));
    let cluster = match &object {
        Some(key) if is_cluster(&key.group_kind) => Some(key.clone()),
        _ => step.and_then(|step| step.cluster.clone()),
    };
    UnfinishedWork { cluster, object, code: code.to_owned(), message }
}

/// Sorts the work, and reports it in one warning.
pub(crate) fn report(job: &Job, work: &mut Vec<UnfinishedWork>) {
    work.sort_unstable();
    work.dedup();
    if work.is_empty() {
        return;
    }
    let messages: Vec<&str> = work.iter().map(|entry| entry.message.as_str()).collect();
    let text = format!(
        "work was under way in the {} when it was read, and the manifest of the backup lists it; a restore brings back what was being deleted: {}",
        Side::Source,
        some_of(&messages, MAX_LISTED_NAMES)
    );
    job.report(Event::warning("unfinished-work", text));
}

/// Leaves out refusals of objects whose state the manifest of the source lists.
pub(crate) fn leave_out_listed(job: &Job, mut refusals: Vec<Refusal>) -> Vec<Refusal> {
    let Some(facts) = job.source.place.backup_facts() else { return refusals };
    let listed: BTreeSet<(&str, &Key)> = facts
        .unfinished
        .iter()
        .filter_map(|work| Some((work.code.as_str(), work.object.as_ref()?)))
        .collect();
    refusals.retain(|refusal| {
        let mut objects = refusal.object.iter().chain(&refusal.others).peekable();
        let is_listed = OF_STATES.contains(&refusal.code)
            && objects.peek().is_some()
            && objects.all(|object| listed.contains(&(refusal.code, object)));
        !is_listed
    });
    refusals
}

/// Reports the work that the manifest of the source lists, by Cluster. Leaves out work on objects that this move doesn't copy.
pub(crate) fn report_listed(job: &Job, snapshot: &Snapshot) {
    let Some(facts) = job.source.place.backup_facts() else { return };
    let copied: BTreeSet<&Key> = snapshot.plan.steps.iter().map(|step| &step.key).collect();
    let mut by_cluster: BTreeMap<Option<&Key>, Vec<&str>> = BTreeMap::new();
    for work in &facts.unfinished {
        // The files may lack a new object. Its Cluster is what counts.
        let about = if work.code == CHANGE_DURING_READING { &work.cluster } else { &work.object };
        if about.as_ref().or(work.cluster.as_ref()).is_none_or(|key| copied.contains(key)) {
            by_cluster.entry(work.cluster.as_ref()).or_default().push(&work.message);
        }
    }
    for (cluster, messages) in by_cluster {
        let of = cluster.map_or_else(|| "outside of Clusters".to_owned(), |cluster| format!("on {cluster}"));
        let text = format!(
            "work was under way {of} when the {} was backed up: {}",
            Side::Source,
            some_of(&messages, MAX_LISTED_NAMES)
        );
        job.report(Event::warning("unfinished-work", text));
    }
}
