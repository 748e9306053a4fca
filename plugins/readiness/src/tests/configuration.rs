use pivot_sdk::test::Harness;
use pivot_sdk::{Point, Result};
use serde_json::json;

use super::*;

fn ask(config: Value, objects: &[Object]) -> Result<Vec<Finding>> {
    let mut harness = Harness::<Readiness>::new();
    harness.set_config(config);
    for object in objects {
        harness.add_to_source(object);
    }
    harness.check(Point::BeforePause)
}

fn broken() -> Object {
    core("Machine", "m", json!({"status": {"conditions": conditions(&[("Ready", "False")])}}))
}

#[test]
fn area_can_be_skipped() {
    for area in ["providers", "definitions", "clusters", "rollouts", "addons", "packages"] {
        assert_eq!(ask(json!({"skip": [area]}), &[broken()]).unwrap().len(), 1, "{area}");
    }
    assert_eq!(ask(json!({"skip": ["machines"]}), &[broken()]).unwrap(), []);
}

#[test]
fn area_can_have_another_weight() {
    for weight in ["note", "warn", "wait", "stop"] {
        let found = ask(json!({"severity": {"machines": weight}}), &[broken()]).unwrap();
        assert_eq!(told(&found), [format!("{weight} not-ready")]);
    }
}

#[test]
fn additional_conditions_must_be_present() {
    let host = |list: &[(&str, &str)]| {
        object(
            "infrastructure.cluster.x-k8s.io",
            "Metal3Machine",
            "m",
            json!({"status": {"conditions": conditions(list)}}),
        )
    };
    let extra = json!({"kind": "Metal3Machine.infrastructure.cluster.x-k8s.io", "conditions": ["Ready", "Associated"]});
    let config = json!({"extra": [extra]});
    assert_eq!(ask(config.clone(), &[host(&[("Ready", "True"), ("Associated", "True")])]).unwrap(), []);
    let found = ask(config, &[host(&[("Ready", "False")])]).unwrap();
    assert_eq!(told(&found), ["wait condition-not-true"]);
    assert_eq!(found[0].message, "conditions are not true: Ready (Because), Associated (not reported)");
    let config = json!({"extra": [{"kind": "*.infrastructure.cluster.x-k8s.io", "conditions": ["Ready"], "severity": "stop"}]});
    assert_eq!(told(&ask(config, &[host(&[])]).unwrap()), ["stop condition-not-true"]);
}

#[test]
fn additional_conditions_count_in_target_before_pause() {
    let machine = |ready| {
        let status = json!({"status": {"conditions": conditions(&[("Ready", ready)])}});
        object("infrastructure.cluster.x-k8s.io", "Metal3Machine", "m", status)
    };
    let extra = json!({"kind": "*.infrastructure.cluster.x-k8s.io", "conditions": ["Ready"]});
    let mut harness = Harness::<Readiness>::new();
    harness.set_config(json!({"extra": [extra]}));
    harness.add_to_source(machine("True")).add_to_target(machine("False"));
    assert_eq!(told(&harness.check(Point::BeforePause).unwrap()), ["wait condition-not-true"]);
}

#[test]
fn configuration_error_has_its_position() {
    for (config, wrong) in [
        (
            json!({"extra": [{"kind": "Pod", "conditions": ["Ready"]}]}),
            "extra[0]: Pod is none of the kinds that can be read",
        ),
        (
            json!({"extra": [{"kind": "Machine.cluster.x-k8s.io", "conditions": []}]}),
            "extra[0]: it names no condition",
        ),
        (json!({"deployments": ["webhook"]}), "deployments: webhook is not NAMESPACE/NAME"),
        (json!({"deployments": ["a/"]}), "deployments: a/ is not NAMESPACE/NAME"),
        (json!({"deployments": ["a/b/c"]}), "deployments: a/b/c is not NAMESPACE/NAME"),
        (json!({"extra": [{"kind": "Machine.cluster.x-k8s.io"}]}), "extra[0]: missing field `conditions`"),
        (
            json!({"skip": ["machine"]}),
            "unknown variant `machine`, expected one of `providers`, `definitions`",
        ),
        (
            json!({"severity": {"machines": "warning"}}),
            "unknown variant `warning`, expected one of `note`, `warn`",
        ),
        (
            json!({"severity": {"machines": "warn"}, "skip": ["machines"]}),
            "severity and skip both name machines",
        ),
        (
            json!({"skips": []}),
            "unknown field `skips`, expected one of `skip`, `severity`, `package-namespaces`, `deployments`, `extra`",
        ),
    ] {
        let error = ask(config.clone(), &[]).unwrap_err().to_string();
        assert!(error.contains("configuration: ") && error.contains(wrong), "{config}: {error}");
    }
}

#[test]
fn schema_agrees_with_the_plugin() {
    Harness::<Readiness>::new().compare_schema(&[
        json!({"skip": ["addons"], "package-namespaces": ["tkg-*"], "deployments": ["shop/operator"]}),
        json!({"severity": {
            "providers": "note", "definitions": "warn", "clusters": "wait", "machines": "stop", "rollouts": "note",
            "addons": "note", "packages": "note",
        }}),
        json!({"extra": [{"kind": "Machine.cluster.x-k8s.io", "conditions": ["Certified"], "severity": "stop"}]}),
    ]);
}
