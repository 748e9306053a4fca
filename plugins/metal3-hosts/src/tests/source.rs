//! Before the pause: hosts at rest.

use pivot_sdk::test::codes;
use pivot_sdk::{Point, Side};
use serde_json::{Value, json};

use super::{Host, companions, consumed, free, paused, source, with};

/// The findings about a host before the pause, by severity and code.
fn found(host: &Value) -> Vec<String> {
    let findings = source(host).check(Point::BeforePause).unwrap();
    findings.iter().map(|found| format!("{} {}", found.severity.as_str(), found.code)).collect()
}

fn in_state(host: Value, state: &str) -> Value {
    with(host, json!({"status": {"provisioning": {"state": state}}}))
}

fn asked_to_detach(host: Value, value: &str) -> Value {
    with(host, json!({"metadata": {"annotations": {"baremetalhost.metal3.io/detached": value}}}))
}

fn detached(host: Value) -> Value {
    with(
        asked_to_detach(host, r#"{"deleteAction": "delay"}"#),
        json!({"status": {"operationalStatus": "detached"}}),
    )
}

#[test]
fn hosts_at_rest_move() {
    let external = with(
        in_state(consumed(), "externally provisioned"),
        json!({"spec": {"externallyProvisioned": true, "image": null, "consumerRef": null}}),
    );
    let unmanaged = with(
        in_state(free(), "unmanaged"),
        json!({"spec": {"bmc": null}, "status": {"operationalStatus": "discovered"}}),
    );
    let kept_unmanaged = asked_to_detach(unmanaged.clone(), "");
    for host in [
        consumed(),
        free(),
        in_state(free(), "ready"),
        detached(consumed()),
        detached(free()),
        detached(external.clone()),
        external,
        unmanaged,
        kept_unmanaged,
        paused(free(), "me"),
    ] {
        assert_eq!(found(&host), [""; 0], "{host}");
    }
}

#[test]
fn check_waits_for_work_in_progress() {
    for state in
        ["", "registering", "inspecting", "preparing", "match profile", "provisioning", "deprovisioning"]
    {
        assert_eq!(found(&in_state(free(), state)), ["wait being-worked-on"], "{state}");
    }
    for status in ["", "delayed", "servicing"] {
        let host = with(free(), json!({"status": {"operationalStatus": status}}));
        assert_eq!(found(&host), ["wait not-settled"], "{status}");
    }
    let condition = json!([{"type": "Progressing", "status": "True"}]);
    assert_eq!(found(&with(free(), json!({"status": {"conditions": condition}}))), ["wait progressing"]);
}

#[test]
fn work_under_a_pause_stops_the_move() {
    assert_eq!(found(&paused(in_state(free(), "inspecting"), "me")), ["stop being-worked-on"]);
}

#[test]
fn pauses_of_a_move_are_left_alone() {
    for (pause, advice) in [
        ("me", "take the pause away, let the operator finish, and move again"),
        ("metal3.io/capm3", "leave the pause to the move or the Cluster"),
        ("metal3-hosts.pivot-host.io", "leave the pause to the move or the Cluster"),
    ] {
        let host = paused(in_state(consumed(), "inspecting"), pause);
        let stops = source(&host).check(Point::BeforePause).unwrap();
        assert!(stops[0].remedy.starts_with(advice), "{pause}: {}", stops[0].remedy);
    }
}

#[test]
fn wait_ends_when_the_host_rests() {
    let mut harness = source(&in_state(free(), "inspecting"));
    let waits = harness.check(Point::BeforePause).unwrap();
    assert_eq!(waits[0].message, "host metal3/rack1-u06: it is inspecting");
    let command = waits[0].command.as_ref().unwrap();
    assert_eq!(
        (command.side, command.to_string().as_str()),
        (Side::Source, "kubectl get -n metal3 baremetalhost rack1-u06")
    );
    harness.add_to_source(free());
    assert!(harness.check(Point::BeforePause).unwrap().is_empty());
}

#[test]
fn deleted_or_broken_hosts_stop_the_move() {
    let deleted = with(free(), json!({"metadata": {"deletionTimestamp": "2026-08-03T09:46:13Z"}}));
    assert_eq!(found(&deleted), ["stop being-deleted"]);
    for state in ["deleting", "powering off before delete"] {
        assert_eq!(found(&in_state(free(), state)), ["stop being-deleted"]);
    }
    assert_eq!(found(&in_state(free(), "dreaming")), ["stop unknown-state"]);
    for status in [
        json!({"operationalStatus": "error"}),
        json!({"operationalStatus": "error", "errorType": "power management error"}),
        json!({"errorType": "registration error"}),
    ] {
        assert_eq!(found(&with(free(), json!({"status": status}))), ["stop host-error"], "{status}");
    }
    assert_eq!(
        found(&with(free(), json!({"status": {"operationalStatus": "dizzy"}}))),
        ["stop unknown-status"]
    );
}

#[test]
fn changed_image_stops_the_move() {
    let url = |url: Value| with(consumed(), json!({"spec": {"image": {"url": url}}}));
    for host in [
        url(json!("http://172.22.0.1/images/newer.raw")),
        url(json!("")),
        with(consumed(), json!({"spec": {"image": null}})),
        with(consumed(), json!({"status": {"provisioning": {"customDeploy": {"method": "install_coreos"}}}})),
        with(
            consumed(),
            json!({"spec": {"customDeploy": {"method": "b"}}, "status": {"provisioning": {"customDeploy": {"method": "a"}}}}),
        ),
    ] {
        assert_eq!(found(&host), ["stop image-differs"], "{host}");
    }
    // A user's pause prevents it, there as here.
    assert_eq!(found(&paused(url(json!("http://other")), "me")), ["warn image-differs"]);
    // A custom deployment needs no image.
    let custom = json!({
        "spec": {"image": null, "customDeploy": {"method": "install_coreos"}},
        "status": {"provisioning": {"image": null, "customDeploy": {"method": "install_coreos"}}},
    });
    assert_eq!(found(&with(consumed(), custom)), [""; 0]);
}

#[test]
fn check_waits_for_imminent_work() {
    let chosen = with(free(), json!({"spec": {"online": true, "image": {"url": "http://new"}}}));
    assert_eq!(found(&chosen), ["wait about-to-change"]);
    assert_eq!(found(&in_state(consumed(), "externally provisioned")), ["wait about-to-change"]);
    assert_eq!(
        found(&with(free(), json!({"spec": {"externallyProvisioned": true}}))),
        ["wait about-to-change"]
    );
}

#[test]
fn check_waits_until_hosts_are_detached_or_attached() {
    let attached_again = with(consumed(), json!({"status": {"operationalStatus": "detached"}}));
    for host in [asked_to_detach(consumed(), ""), asked_to_detach(free(), "{}"), attached_again] {
        assert_eq!(found(&host), ["wait about-to-change"], "{host}");
        for pause in ["metal3-hosts.pivot-host.io", "metal3.io/capm3", "me"] {
            assert_eq!(found(&paused(host.clone(), pause)), [""; 0], "paused on both sides: {pause}");
        }
    }
    let forced = asked_to_detach(in_state(free(), "inspecting"), r#"{"force": true}"#);
    assert_eq!(found(&forced), ["wait being-worked-on"]);
}

/// The operator does none of it before the host is attached again, and the copy is detached, too.
#[test]
fn detached_hosts_make_no_move_wait() {
    let reboot = json!({"metadata": {"annotations": {"reboot.metal3.io": ""}}});
    assert_eq!(found(&with(detached(consumed()), reboot)), ["stop reboot-pending"]);
    let other_image = json!({"spec": {"image": {"url": "http://other"}}});
    assert_eq!(found(&with(detached(consumed()), other_image.clone())), ["warn image-differs"]);
    let chosen = with(detached(free()), json!({"spec": {"online": true, "image": {"url": "http://new"}}}));
    assert_eq!(found(&chosen), [""; 0]);
    let attached_again = with(consumed(), json!({"status": {"operationalStatus": "detached"}}));
    assert_eq!(found(&with(attached_again, other_image)), ["stop image-differs", "wait about-to-change"]);
}

#[test]
fn check_waits_for_requested_reboots_and_inspections() {
    let annotated =
        |name: &str, value: &str| with(free(), json!({"metadata": {"annotations": {name: value}}}));
    assert_eq!(found(&annotated("reboot.metal3.io", "")), ["wait reboot-pending"]);
    assert_eq!(found(&annotated("reboot.metal3.io/capm3-remediation", "")), ["wait reboot-pending"]);
    assert_eq!(found(&annotated("inspect.metal3.io", "")), ["wait inspection-pending"]);
    assert_eq!(found(&annotated("inspect.metal3.io", "disabled")), [""; 0]);
    assert_eq!(found(&annotated("reboot.metal3.ioux", "")), [""; 0]);
}

#[test]
fn missing_credentials_stop_and_other_secrets_warn() {
    let without = |name: &str| {
        let mut harness = Host::new();
        harness.add_to_source(consumed());
        for companion in companions(&consumed()).into_iter().filter(|it| it["metadata"]["name"] != name) {
            harness.add_to_source(companion);
        }
        let findings = harness.check(Point::BeforePause).unwrap();
        findings
            .into_iter()
            .map(|found| format!("{} {}", found.severity.as_str(), found.code))
            .collect::<Vec<_>>()
    };
    assert_eq!(without("rack1-u01-bmc"), ["stop secret-missing"]);
    assert_eq!(without("edge-4xk2d"), ["warn secret-missing"]);
    let elsewhere = with(consumed(), json!({"spec": {"userData": {"namespace": "other"}}}));
    assert_eq!(found(&elsewhere), ["warn secret-elsewhere"]);
}

#[test]
fn missing_hardware_of_machines_is_reported() {
    let mut harness = source(&consumed());
    let key = crate::names::HARDWARE.key_in("metal3", "rack1-u01");
    harness.remove_object(pivot_sdk::Side::Source, &key);
    assert_eq!(codes(&harness.check(Point::BeforePause).unwrap()), ["no-hardware-data"]);
}

#[test]
fn hosts_that_stay_are_reported() {
    let mut harness = source(&consumed());
    let moving = crate::names::HOST.key_in("metal3", "rack1-u01");
    harness.add_to_source(free()).set_moving_objects([&moving]);
    let findings = harness.check(Point::BeforePause).unwrap();
    assert_eq!(codes(&findings), ["hosts-stay"]);
    assert!(findings[0].message.contains("rack1-u06"));
}

#[test]
fn check_waits_for_a_missing_host() {
    let mut harness = source(&consumed());
    let gone = crate::names::HOST.key_in("metal3", "gone");
    let there = crate::names::HOST.key_in("metal3", "rack1-u01");
    harness.set_moving_objects([&gone, &there]);
    assert_eq!(codes(&harness.check(Point::BeforePause).unwrap()), ["host-gone"]);
}

#[test]
fn kinds_missing_in_older_operators_are_fine() {
    let mut harness = source(&consumed());
    let missing = pivot_sdk::Error::new("no-such-kind", "the source has no HostFirmwareComponents");
    harness.fail_reads(pivot_sdk::Side::Source, &crate::names::COMPONENTS, missing);
    assert!(harness.check(Point::BeforePause).unwrap().is_empty());
    let denied = pivot_sdk::Error::new("denied", "not granted");
    harness.fail_reads(pivot_sdk::Side::Source, &crate::names::HOST, denied);
    assert!(harness.check(Point::BeforePause).unwrap_err().is_denied());
}

#[test]
fn hundreds_of_findings_are_truncated() {
    let mut harness = Host::new();
    for number in 0..300 {
        let name = format!("host-{number:03}");
        harness.add_to_source(with(
            in_state(free(), "inspecting"),
            json!({"metadata": {"name": name}, "spec": {"bmc": null}}),
        ));
    }
    let findings = harness.check(Point::BeforePause).unwrap();
    assert_eq!((findings.len(), &*findings[200].code), (201, "more"));
}
