//! Weaknesses of `clusterctl move` (docs/differences-from-clusterctl.md) that no other file of these tests is about.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pivot_core::objects::names;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key, KindLabels};
use pivot_engine::Exit;
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::run;
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, kind, picture};

/// A cluster-scoped identity of a kind that moves.
fn add_identity(place: &MemoryPlace, uid: &str) {
    let labels = KindLabels { discover: true, hierarchy: true, ..KindLabels::default() };
    place.add_kind(kind(INFRA, "Identity", "identities", labels));
    let mut identity = body(INFRA, "Identity", "id", None);
    identity["metadata"].as_object_mut().unwrap().remove("namespace");
    identity["metadata"]["uid"] = json!(uid);
    place.insert(identity).unwrap();
}

/// A cluster-scoped identity exists once in each cluster, often before the move.
// proves: W7
#[tokio::test(start_paused = true)]
async fn w7_dependents_of_a_global_object_that_exists_get_the_targets_uid() {
    let stage = Stage::new();
    add_identity(&stage.source, "theirs");
    add_identity(&stage.target, "ours");
    let mut secret = body("", "Secret", "credentials", Some((INFRA, "Identity", "id")));
    secret["metadata"]["ownerReferences"][0]["uid"] = json!("theirs");
    stage.source.insert(secret).unwrap();

    run::start(stage.setup()).await.unwrap();
    let copy = stage.target.body(&key("", "Secret", "credentials")).unwrap();
    assert_eq!(copy["metadata"]["ownerReferences"][0]["uid"], "ours");
    assert!(stage.target.collect_garbage().is_empty());
    let identity = Key::new(GroupKind::new(INFRA, "Identity"), None, "id");
    assert_eq!(stage.source.body(&identity).unwrap()["metadata"]["uid"], "theirs");
}

/// A provider blocks the move of its objects when it sees the pause, not before.
// proves: W9
#[tokio::test(start_paused = true)]
async fn w9_blocks_that_appear_with_the_pause_are_waited_for_all_at_once() {
    let stage = Stage::new();
    let machines = ["m0", "m1"].map(|name| key(INFRA, "InfraMachine", name));
    let annotate = |place: &MemoryPlace, key: &Key, annotations: Value| {
        place.edit(key, |body| body["metadata"]["annotations"] = annotations).unwrap();
    };
    let (source, blocked, calls) = (stage.source.clone(), machines.clone(), AtomicUsize::new(0));
    stage.source.on_call(move |verb, key| {
        if verb == "patch" && key.group_kind.kind == "Cluster" && calls.fetch_add(1, Ordering::SeqCst) == 0 {
            blocked.iter().for_each(|key| annotate(&source, key, json!({names::BLOCK_MOVE: ""})));
            let (source, blocked) = (source.clone(), blocked.clone());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(40)).await;
                blocked.iter().for_each(|key| annotate(&source, key, json!({"status-saved": "yes"})));
            });
        }
        None
    });
    let start = tokio::time::Instant::now();
    run::start(stage.setup()).await.unwrap();
    for machine in &machines {
        assert_eq!(stage.target.body(machine).unwrap()["metadata"]["annotations"]["status-saved"], "yes");
    }
    let took = start.elapsed();
    assert!(took >= Duration::from_secs(40) && took < Duration::from_secs(60), "{took:?}");
}

/// Annotations hold the pause, and state of providers and users; controllers may look at an object until it is gone.
// proves: W12
#[tokio::test(start_paused = true)]
async fn w12_the_annotations_of_the_source_last_as_long_as_the_object() {
    let stage = Stage::new();
    let cluster = key(CLUSTERS, "Cluster", "c");
    let (source, seen, deletes) = (stage.source.clone(), cluster.clone(), Arc::new(AtomicUsize::new(0)));
    let count = deletes.clone();
    stage.source.on_call(move |verb, key| {
        if let Some(body) = source.body(&seen) {
            assert_eq!(body["metadata"]["annotations"]["mine"], "1", "at {verb} {key}");
            count.fetch_add(usize::from(verb == "delete" && *key == seen), Ordering::SeqCst);
        }
        None
    });
    run::start(stage.setup()).await.unwrap();
    assert!(stage.source.body(&cluster).is_none());
    assert!(deletes.load(Ordering::SeqCst) > 0);
}

// proves: W20
#[tokio::test(start_paused = true)]
async fn w20_an_error_that_no_retry_can_fix_is_reported_at_once() {
    let stage = Stage::new();
    let before = picture(&stage.source);
    let creates = Arc::new(AtomicUsize::new(0));
    let count = creates.clone();
    stage.target.on_call(move |verb, key| {
        let refused = verb == "create" && *key == crate::stage::key(CLUSTERS, "Machine", "m1");
        refused.then(|| {
            count.fetch_add(1, Ordering::SeqCst);
            Fault::Before(PlaceError::Invalid("a webhook that only looks at real creates".into()))
        })
    });
    let start = tokio::time::Instant::now();
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, creates.load(Ordering::SeqCst)), (Exit::PartWay, 1), "{stop}");
    assert!(stop.to_string().contains("Machine ns/m1"), "{stop}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    run::rollback(stage.setup()).await.unwrap();
    assert_eq!(picture(&stage.source), before);
}

/// Cluster-scoped objects are copied by every move: they don't make a wrong namespace a right one.
// proves: W22
#[tokio::test(start_paused = true)]
async fn w22_a_namespace_without_objects_is_empty_whatever_is_cluster_scoped() {
    let mut stage = Stage::new();
    add_identity(&stage.source, "theirs");
    stage.target.add_kind(kind(INFRA, "Identity", "identities", KindLabels::default()));
    stage.options.scope = Scope::new(Namespaces::One("wrong".into()));
    for stop in [run::plan(stage.setup()).await.unwrap_err(), run::start(stage.setup()).await.unwrap_err()] {
        assert_eq!(stop.exit, Exit::Empty, "{stop}");
        assert!(stop.to_string().contains("the source has no namespace wrong"), "{stop}");
    }
    assert!(picture(&stage.target).is_empty());
}
