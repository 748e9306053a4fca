//! Providers whose controllers give no sign on paused copies. Before the commit, their Deployments show that they run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::records::record::Phase;
use pivot_core::{GroupKind, Key, KindLabels};
use pivot_engine::{Exit, Failure, Next, Setup};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::clusters::Notes;
use crate::run;
use crate::signs;
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, kind, picture};
use crate::target_checks::deploy;

/// Notes about evidence of providers.
const OF_PROVIDERS: [&str; 2] = ["provider-available", "provider-unseen"];

/// A Cluster whose infrastructure has a provider without signs.
fn stage() -> Stage {
    let stage = signs::stage();
    let mut infra = body(INFRA, "InfraCluster", "c", Some((CLUSTERS, "Cluster", "c")));
    infra["metadata"]["ownerReferences"][0]["uid"] = json!("Cluster-c-ns");
    infra["status"] = json!({"ready": true});
    stage.source.insert(infra).unwrap();
    stage.target.insert(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("infraclusters.{INFRA}"), "labels": {"cluster.x-k8s.io/provider": "infrastructure-x"}}})).unwrap();
    stage
}

fn deployed() -> Stage {
    let stage = stage();
    deploy(&stage, "x", "infrastructure-x", &[]);
    stage
}

/// All controllers of the target.
fn controllers(target: &MemoryPlace) -> JoinSet<()> {
    let mut all = JoinSet::new();
    let (clusters, target) = (signs::controllers(target, &["ns"]), target.clone());
    all.spawn(async move { clusters.await.unwrap() });
    all.spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let cluster = target.body(&cluster());
            let is_paused = cluster.is_none_or(|cluster| cluster["spec"]["paused"] == true);
            let write = |b: &mut Value| {
                b["status"] = json!({"ready": true});
                b["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Update",
                    "subresource": "status", "time": "2026-01-01T00:00:00Z"}]);
            };
            if !is_paused {
                return drop(target.edit(&key(INFRA, "InfraCluster", "c"), write));
            }
        }
    });
    all
}

/// A Deployment in the namespace that the target's inventory names.
fn listed() -> Stage {
    let stage = deployed();
    let group = "clusterctl.cluster.x-k8s.io";
    stage.target.add_kind(kind(group, "Provider", "providers", KindLabels::default()));
    let provider = json!({"apiVersion": format!("{group}/v1beta2"), "kind": "Provider",
            "metadata": {"name": "infrastructure-x", "namespace": "system"},
            "providerName": "x", "type": "InfrastructureProvider", "version": "v1.0.0"});
    stage.target.insert(provider).unwrap();
    stage
}

fn cluster() -> Key {
    key(CLUSTERS, "Cluster", "c")
}

fn deployment() -> Key {
    Key::new(GroupKind::new("apps", "Deployment"), Some("system"), "x")
}

fn scale(target: &MemoryPlace, replicas: u32) {
    target.edit(&deployment(), |b| b["status"]["availableReplicas"] = json!(replicas)).unwrap();
}

/// Scales the Deployment to 0 once the Cluster is copied.
fn scale_down_later(stage: &Stage) {
    let target = stage.target.clone();
    stage.target.on_call(move |_, key| {
        if key.group_kind.kind == "InfraCluster" && target.body(&cluster()).is_some() {
            scale(&target, 0);
        }
        None
    });
}

/// Before, such a move was committed and stopped without a way back.
// proves: I11
#[tokio::test(start_paused = true)]
async fn providers_scaled_down_stop_the_move() {
    let stage = deployed();
    let before = (picture(&stage.source), picture(&stage.target));
    let _controllers = controllers(&stage.target);
    scale_down_later(&stage);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PartWay, Some(Phase::Ready)), "{stop}");
    let told = stop.to_string();
    assert!(
        told.contains(
            "InfraCluster ns/c in the target: not all Deployments of infrastructure-x are available"
        ),
        "{told}"
    );
    assert_eq!(stop.next, [Next::Resume, Next::Rollback]);
    let kinds = [GroupKind::new(INFRA, "InfraCluster")].into();
    assert_eq!(stop.remedies(), [Remedy::ResumeAgain, Remedy::AcceptUnseen { kinds }]);
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::NotSeen(_)), "{stop}");
    run::rollback(stage.setup()).await.unwrap();
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// Before, the source was paused and everything was copied before such a move stopped.
#[tokio::test(start_paused = true)]
async fn stopped_providers_prevent_the_pause() {
    let stage = listed();
    scale(&stage.target, 0);
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::Refused, None), "{stop}");
    assert!(stop.passes() && stop.to_string().contains("infrastructure-x"), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    scale(&stage.target, 1);
    let _controllers = controllers(&stage.target);
    run::start(stage.setup()).await.unwrap();
}

