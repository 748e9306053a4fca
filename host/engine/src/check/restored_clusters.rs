//! Finds the Clusters of a restored backup whose machines may have changed since the backup. They stay paused.
//!
//! A warning comes before the first change. The comparison of the copies decides, right before they are unpaused. Each run
//! repeats it for the copies that are still paused, and no record has the result. So a resume unpauses Clusters that a user has
//! corrected since, and it needs no files.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use pivot_core::describe::{
    ComparedCluster, NodeDifferences, find_control_plane, find_provider_ids, needed_kinds,
};
use pivot_core::discovery::implicit_links::{is_cluster, kubeconfig_of};
use pivot_core::objects::pause;
use pivot_core::plan::Fate;
use pivot_core::records::record::Record;
use pivot_core::records::release::ReleaseList;
use pivot_core::{GroupKind, Key, Object, Side};
use pivot_places::PlaceError;

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::restored_cluster::PausedCluster;
use crate::base::requests::side_by_side::{self, LISTS, Work};
use crate::base::workload_clusters::WorkloadClusters;
use crate::check::lost_workers::{self, ComparedWorkers, DifferingCluster};
use crate::read::snapshot::Snapshot;

/// Objects of Clusters, by namespace.
type ByNamespace = BTreeMap<Option<String>, Vec<Object>>;

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
    let reader = Reader { job, side: Side::Source, workloads };
    let differing = reader.compare_all(&files, selected).await?;
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

/// Finds the Clusters that stay paused because they differ from their nodes, or because their nodes can't be read. A Cluster that the
/// user named is left out, unless its control plane has a node without a Machine. The others have the workers that can be dropped.
pub(crate) async fn find_differing(
    job: &Job,
    record: &Record,
    list: &ReleaseList,
) -> Result<Vec<DifferingCluster>, Failure> {
    let is_restore = job.route.may_restore(record);
    let Some(workloads) = job.workload_clusters.as_deref().filter(|_| is_restore) else {
        return Ok(Vec::new());
    };
    let clusters = list.entries.iter().filter(|entry| is_cluster(&entry.key.group_kind) && !entry.used);
    let clusters: BTreeSet<&Key> = clusters.map(|entry| &entry.key).collect();
    let copies = read_copies(job, list).await?;
    // The user paused or unpaused the others, or an earlier run unpaused them.
    let selected = select_clusters(&copies, |object| {
        let paused = pause::is_paused(object).map_err(|error| Failure::Object(Side::Target, error))?;
        Ok(paused && clusters.contains(&object.key()) && pause::is_ours(&object.meta, &job.move_id))
    })?;
    let reader = Reader { job, side: Side::Target, workloads };
    let mut differing = reader.compare_all(&copies, selected).await?;
    differing.retain(|ComparedWorkers { paused, .. }| {
        !paused.can_be_named || !job.is_named_to_unpause(&paused.cluster)
    });
    lost_workers::judge_copies(job, record, differing).await
}

/// Reads the copies of Clusters, Machines and owners of Machines.
async fn read_copies(job: &Job, list: &ReleaseList) -> Result<ByNamespace, Failure> {
    let needed: BTreeSet<GroupKind> = needed_kinds(false).into_iter().collect();
    let entries = list.entries.iter().filter(|entry| needed.contains(&entry.key.group_kind));
    let places: BTreeSet<(&GroupKind, &Option<String>)> =
        entries.map(|entry| (&entry.key.group_kind, &entry.key.namespace)).collect();
    let lists =
        places.into_iter().map(|(group_kind, namespace)| -> Work<'_, (Option<String>, Vec<Object>)> {
            async move {
                let kind = job.kind(Side::Target, group_kind)?;
                let listed = job.target.list(kind, namespace.as_deref()).await?;
                Ok((namespace.clone(), listed.objects))
            }
            .boxed()
        });
    let mut copies = ByNamespace::new();
    for (namespace, objects) in side_by_side::try_all(LISTS, lists.collect()).await? {
        copies.entry(namespace).or_default().extend(objects);
    }
    Ok(copies)
}

