//! The target: hosts in the way, and whether the copies are complete.

use pivot_sdk::test::codes;
use pivot_sdk::{Point, Side};
use serde_json::{Value, json};

use crate::machine::Bmc;

use super::{Host, companions, consumed, free, paused, source, with};

#[test]
fn same_host_name_requires_same_machine() {
    let mut harness = source(&free());
    harness.add_to_target(with(free(), json!({"spec": {"bootMACAddress": "02:00:5E:00:01:61"}})));
    assert!(harness.check(Point::BeforePause).unwrap().is_empty(), "the same address, written otherwise");
    harness.add_to_target(with(free(), json!({"spec": {"bootMACAddress": "02:00:5e:00:01:99"}})));
    assert_eq!(codes(&harness.check(Point::BeforePause).unwrap()), ["other-machine"]);
}

#[test]
fn machine_under_another_name_stops() {
    let mut harness = source(&free());
    harness.add_to_target(with(free(), json!({"metadata": {"name": "node-6"}})));
    let findings = harness.check(Point::BeforePause).unwrap();
    assert_eq!(codes(&findings), ["same-machine"]);
    assert!(findings[0].message.contains("host metal3/node-6"));
}

fn before_pause(here: Value, there: Value) -> Vec<String> {
    let mut harness = source(&with(free(), here));
    harness.add_to_target(with(free(), there));
    codes(&harness.check(Point::BeforePause).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn management_controller_identifies_machines_without_mac_address() {
    let no_mac = || json!({"spec": {"bootMACAddress": null}});
    let elsewhere = |change| with(json!({"metadata": {"name": "node-6"}}), change);
    let moved = || json!({"spec": {"bmc": {"address": "redfish://192.168.110.99"}}});
    let written = "redfish-virtualmedia+https://192.168.110.16:443/redfish/v1/Systems/1/";
    let otherwise = || json!({"spec": {"bootMACAddress": null, "bmc": {"address": written}}});
    let other_mac = json!({"spec": {"bootMACAddress": "02:00:5e:00:01:99"}});

    assert_eq!(before_pause(no_mac(), elsewhere(json!({}))), ["same-machine"]);
    assert_eq!(before_pause(json!({}), elsewhere(otherwise())), ["same-machine"]);
    assert_eq!(
        before_pause(json!({}), elsewhere(other_mac)),
        ["same-machine"],
        "another port of the machine"
    );
    assert_eq!(before_pause(no_mac(), elsewhere(moved())), [""; 0]);

    assert_eq!(before_pause(no_mac(), json!({})), [""; 0]);
    assert_eq!(before_pause(json!({}), otherwise()), [""; 0]);
    assert_eq!(before_pause(no_mac(), moved()), ["other-machine"]);
    assert_eq!(before_pause(json!({}), moved()), [""; 0], "the controller got another address");
}

#[test]
fn machines_that_cannot_be_compared_are_reported() {
    let no_mac = json!({"spec": {"bootMACAddress": null}});
    let no_bmc = json!({"spec": {"bmc": {"address": null}}});
    let neither = with(no_mac.clone(), no_bmc.clone());
    for (here, there, told) in [
        (&no_mac, &no_bmc, true),
        (&no_bmc, &no_mac, true),
        (&neither, &json!({}), true),
        (&json!({}), &neither, true),
        (&no_mac, &no_mac, false),
        (&no_bmc, &no_bmc, false),
    ] {
        for name in ["rack1-u06", "node-6"] {
            let other = json!({"metadata": {"name": name}, "spec": {
                "bootMACAddress": "02:00:5e:00:01:99", "bmc": {"address": "redfish://192.168.110.99"},
            }});
            let mut harness = source(&with(free(), here.clone()));
            harness.add_to_target(with(with(free(), other), there.clone()));
            let findings = harness.check(Point::BeforePause).unwrap();
            let told_of = findings.iter().any(|found| found.code == "machine-unknown");
            assert_eq!(told_of, told, "{name}: {here} and {there}: {findings:?}");
            assert!(!told || findings.iter().all(|found| found.severity == pivot_sdk::Severity::Warn));
        }
    }
    assert!(
        source(&neither_at_all()).check(Point::BeforePause).unwrap().is_empty(),
        "no host can be compared"
    );
}

fn neither_at_all() -> Value {
    with(free(), json!({"spec": {"bootMACAddress": null, "bmc": {"address": null}}}))
}

#[test]
fn management_controller_addresses_are_normalized() {
    for (one, other, same) in [
        ("redfish://10.0.0.1/redfish/v1/Systems/1", "redfish://10.0.0.1/redfish/v1/Systems/1/", true),
        ("redfish://10.0.0.1/a", "redfish-virtualmedia://10.0.0.1/a", true),
        ("redfish://10.0.0.1/a", "redfish+https://10.0.0.1:443/a", true),
        ("redfish+http://10.0.0.1:80/a", "redfish://10.0.0.1/a", true),
        ("idrac-virtualmedia+https://BMC.example.com/a", "idrac-redfish://bmc.Example.com:443/a", true),
        ("ipmi://10.0.0.1", "10.0.0.1:623", true),
        ("10.0.0.1", "redfish://10.0.0.1/a", true),
        ("redfish://[fd00::1]:443/a", "redfish://[FD00:0::1]/a", true),
        ("fd00::1", "ipmi://[fd00::1]:623", true),
        ("libvirt://10.0.0.1:6233/", "ipmi://10.0.0.1:6233", true),
        ("ipmi://10.0.0.1:6233", "ipmi://10.0.0.1:6234", false),
        ("ipmi://10.0.0.1:443", "ipmi://10.0.0.1", false),
        ("redfish://10.0.0.1/a", "redfish://10.0.0.2/a", false),
        ("redfish://10.0.0.1:8000/a", "redfish://10.0.0.1/a", false),
        (
            "redfish+http://10.0.0.1:8000/redfish/v1/Systems/1",
            "redfish+http://10.0.0.1:8000/redfish/v1/Systems/2",
            false,
        ),
        ("redfish://10.0.0.1/Systems/a", "redfish://10.0.0.1/Systems/A", false),
    ] {
        let [one_is, other_is] = [one, other].map(|address| Bmc::parse(address).unwrap());
        assert_eq!(one_is.is_same_machine(&other_is), same, "{one} and {other}");
        assert_eq!(other_is.is_same_machine(&one_is), same, "{other} and {one}");
        assert!(one_is.host == other_is.host || !same, "{one} and {other} are looked for under one name");
    }
    for nothing in ["", "redfish://", " "] {
        assert_eq!(Bmc::parse(nothing), None);
    }
}

/// Both sides after copying.
fn copied(change: Value) -> Host {
    let host = paused(consumed(), "metal3.io/capm3");
    let mut harness = source(&host);
    harness.add_to_target(with(paused(host.clone(), "metal3-hosts.pivot-host.io"), change));
    for companion in companions(&host) {
        harness.add_to_target(companion);
    }
    harness
}

#[test]
fn complete_copies_pass_before_commit() {
    assert!(copied(json!({})).check(Point::BeforeCommit).unwrap().is_empty());
    assert!(copied(json!({})).check(Point::AfterResume).unwrap().is_empty());
}

#[test]
fn copy_open_to_provisioning_prevents_commit() {
    let check = |change| codes(&copied(change).check(Point::BeforeCommit).unwrap()).join(" ");
    assert_eq!(check(json!({"status": null})), "copy-without-status");
    assert_eq!(check(json!({"status": {"provisioning": {"state": "registering"}}})), "copy-without-status");
    assert_eq!(check(json!({"metadata": {"annotations": null}})), "copy-not-paused");
}

#[test]
fn incomplete_copy_prevents_commit() {
    for (kind, name, code) in [
        (crate::names::HOST, "rack1-u01", "no-copy"),
        (crate::names::SECRET, "rack1-u01-bmc", "copy-lacks-secret"),
        (crate::names::HARDWARE, "rack1-u01", "copy-lacks-hardware"),
    ] {
        let mut harness = copied(json!({}));
        harness.remove_object(Side::Target, &kind.key_in("metal3", name));
        assert_eq!(codes(&harness.check(Point::BeforeCommit).unwrap()), [code]);
    }
}
