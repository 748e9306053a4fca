//! Tests every rule with the harness, which calls hooks as the host does.

use pivot_sdk::test::{Harness, codes};
use pivot_sdk::{Finding, Object, Point};
use serde_json::{Value, json};

use crate::Readiness;

mod addons;
mod configuration;
mod definitions;
mod health;
mod packages;
mod providers;
mod rollouts;

/// An object of a group's kind, in the namespace that moves.
fn object(group: &str, kind: &str, name: &str, rest: Value) -> Object {
    let mut object = json!({
        "apiVersion": format!("{group}/v1beta2"), "kind": kind, "metadata": {"name": name, "namespace": "metal3"},
    });
    merge(&mut object, &rest);
    Object::from(object)
}

fn core(kind: &str, name: &str, rest: Value) -> Object {
    object("cluster.x-k8s.io", kind, name, rest)
}

fn control_plane(kind: &str, rest: Value) -> Object {
    object("controlplane.cluster.x-k8s.io", kind, "edge", rest)
}

fn merge(object: &mut Value, rest: &Value) {
    match (object, rest) {
        (Value::Object(object), Value::Object(rest)) => {
            for (key, value) in rest {
                merge(object.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (object, rest) => *object = rest.clone(),
    }
}

/// Conditions of the newest API: `[("Ready", "False")]`.
fn conditions(list: &[(&str, &str)]) -> Value {
    let one = |(kind, status): &(&str, &str)| json!({"type": kind, "status": status, "reason": "Because"});
    json!(list.iter().map(one).collect::<Vec<_>>())
}

/// The findings before the pause, for what moves.
fn before(objects: &[Object]) -> Vec<Finding> {
    let mut harness = Harness::<Readiness>::new();
    for object in objects {
        harness.add_to_source(object);
    }
    harness.check(Point::BeforePause).unwrap()
}

/// The findings after the resume, for the copies.
fn after(objects: &[Object]) -> Vec<Finding> {
    let mut harness = Harness::<Readiness>::new();
    for object in objects {
        harness.add_to_source(object).add_to_target(object);
    }
    harness.check(Point::AfterResume).unwrap()
}

/// `wait not-ready`, …
fn told(findings: &[Finding]) -> Vec<String> {
    let told = |(finding, code): (&Finding, &str)| format!("{} {code}", finding.severity.as_str());
    findings.iter().zip(codes(findings)).map(told).collect()
}

#[test]
fn paused_move_checks_nothing() {
    let broken = core("Machine", "m", json!({"status": {"phase": "Failed"}}));
    let mut harness = Harness::<Readiness>::new();
    harness.add_to_source(&broken).add_to_target(&broken);
    for point in [Point::AfterPause, Point::BeforeCommit, Point::Other] {
        assert_eq!(harness.check(point).unwrap(), []);
    }
}

#[path = "../../scene.rs"]
mod scene;

#[test]
fn recorded_answers_match_the_native_code() {
    scene::answers_as_recorded::<crate::Readiness>(concat!(env!("CARGO_MANIFEST_DIR"), "/scene.json"));
}
