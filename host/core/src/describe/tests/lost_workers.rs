//! Backups from before a scale-down: which Machines can be dropped, and what goes with them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::node_differences::{backup, cluster, node, nodes};
use super::{BOOT, CAPI, CONTROL, INFRA, controlled_by, object};
use crate::describe::{ComparedCluster, DroppedNames, LostWorkers, find_dropped_copies, find_provider_ids};
use crate::discovery::dangerous_kinds::is_dangerous;
use crate::discovery::inventory::Inventory;
use crate::objects::merge;
use crate::{GroupKind, Key, Object};

fn find(objects: &[Object], nodes: &[Object]) -> Result<LostWorkers, String> {
    let control_plane = objects.iter().find(|object| object.meta.name == "cp");
    let known_ids = &find_provider_ids(objects);
    let compared = ComparedCluster { cluster: &cluster(), objects, control_plane, known_ids };
    compared.find_lost_workers(&compared.compare_with_nodes(nodes))
}

fn capi(kind: &str, name: &str) -> Key {
    Key::new(GroupKind::new("cluster.x-k8s.io", kind), Some("ns"), name)
}

/// The backup with another content of an object.
fn changed(kind: &str, name: &str, patch: &Value) -> Vec<Object> {
    let mut objects = backup();
    let changed = objects.iter_mut().find(|object| object.key() == capi(kind, name)).unwrap();
    let mut body = changed.value().unwrap();
    merge::apply_patch(&mut body, patch);
    *changed = Object::from_value(changed.kind.clone(), &body).unwrap();
    objects
}

#[test]
fn lost_workers_lower_their_owners_replicas() {
    let found = find(&backup(), &nodes(&["w-0"])).unwrap();
    assert_eq!(found.machines, [capi("Machine", "w-1")].into());
    assert_eq!(found.replicas, [(capi("MachineSet", "ms"), 1), (capi("MachineDeployment", "md"), 1)].into());
    assert_eq!(
        found.to_string(),
        "can be dropped: Machine ns/w-1, so that MachineDeployment ns/md wants 1 replica and MachineSet ns/ms wants 1 replica"
    );
    let all = find(&backup(), &nodes(&[])).unwrap();
    assert_eq!((all.machines.len(), all.replicas[&capi("MachineDeployment", "md")]), (2, 0));
    assert_eq!(find(&backup(), &nodes(&["w-0", "w-1"])).unwrap(), LostWorkers::default());
}

/// A hosted control plane has no Machines, and its new API server may have no nodes yet.
#[test]
fn empty_workload_clusters_are_no_evidence() {
    let mut objects = backup();
    objects.retain(|object| object.meta.name != "cp-0");
    let reason = find(&objects, &[]).unwrap_err();
    assert_eq!(reason, "no node has the provider ID of one of its Machines, as if it were another cluster");
}

/// A run may have died after it removed the Machines.
#[test]
fn replicas_alone_are_corrected() {
    let mut objects = backup();
    objects.retain(|object| object.meta.name != "w-1");
    let found = find(&objects, &nodes(&["w-0"])).unwrap();
    assert!(found.machines.is_empty());
    assert_eq!(found.replicas.values().collect::<Vec<_>>(), [&1, &1]);
    assert_eq!(
        found.to_string(),
        "can be corrected so that MachineDeployment ns/md wants 1 replica and MachineSet ns/ms wants 1 replica"
    );
}

