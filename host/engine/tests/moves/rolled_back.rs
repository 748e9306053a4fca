//! The summary that a move leaves behind when it is rolled back.

use pivot_core::objects::names::ROLLED_BACK;
use pivot_core::records::record::RolledBackMove;
use pivot_engine::{Exit, Setup, Status};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;

use crate::importing::{exported, importing};
use crate::run;
use crate::stage::{Stage, is_record, picture};

/// Stops a move while it copies, and rolls it back.
async fn roll_back(stage: &Stage, setup: impl Fn() -> Setup) -> Status {
    stage.target.on_call(|verb, key| {
        (verb == "create" && key.name == "m1").then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    assert_eq!(run::start(setup()).await.unwrap_err().exit, Exit::PartWay);
    stage.target.on_call(|_, _| None);
    run::rollback(setup()).await.unwrap();
    run::status(setup()).await.unwrap()
}

fn summaries(place: &MemoryPlace) -> usize {
    let labelled = |key| place.body(key).unwrap()["metadata"]["labels"].get(ROLLED_BACK).is_some();
    place.keys().iter().filter(|key| labelled(key)).count()
}

#[tokio::test(start_paused = true)]
async fn rolled_back_move_leaves_a_summary_in_the_source() {
    let stage = Stage::new();
    let untouched = picture(&stage.source);
    let status = roll_back(&stage, || stage.setup()).await;
    let [RolledBackMove { move_id, phase, scope, source_label, target_label, .. }] = &status.rolled_back[..]
    else {
        panic!("{:?}", status.rolled_back)
    };
    assert_eq!((phase.to_string().as_str(), scope), ("Copied", &stage.options.scope));
    assert_eq!((source_label.as_str(), target_label.as_str()), ("source", "target"));
    let record = stage.source.keys().into_iter().find(|key| is_record(key, "source")).unwrap();
    assert_eq!(record.name, format!("pivot-host-source-{move_id}"));
    assert_eq!((summaries(&stage.source), summaries(&stage.target)), (1, 0));
    // Nothing takes it for a move that ended.
    assert!(status.moves.is_empty() && status.finished.is_empty());
    assert_eq!(picture(&stage.source), untouched);
    run::start(stage.setup()).await.unwrap();
    let status = run::status(stage.setup()).await.unwrap();
    assert_eq!((status.finished.len(), status.rolled_back.len()), (1, 1));
}

/// Files keep no records.
#[tokio::test(start_paused = true)]
async fn rolled_back_import_leaves_a_summary_in_the_target() {
    let dir = exported(&Stage::new()).await;
    let stage = Stage::empty();
    let status = roll_back(&stage, || importing(&stage, dir.path())).await;
    assert_eq!(status.rolled_back.len(), 1);
    assert_eq!(summaries(&stage.target), 1);
}

#[tokio::test(start_paused = true)]
async fn only_the_last_rollbacks_are_kept() {
    let stage = Stage::new();
    for _ in 0..11 {
        roll_back(&stage, || stage.setup()).await;
    }
    assert_eq!(summaries(&stage.source), 10);
}

/// A write whose answer is lost, and a record that is gone: what counts is that nothing is left to roll back.
#[tokio::test(start_paused = true)]
async fn summary_whose_answer_is_lost_counts() {
    for gone in [false, true] {
        let stage = Stage::new();
        let source = stage.source.clone();
        stage.source.on_call(move |verb, key| {
            let ends = verb == "patch"
                && is_record(key, "source")
                && source.body(key).is_some_and(|body| {
                    body["data"]["record.json"].as_str().is_some_and(|record| record.contains("Copied"))
                });
            if ends && gone {
                source.remove(key).unwrap();
            }
            (ends && !gone).then(|| Fault::After(PlaceError::Unavailable("lost".into())))
        });
        let status = roll_back(&stage, || stage.setup()).await;
        assert_eq!((status.rolled_back.len(), status.moves.len()), (usize::from(!gone), 0), "{gone}");
    }
}
