//! A recovered move whose target may have changed machines before it was lost: Clusters are compared with their nodes.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::messages::shell::Kubectl;
use pivot_core::objects::names;
use pivot_core::{Key, Object, Side};
use pivot_engine::{Failure, PausedCluster, Setup, Stop, WorkloadClusters};
use pivot_memory::MemoryPlace;
use serde_json::{Value, json};

use crate::crash::{at_every_write, nothing_of_ours};
use crate::recovered::{Lost, is_paused, lose, other, recovering, two_clusters};
use crate::restored::{cluster, reconcile};
use crate::run;
use crate::stage::{CLUSTERS, INFRA, Stage, key, picture, under_way};
use crate::stale_backup::{Nodes, provide_machines};
use crate::trouble::half_committed;

/// The two ways to recover, and the side whose Clusters are unpaused.
const SIDES: [Side; 2] = [Side::Source, Side::Target];

fn equal_nodes() -> Arc<Nodes> {
    Nodes::with_names(&["m0", "m1"])
}

/// The lost target added a Machine to the control plane.
fn with_unknown_member() -> Arc<Nodes> {
    Nodes::with_names(&["m0", "m1", "cp"])
}

async fn lose_machines() -> Stage {
    let stage = lose(Lost::BeforeCopy).await;
    provide_machines(&stage);
    stage
}

fn get_place(stage: &Stage, side: Side) -> &MemoryPlace {
    match side {
        Side::Source => &stage.source,
        Side::Target => &stage.target,
    }
}

/// Rolls back, or copies again.
async fn recover(stage: &Stage, side: Side, nodes: &Arc<Nodes>, named: &[&Key]) -> Result<(), Stop> {
    let mut with = recovering(stage, named);
    with.setup.workload_clusters = Some(nodes.clone());
    match side {
        Side::Source => run::rollback(with).await.map(drop),
        Side::Target => run::resume(with).await.map(drop),
    }
}

fn left_paused(stop: &Stop, side: Side) -> &[PausedCluster] {
    match &stop.failure {
        Failure::LeftPaused { side: on, clusters, compared: true } if *on == side => clusters,
        other => panic!("{other:?}"),
    }
}

/// The kubectl command among the remedies.
fn find_command(stop: &Stop) -> Option<Kubectl> {
    stop.remedies().into_iter().find_map(|remedy| match remedy {
        Remedy::Kubectl { command, .. } => Some(command),
        _ => None,
    })
}

// proves: I14
#[tokio::test(start_paused = true)]
async fn recovered_clusters_are_listed_with_differences() {
    let unreadable = "its nodes can't be read without Secret ns/d-kubeconfig";
    for side in SIDES {
        for (nodes, reasons, can_be_named) in [
            (equal_nodes(), vec![], true),
            (Nodes::with_names(&["m0"]), vec!["no node has the provider ID of Machine ns/m1"], true),
            (Nodes::silent(), vec!["its nodes can't be read: no route to host"], true),
            (with_unknown_member(), vec!["nodes of the control plane without a Machine: cp"], false),
        ] {
            let at = format!("{side} {reasons:?}");
            let stage = lose_machines().await;
            let stop = recover(&stage, side, &nodes, &[]).await.unwrap_err();
            let paused_cluster = |cluster, reasons: &[&str], can_be_named| PausedCluster {
                cluster,
                reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
                can_be_named,
                can_be_dropped: false,
            };
            let expected = [
                paused_cluster(cluster(), &reasons, can_be_named),
                paused_cluster(other(), &[unreadable], true),
            ];
            assert_eq!(left_paused(&stop, side), expected, "{at}");
            let line = match reasons.first() {
                None => "Cluster ns/c: no difference from its nodes".to_owned(),
                Some(reason) => format!("Cluster ns/c: {reason}"),
            };
            assert!(stop.to_string().contains(&line), "{at}: {stop}");
            // No remedy has the name of a Cluster that differs.
            let equal = reasons.is_empty().then(cluster);
            assert_eq!(stop.remedies().last(), Some(&Remedy::NameComparedCluster { cluster: equal }), "{at}");
            assert!(is_paused(get_place(&stage, side), &cluster()), "{at}");
            assert!(is_paused(get_place(&stage, side), &other()), "{at}");
        }
    }
}

