//! Backups that are older than the machines that they describe.

use serde_json::{Value, json};

use super::{CAPI, CONTROL, controlled_by, object};
use crate::describe::{ComparedCluster, NodeDifferences, find_control_plane, find_provider_ids};
use crate::{GroupKind, Key, Object};

fn machine(name: &str, owner: (&str, &str)) -> Object {
    let labels = match owner.0 {
        "KubeadmControlPlane" => json!({"cluster.x-k8s.io/control-plane": ""}),
        _ => json!({"topology.cluster.x-k8s.io/deployment-name": "md"}),
    };
    let mut owners = controlled_by(owner.0, owner.1);
    if owner.0 == "KubeadmControlPlane" {
        owners[0]["apiVersion"] = json!(CONTROL);
    }
    let metadata = json!({"labels": labels, "ownerReferences": owners});
    object(
        CAPI,
        "Machine",
        name,
        &json!({"metadata": metadata, "spec": {"providerID": format!("lab://{name}")}}),
    )
}

pub(super) fn node(name: &str, labels: Value) -> Object {
    let body = json!({"metadata": {"labels": labels, "namespace": null}, "spec": {"providerID": format!("lab://{name}")}});
    object("/v1", "Node", name, &body)
}

pub(super) fn cluster() -> Key {
    Key::new(GroupKind::new("cluster.x-k8s.io", "Cluster"), Some("ns"), "c")
}

/// A Cluster with one Machine in the control plane, and two workers.
pub(super) fn backup() -> Vec<Object> {
    let reference =
        json!({"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "cp"});
    let replicas = |count: i64| json!({"spec": {"replicas": count}});
    let mut set = json!({"metadata": {"ownerReferences": controlled_by("MachineDeployment", "md")}});
    set["spec"] = json!({"replicas": 2});
    vec![
        object(CAPI, "Cluster", "c", &json!({"spec": {"controlPlaneRef": reference}})),
        object(CONTROL, "KubeadmControlPlane", "cp", &replicas(1)),
        object(CAPI, "MachineDeployment", "md", &replicas(2)),
        object(CAPI, "MachineSet", "ms", &set),
        machine("cp-0", ("KubeadmControlPlane", "cp")),
        machine("w-0", ("MachineSet", "ms")),
        machine("w-1", ("MachineSet", "ms")),
    ]
}

pub(super) fn nodes(workers: &[&str]) -> Vec<Object> {
    let control_plane = node("cp-0", json!({"node-role.kubernetes.io/control-plane": ""}));
    let workers = workers.iter().map(|name| node(name, json!({})));
    [control_plane].into_iter().chain(workers).collect()
}

fn compare(objects: &[Object], nodes: &[Object]) -> NodeDifferences {
    let control_plane = objects.iter().find(|object| object.meta.name == "cp");
    let known_ids = &find_provider_ids(objects);
    ComparedCluster { cluster: &cluster(), objects, control_plane, known_ids }.compare_with_nodes(nodes)
}

#[test]
fn current_backups_have_no_differences() {
    let found = compare(&backup(), &nodes(&["w-0", "w-1"]));
    assert!(found.is_empty(), "{found:?}");
    let other = object(
        CAPI,
        "Machine",
        "x",
        &json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "d"}}, "spec": {"providerID": "lab://x"}}),
    );
    let beside: Vec<Object> = backup().into_iter().chain([other]).collect();
    assert!(compare(&beside, &nodes(&["w-0", "w-1"])).is_empty(), "it is another Cluster's");
    assert!(compare(&beside, &nodes(&["w-0", "w-1", "x"])).is_empty(), "the backup knows the node");
    assert_eq!(find_control_plane(&backup()[0]), Some(backup()[1].key()));
}

#[test]
fn scaling_since_the_backup_is_found() {
    let down = compare(&backup(), &nodes(&["w-0"]));
    assert_eq!(down.lines(), ["no node has the provider ID of Machine ns/w-1"]);
    let up = compare(&backup(), &nodes(&["w-0", "w-1", "w-2"]));
    assert_eq!(up.lines(), ["nodes of workers without a Machine: w-2"]);
    assert!(!up.has_unknown_control_plane());
    let rollout = compare(&backup(), &nodes(&["w-2", "w-3"]));
    assert_eq!(
        rollout.lines(),
        [
            "no node has the provider ID of Machine ns/w-0 and Machine ns/w-1",
            "nodes of workers without a Machine: w-2 and w-3"
        ]
    );
}

#[test]
fn unknown_control_plane_nodes_are_told_apart() {
    for label in ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"] {
        let mut all = nodes(&["w-0", "w-1"]);
        all.push(node("cp-1", json!({label: ""})));
        let found = compare(&backup(), &all);
        assert!(found.has_unknown_control_plane());
        assert_eq!(found.lines(), ["nodes of the control plane without a Machine: cp-1"]);
    }
}

