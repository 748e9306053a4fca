//! Configurations that are refused before anything moves, with their messages.

use crate::Patches;
use pivot_sdk::Point;
use pivot_sdk::test::Harness;
use serde_json::{Value, json};

/// The host calls every plugin's check before the pause, whatever moves.
fn refused(config: Value) -> String {
    let mut harness = Harness::<Patches>::new();
    harness.set_config(config.clone());
    harness.check(Point::BeforePause).expect_err(&config.to_string()).to_string()
}

fn entry(fields: Value) -> Value {
    let mut entry = json!({"name": "mine", "kind": "Cluster.cluster.x-k8s.io"});
    entry.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({"patch": [{"kind": "Machine.cluster.x-k8s.io", "merge": {"spec": {"fine": true}}}, entry]})
}

#[test]
fn forbidden_patches_are_refused_with_a_reason() {
    for (merge, wrong) in [
        (
            json!({"metadata": {"name": "x"}}),
            "/metadata/name can't be patched: of the metadata only labels and annotations",
        ),
        (json!({"metadata": {"ownerReferences": []}}), "/metadata/ownerReferences can't be patched"),
        (json!({"metadata": {"finalizers": []}}), "/metadata/finalizers can't be patched"),
        (json!({"metadata": {"labels": null}}), "labels and annotations are changed one by one"),
        (json!({"metadata": {"annotations": {"pivot-host.io/move": "x"}}}), "pivot-host's own mark"),
        (
            json!({"metadata": {"annotations": {"metal3-hosts.pivot-host.io/was": "x"}}}),
            "another plugin's memory",
        ),
        (json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}), "only the move pauses"),
        (
            json!({"spec": {"template": {"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}}}),
            "only the move pauses",
        ),
        (
            json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": null}}}),
            "it holds a copy of the whole object",
        ),
        (
            json!({"spec": {"topology": {"workers": [{"annotations": {"cluster.x-k8s.io/paused": ""}}]}}}),
            "cluster.x-k8s.io/paused can't be patched: only the move pauses",
        ),
        (json!({"metadata": {"labels": {"a": 1}}}), "labels and annotations are strings"),
        (json!({"metadata": null}), "of the metadata only"),
        (json!({"spec": {"paused": false}}), "/spec/paused can't be patched: only the move pauses"),
        (json!({"spec": null}), "name the fields"),
        (json!({"status": {"phase": "x"}}), "the status belongs to the controllers"),
        (json!({"kind": "Other"}), "/kind can't be patched: it says what the object is"),
        (json!({"apiVersion": "v2"}), "it says what the object is"),
    ] {
        let error = refused(entry(json!({"merge": merge.clone()})));
        assert!(
            error.contains("configuration: patch[1] (mine): ") && error.contains(wrong),
            "{merge}: {error}"
        );
    }
}

#[test]
fn removals_are_subject_to_the_same_bounds() {
    for (pointer, wrong) in [
        ("/metadata/finalizers", "of the metadata only labels and annotations"),
        ("/metadata/labels", "one by one"),
        ("/metadata/labels/", "one by one"),
        ("/metadata/annotations/cluster.x-k8s.io~1paused", "only the move pauses"),
        ("/spec", "name the fields"),
        ("/spec/paused", "only the move pauses"),
        ("spec.replicas", "`spec.replicas` is no JSON pointer; write /metadata/labels/"),
        ("/metadata/labels/a~b", "is no JSON pointer"),
        ("/", "is no JSON pointer"),
    ] {
        let error = refused(entry(json!({"remove": [pointer]})));
        assert!(error.contains("patch[1] (mine): ") && error.contains(wrong), "{pointer}: {error}");
    }
}

#[test]
fn secret_data_in_configuration_is_refused() {
    for field in ["data", "stringData"] {
        let error =
            refused(json!({"patch": [{"kind": "Secret", "merge": {field: {"password": "hunter2"}}}]}));
        assert!(
            error.contains("a configuration is no place for them") && !error.contains("hunter2"),
            "{error}"
        );
    }
    let mut harness = Harness::<Patches>::new();
    harness.set_config(json!({"patch": [{"kind": "Secret", "merge": {"metadata": {"labels": {"a": "b"}}}}]}));
    assert!(harness.check(Point::BeforePause).is_ok());
}

#[test]
fn invalid_entry_is_reported() {
    for (config, wrong) in [
        (entry(json!({})), "patch[1] (mine): it changes nothing; give it a `merge` or a `remove`"),
        (
            entry(json!({"kind": "Deployment.apps", "remove": ["/a"]})),
            "Deployment.apps is none of the kinds that can be",
        ),
        (
            entry(json!({"kind": "cluster", "remove": ["/a"]})),
            "patch[1].kind: `cluster` isn't a kind; write Kind.group",
        ),
        (
            entry(json!({"marge": {}})),
            "patch[1].marge: unknown field `marge`, expected one of `name`, `kind`, `match`",
        ),
        (entry(json!({"match": {"label": {}}})), "patch[1].match.label: unknown field `label`"),
        (json!({"patches": []}), "unknown field `patches`, expected `patch`"),
        (json!({"patch": [{"merge": {}}]}), "patch[0]: missing field `kind`"),
    ] {
        let error = refused(config.clone());
        assert!(error.contains(wrong), "{config}: {error}");
    }
}

#[test]
fn schema_agrees_with_the_plugin() {
    Harness::<Patches>::new().compare_schema(&[json!({"patch": [{
        "name": "team", "kind": "MachineDeployment.cluster.x-k8s.io",
        "match": {"name": "edge-*", "namespace": "metal3", "labels": {"team": "*"}},
        "merge": {"metadata": {"labels": {"team": "blue"}}}, "remove": ["/metadata/labels/old"],
    }]})]);
}
