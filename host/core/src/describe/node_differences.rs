//! Compares the Machines of a Cluster with the nodes of its workload cluster.
//!
//! A backup, or the source of a move that its target lost, may be older than the machines that it describes. If controllers reconcile such a
//! Cluster, they create or delete machines.
//! A Machine and its node have the same provider ID.

use std::collections::BTreeSet;

use serde_json::Value;

use super::body::Body;
use super::conditions::text_field;
use super::members::{Members, is_of_control_plane};
use super::references::{CONTROL_PLANE, parse_reference};
use crate::messages::refusal::some_of;
use crate::messages::safe_text::to_line;
use crate::objects::names::GROUP_CLUSTER;
use crate::{GroupKind, Key, Object};

/// Path of the provider ID of nodes and Machines.
const PROVIDER_ID: &str = "/spec/providerID";
/// Path of the number of replicas that an object wants.
pub(super) const REPLICAS: &str = "/spec/replicas";
/// Labels of the nodes of a control plane, with any value.
const CONTROL_PLANE_NODE: [&str; 2] =
    ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
/// Label with the name that the Cluster's topology gives to a MachineDeployment and its Machines.
const LABEL_TOPOLOGY: &str = "topology.cluster.x-k8s.io/deployment-name";
/// Label with the name that the Cluster's topology gives to a MachinePool.
const LABEL_TOPOLOGY_POOL: &str = "topology.cluster.x-k8s.io/pool-name";
/// Number of names that a line lists.
const MAX_NAMES: usize = 5;
/// Length of the longest name of a node that is printed, in bytes.
const MAX_NODE_NAME: usize = 253;

/// Differences between the Machines of a Cluster and the nodes of its workload cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeDifferences {
    /// Machines and MachinePools with a provider ID that no node has.
    pub(super) lost: Vec<Key>,
    /// Machines without a provider ID.
    pub(super) unprovisioned: Vec<Key>,
    /// Names of the control plane's nodes that no Machine has.
    unknown_control_plane: Vec<String>,
    /// Names of the other nodes that no Machine has.
    pub(super) unknown_workers: Vec<String>,
    /// Numbers of replicas that differ from the number of Machines.
    pub(super) replicas: Vec<ReplicaDifference>,
}

/// A number of replicas that differs from the number of Machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReplicaDifference {
    /// Object or part of a topology that wants the replicas, in words.
    pub(super) owner: String,
    /// Key of the object, unless a topology wants the replicas.
    pub(super) key: Option<Key>,
    wanted: i64,
    has: usize,
}

impl NodeDifferences {
    /// Returns true if the Cluster is as its nodes are.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if the control plane has a node without a Machine. Its provider would remove that member of etcd.
    pub fn has_unknown_control_plane(&self) -> bool {
        !self.unknown_control_plane.is_empty()
    }

    /// Describes the differences, one a line.
    pub fn lines(&self) -> Vec<String> {
        let described = [
            ("no node has the provider ID of", names(&self.lost)),
            ("no provider ID yet:", names(&self.unprovisioned)),
            ("nodes of the control plane without a Machine:", names(&self.unknown_control_plane)),
            ("nodes of workers without a Machine:", names(&self.unknown_workers)),
        ];
        let described = described.into_iter().filter_map(|(what, names)| Some(format!("{what} {}", names?)));
        let describe = |difference: &ReplicaDifference| {
            let ReplicaDifference { owner, wanted, has, .. } = difference;
            format!("{owner} wants {}, and has {has}", count_text(*wanted))
        };
        described.chain(self.replicas.iter().map(describe)).collect()
    }
}

fn names<T: std::fmt::Display>(items: &[T]) -> Option<String> {
    (!items.is_empty()).then(|| some_of(items, MAX_NAMES))
}

/// Returns the key of a Cluster's control plane, if the Cluster refers to one.
pub fn find_control_plane(cluster: &Object) -> Option<Key> {
    parse_reference(&Body::new(cluster), CONTROL_PLANE)
}

