//! Finds the Clusters of a restored backup whose machines may have changed since the backup. They stay paused.
//!
//! A warning comes before the first change. The comparison of the copies decides, right before they are unpaused. Each run
//! repeats it for the copies that are still paused, and no record has the result. So a resume unpauses Clusters that a user has
//! corrected since, and it needs no files.

use std::collections::BTreeSet;

use pivot_core::describe::needed_kinds;
use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::objects::pause;
use pivot_core::plan::Fate;
use pivot_core::records::record::Record;
use pivot_core::records::release::ReleaseList;
use pivot_core::{GroupKind, Key, Object, Side};

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::paused_cluster::PausedCluster;
use crate::check::lost_workers::{self, ComparedWorkers, DifferingCluster};
use crate::check::node_comparison::{ByNamespace, NodeComparison, read_objects, select_clusters};
use crate::read::snapshot::Snapshot;

/// Warns of Clusters that will stay paused after the restore.
pub(crate) async fn warn_of_differing(job: &Job, snapshot: &Snapshot) -> Result<Vec<Event>, Failure> {
    let is_restore = job.route.source_may_run() && job.target.end_kind.is_cluster();
    let Some(workloads) = job.workload_clusters.as_deref().filter(|_| is_restore) else {
        return Ok(Vec::new());
    };
    let needed: BTreeSet<GroupKind> = needed_kinds(false).into_iter().collect();
    let mut files = ByNamespace::new();
    for object in snapshot.inventory.objects() {
        if needed.contains(&object.kind.group_kind) {
            files.entry(object.meta.namespace.clone()).or_default().push(object.clone());
        }
    }
    let steps = snapshot.plan.steps.iter();
    let moved = steps.filter(|step| step.fate == Fate::Move && is_cluster(&step.key.group_kind));
    let clusters: BTreeSet<&Key> = moved.map(|step| &step.key).collect();
    let selected =
        select_clusters(
            &files,
            |object| Ok(clusters.contains(&object.key()) && !is_paused_by_user(object)?),
        )?;
    let comparison = NodeComparison { job, side: Side::Source, workloads };
    let differing = comparison.compare_all(&files, selected).await?;
    let differing = lost_workers::judge_in_files(job, &snapshot.inventory, differing);
    let describe = |DifferingCluster { paused, .. }| {
        let text = format!("{} will stay paused: {}", paused.cluster, paused.reasons.join("; "));
        Event::warning("machines-changed", text)
    };
    Ok(differing.into_iter().map(describe).collect())
}

/// Returns true if no move paused a Cluster that is paused. No restore unpauses it.
fn is_paused_by_user(cluster: &Object) -> Result<bool, Failure> {
    let paused = pause::is_paused(cluster).map_err(|error| Failure::Object(Side::Source, error))?;
    Ok(paused && !pause::has_undo(&cluster.meta))
}

/// Returns true if the move restores a backup, and its copies are compared with their nodes.
pub(crate) fn compares_copies(job: &Job, record: &Record) -> bool {
    job.route.may_restore(record) && job.workload_clusters.is_some()
}

/// Finds the Clusters that stay paused, among `waiting` Clusters that the move paused. They differ from their nodes, their nodes can't be
/// read, or the annotation that undoes their pause is gone. A Cluster that the user named is left out, unless its control plane has a node
/// without a Machine. The others have the workers that can be dropped.
pub(crate) async fn find_differing(
    job: &Job,
    record: &Record,
    list: &ReleaseList,
    waiting: &BTreeSet<Key>,
) -> Result<Vec<DifferingCluster>, Failure> {
    let Some(workloads) = job.workload_clusters.as_deref() else { return Ok(Vec::new()) };
    let copies = read_copies(job, list).await?;
    // The user unpaused the others.
    let selected = select_clusters(&copies, |object| {
        let paused = pause::is_paused(object).map_err(|error| Failure::Object(Side::Target, error))?;
        Ok(paused && waiting.contains(&object.key()))
    })?;
    let without_undo = selected.iter().filter(|(_, copy)| !pause::is_ours(&copy.meta, &job.move_id));
    let without_undo: Vec<Key> = without_undo.map(|(_, copy)| copy.key()).collect();
    let comparison = NodeComparison { job, side: Side::Target, workloads };
    let mut differing = comparison.compare_all(&copies, selected).await?;
    add_without_undo(&mut differing, without_undo);
    differing.retain(|ComparedWorkers { paused, .. }| {
        !paused.can_be_named || !job.is_named_to_unpause(&paused.cluster)
    });
    lost_workers::judge_copies(job, record, differing).await
}

/// Adds Clusters without the annotation that undoes their pause, in the order of their keys. No run unpauses such a Cluster until a command
/// names it, and no run drops its workers.
fn add_without_undo(differing: &mut Vec<ComparedWorkers>, clusters: Vec<Key>) {
    let reason = || "the annotation that undoes its pause is gone".to_owned();
    for cluster in clusters {
        match differing.iter_mut().find(|compared| compared.paused.cluster == cluster) {
            Some(compared) => {
                compared.paused.reasons.push(reason());
                compared.lost = Err(reason());
            }
            None => {
                let paused = PausedCluster::with_reasons(cluster, vec![reason()]);
                differing.push(ComparedWorkers { paused, is_compared: true, lost: Err(reason()) });
            }
        }
    }
    differing.sort_by(|one, other| one.paused.cluster.cmp(&other.paused.cluster));
}

/// Reads the copies of Clusters, Machines and owners of Machines.
async fn read_copies(job: &Job, list: &ReleaseList) -> Result<ByNamespace, Failure> {
    let needed: BTreeSet<GroupKind> = needed_kinds(false).into_iter().collect();
    let entries = list.entries.iter().filter(|entry| needed.contains(&entry.key.group_kind));
    let places: BTreeSet<(&GroupKind, &Option<String>)> =
        entries.map(|entry| (&entry.key.group_kind, &entry.key.namespace)).collect();
    let mut wanted = Vec::new();
    for (group_kind, namespace) in places {
        wanted.push((job.kind(Side::Target, group_kind)?.clone(), namespace.clone()));
    }
    read_objects(&job.target, wanted).await
}
