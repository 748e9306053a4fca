//! Copies that the target's controllers have replaced before the source is released.

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::{GroupKind, Key};
use pivot_engine::{Exit, Failure};
use serde_json::{Value, json};

use crate::run;
use crate::simulated::holds::add_host;
use crate::stage::{CLUSTERS, INFRA, Stage, body, is_record, key, picture};
use crate::trouble::code;

/// A set with a machine, and what is below that.
fn machine_set(stage: &Stage) -> [Key; 3] {
    [("MachineSet", "s"), ("Machine", "s-1"), ("InfraMachine", "s-1")].map(|(kind, name)| {
        let group = if kind == "InfraMachine" { INFRA } else { CLUSTERS };
        let owner = match kind {
            "MachineSet" => (CLUSTERS, "Cluster", "c"),
            "Machine" => (CLUSTERS, "MachineSet", "s"),
            _ => (CLUSTERS, "Machine", "s-1"),
        };
        let mut made = body(group, kind, name, Some(owner));
        if kind == "Machine" {
            made["status"] = json!({"nodeRef": {"name": name}});
        }
        stage.source.insert(made).unwrap();
        key(group, kind, name)
    })
}

/// As a remediation or a rollout does that goes on in the target while the source still stands.
// proves: I1
#[tokio::test(start_paused = true)]
async fn a_machine_that_the_targets_controllers_have_replaced_does_not_stop_the_move() {
    let stage = Stage::new();
    let [set, machine, infra] = machine_set(&stage);
    let stop =
        stage.dies(|verb, key| verb == "patch" && is_record(key, "target"), |verb, _| verb == "patch").await;
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    for gone in [&machine, &infra] {
        stage.target.remove(gone).unwrap();
    }

    // Without the set nobody could have replaced it.
    let copy = stage.target.body(&set).unwrap();
    stage.target.remove(&set).unwrap();
    let before = picture(&stage.source);
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, code(&stop)), (Exit::PastCommit, "copy-gone"));
    assert_eq!(picture(&stage.source), before);
    stage.target.insert(copy).unwrap();

    run::resume(stage.setup()).await.unwrap();
    for gone in [&set, &machine, &infra] {
        assert!(stage.source.body(gone).is_none(), "{gone}");
    }
    assert!(stage.target.body(&set).is_some() && stage.target.body(&machine).is_none());
}

#[tokio::test(start_paused = true)]
async fn what_was_released_before_is_not_missed_in_the_target() {
    let stage = Stage::new();
    let [set, machine, infra] = machine_set(&stage);
    let released =
        |verb: &str, key: &Key| verb == "delete" && key.group_kind.kind == "Machine" && key.name == "s-1";
    let stop = stage.dies(|verb, key| verb == "patch" && is_record(key, "target"), released).await;
    assert_eq!((stop.exit, stage.source.body(&infra)), (Exit::PastCommit, None), "{stop}");
    // Until the next run the target's controllers had time to replace the machine.
    for gone in [&machine, &infra] {
        stage.target.remove(gone).unwrap();
    }
    run::resume(stage.setup()).await.unwrap();
    for gone in [&set, &machine, &infra] {
        assert!(stage.source.body(gone).is_none(), "{gone}");
    }
}

/// Has a user delete a set, and what belongs to it, in a target that has taken over.
async fn deleted_in_target(stage: &Stage) -> [Key; 3] {
    let all = machine_set(stage);
    // As the Cluster owns a set or a deployment.
    let owned = |body: &mut Value| body["metadata"]["ownerReferences"][0]["controller"] = json!(false);
    stage.source.edit(&all[0], owned).unwrap();
    let stop =
        stage.dies(|verb, key| verb == "patch" && is_record(key, "target"), |verb, _| verb == "patch").await;
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    all.iter().for_each(|gone| stage.target.remove(gone).unwrap());
    all
}

/// Returns the kinds by which the refusal of a resume can be accepted.
async fn find_offered_kinds(stage: &Stage) -> Vec<GroupKind> {
    let before = picture(&stage.source);
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, code(&stop)), (Exit::PastCommit, "copy-gone"), "{stop}");
    assert_eq!(picture(&stage.source), before);
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    let kinds = refusals[0].remedies.iter().find_map(|remedy| match remedy {
        Remedy::AcceptChanged { kinds } => Some(kinds.iter().cloned().collect()),
        _ => None,
    });
    kinds.unwrap_or_default()
}