/// Reads further objects of Clusters from a side, and the nodes of their workload clusters.
struct Reader<'a> {
    job: &'a Job,
    side: Side,
    workloads: &'a dyn WorkloadClusters,
}

/// A Cluster, and the objects of its namespace.
type InNamespace<'a> = (&'a [Object], &'a Object);

/// Returns some of the Clusters.
fn select_clusters(
    objects: &ByNamespace,
    is_wanted: impl Fn(&Object) -> Result<bool, Failure>,
) -> Result<Vec<InNamespace<'_>>, Failure> {
    let mut selected = Vec::new();
    for of_namespace in objects.values() {
        for cluster in of_namespace.iter().filter(|object| is_cluster(&object.kind.group_kind)) {
            if is_wanted(cluster)? {
                selected.push((of_namespace.as_slice(), cluster));
            }
        }
    }
    Ok(selected)
}

impl Reader<'_> {
    /// Compares Clusters with their nodes. Returns the Clusters that differ, sorted by key. `all` are the objects that were restored.
    async fn compare_all(
        &self,
        all: &ByNamespace,
        clusters: Vec<InNamespace<'_>>,
    ) -> Result<Vec<ComparedWorkers>, Failure> {
        let ids: BTreeSet<String> = all.values().flat_map(|objects| find_provider_ids(objects)).collect();
        let looks = clusters.into_iter().map(|(objects, cluster)| -> Work<'_, Option<ComparedWorkers>> {
            self.compare(objects, &ids, cluster).boxed()
        });
        let compared = side_by_side::try_all(LISTS, looks.collect()).await?;
        let mut differing: Vec<ComparedWorkers> = compared.into_iter().flatten().collect();
        differing.sort_by(|one, other| one.paused.cluster.cmp(&other.paused.cluster));
        Ok(differing)
    }

    /// Compares a Cluster with its nodes. Returns nothing if there is no difference.
    async fn compare(
        &self,
        objects: &[Object],
        known_ids: &BTreeSet<String>,
        cluster: &Object,
    ) -> Result<Option<ComparedWorkers>, Failure> {
        let key = cluster.key();
        let stays = |reasons: Vec<String>, can_be_named: bool, lost| {
            let cluster = key.clone();
            let paused = PausedCluster { cluster, reasons, can_be_named, can_be_dropped: false };
            Ok(Some(ComparedWorkers { paused, lost }))
        };
        let unread = || Err("its nodes can't be read".to_owned());
        let secret = kubeconfig_of(&key);
        let Some(kubeconfig) = self.get(&secret).await? else {
            return stays(vec![format!("its nodes can't be read without {secret}")], true, unread());
        };
        let nodes = match self.workloads.list_nodes(kubeconfig).await {
            Ok(nodes) => nodes,
            Err(reason) => return stays(vec![format!("its nodes can't be read: {reason}")], true, unread()),
        };
        let control_plane = match find_control_plane(cluster) {
            Some(reference) => self.get(&reference).await?,
            None => None,
        };
        let control_plane = control_plane.as_ref();
        let compared = ComparedCluster { cluster: &key, objects, control_plane, known_ids };
        let found: NodeDifferences = compared.compare_with_nodes(&nodes);
        match found.is_empty() {
            true => Ok(None),
            false => {
                stays(found.lines(), !found.has_unknown_control_plane(), compared.find_lost_workers(&found))
            }
        }
    }

    /// Reads an object. An object counts as missing if the side doesn't serve its kind. It does, too, if no object of its kind is
    /// restored, so that the user needs no permission for it.
    async fn get(&self, key: &Key) -> Result<Option<Object>, Failure> {
        let Some(kind) = self.job.kinds.get(self.side).get(&key.group_kind) else { return Ok(None) };
        match self.job.handle(self.side).get(kind, key).await {
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Ok(None),
            other => other,
        }
    }
}
