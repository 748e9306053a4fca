//! What is checked, and what counts as evidence.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::objects::kind::{Kind, KindLabels};

const CAPI: &str = "cluster.x-k8s.io";

fn object(group: &str, kind: &str, name: &str, generation: i64, status: Value) -> Object {
    let kind = Kind {
        group_kind: GroupKind::new(group, kind),
        version: "v1beta2".into(),
        plural: "things".into(),
        namespaced: true,
        status_subresource: true,
        served: vec![],
        labels: KindLabels::default(),
    };
    let mut body = json!({"metadata": {"name": name, "namespace": "ns", "generation": generation,
        "labels": {"cluster.x-k8s.io/cluster-name": "c"}}});
    if !status.is_null() {
        body["status"] = status;
    }
    Object::from_value(Arc::new(kind), &body).unwrap()
}

fn machine(generation: i64, conditions: Value) -> Object {
    object(CAPI, "Machine", "m", generation, json!({"conditions": conditions}))
}

fn judge(objects: &[(&Object, bool, bool)], accepted: &[&str]) -> Asked {
    let keys: Vec<Key> = objects.iter().map(|(object, ..)| object.key()).collect();
    let moved: Vec<Moved<'_>> = objects
        .iter()
        .zip(&keys)
        .map(|((object, asleep, held), key)| Moved {
            key,
            object,
            asleep: *asleep,
            held: *held,
            is_converted: false,
        })
        .collect();
    let accepted = accepted.iter().map(|kind| GroupKind::new(CAPI, *kind)).collect();
    select_checks(&moved, &accepted).unwrap()
}

fn names<'a>(keys: impl Iterator<Item = &'a Key>) -> Vec<String> {
    keys.map(ToString::to_string).collect()
}

#[test]
fn each_cluster_and_each_kind_is_checked() {
    let cluster = object(CAPI, "Cluster", "c", 1, Value::Null);
    let (one, two) =
        (machine(1, json!([])), object("infra.x", "InfraMachine", "i", 1, json!({"ready": true})));
    let template = object("infra.x", "InfraMachineTemplate", "t", 1, Value::Null);
    let asked = judge(
        &[(&cluster, false, false), (&one, false, false), (&two, false, false), (&template, false, false)],
        &[],
    );
    assert_eq!(names(asked.each.keys()), ["Cluster ns/c"]);
    assert_eq!(
        asked.one_of.keys().map(|kind| kind.kind.as_str()).collect::<Vec<_>>(),
        ["Machine", "InfraMachine"]
    );
    assert!(asked.unverifiable.is_empty());
}

#[test]
fn objects_with_paused_conditions_are_all_checked() {
    for status in ["True", "False"] {
        let asked = judge(&[(&machine(1, json!([{"type": "Paused", "status": status}])), false, false)], &[]);
        assert_eq!(names(asked.each.keys()), ["Machine ns/m"]);
    }
}

#[test]
fn what_nobody_could_show_is_named() {
    let cluster = object(CAPI, "Cluster", "c", 1, json!({"phase": "Provisioned"}));
    let below = machine(1, json!([]));
    let asked = judge(&[(&cluster, true, false), (&below, false, false)], &[]);
    assert_eq!(asked.unverifiable.len(), 2, "{asked:?}");
    assert!(
        judge(&[(&cluster, true, false), (&below, false, false)], &["Cluster", "Machine"])
            .unverifiable
            .is_empty()
    );

    let service = object("", "Service", "s", 1, json!({"loadBalancer": {}}));
    assert_eq!(judge(&[(&service, false, false)], &[]), Asked::default());
    let silent = object("infra.x", "Pool", "p", 1, Value::Null);
    assert_eq!(judge(&[(&silent, false, false)], &[]).unverifiable.len(), 1);
}

#[test]
fn running_cluster_covers_a_paused_one() {
    let (runs, sleeps) =
        (object(CAPI, "Cluster", "a", 1, Value::Null), object(CAPI, "Cluster", "b", 1, Value::Null));
    let asked = judge(&[(&runs, false, false), (&sleeps, true, false)], &[]);
    assert_eq!(names(asked.each.keys()), ["Cluster ns/a"]);
    assert!(asked.unverifiable.is_empty());
}

#[test]
fn groups_of_held_objects_are_not_checked() {
    let host = object("metal3.io", "BareMetalHost", "h", 1, json!({"provisioning": {}}));
    let data = object("metal3.io", "HardwareData", "h", 1, json!({"any": 1}));
    assert_eq!(judge(&[(&host, false, true), (&data, false, false)], &[]), Asked::default());
}

