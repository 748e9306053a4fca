//! The target's operator: does it run, and does it watch where the hosts go?

use pivot_sdk::{Point, Severity, Side};
use serde_json::{Value, json};

use super::Host;
use crate::gather::DEPLOYMENT;

const HOME: &str = "baremetal-operator-system";

/// The operator's Deployment, with a container that has these fields, too.
pub(super) fn operator(name: &str, container: Value) -> Value {
    let mut manager = json!({
        "name": "manager", "command": ["/baremetal-operator"], "image": "quay.io/metal3-io/baremetal-operator:v0.13.0",
    });
    for (field, value) in container.as_object().unwrap() {
        manager[field] = value.clone();
    }
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": HOME},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "kube-rbac-proxy"}, manager]}}},
        "status": {"availableReplicas": 1},
    })
}

/// The findings about an operator in the target whose container has these fields.
fn found(container: Value) -> Vec<String> {
    let mut host = Host::new();
    host.0.add_to_target(operator("operator", container));
    host.found()
}

fn variable(value: Value) -> Value {
    json!({"env": [{"name": "WATCH_NAMESPACE", "value": value}]})
}

#[test]
fn operator_of_all_namespaces_passes() {
    for all in [
        json!({}),
        variable(json!("")),
        json!({"env": [{"name": "WATCH_NAMESPACE"}]}),
        json!({"args": ["--enable-leader-election", "--namespace="]}),
        json!({"args": ["--namespace="], "env": variable(json!("other"))["env"].clone()}),
    ] {
        assert_eq!(found(all.clone()), [""; 0], "{all}");
    }
}

#[test]
fn operator_that_watches_the_namespace_passes() {
    for watching in [
        variable(json!("metal3")),
        variable(json!("other,metal3")),
        json!({"args": ["--namespace", "metal3"]}),
        json!({"args": ["-namespace=metal3"], "env": variable(json!("other"))["env"].clone()}),
    ] {
        assert_eq!(found(watching.clone()), [""; 0], "{watching}");
    }
}