// proves: I1, I11
#[tokio::test(start_paused = true)]
async fn copies_deleted_on_purpose_are_accepted_by_kind() {
    let mut stage = Stage::new();
    let all = deleted_in_target(&stage).await;
    // Dependents of the set go with it.
    assert_eq!(find_offered_kinds(&stage).await, [all[0].group_kind.clone()]);
    stage.options.accept.insert_kind(Risk::CopyChanged, GroupKind::new(INFRA, "Pool"));
    assert_eq!(find_offered_kinds(&stage).await, [all[0].group_kind.clone()]);
    stage.options.accept.insert_kind(Risk::CopyChanged, all[0].group_kind.clone());
    run::resume(stage.setup()).await.unwrap();
    for gone in &all {
        assert_eq!((stage.source.body(gone), stage.target.body(gone)), (None, None), "{gone}");
    }
    let cluster = key(CLUSTERS, "Cluster", "c");
    assert!(stage.source.body(&cluster).is_none() && stage.target.body(&cluster).is_some());
}

/// Otherwise, anyone with permission to delete in the target would decide what is deleted from the source.
// proves: I1
#[tokio::test(start_paused = true)]
async fn missing_copies_are_not_accepted_beforehand() {
    let mut stage = Stage::new();
    stage.options.accept.insert_kind(Risk::CopyChanged, GroupKind::new(INFRA, "Pool"));
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::Declined(_)), "{stop}");
    assert!(stop.to_string().contains("is not committed, so that no copy can be gone"), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// Machines that still run may need them.
// proves: I1
#[tokio::test(start_paused = true)]
async fn precious_copies_that_are_gone_are_never_accepted() {
    for gone in [
        key(CLUSTERS, "Cluster", "c"),
        // An object that belongs to a Cluster directly.
        key(INFRA, "InfraCluster", "c"),
        key(CLUSTERS, "Machine", "m0"),
        key("", "Secret", "c-kubeconfig"),
        key(INFRA, "Host", "h0"),
    ] {
        let mut stage = Stage::new();
        add_host(&mut stage, "ns");
        deleted_in_target(&stage).await;
        stage.target.remove(&gone).unwrap();
        assert_eq!(find_offered_kinds(&stage).await, [], "{gone}");
        let kinds = stage.source.keys().into_iter().map(|key| key.group_kind);
        stage.options.accept.insert_kinds(Risk::CopyChanged, kinds);
        assert_eq!(find_offered_kinds(&stage).await, [], "{gone}");
    }
}

/// A person compares another object of the name.
#[tokio::test(start_paused = true)]
async fn accepted_kinds_excuse_no_object_of_that_name() {
    let mut stage = Stage::new();
    let [set, ..] = deleted_in_target(&stage).await;
    stage.options.accept.insert_kind(Risk::CopyChanged, set.group_kind.clone());
    stage.target.insert(body(CLUSTERS, "MachineSet", "s", None)).unwrap();
    let before = picture(&stage.source);
    let stop = run::resume(stage.setup()).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert!(refusals.iter().any(|refusal| refusal.code == "copy-replaced"), "{stop}");
    assert_eq!(picture(&stage.source), before);
}

/// A kind of a company's own may be the controller of Clusters and hosts.
// proves: I1
#[tokio::test(start_paused = true)]
async fn clusters_and_hosts_outlive_an_accepted_owner() {
    for precious in [key(CLUSTERS, "Cluster", "c"), key(INFRA, "Host", "h0")] {
        let mut stage = Stage::new();
        add_host(&mut stage, "ns");
        let set = key(CLUSTERS, "MachineSet", "s");
        let mut owner = body(CLUSTERS, "MachineSet", "s", None);
        owner["metadata"]["labels"]["clusterctl.cluster.x-k8s.io/move"] = json!("");
        stage.source.insert(owner).unwrap();
        let owned = |body: &mut Value| {
            body["metadata"]["ownerReferences"] = json!([{
                "apiVersion": format!("{CLUSTERS}/v1beta2"), "kind": "MachineSet", "name": "s", "uid": "MachineSet-s", "controller": true
            }]);
        };
        stage.source.edit(&precious, owned).unwrap();
        let stop = stage
            .dies(|verb, key| verb == "patch" && is_record(key, "target"), |verb, _| verb == "patch")
            .await;
        assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
        [&set, &precious].into_iter().for_each(|gone| stage.target.remove(gone).unwrap());
        stage.options.accept.insert_kind(Risk::CopyChanged, set.group_kind.clone());
        assert_eq!(find_offered_kinds(&stage).await, [], "{precious}");
        assert!(stage.source.body(&precious).is_some() && stage.source.body(&set).is_some());
    }
}
