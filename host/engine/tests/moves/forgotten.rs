//! A source that is back in a state of before a move that has ended: only the target's summary names the move.

use std::sync::atomic::{AtomicUsize, Ordering};

use pivot_core::names;
use pivot_core::remedy::Remedy;
use pivot_core::risk::Risk;
use pivot_core::scope::{Namespaces, Scope};
use pivot_engine::{Exit, Failure, OneSidedMove, Setup, Sides, run};
use pivot_places::memory::Fault;
use pivot_places::{MemoryPlace, PlaceError};
use serde_json::{Value, json};

use crate::behind;
use crate::restored::{Backup, advises_nothing_by_hand, cluster, one_sided, stage};
use crate::stage::{Stage, claims, picture, under_way};

/// The move has ended, and the source is as before.
async fn forgotten() -> Stage {
    let stage = stage();
    let backup = Backup::take(&stage.source);
    run::start(stage.setup()).await.unwrap();
    backup.restore(&stage.source);
    stage
}

fn accepting(stage: &Stage) -> Setup {
    let mut setup = stage.setup();
    setup.options.accept.insert(Risk::WorldChanged);
    setup
}

// proves: I14, T166
#[tokio::test(start_paused = true)]
async fn sources_that_went_back_before_a_move_are_named() {
    let stage = forgotten().await;
    let before = (picture(&stage.source), picture(&stage.target));
    let found = under_way(stage.setup()).await.unwrap();
    let Some(OneSidedMove::SourceWentBack { proof, awake }) = found.one_sided else { panic!("{found:?}") };
    assert!(found.has_ended && proof.contains("ended at"), "{proof}");
    assert_eq!(awake, [cluster()]);
    for stop in [
        run::start(stage.setup()).await.unwrap_err(),
        run::resume(stage.setup()).await.unwrap_err(),
        run::rollback(stage.setup()).await.unwrap_err(),
        run::rollback(accepting(&stage)).await.unwrap_err(),
    ] {
        assert!(matches!(one_sided(&stop), OneSidedMove::SourceWentBack { .. }), "{stop}");
        assert_eq!((stop.exit, stop.remedies()), (Exit::Refused, vec![Remedy::PauseSource]), "{stop}");
        advises_nothing_by_hand(&stop);
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    assert_eq!(claims(&stage.source), Vec::<String>::new());
}

/// Another scope is another move, which finds the Cluster in the target.
// proves: I14
#[tokio::test(start_paused = true)]
async fn other_scopes_find_what_went_back() {
    let mut stage = forgotten().await;
    let planned = run::plan(stage.setup()).await.unwrap_err();
    stage.options.scope = Scope::new(Namespaces::All);
    for stop in [planned, run::start(stage.setup()).await.unwrap_err()] {
        let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
        let twice: Vec<_> = refusals.iter().filter(|refusal| refusal.object == Some(cluster())).collect();
        assert_eq!(twice.len(), 1, "{refusals:?}");
        assert!(twice[0].message.contains("a state of before that"), "{}", twice[0].message);
        assert_eq!(twice[0].remedies, [Remedy::PauseSource]);
    }
}

// proves: I14
#[tokio::test(start_paused = true)]
async fn summaries_are_enough_to_pause_sources() {
    let stage = forgotten().await;
    let source = picture(&stage.source);
    let stop = run::resume(accepting(&stage)).await.unwrap_err();
    let Failure::SourcePaused { clusters, .. } = &stop.failure else { panic!("{stop}") };
    assert_eq!((clusters, stop.exit), (&vec![cluster()], Exit::PastCommit), "{stop}");
    let found = under_way(stage.setup()).await.unwrap();
    assert!(matches!(found.one_sided, Some(OneSidedMove::TakenOver(_))), "{found:?}");
    assert_eq!(claims(&stage.source), Vec::<String>::new());
    let unpause = |body: &mut Value| {
        body["spec"]["paused"] = json!(false);
        body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::OUT_OF_DATE).unwrap();
    };
    stage.source.edit(&cluster(), unpause).unwrap();
    assert_eq!(picture(&stage.source), source, "nothing else was changed");
}

/// Some tools restore objects under new UIDs. Then only the workload cluster shows that it is the same.
// proves: I14
#[tokio::test(start_paused = true)]
async fn restored_sources_with_new_uids_are_recognised() {
    let stage = forgotten().await;
    let change = |place: &MemoryPlace, change: fn(&mut Value)| {
        let mut body = place.body(&cluster()).unwrap();
        change(&mut body);
        place.remove(&cluster()).unwrap();
        place.insert(body).unwrap();
    };
    change(&stage.source, |body| body["metadata"]["uid"] = json!("another"));
    let found = under_way(stage.setup()).await.unwrap();
    assert!(matches!(found.one_sided, Some(OneSidedMove::SourceWentBack { .. })), "{found:?}");
    change(&stage.source, |body| body["spec"]["controlPlaneEndpoint"]["host"] = json!("10.0.0.9"));
    assert_eq!(under_way(stage.setup()).await, None, "a new Cluster of the same name");
}

/// Then nothing is managed twice.
#[tokio::test(start_paused = true)]
async fn sources_whose_copies_are_gone_move_again() {
    let stage = forgotten().await;
    for key in stage.target.keys() {
        if key.namespace.as_deref() == Some("ns") {
            stage.target.remove(&key).unwrap();
        }
    }
    assert_eq!(under_way(stage.setup()).await, None);
    run::start(stage.setup()).await.unwrap();
}

/// A Cluster that came back by a move did not go back in time.
#[tokio::test(start_paused = true)]
async fn clusters_that_came_back_are_no_sign_of_a_restore() {
    let stage = stage();
    run::start(stage.setup()).await.unwrap();
    let (source, target) = (&stage.source, &stage.target);
    let moved = Backup::take(target);
    let back = || {
        let sides = Sides { source: behind::source(target), target: behind::target(source) };
        let mut setup = Setup { sides, ..stage.setup() };
        // Copies have no status.
        setup.options.scope.accept.insert(Risk::Unprovisioned);
        setup
    };
    // At each step of the way.
    for step in 1..100 {
        let writes = AtomicUsize::new(0);
        source.on_call(move |verb, key| {
            let counts = ["create", "patch"].contains(&verb) && key.group_kind.kind != "Lease";
            let dead = counts && writes.fetch_add(1, Ordering::SeqCst) + 1 >= step;
            dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
        });
        let ended = run::start(back()).await;
        source.on_call(|_, _| None);
        let status = run::status(stage.setup()).await.unwrap();
        assert!(status.moves.iter().all(|one| !one.has_ended), "step {step}: {status:?}");
        if ended.is_ok() {
            assert!(step > 10, "{step}");
            // The cluster that they left goes back to before they left it.
            moved.restore(target);
            let status = run::status(stage.setup()).await.unwrap();
            assert!(status.moves.iter().all(|one| !one.has_ended), "{status:?}");
            return;
        }
    }
    panic!("it never came back");
}
