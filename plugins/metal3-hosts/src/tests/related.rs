//! Relations between objects.

use pivot_sdk::Relation;
use serde_json::{Value, json};

use super::{Host, consumed, free, with};

fn related(object: Value) -> Vec<String> {
    let relations = Host::new().relate(object).unwrap();
    let words = relations.into_iter().map(|relation| match relation {
        Relation::Link(to) => format!("link {to}"),
        Relation::Need(what) => format!("need {what}"),
        Relation::Share(what) => format!("share {what}"),
        Relation::Leave(why) => format!("leave: {why}"),
        Relation::Keep(why) => format!("keep: {why}"),
    });
    words.collect()
}

fn named(kind: &str, owners: Value) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": kind,
        "metadata": {"name": "rack1-u01", "namespace": "metal3", "ownerReferences": owners},
    })
}

#[test]
fn host_links_to_machine_and_needs_secrets() {
    let host = with(
        consumed(),
        json!({"spec": {
            "metaData": {"name": "meta"},
            "networkData": {"name": "net", "namespace": "other"},
            "preprovisioningNetworkDataName": "preprov",
            "image": {"ociAuthSecretName": "oci"},
        }}),
    );
    assert_eq!(
        related(host),
        [
            "link Metal3Machine.infrastructure.cluster.x-k8s.io metal3/edge-4xk2d",
            "need Secret metal3/rack1-u01-bmc",
            "need Secret metal3/preprov",
            "need Secret metal3/oci",
            "need Secret metal3/edge-4xk2d",
            "need Secret metal3/meta",
        ]
    );
}

#[test]
fn label_links_hosts_without_a_machine() {
    let labelled = with(free(), json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "edge"}}}));
    assert_eq!(related(labelled)[0], "link Cluster.cluster.x-k8s.io metal3/edge");
    assert_eq!(related(free()), ["need Secret metal3/rack1-u06-bmc"]);
}

#[test]
fn same_name_links_objects_to_the_host() {
    let owner = json!([{"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "name": "rack1-u01", "uid": "u"}]);
    for kind in
        ["HardwareData", "HostFirmwareSettings", "HostFirmwareComponents", "HostUpdatePolicy", "DataImage"]
    {
        assert_eq!(related(named(kind, json!([]))), ["link BareMetalHost.metal3.io metal3/rack1-u01"]);
        assert_eq!(related(named(kind, owner.clone())), [""; 0]);
    }
}

#[test]
fn rebuilt_objects_and_subscriptions_stay() {
    for kind in ["FirmwareSchema", "PreprovisioningImage"] {
        assert_eq!(related(named(kind, json!([]))), ["leave: rebuilt by the target's baremetal operator"]);
    }
    let said = related(named("BMCEventSubscription", json!([])));
    assert!(said[0].starts_with("leave: its copy would subscribe"), "{said:?}");
}
