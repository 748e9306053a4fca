//! Trees of Clusters in the states in which people look at them.

mod lost_workers;
mod node_differences;
mod trouble;

use std::collections::BTreeMap;
use std::sync::Arc;

use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::objects::merge;
use crate::{GroupKind, Key, Kind, KindLabels, Object};

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const CONTROL: &str = "controlplane.cluster.x-k8s.io/v1beta2";
const INFRA: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const BOOT: &str = "bootstrap.cluster.x-k8s.io/v1beta2";
const TIME: &str = "2026-11-23T10:00:00Z";

fn object(api: &str, kind: &str, name: &str, content: &Value) -> Object {
    let (group, version) = api.split_once('/').unwrap();
    let kind = Kind {
        group_kind: GroupKind::new(group, kind),
        version: version.into(),
        plural: String::new(),
        namespaced: true,
        status_subresource: true,
        served: vec![version.into()],
        labels: KindLabels::default(),
    };
    let labels = json!({"cluster.x-k8s.io/cluster-name": "c"});
    let mut body = json!({"metadata": {"name": name, "namespace": "ns", "labels": labels}});
    merge::apply_patch(&mut body, content);
    Object::from_value(Arc::new(kind), &body).unwrap()
}

fn refers(api: &str, kind: &str, name: &str) -> Value {
    json!({"apiGroup": api.split_once('/').unwrap().0, "kind": kind, "name": name})
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": TIME})
}

fn well(kind: &str) -> Value {
    condition(kind, "True", kind, "")
}

fn controlled_by(kind: &str, name: &str) -> Value {
    json!([{"apiVersion": CAPI, "kind": kind, "name": name, "uid": "u", "controller": true}])
}

/// A Machine whose infrastructure and bootstrap data are as ready as it is.
fn machine(name: &str, owner: (&str, &str), state: &[Value]) -> Vec<Object> {
    let mut labels = json!({});
    if owner.0 == "KubeadmControlPlane" {
        labels = json!({"cluster.x-k8s.io/control-plane": ""});
    }
    let ready = state.iter().find(|condition| condition["type"] == "Ready");
    let part = json!({"status": {"conditions": Vec::from_iter(ready)}});
    vec![
        object(
            CAPI,
            "Machine",
            name,
            &json!({
                "metadata": {"labels": labels, "ownerReferences": controlled_by(owner.0, owner.1)},
                "spec": {"version": "v1.36.3", "infrastructureRef": refers(INFRA, "LabMachine", name),
                    "bootstrap": {"configRef": refers(BOOT, "KubeadmConfig", name)}},
                "status": {"conditions": state},
            }),
        ),
        object(INFRA, "LabMachine", name, &part),
        object(BOOT, "KubeadmConfig", name, &part),
    ]
}

fn all_well() -> [Value; 3] {
    [well("Available"), well("Ready"), well("UpToDate")]
}

/// A Cluster of three and two Machines, all of them well.
fn cluster() -> Vec<Object> {
    let counters = |replicas: u32| {
        json!({"desiredReplicas": replicas, "replicas": replicas, "availableReplicas": replicas,
            "readyReplicas": replicas, "upToDateReplicas": replicas})
    };
    let mut of_control_plane = counters(3);
    merge::apply_patch(&mut of_control_plane, &json!({"conditions": [well("Available")]}));
    let mut of_workers = counters(2);
    merge::apply_patch(&mut of_workers, &json!({"conditions": [well("Available")]}));
    let template = json!({"spec": {"version": "v1.36.3",
        "infrastructureRef": refers(INFRA, "LabMachineTemplate", "workers"),
        "bootstrap": {"configRef": refers(BOOT, "KubeadmConfigTemplate", "workers")}}});
    let mut all = vec![
        object(
            CAPI,
            "Cluster",
            "c",
            &json!({
                "spec": {"topology": {"version": "v1.36.3"}, "infrastructureRef": refers(INFRA, "LabCluster", "c"),
                    "controlPlaneRef": refers(CONTROL, "KubeadmControlPlane", "c")},
                "status": {"controlPlane": counters(3), "workers": counters(2),
                    "conditions": [well("Available"), well("InfrastructureReady"),
                        condition("ScalingUp", "False", "NotScalingUp", "")]},
            }),
        ),
        object(INFRA, "LabCluster", "c", &json!({"status": {"conditions": [well("Ready")]}})),
        object(
            CONTROL,
            "KubeadmControlPlane",
            "c",
            &json!({
                "spec": {"replicas": 3, "version": "v1.36.3", "machineTemplate": {"spec":
                    {"infrastructureRef": refers(INFRA, "LabMachineTemplate", "control")}}},
                "status": of_control_plane,
            }),
        ),
        object(
            CAPI,
            "MachineDeployment",
            "md",
            &json!({"spec": {"replicas": 2, "template": template}, "status": of_workers}),
        ),
        object(
            CAPI,
            "MachineSet",
            "ms",
            &json!({
                "metadata": {"ownerReferences": controlled_by("MachineDeployment", "md")},
                "spec": {"replicas": 2, "template": template}, "status": counters(2),
            }),
        ),
    ];
    for name in ["cp-1", "cp-2", "cp-3"] {
        all.extend(machine(name, ("KubeadmControlPlane", "c"), &all_well()));
    }
    for name in ["w-1", "w-2"] {
        all.extend(machine(name, ("MachineSet", "ms"), &all_well()));
    }
    all
}

