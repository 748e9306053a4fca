//! Releasing hosts.

use pivot_sdk::{Object, Settlement, Side};
use serde_json::{Value, json};

use super::{Host, companions, consumed, free, paused, with};

const PAUSED: &str = "baremetalhost.metal3.io/paused";
const OURS: &str = "metal3-hosts.pivot-host.io";

/// A target with the copy of a host, in its state before the release.
fn target(host: &Value) -> (Host, Value) {
    let mut harness = Host::new();
    harness.set_namespaces(["metal3"]);
    let copy = harness.adapt(host).unwrap().patched_object().value().clone();
    harness.add_to_target(&copy);
    for companion in companions(host) {
        harness.add_to_target(companion);
    }
    (harness, copy)
}

fn answer(harness: &mut Host, host: &Value) -> String {
    match harness.settle(host).unwrap() {
        Settlement::Done => "done".into(),
        Settlement::Patch(patch) => match patch.patched_object().annotation(PAUSED) {
            None => "let go".into(),
            Some(by) => format!("paused by {by}"),
        },
        Settlement::Wait(finding) => format!("wait {}", finding.code),
        Settlement::Stop(finding) => format!("stop {}", finding.code),
    }
}

/// The host after the target's operator took it over: other credentials work, and it was registered.
fn taken_over(host: Value) -> Value {
    let status = json!({"status": {
        "goodCredentials": {"credentialsVersion": "9000"},
        "operationHistory": {"register": {"end": "2026-08-04T00:00:00Z"}},
    }});
    with(with(host, status), json!({"metadata": {"annotations": {PAUSED: null}}}))
}

#[test]
fn host_of_a_machine_settles_after_takeover() {
    let (mut harness, copy) = target(&paused(consumed(), "metal3.io/capm3"));
    assert_eq!(answer(&mut harness, &copy), "let go");
    let running = with(copy, json!({"metadata": {"annotations": {PAUSED: null}}}));
    assert_eq!(answer(&mut harness, &running), "wait not-registered", "no operator runs");
    assert_eq!(answer(&mut harness, &taken_over(running)), "done");
}

#[test]
fn drivers_settle_hosts_in_groups() {
    let group = |address: Value| {
        let host = with(free(), json!({"spec": {"bmc": {"address": address}}}));
        let (_, copy) = target(&host);
        copy["metadata"]["annotations"]["metal3-hosts.pivot-host.io/settle-group"].as_str().map(str::to_owned)
    };
    for (address, driver) in [
        ("redfish://192.168.110.16/redfish/v1/Systems/1", "redfish"),
        ("redfish+https://192.168.110.16", "redfish"),
        ("Redfish-VirtualMedia+http://192.168.110.16", "redfish-virtualmedia"),
        ("idrac-virtualmedia://[fd00::16]:443/x", "idrac-virtualmedia"),
        ("ipmi://192.168.110.16:6230", "ipmi"),
        ("192.168.110.16:6230", "ipmi"),
        ("[fd00::16]", "ipmi"),
    ] {
        assert_eq!(group(json!(address)).as_deref(), Some(driver), "{address}");
    }
    assert_eq!([group(json!("")), group(Value::Null)], [None, None]);
}

#[test]
fn free_host_passes_all_hooks() {
    let mut harness = Host::new();
    for companion in companions(&free()) {
        harness.add_to_target(companion);
    }
    harness.add_to_source(free()).set_namespaces(["metal3"]);
    let journey = harness.journey(free()).unwrap();
    assert_eq!(journey.held.annotation(PAUSED), Some(OURS));
    assert_eq!(journey.created.annotation(PAUSED), Some(OURS), "the operator must not see it without status");
    // A copy counts its generations from one.
    let status = Object::from(without_nulls(free())).get("/status").unwrap().to_string();
    let status: Value =
        serde_json::from_str(&status.replace("\"observedGeneration\":7", "\"observedGeneration\":1"))
            .unwrap();
    assert_eq!(journey.restored.get("/status"), Some(&status));
    assert_eq!(journey.open.unwrap().code, "not-registered");
    assert_eq!(journey.settled.annotation(PAUSED), None);
}

fn without_nulls(host: Value) -> Value {
    with(host, json!({"status": {"operationHistory": {"deprovision": {"start": null, "end": null}}}}))
}

#[test]
fn pause_by_a_user_is_kept() {
    let mut harness = Host::new();
    let journey = harness.journey(paused(consumed(), "maintenance")).unwrap();
    assert_eq!(journey.open, None);
    assert_eq!(journey.settled.annotation(PAUSED), Some("maintenance"));
    assert_eq!(journey.settled.annotation("metal3-hosts.pivot-host.io/before"), None);
}