/// Clusters that only differ in their workers run, because the user decided that.
// proves: I14
#[tokio::test(start_paused = true)]
async fn named_clusters_wait_while_etcd_is_in_danger() {
    for side in SIDES {
        for nodes in [Nodes::with_names(&["m0"]), Nodes::with_names(&["m0", "m1", "m2"]), Nodes::silent()] {
            let stage = lose_machines().await;
            recover(&stage, side, &nodes, &[&cluster(), &other()]).await.unwrap();
            assert!(!is_paused(get_place(&stage, side), &cluster()), "{side}");
            assert!(under_way(stage.setup()).await.is_none(), "{side}");
        }
        let stage = lose_machines().await;
        for _ in 0..2 {
            let named = [&cluster(), &other()];
            let stop = recover(&stage, side, &with_unknown_member(), &named).await.unwrap_err();
            let [paused] = left_paused(&stop, side) else { panic!("{side}: {stop}") };
            assert_eq!((&paused.cluster, paused.can_be_named), (&cluster(), false), "{side}: {stop}");
            let offers_name = |remedy: &Remedy| matches!(remedy, Remedy::NameComparedCluster { .. });
            assert!(!stop.remedies().iter().any(offers_name), "{side}: {:?}", stop.remedies());
            assert_eq!(find_command(&stop), Some(Kubectl::keep_cluster_paused(side)));
            let there = get_place(&stage, side);
            assert!(is_paused(there, &cluster()) && !is_paused(there, &other()), "{side}");
            let pool = there.body(&key(INFRA, "Pool", "p")).unwrap();
            assert!(pool.to_string().contains(names::UNDO), "{side}: it may serve any Cluster: {pool}");
            assert!(stage.source.body(&cluster()).is_some(), "{side}");
        }
        recover(&stage, side, &equal_nodes(), &[&cluster()]).await.unwrap();
        assert!(!is_paused(get_place(&stage, side), &cluster()), "{side}");
        assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{side}");
    }
}

// proves: I10, I14
#[tokio::test(start_paused = true)]
async fn killed_recoveries_unpause_no_endangered_cluster() {
    let whole = two_clusters();
    provide_machines(&whole);
    let untouched = picture(&whole.source);
    run::start(whole.setup()).await.unwrap();
    let (source, target) = (picture(&whole.source), picture(&whole.target));
    let (nodes, named) = (with_unknown_member(), [&cluster(), &other()]);
    for side in SIDES {
        let deaths = at_every_write(
            async || (lose_machines().await, ()),
            async |stage, ()| drop(recover(stage, side, &nodes, &named).await),
            async |stage, (), at| {
                let is_awake =
                    |place: &MemoryPlace| place.body(&cluster()).is_some() && !is_paused(place, &cluster());
                assert!(!is_awake(&stage.source) && !is_awake(&stage.target), "{side}: {at}");
                let stop = recover(stage, side, &nodes, &named).await.unwrap_err();
                let [paused] = left_paused(&stop, side) else { panic!("{side}: {at}: {stop}") };
                assert_eq!(paused.cluster, cluster(), "{side}: {at}");
                assert!(is_paused(get_place(stage, side), &cluster()), "{side}: {at}");
                recover(stage, side, &equal_nodes(), &named).await.unwrap();
                match side {
                    Side::Source => {
                        assert_eq!(picture(&stage.source), untouched, "{at}");
                        assert!(picture(&stage.target).is_empty(), "{at}");
                    }
                    Side::Target => {
                        assert_eq!(picture(&stage.source), source, "{at}");
                        assert_eq!(picture(&stage.target), target, "{at}");
                    }
                }
                assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{side}: {at}");
            },
        )
        .await;
        assert!(deaths > 8, "{side}: {deaths}");
    }
}

