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
fn a_set_that_is_not_applied_is_waited_for() {
    assert_eq!(before(&[set("Applied", "True")]), []);
    assert_eq!(told(&before(&[set("RemoteClusterClientFailed", "False")])), ["wait resources-not-applied"]);
}

#[test]
fn a_set_that_can_never_be_applied_stops() {
    assert_eq!(told(&before(&[set("WrongSecretType", "False")])), ["stop resources-refused"]);
}

#[test]
fn a_set_that_selects_nothing_is_fine() {
    assert_eq!(before(&[addon("ClusterResourceSet", json!({}))]), []);
}

#[test]
fn resources_that_a_binding_has_not_applied_are_named() {
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