/// Changes one object.
fn patched(objects: &mut [Object], kind: &str, name: &str, patch: &Value) {
    let found =
        objects.iter_mut().find(|object| object.kind.group_kind.kind == kind && object.meta.name == name);
    let object = found.unwrap();
    let mut body = object.value().unwrap();
    merge::apply_patch(&mut body, patch);
    *object = Object::from_value(object.kind.clone(), &body).unwrap();
}

fn without(objects: Vec<Object>, kind: &str) -> Vec<Object> {
    objects.into_iter().filter(|object| object.kind.group_kind.kind != kind).collect()
}

fn key() -> Key {
    Key::new(GroupKind::new("cluster.x-k8s.io", "Cluster"), Some("ns"), "c")
}

fn tree(objects: Vec<Object>, view: &View) -> Tree {
    build_tree(&Described { cluster: key(), objects, unread: BTreeMap::new() }, view)
}

fn usual() -> View {
    View { grouping: true, ..View::default() }
}

/// A line for each row.
fn text(objects: Vec<Object>, view: &View) -> String {
    let mut text = String::new();
    lines(&tree(objects, view).root, 0, &mut text);
    text
}

fn lines(node: &Node, depth: usize, text: &mut String) {
    let Columns { replicas, available, ready, up_to_date, condition } = &node.columns;
    let number = |number: &Option<i64>| number.map_or("-".to_owned(), |number| number.to_string());
    let mut cells = vec![node.name()];
    if replicas.is_some() || available.is_some() || ready.is_some() || up_to_date.is_some() {
        let replicas = replicas.map_or("-".to_owned(), |Replicas { current, desired }| {
            desired.map_or(current.to_string(), |desired| format!("{current}/{desired}"))
        });
        cells.push(format!("[{replicas} {} {} {}]", number(available), number(ready), number(up_to_date)));
    }
    let words = |condition: &Condition| {
        let Condition { kind, status, reason, message, last_transition_time } = condition;
        let time = last_transition_time.as_deref().unwrap_or("-");
        let time = time.strip_prefix("2026-11-23T").unwrap_or(time);
        format!("{kind} {status} {reason} {time} {message}").trim_end().to_owned()
    };
    cells.extend(condition.as_ref().map(words));
    if let Subject::Machines(names) = &node.what {
        cells.push(format!("({})", names.join(" ")));
    }
    if let Subject::Object(NamedObject { problem: Some(Problem { reason, message }), .. }) = &node.what {
        cells.push(format!("{reason}: {message}"));
    }
    text.push_str(&format!("{}{}\n", "  ".repeat(depth), cells.join("  ")));
    for condition in node.conditions.iter().flatten() {
        text.push_str(&format!("{}- {}\n", "  ".repeat(depth + 2), words(condition)));
    }
    node.children.iter().for_each(|child| lines(child, depth + 1, text));
}

fn all_filters(typed: &str) -> View {
    View { conditions: typed.split(',').map(|typed| Filter::parse(typed).unwrap()).collect(), ..usual() }
}