/// Returns the provider IDs of all Machines and MachinePools.
pub fn find_provider_ids(objects: &[Object]) -> BTreeSet<String> {
    let owners = ["Machine", "MachinePool"].map(|kind| GroupKind::new(GROUP_CLUSTER, kind));
    let bodies = objects.iter().filter(|object| owners.contains(&object.kind.group_kind)).map(Body::new);
    bodies.flat_map(|body| provider_ids(&body).into_iter().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The objects that a Cluster is compared with.
#[derive(Clone, Copy)]
pub struct ComparedCluster<'a> {
    /// Key of the Cluster.
    pub cluster: &'a Key,
    /// Objects of the Cluster's namespace: at least its own of [`needed_kinds`](super::needed_kinds).
    pub objects: &'a [Object],
    /// Control plane of the Cluster, if it was read.
    pub control_plane: Option<&'a Object>,
    /// Provider IDs of all Clusters. Nodes of other Clusters can be in the same workload cluster. For nodes of the control plane, only
    /// Machines of a control plane in the Cluster's namespace count: the provider finds no other Machine for its member of etcd.
    pub known_ids: &'a BTreeSet<String>,
}

impl ComparedCluster<'_> {
    /// Compares the Cluster's Machines with the nodes of its workload cluster.
    pub fn compare_with_nodes(&self, nodes: &[Object]) -> NodeDifferences {
        let members = Members::from_objects(self.objects, self.cluster);
        let mut found = NodeDifferences::default();
        let nodes: Vec<Body<'_>> = nodes.iter().map(Body::new).collect();
        let of_nodes: BTreeSet<&str> = nodes.iter().filter_map(|node| node.text(PROVIDER_ID)).collect();
        for owner in members.machines.iter().chain(&members.pools) {
            let ids = provider_ids(owner);
            let is_lost = ids.iter().any(|id| !of_nodes.contains(id));
            if is_lost {
                found.lost.push(owner.object.key());
            } else if ids.is_empty() && owner.number("/spec/replicas") != Some(0) {
                found.unprovisioned.push(owner.object.key());
            }
        }
        let machines =
            self.objects.iter().filter(|object| object.kind.group_kind.is(GROUP_CLUSTER, "Machine"));
        let control_planes: Vec<Body<'_>> = machines.map(Body::new).filter(is_of_control_plane).collect();
        let control_plane_ids: BTreeSet<&str> = control_planes.iter().flat_map(provider_ids).collect();
        for node in nodes {
            let is_of_control_plane =
                CONTROL_PLANE_NODE.iter().any(|label| node.object.meta.has_label(label));
            let is_known = |id: &str| match is_of_control_plane {
                true => control_plane_ids.contains(id),
                false => self.known_ids.contains(id),
            };
            if node.text(PROVIDER_ID).is_some_and(is_known) {
                continue;
            }
            let name = to_line(&node.object.meta.name, MAX_NODE_NAME);
            match is_of_control_plane {
                true => found.unknown_control_plane.push(name),
                false => found.unknown_workers.push(name),
            }
        }
        found.replicas = self.compare_replicas(&members);
        found
    }

    /// Finds each owner of Machines that wants more or fewer replicas than it has Machines.
    fn compare_replicas(&self, members: &Members<'_>) -> Vec<ReplicaDifference> {
        let mut found = Vec::new();
        let mut compare = |owner: String, key: Option<Key>, wanted: Option<i64>, has: usize| {
            let Some(wanted) = wanted.filter(|wanted| usize::try_from(*wanted) != Ok(has)) else { return };
            found.push(ReplicaDifference { owner, key, wanted, has });
        };
        let mut compare_object = |owner: &Body<'_>, has: usize| {
            let key = owner.object.key();
            compare(key.to_string(), Some(key), owner.number(REPLICAS), has);
        };
        for pool in &members.pools {
            compare_object(pool, provider_ids(pool).len());
        }
        for set in &members.sets {
            compare_object(set, members.machines_of(set).count());
        }
        for deployment in &members.deployments {
            let machines = members.sets_of(deployment).map(|set| members.machines_of(set).count()).sum();
            compare_object(deployment, machines);
        }
        // A hosted control plane has replicas, and no Machines.
        let control_plane = members.machines.iter().filter(|machine| is_of_control_plane(machine)).count();
        let provider = self.control_plane.filter(|_| control_plane > 0).map(Body::new);
        if let Some(provider) = provider {
            compare_object(&provider, control_plane);
        }
        let Some(body) = &members.cluster else { return found };
        let topology = format!("the topology of {}", self.cluster);
        if control_plane > 0 {
            let wanted = body.number("/spec/topology/controlPlane/replicas");
            compare(format!("the control plane in {topology}"), None, wanted, control_plane);
        }
        let parts = body.field("/spec/topology/workers/machineDeployments").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            let name = text_field(part, "name").unwrap_or_default();
            let is_of_part = |machine: &&Body<'_>| {
                machine.object.meta.labels.get(LABEL_TOPOLOGY).is_some_and(|label| label == name)
            };
            let machines = members.machines.iter().filter(is_of_part).count();
            let owner = format!("MachineDeployment {} in {topology}", to_line(name, MAX_NODE_NAME));
            compare(owner, None, part.get("replicas").and_then(Value::as_i64), machines);
        }
        let parts = body.field("/spec/topology/workers/machinePools").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            let name = text_field(part, "name").unwrap_or_default();
            let is_of_part = |pool: &&Body<'_>| {
                pool.object.meta.labels.get(LABEL_TOPOLOGY_POOL).is_some_and(|label| label == name)
            };
            let machines = members.pools.iter().filter(is_of_part).map(|pool| provider_ids(pool).len()).sum();
            let owner = format!("MachinePool {} in {topology}", to_line(name, MAX_NODE_NAME));
            compare(owner, None, part.get("replicas").and_then(Value::as_i64), machines);
        }
        found
    }
}

/// Returns the provider IDs of a Machine or a MachinePool.
fn provider_ids<'b>(owner: &'b Body<'_>) -> Vec<&'b str> {
    let list = owner.field("/spec/providerIDList").and_then(Value::as_array);
    let list = list.into_iter().flatten().filter_map(Value::as_str);
    owner.text(PROVIDER_ID).into_iter().chain(list).collect()
}

/// Returns a number of replicas as text.
pub(super) fn count_text(wanted: i64) -> String {
    if wanted == 1 { "1 replica".to_owned() } else { format!("{wanted} replicas") }
}
