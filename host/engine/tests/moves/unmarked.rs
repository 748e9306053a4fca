//! Clusters that run in the target without the mark of the move: copies that lost it, or Clusters that another tool made.

use pivot_core::Key;
use pivot_core::objects::names;
use pivot_engine::OneSidedMove;
use pivot_memory::MemoryPlace;
use serde_json::{Value, json};

use crate::recovered::{Lost, lose, other, recovering, two_clusters, wake};
use crate::restored::{advises_nothing_by_hand, cluster, forget, one_sided, reconcile};
use crate::run;
use crate::stage::{key, picture};
use crate::trouble::half_committed;

fn unmark(place: &MemoryPlace, cluster: &Key) {
    let unmark =
        |body: &mut Value| drop(body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::MARK));
    place.edit(cluster, unmark).unwrap();
}

/// A user of the target removes the mark of a copy, or a tool replaces the copy by what it has of the Cluster.
// proves: I2, T135
#[tokio::test(start_paused = true)]
async fn rollbacks_stop_beside_unmarked_running_copies() {
    for has_record in [true, false] {
        let stage = half_committed(two_clusters()).await;
        if !has_record {
            forget(&stage.target);
        }
        wake(&stage.target, &cluster());
        unmark(&stage.target, &cluster());
        let before = (picture(&stage.source), picture(&stage.target));
        let stop = run::rollback(stage.setup()).await.unwrap_err();
        assert!(stop.to_string().contains("without the mark of move"), "{has_record}: {stop}");
        advises_nothing_by_hand(&stop);
        assert_eq!((picture(&stage.source), picture(&stage.target)), before, "{has_record}");
    }
}

/// After a restore of the target, another tool brought its Clusters back.
// proves: I14, T103
#[tokio::test(start_paused = true)]
async fn recoveries_stop_beside_unmarked_running_copies() {
    let stage = lose(Lost::BeforeCopy).await;
    stage.target.add_namespace("ns");
    for key in [cluster(), key("", "Secret", "c-ca")] {
        let mut copy = stage.source.body(&key).unwrap();
        for field in ["annotations", "ownerReferences", "uid", "resourceVersion"] {
            copy["metadata"].as_object_mut().unwrap().remove(field);
        }
        stage.target.insert(copy).unwrap();
    }
    stage.target.edit(&cluster(), |body| body["spec"]["paused"] = json!(false)).unwrap();
    let before = (picture(&stage.source), picture(&stage.target));
    let setup = || recovering(&stage, &[&cluster()]);
    for stop in [run::rollback(setup()).await.unwrap_err(), run::resume(setup()).await.unwrap_err()] {
        assert!(stop.to_string().contains("without the mark of move"), "{stop}");
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    }
}

/// Both run: the user hears which, and not that the source is paused.
// proves: I14
#[tokio::test(start_paused = true)]
async fn clusters_beside_unmarked_copies_are_named() {
    let stage = half_committed(two_clusters()).await;
    forget(&stage.target);
    for place in [&stage.source, &stage.target] {
        wake(place, &cluster());
    }
    unmark(&stage.target, &cluster());
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::rollback(stage.setup()).await.unwrap_err();
    let OneSidedMove::SourceWentBack { awake, .. } = one_sided(&stop) else { panic!("{stop}") };
    assert_eq!(*awake, [cluster()]);
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// A Cluster of the same name and of another workload cluster is no copy of it.
#[tokio::test(start_paused = true)]
async fn other_clusters_of_the_name_stop_no_rollback() {
    let stage = half_committed(two_clusters()).await;
    forget(&stage.target);
    wake(&stage.target, &cluster());
    unmark(&stage.target, &cluster());
    let other = |body: &mut Value| body["spec"]["controlPlaneEndpoint"]["host"] = json!("10.9.9.9");
    stage.target.edit(&cluster(), other).unwrap();
    run::rollback(stage.setup()).await.unwrap();
    assert!(stage.target.body(&cluster()).is_some());
}

/// The source is not the last copy of a Cluster that runs: only the mark is missing.
// proves: I14
#[tokio::test(start_paused = true)]
async fn unmarked_copies_are_not_told_as_missing() {
    for is_rest_marked in [true, false] {
        let stage = lose(Lost::BeforeCommit).await;
        for cluster in [cluster(), other()] {
            wake(&stage.target, &cluster);
            reconcile(&stage.target, &cluster);
        }
        unmark(&stage.target, &other());
        if !is_rest_marked {
            unmark(&stage.target, &cluster());
        }
        let before = (picture(&stage.source), picture(&stage.target));
        let stop = run::resume(stage.setup()).await.unwrap_err();
        let OneSidedMove::PartTakenOver { without, unmarked, .. } = one_sided(&stop) else {
            panic!("{stop}")
        };
        let expected = if is_rest_marked { vec![other()] } else { vec![cluster(), other()] };
        assert_eq!((without, unmarked), (&Vec::new(), &expected), "{stop}");
        assert!(!stop.to_string().contains("last copy"), "{stop}");
        assert!(stop.to_string().contains("there without its mark"), "{stop}");
        // Another tool may have brought back a Cluster and its authority, and nothing else.
        assert!(stop.state.contains("may be incomplete"), "{}", stop.state);
        advises_nothing_by_hand(&stop);
        // One that doesn't run is missing all the same.
        let sleeping = stage.target.body(&other()).unwrap();
        stage.target.edit(&other(), |body| body["spec"]["paused"] = json!(true)).unwrap();
        let stop = run::resume(stage.setup()).await.unwrap_err();
        let OneSidedMove::PartTakenOver { without, .. } = one_sided(&stop) else { panic!("{stop}") };
        assert_eq!(without, &[other()], "{stop}");
        stage.target.edit(&other(), |body| body["spec"] = sleeping["spec"].clone()).unwrap();
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    }
}
