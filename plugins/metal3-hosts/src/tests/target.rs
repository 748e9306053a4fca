//! The target: who is in the way, and whether the copies are whole.

use pivot_sdk::test::codes;
use pivot_sdk::{Point, Side};
use serde_json::{Value, json};

use super::{Host, companions, consumed, free, paused, source, with};

#[test]
fn a_host_of_the_same_name_must_be_the_same_machine() {
    let mut harness = source(&free());
    harness.target(with(free(), json!({"spec": {"bootMACAddress": "02:00:5E:00:01:61"}})));
    assert!(harness.check(Point::BeforePause).unwrap().is_empty(), "the same address, written otherwise");
    harness.target(with(free(), json!({"spec": {"bootMACAddress": "02:00:5e:00:01:99"}})));
    assert_eq!(codes(&harness.check(Point::BeforePause).unwrap()), ["other-machine"]);
}

#[test]
fn a_machine_may_not_be_known_by_another_name() {
    let mut harness = source(&free());
    harness.target(with(free(), json!({"metadata": {"name": "node-6"}})));
    let findings = harness.check(Point::BeforePause).unwrap();
    assert_eq!(codes(&findings), ["same-machine"]);
    assert!(findings[0].message.contains("host metal3/node-6"));
}

/// Both sides after copying.
fn copied(change: Value) -> Host {
    let host = paused(consumed(), "metal3.io/capm3");
    let mut harness = source(&host);
    harness.target(with(paused(host.clone(), "metal3-hosts.pivot-host.io"), change));
    for companion in companions(&host) {
        harness.target(companion);
    }
    harness
}

#[test]
fn whole_copies_may_be_committed() {
    assert!(copied(json!({})).check(Point::BeforeCommit).unwrap().is_empty());
    assert!(copied(json!({})).check(Point::AfterResume).unwrap().is_empty());
}

#[test]
fn a_copy_that_would_be_provisioned_again_is_not_committed() {
    let check = |change| codes(&copied(change).check(Point::BeforeCommit).unwrap()).join(" ");
    assert_eq!(check(json!({"status": null})), "copy-without-status");
    assert_eq!(check(json!({"status": {"provisioning": {"state": "registering"}}})), "copy-without-status");
    assert_eq!(check(json!({"metadata": {"annotations": null}})), "copy-not-paused");
}

#[test]
fn a_copy_that_lacks_something_is_not_committed() {
    for (kind, name, code) in [
        (crate::names::HOST, "rack1-u01", "no-copy"),
        (crate::names::SECRET, "rack1-u01-bmc", "copy-lacks-secret"),
        (crate::names::HARDWARE, "rack1-u01", "copy-lacks-hardware"),
    ] {
        let mut harness = copied(json!({}));
        harness.remove(Side::Target, &kind.named("metal3", name));
        assert_eq!(codes(&harness.check(Point::BeforeCommit).unwrap()), [code]);
    }
}
