//! Compares the Clusters of a recovered move with their nodes, before they are unpaused.
//!
//! The target lost the move after the commit, and may have run the Clusters until then. So their Machines may be as old as in a backup.
//! Each run repeats the comparison for the Clusters that are still paused, and no record has the result.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::describe::needed_kinds;
use pivot_core::records::record::Record;
use pivot_core::{GroupKind, Key, Side};

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::paused_cluster::PausedCluster;
use crate::base::requests::listing;
use crate::base::workload_clusters::WorkloadClusters;
use crate::check::node_comparison::{NodeComparison, read_objects, select_clusters};

/// Finds the Clusters that stay paused on a side, among `waiting` Clusters that the move paused there. Each has its differences from its
/// nodes. A Cluster that the user named is left out, unless its control plane has a node without a Machine.
pub(crate) async fn find_left_paused(
    job: &Job,
    side: Side,
    record: &Record,
    waiting: Vec<Key>,
) -> Result<Vec<PausedCluster>, Failure> {
    let mut differing = match job.workload_clusters.as_deref() {
        Some(workloads) => compare(job, side, record, workloads, &waiting).await?,
        None => BTreeMap::new(),
    };
    let describe = |cluster: Key| {
        differing.remove(&cluster).unwrap_or_else(|| PausedCluster::with_reasons(cluster, Vec::new()))
    };
    let mut left: Vec<PausedCluster> = waiting.into_iter().map(describe).collect();
    left.retain(|paused| !paused.can_be_named || !job.is_named_to_unpause(&paused.cluster));
    left.sort_by(|one, other| one.cluster.cmp(&other.cluster));
    Ok(left)
}

/// Compares Clusters with their nodes. Returns the Clusters that differ, and the Clusters that it couldn't compare.
async fn compare(
    job: &Job,
    side: Side,
    record: &Record,
    workloads: &dyn WorkloadClusters,
    waiting: &[Key],
) -> Result<BTreeMap<Key, PausedCluster>, Failure> {
    if waiting.is_empty() {
        return Ok(BTreeMap::new());
    }
    let needed: BTreeSet<GroupKind> = needed_kinds(false).into_iter().collect();
    let kinds = record.kinds.intersection(&needed).filter_map(|gk| job.kinds.get(side).get(gk));
    let wanted = listing::collections_in(kinds, &record.copied_namespaces);
    let objects = read_objects(job.handle(side), wanted).await?;
    let waiting: BTreeSet<&Key> = waiting.iter().collect();
    let selected = select_clusters(&objects, |object| Ok(waiting.contains(&object.key())))?;
    let there: BTreeSet<Key> = selected.iter().map(|(_, cluster)| cluster.key()).collect();
    let differing = NodeComparison { job, side, workloads }.compare_all(&objects, selected).await?;
    let unread = waiting.into_iter().filter(|cluster| !there.contains(*cluster)).map(|cluster| {
        let reason = "it was not found when it was compared with its nodes".to_owned();
        PausedCluster::with_reasons(cluster.clone(), vec![reason])
    });
    let differing = differing.into_iter().map(|compared| compared.paused).chain(unread);
    Ok(differing.map(|paused| (paused.cluster.clone(), paused)).collect())
}
