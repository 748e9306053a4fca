//! The copy: paused by us, with the source's status.

use serde_json::{Value, json};

use super::{Host, consumed, free, paused, with};

const PAUSED: &str = "baremetalhost.metal3.io/paused";

fn adapted(host: Value) -> pivot_sdk::Object {
    Host::new().adapt(&host).unwrap().patched_object()
}

#[test]
fn only_the_provider_pause_becomes_ours() {
    assert_eq!(
        adapted(paused(consumed(), "metal3.io/capm3")).annotation(PAUSED),
        Some("metal3-hosts.pivot-host.io")
    );
    assert_eq!(adapted(paused(consumed(), "me")).annotation(PAUSED), Some("me"));
    assert_eq!(adapted(paused(free(), "metal3.io/capm3")).annotation(PAUSED), Some("metal3.io/capm3"));
}

#[test]
fn status_annotation_is_dropped() {
    let host = with(
        paused(consumed(), "metal3.io/capm3"),
        json!({"metadata": {"annotations": {"baremetalhost.metal3.io/status": "{}", "other": "stays"}}}),
    );
    let copy = adapted(host);
    assert_eq!(copy.annotation("baremetalhost.metal3.io/status"), None);
    assert_eq!(copy.annotation("other"), Some("stays"));
}

#[test]
fn other_kinds_are_copied_as_they_are() {
    let policy = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "HostUpdatePolicy", "metadata": {"name": "a", "namespace": "m"}});
    assert!(Host::new().adapt(policy).unwrap().is_empty());
}

fn restored(source: &Value, generation: i64) -> Value {
    let created = with(source.clone(), json!({"metadata": {"generation": generation}, "status": null}));
    Host::new().restore(source, &created).unwrap().to_value().unwrap_or_default()
}

#[test]
fn restore_copies_status_with_hardware() {
    let patch = restored(&consumed(), 1);
    assert_eq!(patch["status"]["hardware"]["hostname"], "rack1-u01");
    assert_eq!(patch["status"]["provisioning"], consumed()["status"]["provisioning"]);
    assert_eq!(patch["status"]["errorMessage"], "");
    assert_eq!(
        patch["status"]["operationHistory"]["inspect"],
        free()["status"]["operationHistory"]["inspect"]
    );
}

#[test]
fn conditions_get_the_generation_of_the_copy() {
    assert_eq!(restored(&consumed(), 1)["status"]["conditions"][0]["observedGeneration"], 1);
    let stale = with(consumed(), json!({"metadata": {"generation": 8}}));
    assert_eq!(restored(&stale, 1)["status"]["conditions"][0].get("observedGeneration"), None);
}

#[test]
fn flashed_firmware_is_not_flashed_again() {
    let source = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "HostFirmwareComponents",
        "metadata": {"name": "a", "namespace": "m", "generation": 3},
        "spec": {"updates": [{"component": "bios", "url": "http://bios"}]},
        "status": {"updates": [{"component": "bios", "url": "http://bios"}], "components": []},
    });
    assert_eq!(restored(&source, 1)["status"]["updates"], source["spec"]["updates"]);
}

#[test]
fn missing_or_equal_status_changes_nothing() {
    let none = with(free(), json!({"status": null}));
    assert!(Host::new().restore(&none, &none).unwrap().is_empty());
    assert!(Host::new().restore(free(), free()).unwrap().is_empty());
}
