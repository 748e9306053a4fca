use serde_json::json;

use super::*;

fn addon(kind: &str, rest: Value) -> Object {
    object("addons.cluster.x-k8s.io", kind, "calico", rest)
}

fn set(reason: &str, status: &str) -> Object {
    let condition = json!({"type": "ResourcesApplied", "status": status, "reason": reason});
    addon("ClusterResourceSet", json!({"status": {"conditions": [condition]}}))
}

#[test]
fn check_waits_for_unapplied_resource_sets() {
    assert_eq!(before(&[set("Applied", "True")]), []);
    assert_eq!(told(&before(&[set("RemoteClusterClientFailed", "False")])), ["wait resources-not-applied"]);
}

#[test]
fn invalid_resource_set_stops_the_move() {
    assert_eq!(told(&before(&[set("WrongSecretType", "False")])), ["stop resources-refused"]);
}

#[test]
fn existing_resource_sets_of_target_are_checked() {
    let mut harness = Harness::<Readiness>::new();
    harness.add_to_source(set("Applied", "True")).add_to_target(set("Failed", "False"));
    assert_eq!(told(&harness.check(Point::BeforePause).unwrap()), ["wait resources-not-applied"]);
}

#[test]
fn denied_kinds_of_the_target_are_warnings() {
    let (mut harness, set) = (Harness::<Readiness>::new(), set("Applied", "True"));
    harness.add_to_source(&set);
    harness.fail_reads(
        pivot_sdk::Side::Target,
        &set.kind(),
        pivot_sdk::Error::new("forbidden", "clusterresourcesets is forbidden"),
    );
    assert_eq!(told(&harness.check(Point::BeforePause).unwrap()), ["warn not-readable"]);
}

#[test]
fn target_without_the_kind_is_fine() {
    let (mut harness, set) = (Harness::<Readiness>::new(), set("Applied", "True"));
    harness.add_to_source(&set);
    harness.fail_reads(
        pivot_sdk::Side::Target,
        &set.kind(),
        pivot_sdk::Error::new("not-found", "no such kind"),
    );
    assert_eq!(harness.check(Point::BeforePause).unwrap(), []);
}

#[test]
fn resource_set_without_clusters_is_fine() {
    assert_eq!(before(&[addon("ClusterResourceSet", json!({}))]), []);
}

#[test]
fn unapplied_resources_of_bindings_are_listed() {
    let binding = |applied| {
        let resource = |name, applied| json!({"kind": "ConfigMap", "name": name, "applied": applied});
        let resources = json!([resource("done", true), resource("manifests", applied)]);
        addon(
            "ClusterResourceSetBinding",
            json!({
                "spec": {"clusterName": "edge", "bindings": [{"clusterResourceSetName": "calico", "resources": resources}]},
            }),
        )
    };
    assert_eq!(before(&[binding(true)]), []);
    let found = before(&[binding(false)]);
    assert_eq!(told(&found), ["wait resources-not-applied"]);
    assert_eq!(found[0].message, "not applied to its Cluster: ConfigMap manifests");
}
