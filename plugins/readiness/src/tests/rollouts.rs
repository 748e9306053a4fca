use serde_json::json;

use super::*;

#[test]
fn check_waits_for_a_rollout() {
    for sign in ["RollingOut", "ScalingUp", "ScalingDown", "Remediating"] {
        let deployment =
            core("MachineDeployment", "w", json!({"status": {"conditions": conditions(&[(sign, "True")])}}));
        let found = before(&[deployment]);
        assert_eq!(told(&found), ["wait rolling-out"], "{sign}");
        assert!(found[0].message.contains(sign), "{}", found[0].message);
    }
    let updating =
        core("Machine", "m", json!({"status": {"conditions": conditions(&[("Updating", "True")])}}));
    assert_eq!(told(&before(&[updating])), ["wait rolling-out"]);
}

#[test]
fn old_contract_reports_the_inverse_condition() {
    for sign in ["MachinesSpecUpToDate", "Resized"] {
        let status = json!({"status": {"conditions": conditions(&[(sign, "False")])}});
        assert_eq!(
            told(&before(&[control_plane("KubeadmControlPlane", status)])),
            ["wait rolling-out"],
            "{sign}"
        );
    }
}

#[test]
fn outdated_machines_are_a_rollout() {
    for status in [
        json!({"replicas": 3, "upToDateReplicas": 1}),
        json!({"replicas": 3, "v1beta2": {"upToDateReplicas": 1}}),
        json!({"replicas": 3, "updatedReplicas": 1}),
    ] {
        let found = before(&[control_plane(
            "KubeadmControlPlane",
            json!({"spec": {"replicas": 3}, "status": status}),
        )]);
        assert_eq!(told(&found), ["wait rolling-out"], "{status}");
        assert_eq!(found[0].message, "its machines are being changed: 1 of 3 machines are up to date");
    }
}

#[test]
fn check_waits_for_the_wanted_machine_count() {
    for (status, message) in [
        (json!({"replicas": 2}), "2 of 3 machines are there"),
        (json!({"replicas": 4}), "4 of 3 machines are there"),
        (json!({"replicas": 3, "readyReplicas": 2}), "2 of 3 machines are ready"),
    ] {
        let set = core("MachineSet", "w-1", json!({"spec": {"replicas": 3}, "status": status}));
        let found = before(std::slice::from_ref(&set));
        assert_eq!(told(&found), ["wait machines-missing"]);
        assert_eq!(found[0].message, message);
        assert_eq!(told(&after(&[set])), ["wait machines-missing"]);
    }
}

#[test]
fn old_revision_of_a_deployment_is_fine() {
    let set = core(
        "MachineSet",
        "w-1",
        json!({"spec": {"replicas": 0}, "status": {"replicas": 0, "upToDateReplicas": 0}}),
    );
    assert_eq!(before(&[set]), []);
}

#[test]
fn check_waits_for_unobserved_changes() {
    let lagging = core(
        "MachineDeployment",
        "w",
        json!({
            "metadata": {"generation": 3}, "status": {"observedGeneration": 2},
        }),
    );
    assert_eq!(told(&before(&[lagging])), ["wait not-observed"]);
}

#[test]
fn on_delete_strategies_are_no_rollout() {
    for strategy in
        [json!({"rollout": {"strategy": {"type": "OnDelete"}}}), json!({"strategy": {"type": "OnDelete"}})]
    {
        let mut deployment = json!({
            "spec": {"replicas": 3},
            "status": {"replicas": 3, "upToDateReplicas": 1, "conditions": conditions(&[("RollingOut", "True")])},
        });
        merge(&mut deployment, &json!({"spec": strategy}));
        let found = before(&[core("MachineDeployment", "w", deployment)]);
        assert_eq!(told(&found), ["note replaced-on-delete"]);
    }
}

/// A rollout takes hours on bare metal, and waiting would not undo it.
#[test]
fn rollout_in_target_warns_without_waiting() {
    let rolling = core(
        "MachineDeployment",
        "w",
        json!({"status": {"conditions": conditions(&[("RollingOut", "True")])}}),
    );
    assert_eq!(told(&after(&[rolling])), ["warn rollout-in-target"]);
}