#[test]
fn other_differences_are_refused() {
    let cluster = |patch: Value| changed("Cluster", "c", &json!({"spec": patch}));
    let owners = |owners: Value| json!({"metadata": {"ownerReferences": owners}});
    let mut rollout = backup();
    let mut second = json!({"spec": {"replicas": 1}});
    merge::apply_patch(&mut second, &owners(controlled_by("MachineDeployment", "md")));
    rollout.push(object(CAPI, "MachineSet", "ms-2", &second));
    let mut pool = backup();
    let spec = json!({"spec": {"replicas": 1, "providerIDList": ["lab://p"]}});
    pool.push(object(CAPI, "MachinePool", "p", &spec));
    let mut half_made = backup();
    half_made.push(object(CAPI, "Machine", "w-2", &owners(controlled_by("MachineSet", "ms"))));
    let mut control_plane = backup();
    control_plane[1] = object(CONTROL, "KubeadmControlPlane", "cp", &json!({"spec": {"replicas": 3}}));
    let few = nodes(&["w-0"]);
    for (objects, nodes, expected) in [
        (cluster(json!({"topology": {}})), &few, "the topology of Cluster ns/c creates its Machines"),
        (backup(), &nodes(&["w-0", "w-2"]), "nodes without a Machine may come from a rollout"),
        (
            backup(),
            &[few.clone(), vec![node("cp-1", json!({"node-role.kubernetes.io/control-plane": ""}))]].concat(),
            "nodes without a Machine may come from a rollout",
        ),
        (half_made, &few, "Machine ns/w-2 has no provider ID yet"),
        (backup(), &few.clone().split_off(1), "Machine ns/cp-0 belongs to the control plane"),
        (pool, &few, "MachinePool ns/p belongs to no MachineDeployment"),
        (
            changed("MachineSet", "ms", &owners(json!(null))),
            &few,
            "Machine ns/w-1 belongs to no MachineDeployment",
        ),
        (control_plane, &few, "KubeadmControlPlane ns/cp wants another number of replicas"),
        (rollout, &few, "MachineDeployment ns/md has several MachineSets: a rollout may be under way"),
    ] {
        assert_eq!(find(&objects, nodes).unwrap_err(), expected);
    }
}

/// An object with its own UID, and owners.
fn owned(api: &str, kind: &str, name: &str, owners: &[(&str, bool)], spec: &Value) -> Object {
    let owner = |(uid, controller): &(&str, bool)| json!({"apiVersion": CAPI, "kind": "Owner", "name": uid, "uid": uid, "controller": controller});
    let owners: Vec<Value> = owners.iter().map(owner).collect();
    let uid = format!("{kind}-{name}");
    object(api, kind, name, &json!({"metadata": {"uid": uid, "ownerReferences": owners}, "spec": spec}))
}

fn drop_with(more: Vec<Object>) -> Result<Vec<String>, String> {
    let none = json!({});
    let mut objects = vec![
        owned(CAPI, "Machine", "w-0", &[("MachineSet-ms", true)], &none),
        owned(CAPI, "Machine", "w-1", &[("MachineSet-ms", true)], &none),
        owned(CAPI, "MachineSet", "ms", &[], &none),
        owned(INFRA, "InfraMachine", "w-0", &[("Machine-w-0", true)], &none),
        owned(INFRA, "InfraMachine", "w-1", &[("Machine-w-1", true)], &none),
        owned(BOOT, "KubeadmConfig", "w-1", &[("Machine-w-1", true)], &none),
        owned("/v1", "Secret", "w-1", &[("KubeadmConfig-w-1", true)], &none),
    ];
    objects.extend(more);
    let inventory = Inventory::new(objects);
    let machines = BTreeSet::from([capi("Machine", "w-1")]);
    let found = find_dropped_copies(&inventory, &machines, |kind| !is_dangerous(kind), str::to_owned)?;
    Ok(found.into_iter().map(ToString::to_string).collect())
}

#[test]
fn objects_of_a_lost_machine_follow_it() {
    let own =
        ["Secret ns/w-1", "KubeadmConfig ns/w-1", "Machine ns/w-1", "InfraMachine ns/w-1"].map(str::to_owned);
    let found: BTreeSet<String> = drop_with(Vec::new()).unwrap().into_iter().collect();
    assert_eq!(found, own.clone().into());
    // An address belongs to its claim, although its pool owns it, too.
    let none = json!({});
    let more = vec![
        owned(INFRA, "Claim", "w-1", &[("InfraMachine-w-1", false)], &none),
        owned(INFRA, "Pool", "p", &[], &none),
        owned(INFRA, "Address", "a", &[("Claim-w-1", true), ("Pool-p", false)], &none),
    ];
    let found: BTreeSet<String> = drop_with(more).unwrap().into_iter().collect();
    let own: BTreeSet<String> =
        own.into_iter().chain(["Claim ns/w-1".into(), "Address ns/a".into()]).collect();
    assert_eq!(found, own);
}

