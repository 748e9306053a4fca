use pivot_sdk::test::Harness;
use pivot_sdk::{Error, Point, Side};
use serde_json::json;

use super::*;
use crate::definitions::DEFINITION;

fn definition(plural: &str, kind: &str, rest: Value) -> Object {
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.cluster.x-k8s.io"), "labels": {
            "clusterctl.cluster.x-k8s.io": "", "cluster.x-k8s.io/v1beta2": "v1beta2",
        }},
        "spec": {"group": "cluster.x-k8s.io", "names": {"kind": kind}},
        "status": {"conditions": conditions(&[("Established", "True")])},
    });
    merge(&mut definition, &rest);
    Object::from(definition)
}

fn found(rest: Value) -> Vec<String> {
    let mut harness = Harness::<Readiness>::new();
    harness.add_to_source(core("Cluster", "edge", json!({}))).add_to_source(definition(
        "clusters",
        "Cluster",
        json!({}),
    ));
    harness.add_to_target(definition("clusters", "Cluster", rest));
    told(&harness.check(Point::BeforePause).unwrap())
}

#[test]
fn definition_equal_to_the_sources_is_accepted() {
    assert_eq!(found(json!({})), [""; 0]);
    assert_eq!(found(json!({"metadata": {"labels": {"cluster.x-k8s.io/v1beta1": "v1beta1"}}})), [""; 0]);
}

#[test]
fn definition_without_a_contract_stops() {
    let rest = json!({"metadata": {"labels": {"cluster.x-k8s.io/v1beta2": null}}});
    assert_eq!(found(rest), ["stop crd-without-contract"]);
}

#[test]
fn unlabelled_definition_is_reported() {
    let rest = json!({"metadata": {"labels": {"clusterctl.cluster.x-k8s.io": null}}});
    assert_eq!(found(rest), ["warn crd-not-labelled"]);
}

#[test]
fn check_waits_for_served_definitions() {
    let rest = json!({"status": {"conditions": conditions(&[("Established", "False")])}});
    assert_eq!(found(rest), ["wait crd-not-established"]);
}

#[test]
fn deleted_definition_stops_the_move() {
    assert_eq!(
        found(json!({"metadata": {"deletionTimestamp": "2026-08-03T10:58:41Z"}})),
        ["stop crd-being-deleted"]
    );
}

#[test]
fn definitions_are_found_by_the_usual_plurals() {
    for (kind, plural) in [
        ("Cluster", "clusters"),
        ("ClusterClass", "clusterclasses"),
        ("IPAddress", "ipaddresses"),
        ("HostPolicy", "hostpolicies"),
        ("HostSettings", "hostsettings"),
    ] {
        let mut harness = Harness::<Readiness>::new();
        let gone = json!({"metadata": {"deletionTimestamp": "2026-08-03T10:58:41Z"}});
        harness.add_to_source(core(kind, "x", json!({}))).add_to_target(definition(plural, kind, gone));
        assert_eq!(told(&harness.check(Point::BeforePause).unwrap()), ["stop crd-being-deleted"], "{kind}");
    }
}

#[test]
fn unreadable_definitions_are_reported_once() {
    let mut harness = Harness::<Readiness>::new();
    harness.add_to_source(core("Cluster", "edge", json!({}))).add_to_source(core("Machine", "m", json!({})));
    harness.fail_reads(Side::Target, &DEFINITION, Error::new("forbidden", "forbidden"));
    assert_eq!(told(&harness.check(Point::BeforePause).unwrap()), ["warn not-readable"]);
}