/// A tenant chooses the provider IDs of their Machines and MachinePools.
#[test]
fn other_namespaces_hide_no_control_plane_node() {
    let objects = backup();
    let control_plane = objects.iter().find(|object| object.meta.name == "cp");
    let foreign = "lab://x".to_owned();
    let known_ids = &find_provider_ids(&objects).into_iter().chain([foreign]).collect();
    let compared = ComparedCluster { cluster: &cluster(), objects: &objects, control_plane, known_ids };
    let compare_with =
        |node: Object| compared.compare_with_nodes(&[nodes(&["w-0", "w-1"]), vec![node]].concat());
    let found = compare_with(node("x", json!({"node-role.kubernetes.io/control-plane": ""})));
    assert_eq!(found.lines(), ["nodes of the control plane without a Machine: x"]);
    assert!(found.has_unknown_control_plane());
    assert!(compare_with(node("x", json!({}))).is_empty(), "a worker of the other Cluster");
}

/// A worker's server may have become one of the control plane.
#[test]
fn workers_hide_no_control_plane_node() {
    let mut all = nodes(&["w-0", "w-1"]);
    all[2] = node("w-1", json!({"node-role.kubernetes.io/control-plane": ""}));
    assert_eq!(compare(&backup(), &all).lines(), ["nodes of the control plane without a Machine: w-1"]);
}

#[test]
fn nodes_without_provider_id_are_unknown() {
    let mut all = nodes(&["w-0"]);
    all.push(object("/v1", "Node", "w-1", &json!({"spec": {}})));
    let found = compare(&backup(), &all);
    assert_eq!(
        found.lines(),
        ["no node has the provider ID of Machine ns/w-1", "nodes of workers without a Machine: w-1"]
    );
}

#[test]
fn half_made_machines_are_found() {
    let mut objects = backup();
    let labels = json!({"topology.cluster.x-k8s.io/deployment-name": "md"});
    let metadata = json!({"labels": labels, "ownerReferences": controlled_by("MachineSet", "ms")});
    objects.push(object(CAPI, "Machine", "w-2", &json!({"metadata": metadata})));
    let found = compare(&objects, &nodes(&["w-0", "w-1"]));
    assert_eq!(
        found.lines(),
        [
            "no provider ID yet: Machine ns/w-2",
            "MachineSet ns/ms wants 2 replicas, and has 3",
            "MachineDeployment ns/md wants 2 replicas, and has 3",
        ]
    );
}

#[test]
fn replicas_of_each_owner_are_compared() {
    let mut objects = backup();
    let topology = json!({"controlPlane": {"replicas": 3}, "workers": {"machineDeployments": [
        {"name": "md", "replicas": 4}, {"name": "autoscaled"},
    ], "machinePools": [{"name": "mp", "replicas": 3}]}});
    let reference =
        json!({"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "cp"});
    objects[0] =
        object(CAPI, "Cluster", "c", &json!({"spec": {"topology": topology, "controlPlaneRef": reference}}));
    objects[1] = object(CONTROL, "KubeadmControlPlane", "cp", &json!({"spec": {"replicas": 3}}));
    let found = compare(&objects, &nodes(&["w-0", "w-1"]));
    assert_eq!(
        found.lines(),
        [
            "KubeadmControlPlane ns/cp wants 3 replicas, and has 1",
            "the control plane in the topology of Cluster ns/c wants 3 replicas, and has 1",
            "MachineDeployment md in the topology of Cluster ns/c wants 4 replicas, and has 2",
            "MachinePool mp in the topology of Cluster ns/c wants 3 replicas, and has 0",
        ]
    );
    // A hosted control plane has no Machines.
    objects.retain(|object| object.meta.name != "cp-0");
    objects[0] = object(CAPI, "Cluster", "c", &json!({"spec": {"controlPlaneRef": reference}}));
    let hosted: Vec<Object> = nodes(&["w-0", "w-1"]).split_off(1);
    assert!(compare(&objects, &hosted).is_empty());
}

#[test]
fn pools_are_compared_with_their_nodes() {
    let pool = |replicas: i64, ids: Value| {
        object(CAPI, "MachinePool", "p", &json!({"spec": {"replicas": replicas, "providerIDList": ids}}))
    };
    let with = |pool: Object| -> Vec<Object> { backup().into_iter().chain([pool]).collect() };
    let all = nodes(&["w-0", "w-1", "p-0"]);
    assert!(compare(&with(pool(1, json!(["lab://p-0"]))), &all).is_empty());
    assert_eq!(
        compare(&with(pool(3, json!(["lab://p-0", "lab://p-1"]))), &all).lines(),
        ["no node has the provider ID of MachinePool ns/p", "MachinePool ns/p wants 3 replicas, and has 2"]
    );
}