/// Azure's provider has a second one, for Azure Service Operator.
#[tokio::test(start_paused = true)]
async fn each_deployment_of_a_provider_is_needed() {
    let stage = deployed();
    deploy(&stage, "y", "infrastructure-x", &[]);
    let _controllers = controllers(&stage.target);
    scale_down_later(&stage);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::NotSeen(_)), "{stop}");
}

#[tokio::test(start_paused = true)]
async fn deleted_deployments_are_not_available() {
    let stage = deployed();
    let mut controllers = controllers(&stage.target);
    scale_down_later(&stage);
    let target = stage.target.clone();
    controllers.spawn(async move {
        while target.body(&deployment()).is_none_or(|it| it["status"]["availableReplicas"] != 0) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        target.on_call(|_, _| None);
        target.remove(&deployment()).unwrap();
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::NotSeen(_)), "{stop}");
}

/// A user of the target's cluster must not be able to stop the moves of others.
#[tokio::test(start_paused = true)]
async fn deployments_outside_of_their_provider_are_ignored() {
    let stage = listed();
    stage.target.add_namespace("tenant");
    let mut fake = stage.target.body(&deployment()).unwrap();
    fake["metadata"]["namespace"] = json!("tenant");
    fake["metadata"]["uid"] = json!("fake");
    fake["status"]["availableReplicas"] = json!(0);
    stage.target.insert(fake).unwrap();
    let _controllers = controllers(&stage.target);
    run::start(stage.setup()).await.unwrap();
}

/// A drained node has this effect.
#[tokio::test(start_paused = true)]
async fn providers_that_restart_are_waited_for() {
    let stage = deployed();
    let mut controllers = controllers(&stage.target);
    scale_down_later(&stage);
    let target = stage.target.clone();
    controllers.spawn(async move {
        tokio::time::sleep(Duration::from_secs(30)).await;
        target.on_call(|_, _| None);
        scale(&target, 1);
    });
    run::start(stage.setup()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn unavailable_providers_are_accepted_by_kind() {
    let mut stage = deployed();
    scale(&stage.target, 0);
    stage.options.accept.insert_kind(Risk::Unseen, GroupKind::new(INFRA, "InfraCluster"));
    let _controllers = controllers(&stage.target);
    run::start(stage.setup()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn evidence_of_providers_is_noted() {
    let forbidden = || Some(Fault::Before(PlaceError::Forbidden("no".into())));
    for (is_deployed, denied, expected) in [
        (true, "", &["provider-available"][..]),
        // The controllers may run as other processes.
        (false, "", &["provider-unseen"]),
        (true, "Deployment", &["provider-unseen"]),
        (true, "CustomResourceDefinition", &[]),
    ] {
        let stage = if is_deployed { deployed() } else { stage() };
        stage.target.on_call(move |_, key| if key.group_kind.kind == denied { forbidden() } else { None });
        let _controllers = controllers(&stage.target);
        let notes = Arc::new(Notes::default());
        run::start(Setup { watcher: notes.clone(), ..stage.setup() }).await.unwrap();
        let told = notes.0.lock().unwrap().clone().into_iter().map(|(code, _)| code);
        let codes: Vec<String> = told.filter(|code| OF_PROVIDERS.contains(&code.as_str())).collect();
        assert_eq!(codes, expected, "{is_deployed} {denied}");
    }
}

#[tokio::test(start_paused = true)]
async fn providers_with_signs_cost_no_request() {
    for (stage, expected) in [(signs::stage(), [0, 1]), (deployed(), [1, 2])] {
        let lists = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let counts = lists.clone();
        stage.target.on_call(move |verb, key| {
            let kinds = ["CustomResourceDefinition", "Deployment"];
            let at = kinds.iter().position(|kind| verb == "list-meta" && key.group_kind.kind == *kind);
            if let Some(count) = at.and_then(|at| counts.get(at)) {
                count.fetch_add(1, Ordering::Relaxed);
            }
            None
        });
        let _controllers = controllers(&stage.target);
        run::start(stage.setup()).await.unwrap();
        assert_eq!([0, 1].map(|at| lists[at].load(Ordering::Relaxed)), expected);
    }
}