#[test]
fn machines_in_the_same_state_share_rows() {
    expect![[r#"
        Cluster ns/c, v1.36.3  [5/5 5 5 5]  Available True Available 10:00:00Z
          KubeadmControlPlane ns/c, v1.36.3  [3/3 3 3 3]  Available True Available 10:00:00Z
            3 Machines...  [- 3 3 3]  Ready True Ready 10:00:00Z  (cp-1 cp-2 cp-3)
          LabCluster ns/c  Ready True Ready 10:00:00Z
          Workers
            MachineDeployment ns/md, v1.36.3  [2/2 2 2 2]  Available True Available 10:00:00Z
              2 Machines...  [- 2 2 2]  Ready True Ready 10:00:00Z  (w-1 w-2)
    "#]]
    .assert_eq(&text(cluster(), &usual()));
}

#[test]
fn each_flag_adds_its_rows() {
    expect![[r#"
        Cluster ns/c, v1.36.3  [5/5 5 5 5]  Available True Available 10:00:00Z
          KubeadmControlPlane ns/c, v1.36.3  [3/3 3 3 3]  Available True Available 10:00:00Z
            Machine ns/cp-1, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
            Machine ns/cp-2, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
            Machine ns/cp-3, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
          LabCluster ns/c  Ready True Ready 10:00:00Z
          Workers
            MachineDeployment ns/md, v1.36.3  [2/2 2 2 2]  Available True Available 10:00:00Z
              Machine ns/w-1, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
              Machine ns/w-2, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
    "#]]
    .assert_eq(&text(cluster(), &View::default()));
    expect![[r#"
        Cluster ns/c, v1.36.3  [5/5 5 5 5]  Available True Available 10:00:00Z
          KubeadmControlPlane ns/c, v1.36.3  [3/3 3 3 3]  Available True Available 10:00:00Z
            Machine ns/cp-1, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
              KubeadmConfig ns/cp-1  Ready True Ready 10:00:00Z
              LabMachine ns/cp-1  Ready True Ready 10:00:00Z
            Machine ns/cp-2, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
              KubeadmConfig ns/cp-2  Ready True Ready 10:00:00Z
              LabMachine ns/cp-2  Ready True Ready 10:00:00Z
            Machine ns/cp-3, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
              KubeadmConfig ns/cp-3  Ready True Ready 10:00:00Z
              LabMachine ns/cp-3  Ready True Ready 10:00:00Z
          LabCluster ns/c  Ready True Ready 10:00:00Z
          Workers
            MachineDeployment ns/md, v1.36.3  [2/2 2 2 2]  Available True Available 10:00:00Z
              Machine ns/w-1, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
                KubeadmConfig ns/w-1  Ready True Ready 10:00:00Z
                LabMachine ns/w-1  Ready True Ready 10:00:00Z
              Machine ns/w-2, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
                KubeadmConfig ns/w-2  Ready True Ready 10:00:00Z
                LabMachine ns/w-2  Ready True Ready 10:00:00Z
    "#]]
    .assert_eq(&text(cluster(), &View { echo: true, ..View::default() }));
    expect![[r#"
        Cluster ns/c, v1.36.3  [5/5 5 5 5]  Available True Available 10:00:00Z
          KubeadmControlPlane ns/c, v1.36.3  [3/3 3 3 3]  Available True Available 10:00:00Z
            Templates
              LabMachineTemplate ns/control
            3 Machines...  [- 3 3 3]  Ready True Ready 10:00:00Z  (cp-1 cp-2 cp-3)
          LabCluster ns/c  Ready True Ready 10:00:00Z
          Workers
            MachineDeployment ns/md, v1.36.3  [2/2 2 2 2]  Available True Available 10:00:00Z
              Templates
                KubeadmConfigTemplate ns/workers
                LabMachineTemplate ns/workers
              MachineSet ns/ms, v1.36.3  [2/2 2 2 2]
                2 Machines...  [- 2 2 2]  Ready True Ready 10:00:00Z  (w-1 w-2)
    "#]]
    .assert_eq(&text(cluster(), &View { machine_sets: true, templates: true, ..usual() }));
}

#[test]
fn different_machine_has_its_own_row() {
    let mut objects = cluster();
    let broken = [
        condition("Available", "False", "NotReady", ""),
        condition("Ready", "False", "NotReady", "* Node is gone\n* so is its disk"),
        well("UpToDate"),
    ];
    patched(&mut objects, "Machine", "cp-2", &json!({"status": {"conditions": broken}}));
    patched(&mut objects, "Machine", "w-2", &json!({"metadata": {"deletionTimestamp": TIME}}));
    patched(
        &mut objects,
        "Machine",
        "w-2",
        &json!({"status": {"conditions": [well("Available"), well("Ready")]}}),
    );
    // Infrastructure that is ready is no news, even if its Machine isn't ready. Infrastructure that isn't ready for another
    // reason is.
    let waits = condition("Ready", "False", "WaitingForDisk", "");
    patched(&mut objects, "KubeadmConfig", "cp-2", &json!({"status": {"conditions": [waits]}}));
    expect![[r#"
        Cluster ns/c, v1.36.3  [5/5 5 5 5]  Available True Available 10:00:00Z
          KubeadmControlPlane ns/c, v1.36.3  [3/3 3 3 3]  Available True Available 10:00:00Z
            2 Machines...  [- 2 2 2]  Ready True Ready 10:00:00Z  (cp-1 cp-3)
            Machine ns/cp-2, v1.36.3  [1 0 0 1]  Ready False NotReady 10:00:00Z * Node is gone
        * so is its disk
              KubeadmConfig ns/cp-2  Ready False WaitingForDisk 10:00:00Z
          LabCluster ns/c  Ready True Ready 10:00:00Z
          Workers
            MachineDeployment ns/md, v1.36.3  [2/2 2 2 2]  Available True Available 10:00:00Z
              !! DELETED !! Machine ns/w-2, v1.36.3  [1 1 1 0]  Ready True Ready 10:00:00Z
              Machine ns/w-1, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
    "#]]
    .assert_eq(&text(objects, &usual()));
}

#[test]
fn group_sums_counts_and_shows_oldest_age() {
    let mut objects = cluster();
    for (name, time) in [("w-1", "2026-11-23T09:00:00Z"), ("w-2", "2026-11-23T08:00:00Z")] {
        let mut state =
            [condition("Available", "False", "No", name), condition("Ready", "Unknown", "Why", name)];
        state[1]["lastTransitionTime"] = time.into();
        patched(&mut objects, "Machine", name, &json!({"status": {"conditions": state}}));
    }
    let only_workers = without(objects, "KubeadmControlPlane");
    expect![[r#"
        Cluster ns/c, v1.36.3  [5/5 5 5 5]
            - Available True Available 10:00:00Z
            - InfrastructureReady True InfrastructureReady 10:00:00Z
            - ScalingUp False NotScalingUp 10:00:00Z
          KubeadmControlPlane ns/c  NotFound: it is referenced, but doesn't exist
            3 Machines...  [- 3 3 3]  Ready True Ready 10:00:00Z  (cp-1 cp-2 cp-3)
          LabCluster ns/c
              - Ready True Ready 10:00:00Z
          Workers
            MachineDeployment ns/md, v1.36.3  [2/2 2 2 2]
                - Available True Available 10:00:00Z
              2 Machines...  [- 0 0 0]  Ready Unknown Why 08:00:00Z  (w-1 w-2)
    "#]]
    .assert_eq(&text(only_workers, &all_filters("all")));
}

#[test]
fn conditions_are_shown_for_filtered_objects() {
    let mut objects = cluster();
    let paused = condition("Paused", "True", "Paused", "");
    patched(
        &mut objects,
        "LabCluster",
        "c",
        &json!({"status": {"conditions": [well("Ready"), well("Net"), paused]}}),
    );
    let view = all_filters("Cluster+,labcluster/C+,Machine/cp-1,MachineSet");
    expect![[r#"
        Cluster ns/c, v1.36.3  [5/5 5 5 5]
            - Available True Available 10:00:00Z
          KubeadmControlPlane ns/c, v1.36.3  [3/3 3 3 3]  Available True Available 10:00:00Z
            3 Machines...  [- 3 3 3]  Ready True Ready 10:00:00Z  (cp-1 cp-2 cp-3)
          LabCluster ns/c
              - Ready True Ready 10:00:00Z
              - Paused True Paused 10:00:00Z
          Workers
            MachineDeployment ns/md, v1.36.3  [2/2 2 2 2]  Available True Available 10:00:00Z
              2 Machines...  [- 2 2 2]  Ready True Ready 10:00:00Z  (w-1 w-2)
    "#]]
    .assert_eq(&text(objects.clone(), &view));
    assert_eq!(tree(objects, &view).unmatched, ["Machine/cp-1", "MachineSet"], "they have no row");
    assert_eq!(tree(cluster(), &all_filters("all,Machine/cp-1")).unmatched, ["Machine/cp-1"]);
    assert_eq!(tree(cluster(), &View { grouping: false, ..all_filters("Machine/cp-1") }).unmatched, [""; 0]);
}

#[test]
fn references_contain_all_shown_objects() {
    let referenced: Vec<String> =
        find_references(&cluster(), &key()).iter().map(ToString::to_string).collect();
    let expected = [
        "KubeadmConfig ns/cp-1",
        "KubeadmConfig ns/cp-2",
        "KubeadmConfig ns/cp-3",
        "KubeadmConfig ns/w-1",
        "KubeadmConfig ns/w-2",
        "KubeadmControlPlane ns/c",
        "LabCluster ns/c",
        "LabMachine ns/cp-1",
        "LabMachine ns/cp-2",
        "LabMachine ns/cp-3",
        "LabMachine ns/w-1",
        "LabMachine ns/w-2",
    ];
    assert_eq!(referenced, expected, "of templates only the names are shown");
    let kinds = |sets| needed_kinds(sets).iter().map(|kind| kind.kind.clone()).collect::<Vec<_>>().join(" ");
    assert_eq!(kinds(false), "Cluster Machine MachineDeployment MachinePool MachineSet");
    assert_eq!(
        kinds(true),
        "Cluster Machine MachineDeployment MachinePool MachineSet ClusterResourceSetBinding"
    );
}