#[test]
fn hosts_of_a_paused_cluster_stay_paused() {
    let (mut harness, copy) = target(&paused(consumed(), "metal3.io/capm3"));
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "edge", "namespace": "metal3"}, "spec": {"paused": true},
    });
    harness.add_to_target(&cluster);
    assert_eq!(answer(&mut harness, &copy), "paused by metal3.io/capm3");
    let back = paused(copy, "metal3.io/capm3");
    assert_eq!(answer(&mut harness, &back), "done");
    // Resumed in the meantime: from there on it is the provider's.
    harness.add_to_target(with(cluster, json!({"spec": {"paused": false}})));
    assert_eq!(answer(&mut harness, &back), "wait provider-pause");
}

#[test]
fn missing_credentials_or_hardware_prevent_unpausing() {
    let host = with(paused(consumed(), "metal3.io/capm3"), json!({"status": {"hardware": null}}));
    for (kind, name) in [(crate::names::SECRET, "rack1-u01-bmc"), (crate::names::HARDWARE, "rack1-u01")] {
        let (mut harness, copy) = target(&host);
        harness.remove_object(Side::Target, &kind.key_in("metal3", name));
        assert_eq!(answer(&mut harness, &copy), "wait not-complete", "{kind}");
    }
}

#[test]
fn copy_without_its_status_stays_paused() {
    let (mut harness, copy) = target(&paused(consumed(), "metal3.io/capm3"));
    assert_eq!(answer(&mut harness, &with(copy, json!({"status": null}))), "stop state-changed");
}

#[test]
fn deprovisioning_host_stops_with_a_pause_command() {
    let (mut harness, copy) = target(&paused(consumed(), "metal3.io/capm3"));
    let running = taken_over(copy);
    let wiped = with(running.clone(), json!({"status": {"provisioning": {"state": "deprovisioning"}}}));
    let Settlement::Stop(finding) = harness.settle(&wiped).unwrap() else { panic!() };
    assert_eq!(
        finding.message,
        "host metal3/rack1-u01: it was provisioned in the source and is deprovisioning in the target"
    );
    let command = finding.command.unwrap();
    assert_eq!(
        (command.side, command.to_string().as_str()),
        (
            Side::Target,
            "kubectl annotate -n metal3 baremetalhost rack1-u01 baremetalhost.metal3.io/paused=stop"
        )
    );
    for operation in ["inspect", "provision"] {
        let again = json!({"status": {"operationHistory": {operation: {"end": "2026-08-04T00:00:00Z"}}}});
        assert_eq!(answer(&mut harness, &with(running.clone(), again)), "stop touched-again");
    }
}

#[test]
fn settle_waits_for_transient_errors() {
    let (mut harness, copy) = target(&paused(consumed(), "metal3.io/capm3"));
    let running = taken_over(copy);
    for (status, waits) in [
        (json!({"errorType": "registration error", "operationalStatus": "error"}), "wait host-error"),
        (json!({"operationalStatus": "delayed"}), "wait not-ok"),
    ] {
        assert_eq!(answer(&mut harness, &with(running.clone(), json!({"status": status}))), waits);
    }
    let annotated = json!({"metadata": {"annotations": {"baremetalhost.metal3.io/status": "{}"}}});
    assert_eq!(answer(&mut harness, &with(running, annotated)), "wait not-reconciled");
}

#[test]
fn unmanaged_hosts_need_no_registration() {
    for host in [
        with(consumed(), json!({"status": {"operationalStatus": "detached"}})),
        with(
            free(),
            json!({"spec": {"bmc": null}, "status": {"operationalStatus": "discovered", "provisioning": {"state": "unmanaged"}}}),
        ),
    ] {
        let (mut harness, copy) = target(&paused(host, OURS));
        assert_eq!(answer(&mut harness, &copy), "let go");
        let running = with(copy, json!({"metadata": {"annotations": {PAUSED: null}}}));
        assert_eq!(answer(&mut harness, &running), "done");
    }
}

#[test]
fn equal_secret_versions_end_the_wait() {
    let (mut harness, copy) = target(&paused(consumed(), "metal3.io/capm3"));
    let secret = companions(&consumed()).remove(0);
    harness.add_to_target(with(secret, json!({"metadata": {"resourceVersion": "2237"}})));
    assert_eq!(
        answer(&mut harness, &with(copy, json!({"metadata": {"annotations": {PAUSED: null}}}))),
        "done"
    );
}