#[test]
fn conditions_of_running_operations_are_not_expected() {
    let source = machine(
        1,
        json!([{"type": "Paused", "status": "True"}, {"type": "Available", "status": "True"},
        {"type": "RollingOut", "status": "True"}, {"type": "ScalingUp", "status": "True"}]),
    );
    let expected = expectation_of(&source).unwrap();
    let rolled = json!([{"type": "Paused", "status": "False"}, {"type": "Available", "status": "True"},
        {"type": "RollingOut", "status": "False"}, {"type": "ScalingUp", "status": "False"}]);
    assert_eq!(describe_missing(&expected, &machine(1, rolled), true).unwrap(), None);
}

#[test]
fn deleted_health_checks_are_not_expected() {
    let checked = json!([{"type": "Paused", "status": "True"}, {"type": "Ready", "status": "True"},
        {"type": "HealthCheckSucceeded", "status": "True"}]);
    let target = || json!([{"type": "Paused", "status": "False"}, {"type": "Ready", "status": "True"}]);
    let expected = expectation_of(&machine(1, checked.clone())).unwrap();
    assert_eq!(describe_missing(&expected, &machine(1, target()), true).unwrap(), None);
    // For other kinds it is a condition like any other.
    let of_pool = |conditions| object("example.org", "Pool", "p", 1, json!({"conditions": conditions}));
    let waiting =
        describe_missing(&expectation_of(&of_pool(checked)).unwrap(), &of_pool(target()), true).unwrap();
    assert!(waiting.unwrap().ends_with("HealthCheckSucceeded"));
}

#[test]
fn copies_must_report_unpaused_current_conditions() {
    let source = machine(
        1,
        json!([{"type": "Paused", "status": "True"}, {"type": "Ready", "status": "True"},
        {"type": "Deleting", "status": "False"}]),
    );
    let expected = expectation_of(&source).unwrap();
    let lacks = |conditions| describe_missing(&expected, &machine(3, conditions), true).unwrap();
    assert!(lacks(json!([])).unwrap().contains("not written"));
    assert!(lacks(json!([{"type": "Paused", "status": "True"}])).unwrap().contains("paused"));
    let stale = json!([{"type": "Paused", "status": "False", "observedGeneration": 2}]);
    assert!(lacks(stale).unwrap().contains("last change"));
    let unready = json!([{"type": "Paused", "status": "False", "observedGeneration": 3}]);
    assert!(lacks(unready).unwrap().contains("Ready"));
    let good = json!([{"type": "Paused", "status": "False"}, {"type": "Ready", "status": "True"}]);
    assert_eq!(lacks(good), None);
}

#[test]
fn silent_controllers_must_have_written() {
    let expected = expectation_of(&machine(1, json!([{"type": "Ready", "status": "True"}]))).unwrap();
    let ready = || machine(1, json!([{"type": "Ready", "status": "True"}]));
    assert!(describe_missing(&expected, &ready(), false).unwrap().unwrap().contains("not written"));
    assert_eq!(describe_missing(&expected, &ready(), true).unwrap(), None);
    let unready = machine(1, json!([{"type": "Ready", "status": "False"}]));
    assert!(describe_missing(&expected, &unready, true).unwrap().unwrap().contains("Ready"));
    // A newer release of the controller in the target reports it.
    let paused =
        machine(1, json!([{"type": "Ready", "status": "True"}, {"type": "Paused", "status": "True"}]));
    assert!(describe_missing(&expected, &paused, true).unwrap().unwrap().contains("paused"));
}

/// Like KubeadmConfigs of Cluster API 1.8, whose certificates are checked once, when their data are made.
#[test]
fn silent_controllers_need_not_repeat_conditions() {
    let once =
        json!([{"type": "DataAvailable", "status": "True"}, {"type": "Certificates", "status": "True"}]);
    let expected = expectation_of(&machine(1, once.clone())).unwrap();
    let lacks = |conditions| describe_missing(&expected, &machine(1, conditions), true).unwrap();
    assert_eq!(lacks(json!([{"type": "DataAvailable", "status": "True"}])), None);
    let waiting = lacks(json!([{"type": "DataAvailable", "status": "False"}])).unwrap();
    assert!(waiting.ends_with("DataAvailable"), "{waiting}");
    // As a person's annotation leaves it.
    assert!(lacks(json!([])).unwrap().ends_with("Certificates, DataAvailable"));

    let cluster = object(CAPI, "Cluster", "c", 1, json!({"conditions": once}));
    let some =
        object(CAPI, "Cluster", "c", 1, json!({"conditions": [{"type": "DataAvailable", "status": "True"}]}));
    let waiting = describe_missing(&expectation_of(&cluster).unwrap(), &some, true).unwrap().unwrap();
    assert!(waiting.ends_with("Certificates"), "{waiting}");
}

