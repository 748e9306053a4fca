//! What the checks say about a target whose nodes or providers don't suit the move.

use std::sync::Arc;

use pivot_core::{Kind, KindLabels};
use pivot_engine::Setup;
use serde_json::{Value, json};

use crate::committed::Warnings;
use crate::run;
use crate::stage::{Stage, kind};

/// What a plan of the stage warns of.
async fn warnings(stage: &Stage) -> Vec<String> {
    let warnings = Arc::new(Warnings::default());
    run::plan(Setup { watcher: warnings.clone(), ..stage.setup() }).await.unwrap();
    warnings.0.lock().unwrap().iter().filter(|text| text.starts_with("the target")).cloned().collect()
}

fn node(name: &str, taint: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "spec": {"taints": [{"key": taint, "effect": "NoSchedule"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
}

#[tokio::test(start_paused = true)]
async fn targets_without_usable_node_are_reported() {
    let nodes = kind("", "Node", "nodes", KindLabels::default());
    let nodes = Kind { version: "v1".into(), served: vec!["v1".into()], namespaced: false, ..nodes };
    let stage = Stage::new();
    // A target that serves no nodes isn't judged.
    assert!(warnings(&stage).await.is_empty());
    stage.target.add_kind(nodes);
    stage.target.insert(node("a", "dedicated")).unwrap();
    let expected = "the target has no ready and schedulable node: its controllers may be unable to run";
    assert_eq!(warnings(&stage).await, [expected]);
    stage.target.insert(node("b", "node-role.kubernetes.io/control-plane")).unwrap();
    assert!(warnings(&stage).await.is_empty());
}
