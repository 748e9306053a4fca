//! Changes by entries, and their objects.

use crate::Patches;
use pivot_sdk::test::{Harness, codes};
use pivot_sdk::{Object, Point};
use serde_json::{Value, json};

fn cluster(name: &str, meta: Value) -> Object {
    let mut object = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": name, "namespace": "metal3"},
        "spec": {"topology": {"version": "v1.35.2"}},
    });
    let fields = meta.as_object().unwrap().clone();
    object["metadata"].as_object_mut().unwrap().extend(fields);
    Object::from(object)
}

fn with(entries: Value) -> Harness<Patches> {
    let mut harness = Harness::new();
    harness.set_config(json!({ "patch": entries }));
    harness
}

fn adapted(entries: Value, object: &Object) -> Option<Value> {
    with(entries).adapt(object).unwrap().to_value()
}

#[test]
fn without_a_configuration_nothing_is_changed() {
    assert!(Harness::<Patches>::new().adapt(cluster("edge", json!({}))).unwrap().is_empty());
}

/// As TKG does after a move: a label that says what the Cluster is now, and an old annotation removed.
#[test]
fn labels_and_annotations_are_set_and_removed() {
    let entries = json!([{
        "kind": "Cluster.cluster.x-k8s.io", "match": {"name": "edge"},
        "merge": {"metadata": {"labels": {"cluster-role.tkg.tanzu.vmware.com/management": ""}}},
        "remove": ["/metadata/annotations/bootstrap.example.com~1from"],
    }]);
    let object =
        cluster("edge", json!({"annotations": {"bootstrap.example.com/from": "kind", "other": "stays"}}));
    let expected = json!({"metadata": {
        "labels": {"cluster-role.tkg.tanzu.vmware.com/management": ""},
        "annotations": {"bootstrap.example.com/from": null},
    }});
    assert_eq!(adapted(entries, &object), Some(expected));
}

#[test]
fn fields_are_set() {
    let entries = json!([{"kind": "Cluster.cluster.x-k8s.io", "merge": {"spec": {"topology": {"version": "v1.36.0"}}}}]);
    let expected = json!({"spec": {"topology": {"version": "v1.36.0"}}});
    assert_eq!(adapted(entries, &cluster("edge", json!({}))), Some(expected));
}

#[test]
fn only_selected_objects_are_changed() {
    let entry =
        |chosen| json!([{"kind": "Cluster.cluster.x-k8s.io", "match": chosen, "merge": {"spec": {"a": 1}}}]);
    let object = cluster("edge-1", json!({"labels": {"site": "north"}}));
    for fits in
        [json!({}), json!({"name": "edge-*"}), json!({"namespace": "metal3", "labels": {"site": "*"}})]
    {
        assert!(adapted(entry(fits.clone()), &object).is_some(), "{fits}");
    }
    for other in
        [json!({"name": "edge"}), json!({"labels": {"site": "south"}}), json!({"namespace": "other"})]
    {
        assert_eq!(adapted(entry(other.clone()), &object), None, "{other}");
    }
    let other = json!([{"kind": "Machine.cluster.x-k8s.io", "merge": {"spec": {"a": 1}}}]);
    assert_eq!(adapted(other, &object), None);
}

#[test]
fn star_selects_a_group() {
    let entries = json!([{"kind": "*.cluster.x-k8s.io", "merge": {"metadata": {"labels": {"a": "b"}}}}]);
    assert!(adapted(entries, &cluster("edge", json!({}))).is_some());
}

#[test]
fn later_entries_outweigh_earlier_ones() {
    let entry =
        |version: &str| json!({"kind": "Cluster.cluster.x-k8s.io", "merge": {"spec": {"v": version}}});
    let entries = json!([entry("1"), entry("2")]);
    assert_eq!(adapted(entries, &cluster("edge", json!({}))), Some(json!({"spec": {"v": "2"}})));
}

/// The harness calls the hook again with the patched object, as the host does.
#[test]
fn selecting_label_can_be_removed() {
    let entries = json!([{
        "kind": "Cluster.cluster.x-k8s.io", "match": {"labels": {"old": "*"}}, "remove": ["/metadata/labels/old"],
    }]);
    let object = cluster("edge", json!({"labels": {"old": "x"}}));
    assert_eq!(adapted(entries, &object), Some(json!({"metadata": {"labels": {"old": null}}})));
}

#[test]
fn patch_without_convergence_is_an_error() {
    let step = |from: &str, to: &str| {
        json!({
            "name": format!("{from}-{to}"), "kind": "Cluster.cluster.x-k8s.io", "match": {"labels": {"x": from}},
            "merge": {"metadata": {"labels": {"x": to}}},
        })
    };
    // The second entry selects what the first one changes, but is matched too early to see it.
    let error =
        with(json!([step("2", "3"), step("1", "2")])).adapt(cluster("edge", json!({"labels": {"x": "1"}})));
    let error = error.unwrap_err();
    assert_eq!(error.code, "unsteady");
    assert!(error.message.contains("patch[0] (2-3)"), "{error}");
    let list = json!([{"kind": "Cluster.cluster.x-k8s.io", "remove": ["/spec/list/0"]}]);
    let object = Object::from(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "a", "namespace": "b"}, "spec": {"list": [1, 2, 3]},
    }));
    assert_eq!(with(list).adapt(object).unwrap_err().code, "unsteady");
}

#[test]
fn entry_without_objects_warns() {
    let entry =
        |kind: &str, name: &str| json!({"kind": kind, "match": {"name": name}, "merge": {"spec": {"a": 1}}});
    let mut harness = with(json!([
        entry("Cluster.cluster.x-k8s.io", "edge"),
        entry("Cluster.cluster.x-k8s.io", "egde"),
        entry("Clusters.cluster.x-k8s.io", "edge"),
    ]));
    harness.add_to_source(cluster("edge", json!({})));
    let findings = harness.check(Point::BeforePause).unwrap();
    assert_eq!(codes(&findings), ["no-object", "no-object"]);
    assert_eq!(findings[0].message, "patch[1]: no Cluster.cluster.x-k8s.io with such a name moves");
    assert_eq!(harness.check(Point::AfterResume).unwrap(), []);
}
