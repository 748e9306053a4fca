use serde_json::{Value, json};

use super::*;
use crate::testing::{key, kind, objects};

fn object(name: &str, spec: Value) -> Object {
    let body = json!({"metadata": {"name": "x", "namespace": "ns", "uid": "u"}, "spec": spec});
    Object::from_value(kind(name), &body).unwrap()
}

fn template(path: &[&str], reference: &str, kind: &str) -> Value {
    let target = json!({"apiVersion": "g/v1", "kind": format!("{kind}Template"), "name": "t"});
    let leaf = if reference.is_empty() { target } else { json!({reference: target}) };
    path.iter().rev().fold(leaf, |inner, part| json!({*part: inner}))
}

#[test]
fn cluster_names_class_in_both_versions() {
    for (topology, class) in [
        (json!(null), None),
        (json!({}), None),
        (json!({"classRef": {"name": ""}}), None),
        (json!({"classRef": {"name": "q"}}), Some("ClusterClass ns/q")),
        (json!({"classRef": {"name": "q", "namespace": ""}}), Some("ClusterClass ns/q")),
        (json!({"classRef": {"name": "q", "namespace": "other"}}), Some("ClusterClass other/q")),
        (json!({"class": "q"}), Some("ClusterClass ns/q")),
        (json!({"class": "q", "classNamespace": "other"}), Some("ClusterClass other/q")),
    ] {
        let cluster = object("Cluster", json!({"topology": topology}));
        assert_eq!(class_of(&cluster).unwrap(), class.map(key), "{topology}");
    }
}

#[test]
fn templates_of_v1beta2_classes_are_found() {
    let mut spec = json!({});
    for part in [
        template(&["infrastructure"], "templateRef", "A"),
        template(&["controlPlane"], "templateRef", "B"),
        template(&["controlPlane", "machineInfrastructure"], "templateRef", "C"),
        template(&["controlPlane", "healthCheck", "remediation"], "templateRef", "D"),
    ] {
        crate::objects::merge::apply_patch(&mut spec, &part);
    }
    let mut deployment = template(&["bootstrap"], "templateRef", "E");
    crate::objects::merge::apply_patch(&mut deployment, &template(&["infrastructure"], "templateRef", "F"));
    crate::objects::merge::apply_patch(
        &mut deployment,
        &template(&["healthCheck", "remediation"], "templateRef", "G"),
    );
    let mut pool = template(&["bootstrap"], "templateRef", "H");
    crate::objects::merge::apply_patch(&mut pool, &template(&["infrastructure"], "templateRef", "I"));
    spec["workers"] = json!({"machineDeployments": [deployment], "machinePools": [pool]});
    assert_eq!(kinds_of(spec), "ABCDEFGHI");
}

#[test]
fn templates_of_v1beta1_classes_are_found() {
    let mut spec = json!({});
    for part in [
        template(&["infrastructure"], "ref", "A"),
        template(&["controlPlane"], "ref", "B"),
        template(&["controlPlane", "machineInfrastructure"], "ref", "C"),
        template(&["controlPlane", "machineHealthCheck", "remediationTemplate"], "", "D"),
    ] {
        crate::objects::merge::apply_patch(&mut spec, &part);
    }
    let mut deployment = template(&["template", "bootstrap"], "ref", "E");
    crate::objects::merge::apply_patch(
        &mut deployment,
        &template(&["template", "infrastructure"], "ref", "F"),
    );
    crate::objects::merge::apply_patch(
        &mut deployment,
        &template(&["machineHealthCheck", "remediationTemplate"], "", "G"),
    );
    let mut pool = template(&["template", "bootstrap"], "ref", "H");
    crate::objects::merge::apply_patch(&mut pool, &template(&["template", "infrastructure"], "ref", "I"));
    spec["workers"] = json!({"machineDeployments": [deployment], "machinePools": [pool]});
    assert_eq!(kinds_of(spec), "ABCDEFGHI");
}

fn kinds_of(spec: Value) -> String {
    let found = template_references(&object("ClusterClass", spec)).unwrap();
    assert!(found.iter().all(|template| template.key().to_string() == format!("{} ns/t", template.kind)));
    assert!(found.iter().all(|template| template.key().group_kind.group == "g"));
    found.iter().map(|template| template.kind.strip_suffix("Template").unwrap()).collect()
}

#[test]
fn a_template_named_twice_is_one_reference() {
    let mut spec = template(&["infrastructure"], "templateRef", "A");
    crate::objects::merge::apply_patch(&mut spec, &template(&["controlPlane"], "templateRef", "A"));
    assert_eq!(kinds_of(spec), "A");
    assert_eq!(kinds_of(json!({"infrastructure": null, "workers": {"machinePools": null}})), "");
}

#[test]
fn missing_classes_are_listed() {
    let objects = objects(
        "Cluster ns/a ! class=own
         ClusterClass ns/own
         Cluster ns/b ! class=other/shared
         Cluster ns/c ! broken
         Cluster ns/d",
    );
    assert_eq!(missing_classes(&objects), BTreeSet::from([key("ClusterClass other/shared")]));
}

#[test]
fn w24_errors_do_not_quote_unreadable_bodies() {
    let class = object("ClusterClass", json!({"infrastructure": "hunter2"}));
    assert!(!template_references(&class).unwrap_err().to_string().contains("hunter2"));
}