#[test]
fn objects_that_stay_keep_the_machine() {
    let none = json!({});
    let consumer = json!({"consumerRef": {"apiVersion": INFRA, "kind": "InfraMachine", "name": "w-1", "namespace": "ns"}});
    for (more, expected) in [
        (
            owned("metal3.io/v1alpha1", "BareMetalHost", "host", &[], &consumer),
            "BareMetalHost ns/host stays, and refers to InfraMachine ns/w-1",
        ),
        (
            owned("metal3.io/v1alpha1", "BareMetalHost", "host", &[("InfraMachine-w-1", true)], &none),
            "BareMetalHost ns/host stays, and Owner InfraMachine-w-1 owns it",
        ),
        (
            owned(INFRA, "Shared", "s", &[("Machine-w-0", false), ("Machine-w-1", false)], &none),
            "Shared ns/s stays, and Owner Machine-w-1 owns it",
        ),
    ] {
        assert_eq!(drop_with(vec![more]).unwrap_err(), expected);
    }
}

/// Some providers have nothing in the spec of a claimed host.
#[test]
fn claims_outside_of_spec_keep_the_machine() {
    let host = |namespace: &str, patch: Value| {
        let mut body = json!({"metadata": {"namespace": namespace, "uid": "host"}});
        merge::apply_patch(&mut body, &patch);
        object(INFRA, "Host", "host", &body)
    };
    let labelled = |value: &str| json!({"metadata": {"labels": {"example.com/owner": value}}});
    let machine = "Host ns/host stays, and refers to Machine ns/w-1 in example.com/owner";
    let infra = "Host ns/host stays, and refers to InfraMachine ns/w-1";
    let infra_by_uid = format!("{infra} in example.com/owner");
    let claim = |kind: &str, name: &str| json!({"status": {"machineRef": {"apiVersion": INFRA, "kind": kind, "name": name, "namespace": "ns"}}});
    for (patch, expected) in [
        (labelled("w-1"), machine),
        (labelled("ns.w-1"), machine),
        (labelled("Machine-w-1"), machine),
        (labelled("InfraMachine-w-1"), infra_by_uid.as_str()),
        (json!({"metadata": {"annotations": {"example.com/owner": "ns/w-1"}}}), machine),
        (claim("InfraMachine", "w-1"), infra),
    ] {
        assert_eq!(drop_with(vec![host("ns", patch)]).unwrap_err(), expected);
    }
    for (namespace, patch) in [
        ("ns", labelled("w-0")),
        ("ns", labelled("w-1-host")),
        ("ns", labelled("")),
        ("ns", claim("InfraMachine", "w-0")),
        ("ns", claim("Node", "w-1")),
        ("ns", json!({"status": {"targets": ["w-1"]}})),
        ("other", labelled("w-1")),
    ] {
        let text = patch.to_string();
        assert_eq!(drop_with(vec![host(namespace, patch)]).unwrap().len(), 4, "{namespace}: {text}");
    }
}

/// A copy has another UID than its original, and other objects know only the original's.
#[test]
fn originals_uids_refer_to_their_copies() {
    let copy =
        json!({"metadata": {"uid": "copy", "annotations": {"pivot-host.io/copy-of": "original proof"}}});
    let machine = object(CAPI, "Machine", "w-1", &copy);
    let key = capi("Machine", "w-1");
    let names = DroppedNames::new([(&key, &machine.meta)].into_iter(), str::to_owned);
    for (uid, is_named) in [("original", true), ("copy", true), ("other", false)] {
        let host = json!({"metadata": {"labels": {"owner": uid}}});
        let host = object(INFRA, "Host", "host", &host);
        assert_eq!(names.find_reference(&host.meta), is_named.then_some((&key, "owner")), "{uid}");
    }
}

/// Keys have the source's name of a namespace, and labels in the target may have another.
#[test]
fn renamed_namespaces_refer_to_copies() {
    let machine = object(CAPI, "Machine", "w-1", &json!({}));
    let key = capi("Machine", "w-1");
    let names = DroppedNames::new([(&key, &machine.meta)].into_iter(), |_| "prod".to_owned());
    for (label, is_named) in [("prod.w-1", true), ("ns.w-1", true), ("other.w-1", false)] {
        let host = object(INFRA, "Host", "host", &json!({"metadata": {"labels": {"owner": label}}}));
        assert_eq!(names.find_reference(&host.meta), is_named.then_some((&key, "owner")), "{label}");
    }
}
