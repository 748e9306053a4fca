//! Admission webhooks refuse requests of a move.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pivot_core::records::record::Phase;
use pivot_engine::{Exit, Next};
use pivot_memory::Fault;
use pivot_places::PlaceError;
use tokio::time::Instant;

use crate::handover::cluster;
use crate::run;
use crate::stage::Stage;

/// Refuses to delete the Cluster a number of times, and returns how often it was asked.
fn refuse_deletes(stage: &Stage, times: usize) -> Arc<AtomicUsize> {
    let deletes = Arc::new(AtomicUsize::new(0));
    let seen = deletes.clone();
    stage.source.on_call(move |verb, key| {
        let is_refused = verb == "delete" && *key == cluster() && seen.fetch_add(1, Ordering::Relaxed) < times;
        // As Cluster API refuses to delete a ClusterClass that its cache says is used.
        let text = "DELETE c: admission webhook \"validation.example.io\" denied the request: it is used by 1 Cluster";
        is_refused.then(|| Fault::Before(PlaceError::Forbidden(text.into())))
    });
    deletes
}

#[tokio::test(start_paused = true)]
async fn webhooks_with_old_caches_are_asked_again() {
    let stage = Stage::new();
    let deletes = refuse_deletes(&stage, 3);
    run::start(stage.setup()).await.unwrap();
    assert_eq!(deletes.load(Ordering::Relaxed), 4);
    assert!(stage.source.body(&cluster()).is_none());
}

#[tokio::test(start_paused = true)]
async fn webhooks_that_refuse_for_good_stop() {
    let stage = Stage::new();
    refuse_deletes(&stage, usize::MAX);
    let begun = Instant::now();
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PastCommit, Some(Phase::Released)), "{stop}");
    assert_eq!(stop.next, [Next::Resume]);
    assert!(begun.elapsed() >= Duration::from_secs(10), "it was asked for a while");
    refuse_deletes(&stage, 0);
    run::resume(stage.setup()).await.unwrap();
    assert!(stage.source.body(&cluster()).is_none());
}

#[tokio::test(start_paused = true)]
async fn unreachable_webhook_stops_before_the_pause() {
    let stage = Stage::new();
    let before = stage.source.body(&cluster());
    stage.target.on_call(|verb, key| {
        let text = "POST c: Internal error occurred: failed calling webhook \"validation.example.io\": connection refused";
        let is_asked = verb.ends_with("create") && key.group_kind == cluster().group_kind;
        is_asked.then(|| Fault::Before(PlaceError::Unavailable(text.into())))
    });
    let begun = Instant::now();
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::Unreachable, None), "{stop}");
    assert!(stop.to_string().contains("failed calling webhook"), "{stop}");
    assert!((10..20).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    assert_eq!(stage.source.body(&cluster()), before);
}