/// The user replaces the annotation that undoes the pause.
fn keep_paused(place: &MemoryPlace) {
    let change = |body: &mut Value| {
        let annotations = body["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.remove(names::UNDO).unwrap();
        annotations.insert(names::PAUSED.to_owned(), json!(""));
    };
    place.edit(&cluster(), change).unwrap();
}

/// A way to end a recovery although nothing corrects the Cluster.
#[tokio::test(start_paused = true)]
async fn recoveries_end_with_clusters_that_users_pause() {
    for side in SIDES {
        let stage = lose_machines().await;
        let nodes = with_unknown_member();
        recover(&stage, side, &nodes, &[&cluster(), &other()]).await.unwrap_err();
        keep_paused(get_place(&stage, side));
        recover(&stage, side, &nodes, &[&cluster(), &other()]).await.unwrap();
        assert!(is_paused(get_place(&stage, side), &cluster()), "{side}");
        assert!(under_way(stage.setup()).await.is_none(), "{side}");
        assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{side}");
    }
}

/// The controllers of Machines report a pause, as Cluster API's have since 1.9.
fn report_pause(place: &MemoryPlace) {
    for name in ["m0", "m1"] {
        let report = |body: &mut Value| {
            body["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] = json!("c");
            body["status"] =
                json!({"nodeRef": {"name": name}, "conditions": [{"type": "Paused", "status": "True"}]});
        };
        place.edit(&key(CLUSTERS, "Machine", name), report).unwrap();
    }
}

/// Controllers of the target rightly do nothing for the paused Cluster. They must take over the other one.
// proves: I11
#[tokio::test(start_paused = true)]
async fn takeover_is_awaited_except_for_kept_pauses() {
    let mut stage = lose_machines().await;
    report_pause(&stage.source);
    let (side, nodes) = (Side::Target, with_unknown_member());
    recover(&stage, side, &nodes, &[&cluster(), &other()]).await.unwrap_err();
    report_pause(&stage.target);
    keep_paused(&stage.target);
    stage.options.accept.remove(Risk::TakeoverUnchecked);
    stage.options.takeover_timeout = Duration::from_secs(60);
    let stop = recover(&stage, side, &nodes, &[&other()]).await.unwrap_err();
    let [waiting] = left_paused(&stop, side) else { panic!("{stop}") };
    assert_eq!(waiting.cluster, cluster(), "it was not named");

    let named = [&cluster(), &other()];
    let stop = recover(&stage, side, &nodes, &named).await.unwrap_err();
    let Failure::NotTakenOver(missing) = &stop.failure else { panic!("{stop}") };
    let missing: Vec<&Key> = missing.iter().filter_map(|awaited| awaited.object.as_ref()).collect();
    assert_eq!(missing, [&other()], "{stop}");
    assert!(stage.source.body(&cluster()).is_some());

    reconcile(&stage.target, &other());
    let status = json!({"conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]});
    stage.target.edit(&other(), |body| body["status"] = status).unwrap();
    recover(&stage, side, &nodes, &named).await.unwrap();
    assert!(is_paused(&stage.target, &cluster()) && !is_paused(&stage.target, &other()));
    assert!(stage.source.body(&cluster()).is_none() && under_way(stage.setup()).await.is_none());
    assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target));
}

/// Fails the test if a run lists nodes.
struct Unasked;

#[async_trait]
impl WorkloadClusters for Unasked {
    async fn list_nodes(&self, kubeconfig: Object) -> Result<Vec<Object>, String> {
        panic!("{} was used", kubeconfig.key())
    }
}

#[tokio::test(start_paused = true)]
async fn ordinary_moves_read_no_nodes() {
    let setup = |stage: &Stage| Setup { workload_clusters: Some(Arc::new(Unasked)), ..stage.setup() };
    let stage = two_clusters();
    run::start(setup(&stage)).await.unwrap();
    let stage = half_committed(two_clusters()).await;
    run::rollback(setup(&stage)).await.unwrap();
    assert!(!is_paused(&stage.source, &cluster()));
}
