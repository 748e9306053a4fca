//! Exactly one side serves.

use pivot_sdk::{Point, Side};
use serde_json::json;

use super::Host;

#[test]
fn running_source_warns_with_a_stop_command() {
    let mut host = Host::new();
    host.deployment(Side::Source, 1, 1);
    let found = host.check(Point::BeforePause);
    assert_eq!((found[0].severity.as_str(), &*found[0].code), ("warn", "source-still-up"));
    let command = found[0].command.as_ref().unwrap();
    assert_eq!(command.side, Side::Source);
    assert_eq!(
        command.to_string(),
        "kubectl scale -n baremetal-operator-system deployment capm3-ironic --replicas=0"
    );
    assert!(found[0].message.contains("at the target's address"));
    // The Pods are still terminating.
    assert_eq!(host.deployment(Side::Source, 0, 1).found(), ["warn source-still-up"]);
    assert_eq!(host.deployment(Side::Source, 0, 0).found(), [""; 0]);
}

#[test]
fn both_sides_at_one_address_prevent_commit() {
    let mut host = Host::new();
    host.deployment(Side::Source, 1, 1);
    assert_eq!(host.at(Point::AfterPause), ["warn source-still-up"]);
    for point in [Point::BeforeCommit, Point::AfterResume] {
        assert_eq!(host.at(point), ["wait both-serve"]);
    }
    host.map(Side::Source, json!({"PROVISIONING_IP": "172.22.0.3"}));
    assert_eq!(host.at(Point::BeforeCommit), ["warn source-still-up"]);
    host.deployment(Side::Source, 0, 0);
    assert_eq!(host.at(Point::BeforeCommit), [""; 0]);
}

#[test]
fn source_answer_does_not_count_for_target() {
    let mut host = Host::new();
    host.deployment(Side::Source, 1, 1).deployment(Side::Target, 1, 0);
    assert_eq!(host.found(), ["warn source-still-up", "wait target-not-up"]);
    let off = host.deployment(Side::Target, 0, 0).check(Point::BeforePause).remove(1);
    let start = "kubectl scale -n baremetal-operator-system deployment capm3-ironic --replicas=1";
    assert_eq!(off.command.as_ref().unwrap().to_string(), start);
}

#[test]
fn configured_point_delays_the_wait_for_target() {
    for (up, first) in [
        ("after-pause", Point::AfterPause),
        ("before-commit", Point::BeforeCommit),
        ("after-resume", Point::AfterResume),
    ] {
        let mut host = Host::new();
        host.deployment(Side::Target, 0, 0).set_config(json!({"up": up}));
        for point in [Point::BeforePause, Point::AfterPause, Point::BeforeCommit, Point::AfterResume] {
            let found = host.at(point);
            assert_eq!(!found.is_empty(), point >= first, "{up}: {found:?}");
        }
    }
}