#[test]
fn only_what_others_wrote_since_counts() {
    let meta = |fields: Value| {
        let body = json!({"metadata": {"name": "m", "managedFields": fields}});
        Object::from_value(machine(1, json!([])).kind, &body).unwrap().meta
    };
    let entry = |manager: &str, time: &str| json!({"manager": manager, "operation": "Update", "time": time});
    let source = meta(json!([entry("manager", "2026-01-01T10:00:05Z")]));
    let since = "2026-01-01T10:00:00Z";
    let seen = |fields| meta(fields).is_written_by_others(since, Some(&source));
    assert!(!seen(json!([])));
    assert!(!seen(json!([entry("pivot-host", "2026-01-01T10:00:07Z")])));
    assert!(!seen(json!([entry("manager", "2026-01-01T09:59:59Z")])));
    assert!(
        !seen(json!([entry("manager", "2026-01-01T10:00:05Z")])),
        "copied from a source whose clock is ahead"
    );
    assert!(seen(json!([entry("manager", "2026-01-01T10:00:06Z")])));
}

/// A KubeadmControlPlane of Cluster API 1.10.10 in v1beta1.
fn control_plane(old: Value, new: Value, initialized: bool) -> Object {
    let status =
        json!({"initialized": initialized, "ready": true, "conditions": old, "v1beta2": {"conditions": new}});
    object("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", "plain", 2, status)
}

fn conditions(all: &[(&str, &str)]) -> Value {
    let all =
        all.iter().map(|(kind, status)| json!({"type": kind, "status": status, "observedGeneration": 2}));
    Value::Array(all.collect())
}

/// Controllers of 1.14.2 judge the conditions of v1beta1 in another way.
#[test]
fn newer_releases_are_judged_by_newer_conditions() {
    let old = conditions(&[("Ready", "True"), ("Resized", "True")]);
    let new = conditions(&[
        ("Available", "True"),
        ("Paused", "False"),
        ("Initialized", "True"),
        ("Scaled", "True"),
    ]);
    let source = control_plane(old, new, true);
    let key = source.key();
    let moved = Moved { key: &key, object: &source, asleep: false, held: false, is_converted: true };
    let asked = select_checks(&[moved], &BTreeSet::new()).unwrap();
    let expected = asked.each.get(&key).unwrap();
    let missing = |new: &[(&str, &str)], initialized: bool| {
        let old = conditions(&[("Ready", "False"), ("Resized", "False")]);
        describe_missing(expected, &control_plane(old, conditions(new), initialized), true).unwrap()
    };
    // `Scaled` is no longer reported.
    let reported = [("Available", "True"), ("Paused", "False"), ("Initialized", "True")];
    assert_eq!(missing(&reported, true), None);
    assert_eq!(missing(&reported, false).unwrap(), "not initialized yet: initialized");
    let unavailable = [("Available", "False"), ("Paused", "False"), ("Initialized", "True")];
    assert_eq!(missing(&unavailable, true).unwrap(), "conditions not true yet: Available");
    assert_eq!(missing(&reported[..1], true).unwrap(), "its controller has not written to it yet");
    let paused = [("Available", "True"), ("Paused", "True")];
    assert_eq!(missing(&paused, true).unwrap(), "its controller still treats it as paused");
}

/// 1.8.4 reports no pause and no condition of v1beta2.
#[test]
fn silent_releases_are_judged_by_initialization() {
    let status = json!({"bootstrapReady": true, "infrastructureReady": true, "conditions": conditions(&[("Ready", "True")])});
    let source = object(CAPI, "Machine", "m", 2, status);
    let key = source.key();
    let moved = Moved { key: &key, object: &source, asleep: false, held: false, is_converted: true };
    let asked = select_checks(&[moved], &BTreeSet::new()).unwrap();
    let expected = asked.one_of.values().next().and_then(|all| all.get(&key)).unwrap();
    let copy = |status: Value| object(CAPI, "Machine", "m", 2, status);
    let missing = |status, written| describe_missing(expected, &copy(status), written).unwrap();
    let initialized = json!({"bootstrapReady": true, "infrastructureReady": true});
    assert_eq!(missing(initialized.clone(), true), None);
    assert!(missing(initialized, false).is_some());
    let half = json!({"bootstrapReady": true, "infrastructureReady": false});
    assert_eq!(missing(half, true).unwrap(), "not initialized yet: infrastructureReady");
}
