//! Compares Clusters of one side with the nodes of their workload clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use pivot_core::describe::{ComparedCluster, NodeDifferences, find_control_plane, find_provider_ids};
use pivot_core::discovery::implicit_links::{is_cluster, kubeconfig_of};
use pivot_core::{Key, Object, Side};
use pivot_places::PlaceError;
use tokio::time::Instant;

use crate::base::events::Awaited;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::paused_cluster::PausedCluster;
use crate::base::requests::listing::Collection;
use crate::base::requests::reports::{REPORT_CHECK, Reports};
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::{self, LISTS, Work};
use crate::base::workload_clusters::WorkloadClusters;
use crate::check::lost_workers::ComparedWorkers;

/// Objects of Clusters, by namespace.
pub(super) type ByNamespace = BTreeMap<Option<String>, Vec<Object>>;

/// Reads further objects of Clusters from a side, and the nodes of their workload clusters.
pub(super) struct NodeComparison<'a> {
    pub(super) job: &'a Job,
    pub(super) side: Side,
    pub(super) workloads: &'a dyn WorkloadClusters,
}

/// Reads all objects of kinds and namespaces of a side.
pub(super) async fn read_objects(handle: &Handle, wanted: Vec<Collection>) -> Result<ByNamespace, Failure> {
    let lists = wanted.into_iter().map(|(kind, namespace)| -> Work<'_, (Option<String>, Vec<Object>)> {
        async move {
            let listed = handle.list(&kind, namespace.as_deref()).await?;
            Ok((namespace, listed.objects))
        }
        .boxed()
    });
    let mut objects = ByNamespace::new();
    for (namespace, listed) in side_by_side::try_all(LISTS, lists.collect()).await? {
        objects.entry(namespace).or_default().extend(listed);
    }
    Ok(objects)
}

/// A Cluster, and the objects of its namespace.
pub(super) type InNamespace<'a> = (&'a [Object], &'a Object);

/// Returns some of the Clusters.
pub(super) fn select_clusters(
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

impl NodeComparison<'_> {
    /// Compares Clusters with their nodes. Returns the Clusters that differ, sorted by key. `all` are the objects of the side. Reports the
    /// Clusters that are not compared yet.
    ///
    /// # Errors
    ///
    /// A request to stop ends the comparison at once: it only reads.
    pub(super) async fn compare_all(
        &self,
        all: &ByNamespace,
        clusters: Vec<InNamespace<'_>>,
    ) -> Result<Vec<ComparedWorkers>, Failure> {
        let ids: BTreeSet<String> = all.values().flat_map(|objects| find_provider_ids(objects)).collect();
        let open: Mutex<BTreeSet<Key>> = Mutex::new(clusters.iter().map(|(_, one)| one.key()).collect());
        let turns = u32::try_from(clusters.len().div_ceil(LISTS)).unwrap_or(u32::MAX);
        let deadline = Instant::now() + self.workloads.patience().saturating_mul(turns);
        let looks = clusters.into_iter().map(|(objects, cluster)| -> Work<'_, Option<ComparedWorkers>> {
            let (ids, open) = (&ids, &open);
            async move {
                let compared = self.compare(objects, ids, cluster).await;
                lock(open).remove(&cluster.key());
                compared
            }
            .boxed()
        });
        let mut looking = pin!(side_by_side::try_all(LISTS, looks.collect()));
        let reports = Reports::quiet_at_first();
        let compared = loop {
            tokio::select! {
                compared = &mut looking => break compared?,
                halt = self.job.halter.wait() => return Err(Failure::Halted(halt)),
                () = tokio::time::sleep(REPORT_CHECK) => {
                    reports.report(&*self.job.watcher, self.describe_open(&open), deadline);
                }
            }
        };
        self.job.safe_point()?;
        let mut differing: Vec<ComparedWorkers> = compared.into_iter().flatten().collect();
        differing.sort_by(|one, other| one.paused.cluster.cmp(&other.paused.cluster));
        Ok(differing)
    }

    /// Describes the Clusters that are not compared yet.
    fn describe_open(&self, open: &Mutex<BTreeSet<Key>>) -> Vec<Awaited> {
        let handle = self.job.handle(self.side);
        let describe = |cluster: &Key| {
            Awaited::for_object(&handle.own_name(cluster), self.side, "not compared with its nodes yet")
        };
        lock(open).iter().map(describe).collect()
    }

    /// Compares a Cluster with its nodes. Returns nothing if there is no difference.
    async fn compare(
        &self,
        objects: &[Object],
        known_ids: &BTreeSet<String>,
        cluster: &Object,
    ) -> Result<Option<ComparedWorkers>, Failure> {
        let key = cluster.key();
        let nodes = match self.list_nodes(&key).await? {
            Ok(nodes) => nodes,
            Err(reason) => {
                let paused = PausedCluster::with_reasons(key, vec![reason]);
                let lost = Err("its nodes can't be read".to_owned());
                return Ok(Some(ComparedWorkers { paused, is_compared: false, lost }));
            }
        };
        let control_plane = match find_control_plane(cluster) {
            Some(reference) => self.get(&reference).await?,
            None => Ok(None),
        };
        let (control_plane, unread) = match control_plane {
            Ok(control_plane) => (control_plane, None),
            Err(reason) => (None, Some(reason)),
        };
        let control_plane = control_plane.as_ref();
        let compared = ComparedCluster { cluster: &key, objects, control_plane, known_ids };
        let found: NodeDifferences = compared.compare_with_nodes(&nodes);
        if found.is_empty() && unread.is_none() {
            return Ok(None);
        }
        let lost = match &unread {
            Some(reason) => Err(reason.clone()),
            None => compared.find_lost_workers(&found),
        };
        let mut reasons = found.lines();
        reasons.extend(unread.map(|reason| format!("it was not compared in full: {reason}")));
        let can_be_named = !found.has_unknown_control_plane();
        let paused = PausedCluster { cluster: key, reasons, can_be_named, can_be_dropped: false };
        Ok(Some(ComparedWorkers { paused, is_compared: true, lost }))
    }

    /// Reads the nodes of a Cluster's workload cluster. Returns the reason if they can't be read.
    async fn list_nodes(&self, cluster: &Key) -> Result<Result<Vec<Object>, String>, Failure> {
        let secret = kubeconfig_of(cluster);
        let nodes = match self.get(&secret).await? {
            Ok(Some(kubeconfig)) => self.workloads.list_nodes(kubeconfig).await,
            Ok(None) => return Ok(Err(format!("its nodes can't be read without {secret}"))),
            Err(reason) => Err(reason),
        };
        Ok(nodes.map_err(|reason| format!("its nodes can't be read: {reason}")))
    }

    /// Reads an object. An object counts as missing if the side doesn't serve its kind. Returns the reason if the object can't be read: the
    /// other Clusters don't depend on it.
    ///
    /// # Errors
    ///
    /// A request to stop, or a lost lease.
    async fn get(&self, key: &Key) -> Result<Result<Option<Object>, String>, Failure> {
        let Some(kind) = self.job.kinds.get(self.side).get(&key.group_kind) else { return Ok(Ok(None)) };
        match self.job.handle(self.side).get(kind, key).await {
            Ok(object) => Ok(Ok(object)),
            Err(failure @ Failure::Halted(_)) => Err(failure),
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => {
                Ok(Err(format!("no permission to read {key}")))
            }
            Err(failure) => Ok(Err(failure.to_string())),
        }
    }
}

fn lock(open: &Mutex<BTreeSet<Key>>) -> MutexGuard<'_, BTreeSet<Key>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}
