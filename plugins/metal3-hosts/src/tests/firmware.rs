//! Pending changes to firmware and media.

use pivot_sdk::{Finding, Point};
use serde_json::{Value, json};

use super::{consumed, free, paused, source, with};

fn found(host: &Value, beside: Value, config: Value) -> Vec<String> {
    let findings = findings(host, beside, config);
    findings.iter().map(|found| format!("{} {}", found.severity.as_str(), found.code)).collect()
}

fn findings(host: &Value, beside: Value, config: Value) -> Vec<Finding> {
    let mut harness = source(host);
    let meta = json!({
        "apiVersion": "metal3.io/v1alpha1",
        "metadata": {"name": host["metadata"]["name"], "namespace": "metal3", "generation": 2},
    });
    harness.add_to_source(with(meta, beside)).set_config(config);
    harness.check(Point::BeforePause).unwrap()
}

fn change(kind: &str, detected: &str, valid: &str, seen: i64) -> Value {
    json!({"kind": kind, "status": {"conditions": [
        {"type": "ChangeDetected", "status": detected, "observedGeneration": seen},
        {"type": "Valid", "status": valid, "observedGeneration": seen},
    ]}})
}

#[test]
fn check_waits_for_imminent_firmware_changes() {
    for kind in ["HostFirmwareSettings", "HostFirmwareComponents"] {
        assert_eq!(found(&free(), change(kind, "True", "True", 2), json!({})), ["wait firmware-pending"]);
        assert_eq!(found(&free(), change(kind, "False", "True", 2), json!({})), [""; 0]);
        assert_eq!(found(&free(), change(kind, "True", "False", 2), json!({})), [""; 0], "never made");
        assert_eq!(found(&free(), change(kind, "False", "True", 1), json!({})), ["wait firmware-unseen"]);
        assert_eq!(
            found(&paused(free(), "me"), change(kind, "False", "True", 1), json!({})),
            ["stop firmware-unseen"]
        );
    }
}

#[test]
fn unseen_firmware_requests_are_waited_for() {
    let settings = json!({"kind": "HostFirmwareSettings", "spec": {"settings": {"BootMode": "Uefi"}}});
    let updates = json!({"kind": "HostFirmwareComponents", "spec": {"updates": [{"component": "bios", "url": "http://bios"}]}});
    for request in [settings, updates] {
        assert_eq!(found(&free(), request.clone(), json!({})), ["wait firmware-unseen"], "{request}");
    }
    for nothing in [
        json!({"kind": "HostFirmwareSettings", "spec": {"settings": {}}}),
        json!({"kind": "HostFirmwareComponents", "spec": {"updates": []}}),
    ] {
        assert_eq!(found(&free(), nothing.clone(), json!({})), [""; 0], "{nothing}");
    }
}

/// The operator never compares the firmware of a host that it can't reach.
#[test]
fn firmware_of_unmanaged_hosts_is_not_awaited() {
    let unmanaged = json!({"spec": {"bmc": null}, "status": {"operationalStatus": "discovered", "provisioning": {"state": "unmanaged"}}});
    let host = with(free(), unmanaged);
    let settings = json!({"kind": "HostFirmwareSettings", "spec": {"settings": {"BootMode": "Uefi"}}});
    assert_eq!(found(&host, settings, json!({})), [""; 0]);
    assert_eq!(found(&host, change("HostFirmwareSettings", "False", "True", 1), json!({})), [""; 0]);
}

#[test]
fn unseen_firmware_requests_can_be_carried_over() {
    let settings = || json!({"kind": "HostFirmwareSettings", "spec": {"settings": {"BootMode": "Uefi"}}});
    let warn = || json!({"pending-firmware": "warn"});
    for host in [free(), consumed(), paused(free(), "me")] {
        assert_eq!(found(&host, settings(), warn()), ["warn firmware-unseen"], "{host}");
        for finding in findings(&host, settings(), json!({})) {
            assert!(finding.remedy.ends_with("pending-firmware = \"warn\" in this plugin's configuration"));
        }
    }
    let stale = change("HostFirmwareSettings", "False", "True", 1);
    assert_eq!(found(&free(), stale, warn()), ["wait firmware-unseen"], "the operator compares the host");
}

#[test]
fn pending_firmware_stops_unless_configured() {
    let pending = || change("HostFirmwareSettings", "True", "True", 2);
    assert_eq!(found(&consumed(), pending(), json!({})), ["stop firmware-pending"]);
    assert_eq!(found(&consumed(), pending(), json!({"pending-firmware": "warn"})), ["warn firmware-pending"]);
}

#[test]
fn media_in_transition_are_reported() {
    let image = |wanted: &str, attached: &str| json!({"kind": "DataImage", "spec": {"url": wanted}, "status": {"attachedImage": {"url": attached}}});
    assert_eq!(found(&consumed(), image("http://a", ""), json!({})), ["wait media-pending"]);
    assert_eq!(found(&consumed(), image("http://a", "http://a"), json!({})), ["warn media-attached"]);
    assert_eq!(found(&consumed(), image("", ""), json!({})), [""; 0]);
}

/// The operator looks at neither before the host is attached again.
#[test]
fn detached_hosts_with_pending_changes_stop() {
    let detached = json!({
        "metadata": {"annotations": {"baremetalhost.metal3.io/detached": ""}},
        "status": {"operationalStatus": "detached"},
    });
    let host = with(consumed(), detached);
    let image = json!({"kind": "DataImage", "spec": {"url": "http://a"}});
    assert_eq!(found(&host, image, json!({})), ["stop media-pending"]);
    let unseen = change("HostFirmwareComponents", "False", "True", 1);
    assert_eq!(found(&host, unseen, json!({})), ["stop firmware-unseen"]);
}

#[test]
fn misspelt_configuration_is_reported() {
    let mut harness = source(&free());
    harness.set_config(json!({"pending-firmwear": "warn"}));
    let error = harness.check(Point::BeforePause).unwrap_err();
    assert!(error.message.contains("pending-firmware"), "{error}");
}