#[test]
fn objects_of_other_moves_are_ignored() {
    let mut harness = Host::new();
    assert_eq!(answer(&mut harness, &free()), "done");
    let policy = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "HostUpdatePolicy", "metadata": {"name": "a", "namespace": "m"}});
    assert_eq!(answer(&mut harness, &policy), "done");
}

#[test]
fn settle_waits_for_the_provider_pause() {
    let (mut harness, copy) = target(&paused(consumed(), "metal3.io/capm3"));
    assert_eq!(answer(&mut harness, &paused(copy, "metal3.io/capm3")), "wait provider-pause");
}

const BEFORE: &str = "metal3-hosts.pivot-host.io/before";

/// A free host after a Machine of the target took it: the Machine had waited for one.
fn taken(copy: &Value, state: &str) -> Value {
    let used = json!({
        "spec": {
            "consumerRef": {
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
                "name": "north-7qzpl", "namespace": "metal3",
            },
            "image": {"url": "http://172.22.0.1/images/other.raw"},
        },
        "status": {
            "provisioning": {"state": state},
            "operationHistory": {"provision": {"start": "2026-08-04T00:00:00Z", "end": null}},
        },
    });
    with(taken_over(copy.clone()), used)
}

#[test]
fn free_host_in_use_is_settled() {
    let (mut harness, copy) = target(&paused(free(), OURS));
    for state in ["preparing", "provisioning", "provisioned", "deprovisioning"] {
        assert_eq!(answer(&mut harness, &taken(&copy, state)), "done", "{state}");
        // A user gave it an image by hand, without a Machine; or a Machine took it whose bootstrap data are still missing.
        let by_hand = with(taken(&copy, state), json!({"spec": {"consumerRef": null}}));
        assert_eq!(answer(&mut harness, &by_hand), "done", "{state}");
        let no_image = with(taken(&copy, state), json!({"spec": {"image": null}}));
        assert_eq!(answer(&mut harness, &no_image), "done", "{state}");
    }
    // Paused since, by anyone, perhaps on the advice of an older version.
    assert_eq!(answer(&mut harness, &paused(taken(&copy, "provisioning"), "stop")), "done");
    // And released by its Machine again.
    let free_again = with(taken(&copy, "available"), json!({"spec": {"consumerRef": null, "image": null}}));
    assert_eq!(answer(&mut harness, &free_again), "done");
}

#[test]
fn unused_free_host_must_not_change() {
    let (mut harness, copy) = target(&paused(free(), OURS));
    for state in ["preparing", "provisioning", "provisioned", "deprovisioning", "inspecting"] {
        let unused = with(taken(&copy, state), json!({"spec": {"consumerRef": null, "image": null}}));
        assert_eq!(answer(&mut harness, &unused), "stop state-changed", "{state}");
    }
    // An operator that starts like this takes it for a new host, and will do the same with the next.
    for state in ["registering", "inspecting"] {
        assert_eq!(answer(&mut harness, &taken(&copy, state)), "stop state-changed", "{state}");
    }
    let held = paused(taken(&copy, "provisioning"), OURS);
    assert_eq!(answer(&mut harness, &held), "stop state-changed", "the pause forbids changes");
    let inspected = json!({"status": {"operationHistory": {"inspect": {"end": "2026-08-04T00:00:00Z"}}}});
    assert_eq!(answer(&mut harness, &with(taken_over(copy), inspected)), "stop touched-again");
}

#[test]
fn pending_operations_are_no_new_use() {
    let waiting =
        with(taken(&free(), "available"), json!({"status": {"operationHistory": {"provision": null}}}));
    let (mut harness, copy) = target(&paused(waiting, OURS));
    assert_eq!(answer(&mut harness, &taken(&copy, "provisioning")), "stop state-changed");
    // The host of a machine has a written image: another image wipes it, whoever set it.
    let (mut harness, copy) = target(&paused(consumed(), "metal3.io/capm3"));
    assert_eq!(answer(&mut harness, &taken(&copy, "deprovisioning")), "stop state-changed");
}

#[test]
fn note_of_older_version_means_unused_host() {
    let (mut harness, copy) = target(&paused(free(), OURS));
    let note = r#"{"state":"available","inspected":["2026-08-03T08:21:41Z","2026-08-03T08:31:58Z"],"provisioned":[null,null],"credentials":"2237"}"#;
    let older = with(copy, json!({"metadata": {"annotations": {BEFORE: note}}}));
    assert_eq!(answer(&mut harness, &taken(&older, "provisioning")), "done");
    assert_eq!(answer(&mut harness, &taken_over(older.clone())), "done");
    let wiped = with(taken_over(older), json!({"status": {"provisioning": {"state": "deprovisioning"}}}));
    assert_eq!(answer(&mut harness, &wiped), "stop state-changed");
}
