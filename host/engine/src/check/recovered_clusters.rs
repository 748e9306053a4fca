//! Compares the Clusters of a recovered move with their nodes, before they are unpaused.
//!
//! The target lost the move after the commit, and may have run the Clusters until then. So their Machines may be as old as in a backup.
//! Each run repeats the comparison for the Clusters that are still paused, and no record has the result.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::describe::needed_kinds;
use pivot_core::records::record::Record;
use pivot_core::{GroupKind, Key, Side};

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::paused_cluster::PausedCluster;
use crate::base::requests::listing;
use crate::base::workload_clusters::WorkloadClusters;
use crate::check::lost_workers::ComparedWorkers;
use crate::check::node_comparison::{NodeComparison, read_objects, select_clusters};

/// A Cluster that the move paused, after the comparison with its nodes.
struct WaitingCluster {
    paused: PausedCluster,
    /// False if its nodes can't be read.
    is_compared: bool,
}

/// Finds the Clusters that stay paused on a side, among `waiting` Clusters that the move paused there. Each has its differences from its
/// nodes. A Cluster that the user named is left out, unless its control plane has a node without a Machine. A warning has the reasons
/// against it.
pub(crate) async fn find_left_paused(
    job: &Job,
    side: Side,
    record: &Record,
    waiting: &BTreeSet<Key>,
) -> Result<Vec<PausedCluster>, Failure> {
    let mut differing = match job.workload_clusters.as_deref() {
        Some(workloads) => compare(job, side, record, workloads, waiting).await?,
        None => BTreeMap::new(),
    };
    let mut left = Vec::new();
    for cluster in waiting {
        let WaitingCluster { paused, is_compared } = differing.remove(cluster).unwrap_or_else(|| {
            let paused = PausedCluster::with_reasons(cluster.clone(), Vec::new());
            WaitingCluster { paused, is_compared: true }
        });
        match !paused.can_be_named || !job.is_named_to_unpause(&paused.cluster) {
            true => left.push(paused),
            false if paused.reasons.is_empty() => {}
            false => report_named(job, side, &paused, is_compared),
        }
    }
    Ok(left)
}

/// Warns of a Cluster that is about to be unpaused although there are reasons against it.
fn report_named(job: &Job, side: Side, paused: &PausedCluster, is_compared: bool) {
    let cluster = job.handle(side).own_name(&paused.cluster);
    let reasons = paused.reasons.join("; ");
    let how = if is_compared { "" } else { " without a comparison" };
    let text = format!("{cluster} in the {side} is unpaused{how} because this command names it: {reasons}");
    let (code, remedies) = ("machines-changed".into(), Vec::new());
    job.report(Event::Warning { code, object: Some(cluster), text, remedies });
}

/// Compares Clusters with their nodes. Returns the Clusters that differ, and the Clusters that it couldn't compare.
async fn compare(
    job: &Job,
    side: Side,
    record: &Record,
    workloads: &dyn WorkloadClusters,
    waiting: &BTreeSet<Key>,
) -> Result<BTreeMap<Key, WaitingCluster>, Failure> {
    if waiting.is_empty() {
        return Ok(BTreeMap::new());
    }
    let needed: BTreeSet<GroupKind> = needed_kinds(false).into_iter().collect();
    let kinds = record.kinds.intersection(&needed).filter_map(|gk| job.kinds.get(side).get(gk));
    let wanted = listing::collections_in(kinds, &record.copied_namespaces);
    let objects = read_objects(job.handle(side), wanted).await?;
    let selected = select_clusters(&objects, |object| Ok(waiting.contains(&object.key())))?;
    let there: BTreeSet<Key> = selected.iter().map(|(_, cluster)| cluster.key()).collect();
    let differing = NodeComparison { job, side, workloads }.compare_all(&objects, selected).await?;
    let missing = waiting.difference(&there).map(|cluster| {
        let reason = "it was not found when it was compared with its nodes".to_owned();
        let paused = PausedCluster::with_reasons(cluster.clone(), vec![reason]);
        WaitingCluster { paused, is_compared: false }
    });
    let differing = differing
        .into_iter()
        .map(|ComparedWorkers { paused, is_compared, .. }| WaitingCluster { paused, is_compared });
    Ok(differing.chain(missing).map(|waiting| (waiting.paused.cluster.clone(), waiting)).collect())
}
