//! Moves into a management cluster that stores a kind in a newer version, and converts each copy.

use std::sync::Arc;

use pivot_core::KindLabels;
use pivot_engine::Exit;
use pivot_memory::Schema;
use serde_json::{Value, json};

use crate::clusters::Notes;
use crate::run;
use crate::stage::{CLUSTERS, Stage, body, kind, picture};

/// A MachineDeployment as Cluster API 1.10 has it, and a target that keeps only its number of replicas.
fn stage(spec: Value) -> Stage {
    let stage = Stage::new();
    let discover = KindLabels { discover: true, ..KindLabels::default() };
    let mut deployments = kind(CLUSTERS, "MachineDeployment", "machinedeployments", discover);
    deployments.version = "v1beta1".into();
    deployments.served = vec!["v1beta1".into()];
    stage.source.add_kind(deployments.clone());
    deployments.served.insert(0, "v1beta2".into());
    stage.target.set_schema(&deployments.group_kind, Schema::lossy(json!({"spec": {"replicas": 2}})));
    stage.target.add_kind(deployments);
    let mut workers = body(CLUSTERS, "MachineDeployment", "workers", Some((CLUSTERS, "Cluster", "c")));
    workers["apiVersion"] = json!(format!("{CLUSTERS}/v1beta1"));
    workers["spec"] = spec;
    stage.source.insert(workers).unwrap();
    stage
}

#[tokio::test(start_paused = true)]
async fn fields_removed_by_newer_versions_are_noted() {
    let stage = stage(json!({"replicas": 2, "revisionHistoryLimit": 1, "progressDeadlineSeconds": 600}));
    let notes = Arc::new(Notes::default());
    let mut setup = stage.setup();
    setup.watcher = notes.clone();
    run::start(setup).await.unwrap();
    let lines = notes.lines_of("converted");
    let fields = "progressDeadlineSeconds and revisionHistoryLimit";
    assert!(
        matches!(&lines[..], [line] if line.contains(fields) && line.contains("ns/workers")),
        "{lines:?}"
    );
    assert!(picture(&stage.target).keys().any(|name| name.starts_with("MachineDeployment")));
}

// proves: T109
#[tokio::test(start_paused = true)]
async fn fields_lost_by_a_conversion_are_refused() {
    let stage = stage(json!({"replicas": 2, "minReadySeconds": 5}));
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Refused, "{stop}");
    assert!(format!("{:?}", stop.failure).contains("spec.minReadySeconds"), "{stop:?}");
    assert!(picture(&stage.target).is_empty());
}
