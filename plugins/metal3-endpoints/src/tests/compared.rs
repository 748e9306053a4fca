//! The two sides' configuration.

use pivot_sdk::{Point, Side};
use serde_json::json;

use super::Host;
use crate::gather::{CONFIG_MAP, DEPLOYMENT, IRONIC};

#[test]
fn matching_sides_pass_at_every_point() {
    for point in [Point::BeforePause, Point::AfterPause, Point::BeforeCommit, Point::AfterResume] {
        assert_eq!(Host::new().at(point), [""; 0]);
    }
}

#[test]
fn move_without_hosts_asks_nothing() {
    let mut host = Host::new();
    host.0.set_moving_objects([]).fail_reads(
        Side::Source,
        &CONFIG_MAP,
        pivot_sdk::Error::new("denied", "not granted"),
    );
    assert_eq!(host.found(), [""; 0]);
}

#[test]
fn target_without_a_cluster_is_not_checked() {
    let mut host = Host::new();
    host.map(Side::Target, json!({"PROVISIONING_IP": "172.22.0.3"}));
    assert_ne!(host.found(), [""; 0]);
    host.0.make_directory(Side::Target);
    assert_eq!(host.found(), [""; 0]);
}

#[test]
fn unintended_address_change_stops_the_move() {
    let other = || {
        let mut host = Host::new();
        host.map(Side::Source, json!({"PROVISIONING_IP": "172.22.0.3", "KEEPALIVED_VRID": "7"}));
        host
    };
    let stops = other().check(Point::BeforePause);
    assert_eq!(stops[0].code, "address-differs");
    assert_eq!(stops[0].message, "the source serves Ironic at 172.22.0.3, the target at 172.22.0.2");
    assert_eq!(other().set_config(json!({"same-address": false})).found(), [""; 0]);
}

#[test]
fn virtual_addresses_outweigh_the_provisioning_address() {
    let mut host = Host::new();
    let list = "172.22.0.2,ironicendpoint fd00::2,ironicendpoint,64";
    host.map(Side::Source, json!({"KEEPALIVED_VIRTUAL_IPS": list}));
    assert_eq!(host.found(), ["stop address-differs"]);
    host.map(
        Side::Target,
        json!({"KEEPALIVED_VIRTUAL_IPS": "fd00:0::2,ironicendpoint 172.22.0.2,ironicendpoint"}),
    );
    assert_eq!(host.found(), [""; 0], "the same, written otherwise");
}

#[test]
fn incomprehensible_settings_stop_the_move() {
    for (key, value) in [
        ("PROVISIONING_IP", "172.22.0"),
        ("KEEPALIVED_VIRTUAL_IPS", "172.22.0.2"),
        ("KEEPALIVED_VRID", "256"),
        ("KEEPALIVED_VRID", "0"),
    ] {
        let found = Host::new().map(Side::Target, json!({key: value})).found();
        assert_eq!(found, ["stop not-understood"], "{key}");
    }
}

#[test]
fn routers_of_one_address_have_one_id() {
    let with = |there: &str, config| {
        let mut host = Host::new();
        host.map(
            Side::Source,
            there.is_empty().then(|| json!({})).unwrap_or(json!({"KEEPALIVED_VRID": there})),
        );
        host.set_config(config).found()
    };
    assert_eq!(with("1", json!({})), [""; 0], "keepalived's default");
    assert_eq!(with("42", json!({})), ["stop router-differs"]);
    let mut host = Host::new();
    host.map(Side::Source, json!({"PROVISIONING_IP": "172.22.0.3"}))
        .set_config(json!({"same-address": false}));
    assert_eq!(host.found(), ["warn router-shared"]);
}

#[test]
fn keepalived_on_one_side_warns() {
    let mut host = Host::new();
    host.0.remove_object(Side::Source, &DEPLOYMENT.key_in("baremetal-operator-system", "capm3-ironic"));
    assert_eq!(host.found(), ["warn keepalived-on-one-side"]);
}

#[test]
fn another_interface_is_noted() {
    let found = Host::new().map(Side::Target, json!({"PROVISIONING_INTERFACE": "eth2"})).found();
    assert_eq!(found, ["note interface-differs"]);
}

#[test]
fn disagreeing_config_maps_are_reported() {
    let mut host = Host::new();
    host.0.add_to_target(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "old-ironic", "namespace": "capm3-system"},
        "data": {"PROVISIONING_IP": "10.0.0.1"},
    }));
    assert_eq!(host.found(), ["warn conflict"]);
    assert_eq!(host.set_config(json!({"config-maps": ["ironic-bmo-configmap"]})).found(), [""; 0]);
}

