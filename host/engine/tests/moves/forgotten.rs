//! A source that is back in a state of before a move that has ended: only the target's summary names the move.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::request::scope::{ClusterName, Namespaces, Scope};
use pivot_core::{Key, Uid};
use pivot_engine::{Exit, Failure, OneSidedMove, Setup, Sides};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::behind;
use crate::recovered::{is_paused, other, two_clusters};
use crate::restored::{Backup, advises_nothing_by_hand, cluster, one_sided, stage};
use crate::run::{self, With};
use crate::stage::{CLUSTERS, Stage, claims, key, picture, under_way};
use crate::trouble::half_committed;

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

/// A resume that names a Cluster to pause.
fn pausing(stage: &Stage, name: &str) -> With {
    let pause = [ClusterName::new("ns", name)].into();
    With { pause, ..accepting(stage).into() }
}

// proves: I14, T166
#[tokio::test(start_paused = true)]
async fn sources_that_went_back_before_a_move_are_named() {
    let stage = forgotten().await;
    let before = (picture(&stage.source), picture(&stage.target));
    let found = under_way(stage.setup()).await.unwrap();
    let Some(OneSidedMove::ClaimedByTarget { claim, clusters }) = found.one_sided else {
        panic!("{found:?}")
    };
    assert!(found.has_ended && claim.contains("ended at"), "{claim}");
    assert_eq!(clusters, [cluster()]);
    // The verdict about Clusters that may run twice comes before the question who began the move.
    let mut of_pivot = stage.setup();
    (of_pivot.options.operator, of_pivot.options.asked_by) =
        ("Pivot ns/p".to_owned(), Some(Uid("0-1".to_owned())));
    for stop in [
        run::start(of_pivot).await.unwrap_err(),
        run::start(stage.setup()).await.unwrap_err(),
        run::resume(stage.setup()).await.unwrap_err(),
        run::rollback(stage.setup()).await.unwrap_err(),
        run::rollback(accepting(&stage)).await.unwrap_err(),
        run::resume(accepting(&stage)).await.unwrap_err(),
    ] {
        assert!(matches!(one_sided(&stop), OneSidedMove::ClaimedByTarget { .. }), "{stop}");
        assert!(stop.to_string().contains("nothing in the source confirms that"), "{stop}");
        let remedy = Remedy::NameClusterToPause { cluster: cluster() };
        assert_eq!((stop.exit, stop.remedies()), (Exit::Refused, vec![remedy]), "{stop}");
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
        assert_eq!(twice[0].remedies, [Remedy::NameClusterToPause { cluster: cluster() }]);
    }
}

/// Anyone who controls a target can write a summary that names the Clusters of others.
// proves: I13, I14, T172
#[tokio::test(start_paused = true)]
async fn summaries_pause_no_unnamed_cluster() {
    let stage = two_clusters();
    let backup = Backup::take(&stage.source);
    run::start(stage.setup()).await.unwrap();
    backup.restore(&stage.source);
    stage.source.journal();
    let source = picture(&stage.source);
    let naming = |key: &Key| pausing(&stage, &key.name);
    let stop = run::resume(accepting(&stage)).await.unwrap_err();
    let OneSidedMove::ClaimedByTarget { clusters, .. } = one_sided(&stop) else { panic!("{stop}") };
    assert_eq!(clusters, &[cluster(), other()], "{stop}");
    let locked = |stage: &Stage| {
        let journal = stage.source.journal().into_iter();
        journal
            .filter(|call| call.key.group_kind.kind == "Lease")
            .map(|call| call.key.name)
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(locked(&stage), BTreeSet::new(), "its scope is the target's word");
    let stop = run::resume(naming(&key(CLUSTERS, "Cluster", "unknown"))).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::NoCluster { .. }) && stop.exit == Exit::Empty, "{stop}");
    assert_eq!(picture(&stage.source), source);

    let stop = run::resume(naming(&cluster())).await.unwrap_err();
    let Failure::SourcePaused { clusters, .. } = &stop.failure else { panic!("{stop}") };
    assert_eq!((clusters, stop.exit), (&vec![cluster()], Exit::PastCommit), "{stop}");
    assert!(is_paused(&stage.source, &cluster()) && !is_paused(&stage.source, &other()));
    let stop = run::resume(naming(&other())).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::SourcePaused { .. }), "{stop}");
    let found = under_way(stage.setup()).await.unwrap();
    assert!(matches!(found.one_sided, Some(OneSidedMove::TakenOver(_))), "{found:?}");
    assert_eq!(claims(&stage.source), Vec::<String>::new());
    let unpause = |body: &mut Value| {
        body["spec"]["paused"] = json!(false);
        body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::OUT_OF_DATE).unwrap();
    };
    for key in [cluster(), other()] {
        stage.source.edit(&key, unpause).unwrap();
    }
    let paused_twice = picture(&stage.source);
    assert_eq!(paused_twice.keys().collect::<Vec<_>>(), source.keys().collect::<Vec<_>>());
    assert_eq!(paused_twice["Cluster ns/c"]["spec"], source["Cluster ns/c"]["spec"]);
}

/// Of other moves the source's own record decides.
#[tokio::test(start_paused = true)]
async fn named_pauses_are_for_claims_alone() {
    let stage = half_committed(two_clusters()).await;
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::resume(pausing(&stage, "c")).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::Declined(_)), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
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
    assert!(matches!(found.one_sided, Some(OneSidedMove::ClaimedByTarget { .. })), "{found:?}");
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

/// Then the summary of the last move has the UIDs that the Clusters got when they came back.
// proves: I14, T166
#[tokio::test(start_paused = true)]
async fn sources_that_went_back_between_moves_are_named() {
    let mut stage = stage();
    // Copies have no status.
    stage.options.scope.accept.insert(Risk::Unprovisioned);
    run::start(stage.setup()).await.unwrap();
    let sides = Sides { source: behind::source(&stage.target), target: behind::target(&stage.source) };
    run::start(Setup { sides, ..stage.setup() }).await.unwrap();
    let returned = Backup::take(&stage.source);
    assert_eq!(under_way(stage.setup()).await, None);
    run::start(stage.setup()).await.unwrap();
    returned.restore(&stage.source);
    let found = under_way(stage.setup()).await.unwrap();
    let Some(OneSidedMove::ClaimedByTarget { clusters, .. }) = found.one_sided else { panic!("{found:?}") };
    assert_eq!(clusters, [cluster()]);
    let stop = run::resume(pausing(&stage, "c")).await.unwrap_err();
    assert!(
        matches!(&stop.failure, Failure::SourcePaused { clusters, .. } if *clusters == [cluster()]),
        "{stop}"
    );
}
