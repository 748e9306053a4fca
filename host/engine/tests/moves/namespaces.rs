//! Namespaces that a move makes in the target, and what becomes of them when it is rolled back.

use pivot_core::{GroupKind, Key};
use pivot_engine::Exit;
use pivot_memory::Fault;
use pivot_places::PlaceError;

use crate::run;
use crate::stage::{INFRA, Stage, body, is_record, key, picture};

/// A namespace that one move made, and another, finished one moved into.
// proves: T99
#[tokio::test(start_paused = true)]
async fn a_rollback_keeps_a_namespace_in_which_another_moves_objects_live() {
    let first = Stage::new();
    first.target.on_call(|verb, key| {
        (verb == "create" && key.name == "m1").then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    assert_eq!(run::start(first.setup()).await.unwrap_err().exit, Exit::PartWay);
    first.target.on_call(|_, _| None);

    let mut second = Stage::empty();
    second.target = first.target.clone();
    second.source.insert(body(INFRA, "Pool", "theirs", None)).unwrap();
    run::start(second.setup()).await.unwrap();
    run::rollback(first.setup()).await.unwrap();
    let namespace = Key::new(GroupKind::new("", "Namespace"), None, "ns");
    assert!(first.target.body(&namespace).is_some());
    assert!(first.target.body(&key(INFRA, "Pool", "theirs")).is_some());
}

/// Namespaces are made while the record is written that says what comes next; that may fail.
#[tokio::test(start_paused = true)]
async fn a_namespace_made_beside_a_record_that_is_not_written_is_removed_again() {
    let stage = Stage::new();
    let untouched = picture(&stage.source);
    stage.source.on_call(|verb, key| {
        let second = verb == "patch" && is_record(key, "source");
        second.then(|| Fault::Before(PlaceError::Forbidden("records".into())))
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Refused, "{stop}");
    assert_eq!(picture(&stage.source), untouched);
    let made = stage.target.journal().into_iter().filter(|call| call.key.group_kind.is("", "Namespace"));
    assert_eq!(made.map(|call| call.verb).collect::<Vec<_>>(), ["create", "delete"]);
    assert!(stage.target.keys().iter().all(|key| key.name != "ns"), "{:?}", stage.target.keys());
}
