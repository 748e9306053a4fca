//! The checks of a target whose nodes or providers don't suit the move.

use std::sync::Arc;

use pivot_core::{Kind, KindLabels};
use pivot_engine::{Exit, Failure, Setup};
use pivot_memory::Fault;
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::committed::Warnings;
use crate::run;
use crate::stage::{INFRA, Stage, key, kind, picture};

/// The warnings of a plan of the stage.
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

/// Puts a provider's Deployment into the target.
pub(crate) fn deploy(stage: &Stage, name: &str, provider: &str, args: &[&str]) {
    let body = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "system", "labels": {"cluster.x-k8s.io/provider": provider}},
        "spec": {"template": {"spec": {"containers": [{"name": "manager", "args": args}]}}},
        "status": {"availableReplicas": 1, "observedGeneration": 1}});
    stage.target.insert(body).unwrap();
}

/// The codes for which a move of the stage is refused before it changes anything.
async fn refusals(stage: &Stage) -> Vec<&'static str> {
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    assert_eq!(stop.exit, Exit::Refused, "{stop}");
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    refusals.iter().map(|refusal| refusal.code).collect()
}

#[tokio::test(start_paused = true)]
async fn unwatched_namespaces_are_refused() {
    let stage = Stage::new();
    deploy(&stage, "one", "cluster-api", &["--namespace=other"]);
    assert_eq!(refusals(&stage).await, ["provider-not-watching"]);
    deploy(&stage, "two", "cluster-api", &["--namespace", "ns"]);
    run::start(stage.setup()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn objects_without_the_filters_label_are_refused() {
    let stage = Stage::new();
    deploy(&stage, "infra", "infrastructure-x", &["--watch-filter=site"]);
    stage.source.edit(&key(INFRA, "InfraCluster", "c"), |b| b["status"] = json!({"ready": true})).unwrap();
    // No definition says that this provider reconciles the kind.
    assert!(warnings(&stage).await.is_empty());
    stage.target.insert(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("infraclusters.{INFRA}"), "labels": {"cluster.x-k8s.io/provider": "infrastructure-x"}}})).unwrap();
    assert_eq!(refusals(&stage).await, ["provider-filters"]);
    let label = |b: &mut Value| b["metadata"]["labels"]["cluster.x-k8s.io/watch-filter"] = json!("site");
    stage.source.edit(&key(INFRA, "InfraCluster", "c"), label).unwrap();
    run::start(stage.setup()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn unreadable_deployments_are_not_judged() {
    let stage = Stage::new();
    deploy(&stage, "one", "cluster-api", &["--namespace=other"]);
    stage.target.on_call(|verb, key| {
        let hidden = verb == "list-meta" && key.group_kind.kind == "Deployment";
        hidden.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    let told = warnings(&stage).await.join("");
    assert!(
        told.starts_with("the target's provider Deployments can't be read, so they are not checked"),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn deployed_providers_need_no_inventory_entry() {
    let stage = Stage::new();
    let providers = kind("clusterctl.cluster.x-k8s.io", "Provider", "providers", KindLabels::default());
    stage.source.add_kind(providers);
    stage
        .source
        .insert(json!({"apiVersion": "clusterctl.cluster.x-k8s.io/v1beta2", "kind": "Provider",
        "metadata": {"name": "cluster-api", "namespace": "system"},
        "providerName": "cluster-api", "type": "CoreProvider", "version": "v1.10.0"}))
        .unwrap();
    assert_eq!(refusals(&stage).await, ["provider-missing"]);
    deploy(&stage, "one", "cluster-api", &[]);
    run::start(stage.setup()).await.unwrap();
}