#[test]
fn sides_without_configuration_are_reported() {
    let map = CONFIG_MAP.key_in("baremetal-operator-system", "ironic-bmo-configmap");
    let mut host = Host::new();
    host.0.remove_object(Side::Target, &map);
    assert_eq!(host.found(), ["warn no-endpoint"], "an Ironic that only the target finds");
    host.0.remove_object(Side::Target, &DEPLOYMENT.key_in("baremetal-operator-system", "capm3-ironic"));
    assert_eq!(host.found(), ["stop no-endpoint", "note ironic-not-seen"]);
    host.set_config(json!({"endpoint": super::URL}));
    assert_eq!(host.found(), ["note ironic-not-seen"]);
    let mut host = Host::new();
    host.0.remove_object(Side::Source, &map);
    host.0.remove_object(Side::Source, &DEPLOYMENT.key_in("baremetal-operator-system", "capm3-ironic"));
    assert_eq!(host.found(), ["warn source-unknown"]);
}

#[test]
fn endpoint_of_another_cluster_is_reported() {
    let other = "http://172.22.0.9:6385/v1/";
    let mut host = Host::new();
    host.map(Side::Target, json!({"IRONIC_ENDPOINT": other})).set_config(json!({"vantage": "nowhere"}));
    assert_eq!(host.found(), ["warn endpoint-elsewhere"]);
}

#[test]
fn target_without_provisioning_network_warns() {
    let disabled = |value: &str| json!({"PROVISIONING_NETWORK_DISABLED": value});
    for value in ["true", "True"] {
        let mut host = Host::new();
        host.map(Side::Target, disabled(value));
        assert_eq!(host.found(), ["warn network-disabled"]);
        assert_eq!(host.map(Side::Source, disabled("true")).found(), [""; 0], "as before");
    }
    assert_eq!(Host::new().map(Side::Target, disabled("false")).found(), [""; 0]);
    assert_eq!(Host::new().map(Side::Source, disabled("true")).found(), [""; 0], "the target can do more");
}

#[test]
fn settings_in_containers_count() {
    let mut host = Host::new();
    host.map(Side::Target, json!({"PROVISIONING_IP": null}));
    host.0.add_to_target(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "capm3-ironic", "namespace": "baremetal-operator-system"},
        "spec": {"template": {"spec": {"containers": [
            {"name": "ironic", "env": [{"name": "PROVISIONING_IP", "value": "172.22.0.9"}]},
            {"name": "keepalived"},
        ]}}},
        "status": {"availableReplicas": 1},
    }));
    assert_eq!(
        host.set_config(json!({"vantage": "nowhere"})).found(),
        ["stop address-differs", "warn endpoint-elsewhere"]
    );
}

#[test]
fn ironic_object_outweighs_other_settings() {
    let mut host = Host::new();
    let ironic = |ready: &str| {
        json!({
            "apiVersion": "ironic.metal3.io/v1alpha1", "kind": "Ironic",
            "metadata": {"name": "ironic", "namespace": "baremetal-operator-system"},
            "spec": {"networking": {"ipAddress": "172.22.0.2", "interface": "ironicendpoint", "ipAddressManager": "keepalived"}},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        })
    };
    host.0.add_to_target(ironic("False"));
    host.0
        .remove_object(Side::Target, &CONFIG_MAP.key_in("baremetal-operator-system", "ironic-bmo-configmap"));
    host.0.remove_object(Side::Target, &DEPLOYMENT.key_in("baremetal-operator-system", "capm3-ironic"));
    assert_eq!(host.found(), ["wait target-not-up"]);
    host.0.add_to_target(ironic("True"));
    assert_eq!(host.found(), [""; 0]);
    host.0.add_to_source(ironic("True"));
    let warning = host.check(Point::BeforePause).remove(0);
    assert_eq!(
        warning.command.as_ref().unwrap().to_string(),
        "kubectl get -n baremetal-operator-system ironics.ironic.metal3.io ironic"
    );
    let gone = pivot_sdk::Error::new("no-such-kind", "the source has no Ironic");
    host.0.fail_reads(Side::Source, &IRONIC, gone);
    assert_eq!(host.found(), [""; 0], "a cluster without that operator");
}

#[test]
fn unreadable_side_is_an_error() {
    let mut host = Host::new();
    host.0.fail_reads(Side::Target, &DEPLOYMENT, pivot_sdk::Error::new("forbidden", "no"));
    let error = host.0.check(Point::BeforePause).unwrap_err();
    assert_eq!(error.message, "reading Deployment.apps of the target: no");
}
