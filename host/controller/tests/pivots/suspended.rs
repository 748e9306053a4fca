//! Pivots that begin nothing until a user allows it.

use std::time::Duration;

use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::stage::{Stage, add_cluster, object};

/// The spec of a move into the workload cluster.
fn spec(suspend: bool) -> Value {
    json!({"to": {"cluster": "c"}, "suspend": suspend, "options": {"accept": [{"code": "takeover-unchecked"}]}})
}

/// A user changes whether the Pivot of namespace `a` is suspended.
fn change(stage: &Stage, suspend: bool, generation: u32) {
    let pivot = stage.home.keys().into_iter().find(|key| key.group_kind.kind == "Pivot").unwrap();
    let edit = |body: &mut Value| {
        body["spec"]["suspend"] = json!(suspend);
        body["metadata"]["generation"] = json!(generation);
    };
    stage.home.edit(&pivot, edit).unwrap();
}

fn is_suspended(stage: &Stage) -> bool {
    stage.condition("a", "Succeeded").is_some_and(|condition| condition["reason"] == "Suspended")
}

#[tokio::test(start_paused = true)]
async fn suspended_pivot_begins_after_approval() {
    let stage = Stage::new(&["a"]);
    stage.ask_for("a", spec(true));
    let running = stage.start();
    stage.until("suspended", is_suspended).await;
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    stage.is_only_in(&stage.home, "a");
    assert_eq!(stage.ways(), [], "no cluster is opened");
    let status = stage.pivot("a").unwrap()["status"].clone();
    assert_eq!((&status["phase"], &status["nextAttempt"]), (&json!("Pending"), &Value::Null));
    for condition in ["Succeeded", "Ready", "Reconciling", "Stalled"] {
        assert!(!stage.is("a", condition), "{condition}: {status:#}");
    }
    let command =
        r#"kubectl patch -n a pivots.pivot-host.io pivot --type merge -p '{"spec":{"suspend":false}}'"#;
    assert!(status["message"].as_str().unwrap().ends_with(command), "{status:#}");
    change(&stage, false, 2);
    stage.until("done", |stage| stage.done("a")).await;
    stage.is_only_in(&stage.target, "a");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn refused_pivot_can_be_suspended() {
    let stage = Stage::new(&["a"]);
    stage.target.add_namespace("a");
    stage.target.insert(object("a", "Machine", "m0", None)).unwrap();
    stage.ask_for("a", spec(false));
    let running = stage.start();
    stage.until("stalled", |stage| stage.is("a", "Stalled")).await;
    change(&stage, true, 2);
    stage.until("suspended", is_suspended).await;
    let obstacle = stage.target.keys().into_iter().find(|key| key.name == "m0").unwrap();
    stage.target.remove(&obstacle).unwrap();
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    stage.is_only_in(&stage.home, "a");
    change(&stage, false, 3);
    stage.until("done", |stage| stage.done("a")).await;
    stage.is_only_in(&stage.target, "a");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn suspended_move_under_way_goes_on() {
    let stage = Stage::new(&["a"]);
    // No controllers run in the target.
    stage.ask_for("a", json!({"to": {"cluster": "c"}, "options": {"takeoverTimeoutSeconds": 86_400}}));
    let running = stage.start();
    stage.until("committed", |stage| stage.is("a", "Committed")).await;
    running.kill();
    change(&stage, true, 2);
    let pivot = stage.home.keys().into_iter().find(|key| key.group_kind.kind == "Pivot").unwrap();
    let edit = |body: &mut Value| {
        body["spec"]["options"] = spec(true)["options"].clone();
        // The records decide, not the status.
        body["status"] = json!({});
    };
    stage.home.edit(&pivot, edit).unwrap();
    let running = stage.start();
    stage.until("done", |stage| stage.done("a")).await;
    stage.is_only_in(&stage.target, "a");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn begun_pivot_without_target_stays_begun() {
    let stage = Stage::new(&["a"]);
    stage.ask_for("a", spec(true));
    let keys = stage.home.keys();
    stage.home.remove(keys.iter().find(|key| key.name == "c-kubeconfig").unwrap()).unwrap();
    let edit = |body: &mut Value| {
        body["metadata"]["finalizers"] = json!(["pivot-host.io/pivot"]);
        body["status"] = json!({"phase": "Copied"});
    };
    stage.home.edit(keys.iter().find(|key| key.group_kind.kind == "Pivot").unwrap(), edit).unwrap();
    let running = stage.start();
    let reason = |stage: &Stage| stage.condition("a", "Succeeded").map(|one| one["reason"].clone());
    stage.until("stopped", |stage| reason(stage).is_some_and(|reason| reason == "NoCluster")).await;
    assert_eq!(stage.pivot("a").unwrap()["status"]["phase"], "Copied");
    running.stop().await;
}

/// Begins the move, and kills its controller when it pauses the source.
async fn begin_and_kill(stage: &Stage, source: &MemoryPlace, spec: Value) {
    source.on_call(|verb, key| {
        let pauses = verb == "patch" && key.group_kind.kind == "Cluster";
        pauses.then(|| Fault::Before(PlaceError::Unavailable("held".into())))
    });
    stage.ask_for("a", spec);
    let running = stage.start();
    stage.until("pausing", |stage| stage.pivot("a").unwrap()["status"]["phase"] == "Paused").await;
    running.kill();
    source.on_call(|_, _| None);
}

#[tokio::test(start_paused = true)]
async fn suspended_move_without_copies_is_undone() {
    let stage = Stage::new(&["a"]);
    begin_and_kill(&stage, &stage.home, spec(false)).await;
    change(&stage, true, 2);
    let running = stage.start();
    stage.until("suspended", is_suspended).await;
    assert_eq!(stage.pivot("a").unwrap()["status"]["phase"], "Pending");
    stage.is_only_in(&stage.home, "a");
    change(&stage, false, 3);
    stage.until("done", |stage| stage.done("a")).await;
    stage.is_only_in(&stage.target, "a");
    running.stop().await;
}

// proves: T183
#[tokio::test(start_paused = true)]
async fn source_cannot_approve_its_move() {
    let stage = Stage::new(&[]);
    stage.home.add_namespace("a");
    add_cluster(&stage.target, "a");
    stage.secret("a", "way", "target");
    let spec = json!({"from": {"kubeconfig": {"name": "way"}}, "to": {}, "options": spec(false)["options"]});
    begin_and_kill(&stage, &stage.target, spec).await;
    // By its record, objects were copied.
    let record = stage.target.keys().into_iter().find(|key| key.name.starts_with("pivot-host-source-"));
    let mut body = stage.target.body(&record.unwrap()).unwrap();
    let text = body["data"]["record.json"].as_str().unwrap();
    assert!(text.contains("\"Paused\""), "{text}");
    body["data"]["record.json"] = json!(text.replace("\"Paused\"", "\"Copied\""));
    change(&stage, true, 2);
    for _ in 0..2 {
        stage.target.insert(body.clone()).unwrap();
        let running = stage.start();
        stage.until("suspended", is_suspended).await;
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        stage.is_only_in(&stage.target, "a");
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn deleted_suspended_pivot_is_released() {
    let stage = Stage::new(&["a"]);
    stage.ask_for("a", spec(true));
    let running = stage.start();
    stage.until("suspended", is_suspended).await;
    stage.delete("a").await;
    stage.until("let go", |stage| stage.pivot("a").is_none()).await;
    stage.is_only_in(&stage.home, "a");
    running.stop().await;
}
