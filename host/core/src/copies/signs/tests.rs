//! The copies of which a sign is awaited, and what counts as one.

use std::sync::Arc;

use super::*;
use crate::objects::kind::{Kind, KindLabels};

const PAUSED_TRUE: &str = r#"[{"type": "Paused", "status": "True"}]"#;

fn object(group: &str, kind: &str, name: &str, change: impl FnOnce(&mut Value)) -> Object {
    let kind = Kind {
        group_kind: GroupKind::new(group, kind),
        version: "v1beta2".into(),
        plural: "things".into(),
        namespaced: true,
        status_subresource: true,
        served: vec![],
        labels: KindLabels::default(),
    };
    let conditions: Value = serde_json::from_str(PAUSED_TRUE).unwrap();
    let mut body =
        json!({"metadata": {"name": name, "namespace": "ns"}, "status": {"conditions": conditions}});
    change(&mut body);
    Object::from_value(Arc::new(kind), &body).unwrap()
}

fn plain(group: &str, kind: &str, name: &str) -> Object {
    object(group, kind, name, |_| {})
}

fn select(objects: &[Object]) -> Vec<Vec<String>> {
    let wanted = select_signs(objects).unwrap();
    wanted.values().flatten().map(|set| set.iter().map(ToString::to_string).collect()).collect()
}

#[test]
fn each_cluster_and_one_of_each_kind() {
    let objects = [
        plain(GROUP_CLUSTER, "Cluster", "a"),
        plain(GROUP_CLUSTER, "Cluster", "b"),
        plain(GROUP_CLUSTER, "Machine", "m"),
        plain(GROUP_CLUSTER, "Machine", "n"),
        plain(INFRASTRUCTURE, "Metal3Cluster", "i"),
        plain(INFRASTRUCTURE, "Metal3MachineTemplate", "t"),
        plain("metal3.io", "BareMetalHost", "h"),
    ];
    assert_eq!(
        select(&objects),
        [
            vec!["Cluster ns/a"],
            vec!["Cluster ns/b"],
            vec!["Machine ns/m", "Machine ns/n"],
            vec!["Metal3Cluster ns/i"]
        ]
    );
}

#[test]
fn each_namespace_and_filter_of_a_provider() {
    let elsewhere = |b: &mut Value| b["metadata"]["namespace"] = json!("other");
    let filtered = |b: &mut Value| b["metadata"]["labels"] = json!({LABEL_WATCH_FILTER: "x"});
    let objects = [
        plain(GROUP_CLUSTER, "Cluster", "a"),
        plain(INFRASTRUCTURE, "Metal3Cluster", "a"),
        plain(INFRASTRUCTURE, "Metal3Machine", "m"),
        object(INFRASTRUCTURE, "Metal3Machine", "m", elsewhere),
        object(INFRASTRUCTURE, "Metal3Machine", "n", elsewhere),
        object(INFRASTRUCTURE, "Metal3Machine", "f", filtered),
        object(GROUP_CLUSTER, "Machine", "f", filtered),
    ];
    let all = ["Metal3Machine ns/f", "Metal3Machine ns/m", "Metal3Machine other/m", "Metal3Machine other/n"];
    assert_eq!(
        select(&objects),
        [
            vec!["Cluster ns/a"],
            // A manager with that filter.
            vec!["Machine ns/f"],
            vec!["Metal3Cluster ns/a"],
            vec!["Metal3Machine ns/f"],
            all.to_vec(),
            vec!["Metal3Machine other/m", "Metal3Machine other/n"],
        ]
    );
}

#[test]
fn objects_whose_controllers_give_no_sign() {
    let silent = |b: &mut Value| b["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    let managed = |b: &mut Value| b["metadata"]["annotations"] = json!({MANAGED_BY: ""});
    let owned = |b: &mut Value| {
        b["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m", "uid": "u"}]);
    };
    let annotated = |b: &mut Value| b["metadata"]["annotations"] = json!({PAUSED: ""});
    let none: [Vec<String>; 0] = [];
    let class = |change: fn(&mut Value)| object(GROUP_CLUSTER, "ClusterClass", "c", change);
    let config = |change: fn(&mut Value)| object(BOOTSTRAP, "KubeadmConfig", "c", change);
    for quiet in [
        // Cluster API before 1.9.
        object(GROUP_CLUSTER, "Cluster", "c", silent),
        object(INFRASTRUCTURE, "Metal3Cluster", "c", managed),
        // CAPM3 skips it.
        object(INFRASTRUCTURE, "Metal3Cluster", "c", annotated),
        config(|_| {}),
        class(|_| {}),
    ] {
        assert_eq!(select(&[quiet]), none);
    }
    assert_eq!(select(&[config(owned)]), [["KubeadmConfig ns/c"]]);
    assert_eq!(select(&[class(annotated)]), [["ClusterClass ns/c"]]);
}

#[test]
fn a_sign_is_the_condition_of_the_table() {
    let status = |group: &str, kind: &str, status: Value| {
        has_sign(&object(group, kind, "c", |b| b["status"] = status)).unwrap()
    };
    let of = |kind: &str, status: &str| json!({"conditions": [{"type": kind, "status": status}]});
    assert!(status(GROUP_CLUSTER, "Cluster", of("Paused", "True")));
    assert!(status(GROUP_CLUSTER, "Cluster", json!({"v1beta2": of("Paused", "True")})));
    assert!(!status(GROUP_CLUSTER, "Cluster", of("Paused", "False")));
    assert!(!status(GROUP_CLUSTER, "Cluster", of("Ready", "True")));
    assert!(!status(GROUP_CLUSTER, "Cluster", Value::Null));
    assert!(status(INFRASTRUCTURE, "Metal3Machine", of("AssociateBareMetalHost", "False")));
    assert!(!status(INFRASTRUCTURE, "Metal3Machine", of("Paused", "True")));
}

#[test]
fn the_sign_alone_is_removed() {
    let both = json!([{"type": "Paused", "status": "True"}, {"type": "Ready", "status": "True"}]);
    let copy = object(GROUP_CLUSTER, "Cluster", "c", |b| {
        b["metadata"]["resourceVersion"] = json!("7");
        b["status"] = json!({"phase": "x", "conditions": both, "v1beta2": {"conditions": both}});
    });
    let patch = removal_patch(&copy).unwrap().unwrap();
    let ready = json!([{"type": "Ready", "status": "True"}]);
    assert_eq!(
        patch,
        json!({"metadata": {"resourceVersion": "7"}, "status": {"conditions": ready, "v1beta2": {"conditions": ready}}})
    );
    let mut body = copy.value().unwrap();
    merge::apply_patch(&mut body, &patch);
    let without = Object::from_value(copy.kind.clone(), &body).unwrap();
    assert!(!has_sign(&without).unwrap());
    assert_eq!(removal_patch(&without).unwrap(), None);
}
