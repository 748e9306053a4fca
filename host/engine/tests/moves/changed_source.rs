//! Sources that change between the copy and the commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pivot_core::Key;
use pivot_core::objects::names;
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::run;
use crate::simulated::holds::{HELD, add_host};
use crate::stage::{CLUSTERS, INFRA, Stage, body, is_record, key};

/// Moves the stage. Changes the source when the first pool is copied. The next pause of the object takes effect, and its answer is lost.
/// Until the commit, the object's copy must have the annotation.
async fn move_with_lost_answer(
    stage: &Stage,
    object: &Key,
    annotation: &'static str,
    change: impl Fn(&MemoryPlace) + Send + Sync + 'static,
) {
    let (changed, committed) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    stage.target.on_call({
        let (source, target, object) = (stage.source.clone(), stage.target.clone(), object.clone());
        let changed = changed.clone();
        move |verb, key| {
            if verb == "create" && key.name == "p" && !changed.swap(true, Ordering::SeqCst) {
                change(&source);
            }
            committed.fetch_or(verb == "create" && is_record(key, "target"), Ordering::SeqCst);
            if !committed.load(Ordering::SeqCst)
                && let Some(copy) = target.body(&object)
            {
                assert!(copy["metadata"]["annotations"].get(annotation).is_some(), "{copy}");
            }
            None
        }
    });
    let lost = Arc::new(AtomicBool::new(false));
    stage.source.on_call({
        let (object, lost) = (object.clone(), lost.clone());
        move |verb, key| {
            let pauses = changed.load(Ordering::SeqCst) && verb == "patch" && *key == object;
            (pauses && !lost.swap(true, Ordering::SeqCst))
                .then(|| Fault::After(PlaceError::Unavailable("lost".into())))
        }
    });
    run::start(stage.setup()).await.unwrap();
    assert!(lost.load(Ordering::SeqCst));
    assert!(stage.source.body(object).is_none());
    let first = stage.target.journal().into_iter().find(|call| call.verb == "create" && call.key == *object);
    assert!(first.unwrap().body["metadata"]["annotations"].get(annotation).is_some());
    assert!(stage.target.body(object).is_some());
}

fn late(kind: &str) -> Value {
    let mut late = body(INFRA, kind, "late", None);
    late["metadata"]["uid"] = json!("late");
    late
}

#[tokio::test(start_paused = true)]
async fn late_objects_are_copied_paused() {
    for (kind, annotation) in [("Pool", names::PAUSED), ("Host", HELD)] {
        let mut stage = Stage::new();
        add_host(&mut stage, "ns");
        let change = move |source: &MemoryPlace| drop(source.insert(late(kind)).unwrap());
        move_with_lost_answer(&stage, &key(INFRA, kind, "late"), annotation, change).await;
    }
}

#[tokio::test(start_paused = true)]
async fn copies_of_unpaused_objects_stay_paused() {
    for (kind, name, annotation) in [("Pool", "p", names::PAUSED), ("Host", "h0", HELD)] {
        let mut stage = Stage::new();
        add_host(&mut stage, "ns");
        let object = key(INFRA, kind, name);
        let change = {
            let object = object.clone();
            move |source: &MemoryPlace| {
                let unpause = |body: &mut Value| {
                    let annotations = body["metadata"]["annotations"].as_object_mut().unwrap();
                    for name in [annotation, names::UNDO] {
                        annotations.remove(name).unwrap();
                    }
                };
                source.edit(&object, unpause).unwrap();
            }
        };
        move_with_lost_answer(&stage, &object, annotation, change).await;
    }
}

/// Returns the number of readings of the source between a change of it and the commit.
async fn count_readings(change: impl Fn(&MemoryPlace) + Send + Sync + 'static) -> (Stage, usize) {
    let stage = Stage::new();
    let (changed, committed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    stage.target.on_call({
        let (source, changed, committed) = (stage.source.clone(), changed.clone(), committed.clone());
        move |verb, key| {
            if verb == "create" && key.name == "p" && !changed.swap(true, Ordering::SeqCst) {
                change(&source);
            }
            committed.fetch_or(verb == "create" && is_record(key, "target"), Ordering::SeqCst);
            None
        }
    });
    let readings = Arc::new(AtomicUsize::new(0));
    stage.source.on_call({
        let readings = readings.clone();
        move |verb, key| {
            let before_commit = changed.load(Ordering::SeqCst) && !committed.load(Ordering::SeqCst);
            if before_commit && verb == "list" && key.group_kind.kind == "InfraMachine" {
                readings.fetch_add(1, Ordering::SeqCst);
            }
            None
        }
    });
    run::start(stage.setup()).await.unwrap();
    let count = readings.load(Ordering::SeqCst);
    (stage, count)
}

#[tokio::test(start_paused = true)]
async fn changed_object_is_read_once() {
    let machine = key(CLUSTERS, "Machine", "m0");
    let edited = machine.clone();
    let change = move |source: &MemoryPlace| {
        drop(source.edit(&edited, |body| body["spec"] = json!({"changed": true})).unwrap());
    };
    let (stage, readings) = count_readings(change).await;
    assert_eq!(stage.target.body(&machine).unwrap()["spec"]["changed"], true);
    assert_eq!(readings, 1);
}

/// A change of the source.
type Change = Box<dyn Fn(&MemoryPlace) + Send + Sync>;

#[tokio::test(start_paused = true)]
async fn new_object_is_read_twice() {
    let secret = key("", "Secret", "c-kubeconfig");
    let replaced = secret.clone();
    let changes: [Change; 3] = [
        Box::new(|source| drop(source.insert(late("Pool")).unwrap())),
        Box::new(|source| {
            let mut secret = body("", "Secret", "c-ca", None);
            secret["data"] = json!({"tls.crt": "eA=="});
            source.insert(secret).unwrap();
        }),
        Box::new(move |source| {
            let mut other = source.body(&replaced).unwrap();
            other["metadata"]["uid"] = json!("other");
            source.remove(&replaced).unwrap();
            source.insert(other).unwrap();
        }),
    ];
    for change in changes {
        let (stage, readings) = count_readings(change).await;
        assert_eq!(readings, 2);
        assert!(stage.source.body(&secret).is_none());
    }
}
