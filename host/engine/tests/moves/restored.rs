//! A side that is restored from a backup of before or during a move, with its records.

use pivot_core::names;
use pivot_engine::{Exit, Failure, Next, OneSidedMove, Stop, run};
use pivot_places::MemoryPlace;
use serde_json::{Value, json};

use crate::committed::commit;
use crate::stage::{CLUSTERS, Stage, body, is_record, key, picture, under_way};
use crate::trouble::live;

/// Everything that a server holds.
struct Backup(Vec<Value>);

impl Backup {
    fn take(place: &MemoryPlace) -> Self {
        Self(place.keys().iter().filter_map(|key| place.body(key)).collect())
    }

    /// As a restored data directory of etcd does: with the UIDs of then.
    fn restore(&self, place: &MemoryPlace) {
        place.keys().iter().for_each(|key| place.remove(key).unwrap());
        self.0.iter().for_each(|body| drop(place.insert(body.clone()).unwrap()));
    }
}

async fn commands(stage: &Stage) -> [Stop; 3] {
    [
        run::resume(stage.setup()).await.unwrap_err(),
        run::start(stage.setup()).await.unwrap_err(),
        run::rollback(stage.setup()).await.unwrap_err(),
    ]
}

fn one_sided(stop: &Stop) -> &OneSidedMove {
    match &stop.failure {
        Failure::OneSidedMove { one_sided, .. } => one_sided,
        other => panic!("{other:?}"),
    }
}

/// Removes the target's record of a move, or its summary.
fn forget(target: &MemoryPlace) {
    let record = target.keys().into_iter().find(|key| is_record(key, "target")).unwrap();
    target.remove(&record).unwrap();
}

/// Nothing tells a person to do what only a move may do.
fn advises_nothing_by_hand(stop: &Stop) {
    let words = format!("{stop} {}", stop.state);
    for word in ["delete them", "finalizers", "un-pause", "unpause"] {
        assert!(!words.contains(word), "{words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_is_kept_if_its_target_lost_the_move() {
    let stage = Stage::new();
    let backup = Backup::take(&stage.target);
    let stage = commit(stage).await;
    backup.restore(&stage.target);
    let before = (picture(&stage.source), picture(&stage.target));
    for stop in commands(&stage).await {
        assert_eq!(one_sided(&stop), &OneSidedMove::LastCopyInSource, "{stop}");
        assert_eq!((stop.exit, stop.next.as_slice()), (Exit::Refused, [Next::Status].as_slice()), "{stop}");
        assert!(stop.state.contains("keep it"), "{}", stop.state);
        advises_nothing_by_hand(&stop);
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    let status = under_way(stage.setup()).await.unwrap();
    assert_eq!(status.one_sided, Some(OneSidedMove::LastCopyInSource));
}

/// The backup is of after the copy: what it has is complete, and paused.
#[tokio::test(start_paused = true)]
async fn paused_copies_do_not_make_a_source_stale() {
    let stage = commit(Stage::new()).await;
    forget(&stage.target);
    for stop in commands(&stage).await {
        assert_eq!(one_sided(&stop), &OneSidedMove::LastCopyInSource, "{stop}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_is_out_of_date_only_with_a_proof() {
    for summary in [true, false] {
        let stage = live().await;
        let backup = Backup::take(&stage.source);
        run::resume(stage.setup()).await.unwrap();
        if !summary {
            forget(&stage.target);
        }
        // As it was after the commit, with its record.
        backup.restore(&stage.source);
        let before = (picture(&stage.source), picture(&stage.target));
        for stop in commands(&stage).await {
            let OneSidedMove::TakenOver(proof) = one_sided(&stop) else { panic!("{stop}") };
            let expected = if summary { "ended at" } else { "Cluster ns/c, a copy of move" };
            assert!(proof.contains(expected), "{proof}");
            assert_eq!(stop.next, [Next::Status], "{stop}");
            advises_nothing_by_hand(&stop);
        }
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    }
}

#[tokio::test(start_paused = true)]
async fn copies_that_may_be_the_last_are_not_removed() {
    let mut stage = commit(Stage::new()).await;
    let backup = Backup::take(&stage.target);
    run::resume(stage.setup()).await.unwrap();
    backup.restore(&stage.target);
    let before = (picture(&stage.source), picture(&stage.target));
    for stop in commands(&stage).await {
        assert_eq!(one_sided(&stop), &OneSidedMove::LastCopyInTarget, "{stop}");
        assert_eq!((stop.exit, stop.next.as_slice()), (Exit::Refused, [Next::Status].as_slice()), "{stop}");
        advises_nothing_by_hand(&stop);
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    let status = under_way(stage.setup()).await.unwrap();
    assert_eq!(status.one_sided, Some(OneSidedMove::LastCopyInTarget));

    // Another object of a name that moved is none that moved.
    let mut another = body(CLUSTERS, "Cluster", "c", None);
    another["metadata"]["uid"] = json!("another");
    stage.source.insert(another).unwrap();
    let stop = run::rollback(stage.setup()).await.unwrap_err();
    assert_eq!(one_sided(&stop), &OneSidedMove::LastCopyInTarget, "{stop}");

    stage.options.source_gone = true;
    run::resume(stage.setup()).await.unwrap();
    let cluster = stage.target.body(&key(CLUSTERS, "Cluster", "c")).unwrap();
    assert_eq!(cluster["spec"]["paused"], json!(false));
    assert_eq!(cluster["metadata"]["annotations"].get(names::UNDO), None);
}