#[test]
fn operator_of_other_namespaces_stops_the_move() {
    for elsewhere in [
        variable(json!("other")),
        variable(json!("other,metal3-2")),
        json!({"args": ["--namespace=other"], "env": variable(json!("metal3"))["env"].clone()}),
        json!({"command": ["/manager", "--namespace=other"]}),
        json!({"env": [{"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}]}),
    ] {
        assert_eq!(found(elsewhere.clone()), ["stop operator-not-watching"], "{elsewhere}");
    }
}

#[test]
fn config_maps_can_limit_the_operator() {
    let from = json!({"envFrom": [{"configMapRef": {"name": "limits"}}, {"configMapRef": {"name": "ironic-bmo-configmap"}}]});
    let one = json!({"name": "WATCH_NAMESPACE", "valueFrom": {"configMapKeyRef": {"name": "limits", "key": "WATCH_NAMESPACE"}}});
    for container in [from, json!({"env": [one]})] {
        for (value, expected) in
            [("metal3", vec![]), ("", vec![]), ("other", vec!["stop operator-not-watching"])]
        {
            let mut host = Host::new();
            host.0.add_to_target(operator("operator", container.clone())).add_to_target(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits", "namespace": HOME},
                "data": {"WATCH_NAMESPACE": value},
            }));
            assert_eq!(host.found(), expected, "{container} {value}");
        }
    }
}

#[test]
fn unreadable_limits_are_not_judged() {
    let secret = json!({"secretKeyRef": {"name": "limits", "key": "WATCH_NAMESPACE"}});
    for unknown in [
        variable(json!("$(POD_NAMESPACE)")),
        json!({"args": ["--namespace=$(WATCHED)"]}),
        json!({"env": [{"name": "WATCH_NAMESPACE", "valueFrom": secret}]}),
    ] {
        assert_eq!(found(unknown.clone()), [""; 0], "{unknown}");
    }
}

#[test]
fn one_watching_operator_suffices() {
    let mut host = Host::new();
    host.0.add_to_target(operator("operator", variable(json!("other"))));
    host.0.add_to_target(operator("b", variable(json!("metal3"))));
    assert_eq!(host.found(), [""; 0]);
}

/// Each tenant can have an operator, and the hosts' operator may be where the plugin doesn't look.
#[test]
fn operators_of_other_tenants_warn() {
    let mut host = Host::new();
    host.0.add_to_target(operator("operator", variable(json!("tenant-a"))));
    let stop = host.check(Point::BeforePause).remove(0);
    assert_eq!((&*stop.code, stop.severity), ("operator-not-watching", Severity::Stop));
    let edit = format!("kubectl edit -n {HOME} deployment operator");
    assert_eq!(stop.command.as_ref().map(ToString::to_string), Some(edit));

    host.0.add_to_target(operator("b", variable(json!("tenant-b"))));
    let warning = host.check(Point::BeforePause).remove(0);
    assert_eq!((&*warning.code, warning.severity), ("operator-not-watching", Severity::Warn));
    assert_eq!(warning.command, None, "a tenant's operator would watch the namespaces of another one");
    assert_eq!(warning.objects.len(), 2);
    assert!(!warning.remedy.contains("let it watch"), "{}", warning.remedy);
    for part in
        ["baremetal-operator-system/b, ", "baremetal-operator-system/operator)", "watches namespace metal3"]
    {
        assert!(warning.message.contains(part), "{}", warning.message);
    }
    assert_eq!(host.at(Point::AfterPause), [""; 0]);
}

#[test]
fn missing_operator_is_noted_before_the_pause() {
    let mut host = Host::new();
    host.0.remove_object(Side::Target, &DEPLOYMENT.key_in(HOME, "operator"));
    let note = host.check(Point::BeforePause).remove(0);
    assert_eq!((&*note.code, note.severity), ("operator-not-seen", Severity::Note));
    assert!(note.message.contains("in baremetal-operator-system, capm3-system"), "{}", note.message);
    for point in [Point::AfterPause, Point::BeforeCommit, Point::AfterResume] {
        assert_eq!(host.at(point), [""; 0]);
    }
    host.0.set_moving_objects([]);
    assert_eq!(host.found(), [""; 0]);
}

#[test]
fn namespaces_have_their_names_in_the_target() {
    let mut host = Host::new();
    host.0.map_namespace("metal3", "site-7").add_to_target(operator("operator", variable(json!("metal3"))));
    let found = host.check(Point::BeforePause).remove(0);
    assert_eq!(found.code, "operator-not-watching");
    assert!(found.message.ends_with("doesn't watch namespace site-7"), "{}", found.message);
    host.0.add_to_target(operator("operator", variable(json!("site-7"))));
    assert_eq!(host.found(), [""; 0]);
}

#[test]
fn stopped_operator_is_waited_for() {
    let mut stopped = operator("operator", json!({}));
    stopped["status"] = json!({});
    let mut host = Host::new();
    host.0.add_to_target(&stopped);
    assert_eq!(host.found(), ["wait operator-not-up"]);
    assert_eq!(host.set_config(json!({"up": "before-commit"})).found(), [""; 0]);
    assert_eq!(host.at(Point::BeforeCommit), ["wait operator-not-up"]);
    stopped["spec"]["replicas"] = 0.into();
    host.0.add_to_target(&stopped);
    let found = host.check(Point::BeforeCommit).remove(0);
    let start = format!("kubectl scale -n {HOME} deployment operator --replicas=1");
    assert_eq!(found.command.as_ref().map(ToString::to_string), Some(start));
    // Another one takes care of the namespace.
    host.0.add_to_target(operator("b", variable(json!("metal3"))));
    assert_eq!(host.at(Point::BeforeCommit), [""; 0]);
}

#[test]
fn only_the_baremetal_operator_counts() {
    let mut other = operator("operator", variable(json!("other")));
    let manager = &mut other["spec"]["template"]["spec"]["containers"][1];
    manager["command"] = json!(["/usr/bin/cluster-baremetal-operator"]);
    manager["image"] = json!("registry.example.com/cluster-baremetal-operator@sha256:0");
    let mut host = Host::new();
    host.0.add_to_target(&other);
    assert_eq!(host.found(), ["note operator-not-seen"]);
    other["spec"]["template"]["spec"]["containers"][1]["image"] =
        json!("registry.example.com:5000/mirror/baremetal-operator@sha256:0");
    host.0.add_to_target(other);
    assert_eq!(host.found(), ["stop operator-not-watching"]);
}

#[test]
fn source_operator_is_not_asked() {
    let mut host = Host::new();
    host.0.add_object(Side::Source, operator("operator", variable(json!("other"))));
    assert_eq!(host.found(), [""; 0]);
}
