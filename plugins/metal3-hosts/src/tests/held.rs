//! Keeping operators away, and checking that they are.

use pivot_sdk::test::codes;
use pivot_sdk::{Patch, Point};
use serde_json::{Value, json};

use super::{Host, consumed, free, paused, source, with};

fn hold(host: &Value) -> Option<Value> {
    Host::new().hold(host).unwrap().to_value()
}

#[test]
fn free_hosts_are_held() {
    let pause = json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": "metal3-hosts.pivot-host.io"}}});
    assert_eq!(hold(&free()), Some(pause.clone()));
    let claimed = with(
        free(),
        json!({"spec": {"consumerRef": {"apiVersion": "metal3.io/v1alpha1", "kind": "HostClaim", "name": "c"}}}),
    );
    assert_eq!(hold(&claimed), Some(pause), "the Metal3 provider pauses those of its machines only");
}

#[test]
fn provider_pauses_hosts_of_machines() {
    assert_eq!(hold(&consumed()), None);
    let mut harness = Host::new();
    harness.set_config(json!({"hold-consumed": true}));
    assert!(!harness.hold(consumed()).unwrap().is_empty());
}

#[test]
fn existing_pauses_are_not_replaced() {
    for by in ["", "true", "metal3.io/capm3", "metal3.io/hostclaim", "maintenance"] {
        assert_eq!(hold(&paused(free(), by)), None, "{by}");
    }
}

#[test]
fn other_kinds_are_not_held() {
    let hardware = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "HardwareData", "metadata": {"name": "a", "namespace": "m"}});
    assert_eq!(Host::new().hold(hardware).unwrap(), Patch::empty());
}

fn after_pause(host: &Value, config: Value) -> Vec<String> {
    let mut harness = source(host);
    let findings = harness.set_config(config).check(Point::AfterPause).unwrap();
    findings.iter().map(|found| format!("{} {}", found.severity.as_str(), found.code)).collect()
}

#[test]
fn check_waits_for_the_provider_pause() {
    assert_eq!(after_pause(&consumed(), json!({})), ["wait not-paused"]);
    assert_eq!(after_pause(&paused(consumed(), "metal3.io/capm3"), json!({})), [""; 0]);
    let blocked = json!({"metadata": {"annotations": {"clusterctl.cluster.x-k8s.io/block-move": ""}}});
    assert_eq!(
        after_pause(&with(paused(consumed(), "metal3.io/capm3"), blocked), json!({})),
        ["wait block-move"]
    );
}

#[test]
fn unpaused_host_stops_the_move() {
    assert_eq!(after_pause(&free(), json!({})), ["stop not-held"]);
    assert_eq!(after_pause(&consumed(), json!({"hold-consumed": true})), ["stop not-held"]);
    assert_eq!(after_pause(&paused(free(), "metal3-hosts.pivot-host.io"), json!({})), [""; 0]);
}

#[test]
fn work_begun_before_the_pause_is_noticed() {
    let inspecting = with(free(), json!({"status": {"provisioning": {"state": "inspecting"}}}));
    assert_eq!(
        after_pause(&paused(inspecting, "metal3-hosts.pivot-host.io"), json!({})),
        ["stop being-worked-on"]
    );
}

#[test]
fn move_without_hosts_reads_nothing_after_pause() {
    let mut harness = Host::new();
    let denied = pivot_sdk::Error::new("denied", "not granted");
    harness.set_namespaces(["a"]).fail_reads(pivot_sdk::Side::Source, &crate::names::HOST, denied);
    assert!(codes(&harness.check(Point::AfterPause).unwrap()).is_empty());
    assert!(codes(&harness.check(Point::BeforeCommit).unwrap()).is_empty());
}
