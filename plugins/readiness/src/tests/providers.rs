use pivot_sdk::test::Harness;
use pivot_sdk::{Error, Point, Side};
use serde_json::json;

use super::*;
use crate::providers::DEPLOYMENT;

fn deployment(provider: &str, rest: Value) -> Object {
    let mut deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "manager", "namespace": format!("{provider}-system"), "generation": 2,
            "labels": {"cluster.x-k8s.io/provider": provider},
        },
        "spec": {"replicas": 1},
        "status": {
            "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1,
            "conditions": conditions(&[("Available", "True"), ("Progressing", "True")]),
        },
    });
    merge(&mut deployment, &rest);
    Object::from(deployment)
}

fn found(side: Side, rest: Value) -> Vec<String> {
    let mut harness = Harness::<Readiness>::new();
    harness.set_namespaces(["metal3"]).add_object(Side::Source, deployment("capi", json!({})));
    harness
        .add_object(Side::Target, deployment("capi", json!({})))
        .add_object(side, deployment("capi", rest));
    told(&harness.check(Point::BeforePause).unwrap())
}

#[test]
fn providers_that_run_are_fine() {
    assert_eq!(found(Side::Source, json!({})), [""; 0]);
}

#[test]
fn check_waits_for_unavailable_providers() {
    for side in Side::BOTH {
        let rest = json!({"status": {"conditions": conditions(&[("Available", "False")])}});
        assert_eq!(found(side, rest), ["wait provider-unavailable"]);
    }
}

#[test]
fn check_waits_for_provider_rollouts() {
    for rest in [
        json!({"metadata": {"generation": 3}}),
        json!({"status": {"replicas": 2}}),
        json!({"spec": {"replicas": 2}, "status": {"replicas": 2}}),
    ] {
        assert_eq!(found(Side::Target, rest), ["wait provider-rolling-out"]);
    }
}

#[test]
fn stuck_provider_rollout_stops_the_move() {
    let rest =
        json!({"status": {"conditions": conditions(&[("Available", "True"), ("Progressing", "False")])}});
    assert_eq!(found(Side::Target, rest), ["stop provider-stuck"]);
}

/// In the source that may be intended: `--accept pause-unchecked`.
#[test]
fn scaled_down_provider_stops_only_in_target() {
    let rest = json!({"spec": {"replicas": 0}});
    assert_eq!(found(Side::Source, rest.clone()), ["warn provider-off"]);
    assert_eq!(found(Side::Target, rest), ["stop provider-off"]);
}

#[test]
fn provider_missing_in_target_is_reported() {
    let mut harness = Harness::<Readiness>::new();
    harness.add_to_source(deployment("capi", json!({}))).add_to_source(deployment("capm3", json!({})));
    assert_eq!(harness.check(Point::BeforePause).unwrap(), [], "a target that runs nothing is a directory");
    harness.add_to_target(deployment("capi", json!({})));
    let found = harness.check(Point::BeforePause).unwrap();
    assert_eq!(told(&found), ["warn provider-missing"]);
    assert!(found[0].message.starts_with("provider capm3 runs in the source"), "{}", found[0].message);
}

#[test]
fn deployments_without_provider_label_are_ignored() {
    let other = json!({"metadata": {"labels": {"cluster.x-k8s.io/provider": null}}, "status": null});
    assert_eq!(found(Side::Target, other), [""; 0]);
}

#[test]
fn named_deployments_must_be_available_in_target() {
    let named = |status: Value| {
        let metadata = json!({"name": "webhook", "namespace": "cert-manager", "labels": null});
        deployment("", json!({"metadata": metadata, "status": status}))
    };
    let mut harness = Harness::<Readiness>::new();
    harness.set_config(json!({"deployments": ["cert-manager/webhook"]}));
    assert_eq!(told(&harness.check(Point::BeforePause).unwrap()), ["wait deployment-missing"]);
    harness.add_to_target(named(json!({"conditions": []})));
    let found = harness.check(Point::BeforePause).unwrap();
    assert_eq!(told(&found), ["wait provider-unavailable"]);
    assert_eq!(found[0].message, "Deployment cert-manager/webhook of the target is not available");
    harness.add_to_target(named(json!({})));
    assert_eq!(harness.check(Point::BeforePause).unwrap(), []);
}

#[test]
fn unreadable_deployments_are_not_missing() {
    let mut harness = Harness::<Readiness>::new();
    harness.set_config(json!({"deployments": ["cert-manager/webhook"]}));
    harness.fail_reads(Side::Target, &DEPLOYMENT, Error::new("forbidden", "deployments.apps is forbidden"));
    assert_eq!(told(&harness.check(Point::BeforePause).unwrap()), ["warn not-readable"]);
}

#[test]
fn named_deployments_are_not_wanted_in_directories() {
    let mut harness = Harness::<Readiness>::new();
    harness.set_config(json!({"deployments": ["cert-manager/webhook"]})).make_directory(Side::Target);
    assert_eq!(harness.check(Point::BeforePause).unwrap(), []);
}

/// Closed, then opened while the move waits.
#[test]
fn available_provider_ends_the_wait() {
    let mut harness = Harness::<Readiness>::new();
    harness.add_to_target(deployment("capi", json!({"status": {"conditions": []}})));
    assert_eq!(told(&harness.check(Point::AfterResume).unwrap()), ["wait provider-unavailable"]);
    harness.add_to_target(deployment("capi", json!({})));
    assert_eq!(harness.check(Point::AfterResume).unwrap(), []);
}

#[test]
fn unreadable_kinds_are_reported_once() {
    let mut harness = Harness::<Readiness>::new();
    harness.fail_reads(Side::Source, &DEPLOYMENT, Error::new("forbidden", "deployments.apps is forbidden"));
    let found = harness.check(Point::BeforePause).unwrap();
    assert_eq!(told(&found), ["warn not-readable"]);
    harness.fail_reads(Side::Source, &DEPLOYMENT, Error::new("unreachable", "connection refused"));
    let error = harness.check(Point::BeforePause).unwrap_err();
    assert_eq!(error.message, "reading Deployment.apps of the source: connection refused");
}
