//! Copies that the target's controllers have replaced before the source is released.

use pivot_core::Key;
use pivot_engine::{Exit, run};
use serde_json::json;

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
