use pivot_sdk::test::Harness;
use pivot_sdk::{Kind, Point};
use serde_json::json;

use super::*;

#[test]
fn healthy_cluster_and_machines_are_fine() {
    let truths = conditions(&[
        ("Available", "True"),
        ("Ready", "True"),
        ("NodeHealthy", "True"),
        ("RollingOut", "False"),
    ]);
    let status = json!({"status": {"conditions": truths}});
    let all = [core("Cluster", "edge", status.clone()), core("Machine", "m", status)];
    assert_eq!((before(&all), after(&all)), (vec![], vec![]));
}

#[test]
fn false_conditions_are_reported_with_reasons() {
    let open = json!({"status": {"conditions": [
        {"type": "Available", "status": "False", "reason": "NotAvailable", "message": "* etcd: no quorum"},
        {"type": "RemoteConnectionProbe", "status": "Unknown", "reason": "ProbeFailed"},
    ]}});
    let found = before(&[core("Cluster", "edge", open)]);
    assert_eq!(told(&found), ["wait not-ready"]);
    assert_eq!(
        found[0].message,
        "conditions are not true: Available (NotAvailable: * etcd: no quorum), RemoteConnectionProbe (ProbeFailed)"
    );
    let command = found[0].command.as_ref().unwrap();
    assert_eq!(command.to_string(), "kubectl describe -n metal3 Cluster.cluster.x-k8s.io edge");
}

#[test]
fn every_contract_is_understood() {
    for status in [
        json!({"conditions": conditions(&[("Ready", "False")])}),
        json!({"v1beta2": {"conditions": conditions(&[("Available", "False")])}}),
        json!({"deprecated": {"v1beta1": {"conditions": conditions(&[("Ready", "False")])}}}),
    ] {
        let found = before(&[core("Machine", "m", json!({"status": status.clone()}))]);
        assert_eq!(told(&found), ["wait not-ready"], "{status}");
    }
}

#[test]
fn newest_contract_decides_as_a_whole() {
    let status = json!({
        "conditions": conditions(&[("Available", "True")]),
        "deprecated": {"v1beta1": {"conditions": conditions(&[("Ready", "False")])}},
    });
    assert_eq!(before(&[core("Cluster", "edge", json!({"status": status}))]), []);
}

#[test]
fn control_planes_are_checked_without_templates() {
    let open = json!({"status": {"conditions": conditions(&[("EtcdClusterHealthy", "False")])}});
    for kind in ["KubeadmControlPlane", "RKE2ControlPlane"] {
        assert_eq!(told(&before(&[control_plane(kind, open.clone())])), ["wait not-ready"], "{kind}");
    }
    assert_eq!(before(&[control_plane("KubeadmControlPlaneTemplate", open)]), []);
}

#[test]
fn deployments_sets_and_pools_are_checked() {
    for kind in ["MachineDeployment", "MachineSet", "MachinePool"] {
        let open = json!({"status": {"conditions": conditions(&[("Available", "False")])}});
        assert_eq!(told(&before(&[core(kind, "workers", open)])), ["wait not-ready"], "{kind}");
    }
}

#[test]
fn permanent_failure_stops_the_move() {
    for status in [
        json!({"failureReason": "CreateError"}),
        json!({"deprecated": {"v1beta1": {"failureMessage": "no such image"}}}),
        json!({"phase": "Failed"}),
    ] {
        let found = before(&[core("Machine", "m", json!({"status": status.clone()}))]);
        assert_eq!(told(&found), ["stop failed"], "{status}");
    }
}

#[test]
fn paused_objects_are_not_checked() {
    let open = |paused| {
        let status = json!({"conditions": conditions(&[("Ready", "False")])});
        [
            core("Cluster", "edge", json!({"spec": {"paused": paused}, "status": status})),
            core("Machine", "m", json!({"spec": {"clusterName": "edge"}, "status": status})),
            control_plane(
                "KubeadmControlPlane",
                json!({
                    "metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "edge"}}, "status": status,
                }),
            ),
        ]
    };
    assert_eq!(before(&open(true)), []);
    assert_eq!(before(&open(false)).len(), 3);
    let by_annotation = json!({
        "metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}, "status": {"phase": "Failed"},
    });
    assert_eq!(before(&[core("Machine", "m", by_annotation)]), []);
}

#[test]
fn objects_that_stay_are_not_checked() {
    let open = |name| core("Cluster", name, json!({"status": {"phase": "Failed"}}));
    let mut harness = Harness::<Readiness>::new();
    harness.add_to_source(open("edge")).add_to_source(open("stays"));
    harness.set_moving_objects(&[Kind::new("cluster.x-k8s.io", "Cluster").key_in("metal3", "edge")]);
    assert_eq!(harness.check(Point::BeforePause).unwrap().len(), 1);
}

#[test]
fn copy_without_a_status_is_awaited() {
    let all = [
        core("Cluster", "edge", json!({})),
        core("Machine", "m", json!({})),
        core("MachineSet", "workers-1", json!({})),
        control_plane("KubeadmControlPlane", json!({})),
        control_plane("OtherControlPlane", json!({})),
    ];
    assert_eq!(before(&all), []);
    assert_eq!(told(&after(&all)), ["wait no-status"; 3]);
}

/// Closed, then opened while the move waits.
#[test]
fn true_condition_ends_the_wait() {
    let machine =
        |status| core("Machine", "m", json!({"status": {"conditions": conditions(&[("Ready", status)])}}));
    let mut harness = Harness::<Readiness>::new();
    harness.add_to_source(machine("True")).add_to_target(machine("Unknown"));
    assert_eq!(told(&harness.check(Point::AfterResume).unwrap()), ["wait not-ready"]);
    harness.add_to_target(machine("True"));
    assert_eq!(harness.check(Point::AfterResume).unwrap(), []);
}

/// The host accepts a thousand findings, a person fewer.
#[test]
fn similar_findings_are_summed_up() {
    let status = json!({"status": {"conditions": conditions(&[("Ready", "False")])}});
    let all: Vec<_> = (0..2000).map(|n| core("Machine", &format!("m-{n:04}"), status.clone())).collect();
    let found = before(&all);
    assert_eq!(found.len(), 21);
    assert_eq!(found[20].message, "and likewise 1980 more objects of kind Machine.cluster.x-k8s.io");
}
