//! A recovered move whose target may have changed machines before it was lost: Clusters are compared with their nodes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::messages::shell::Kubectl;
use pivot_core::objects::names;
use pivot_core::{Key, KindLabels, Object, Side};
use pivot_engine::{Event, Exit, Failure, Halt, PausedCluster, Setup, Stop, Watcher, WorkloadClusters};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::crash::{at_every_write, nothing_of_ours};
use crate::recovered::{Lost, is_paused, lose, other, recovering, two_clusters};
use crate::restored::{cluster, reconcile};
use crate::run::{self, With};
use crate::stage::{CLUSTERS, INFRA, Stage, key, kind, picture, under_way};
use crate::stale_backup::{Nodes, Warnings, provide_machines};
use crate::trouble::half_committed;

/// The two ways to recover, and the side whose Clusters are unpaused.
const SIDES: [Side; 2] = [Side::Source, Side::Target];

pub(crate) fn equal_nodes() -> Arc<Nodes> {
    Nodes::with_names(&["m0", "m1"])
}

/// The lost target added a Machine to the control plane.
pub(crate) fn with_unknown_member() -> Arc<Nodes> {
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
    recover_with(side, with).await
}

async fn recover_with(side: Side, with: With) -> Result<(), Stop> {
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
pub(crate) fn find_command(stop: &Stop) -> Option<Kubectl> {
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

/// An object that can't be read isn't missing, and a Cluster without it isn't compared in full. Other Clusters don't depend on it.
#[tokio::test(start_paused = true)]
async fn unreadable_objects_are_listed_as_such() {
    let group = "controlplane.cluster.x-k8s.io";
    let secret = || key("", "Secret", "c-kubeconfig");
    let control_plane = || key(group, "KubeadmControlPlane", "cp");
    let denied = PlaceError::Forbidden("no".into());
    let outage = PlaceError::Unavailable("conversion webhook for cp failed".into());
    for side in SIDES {
        for (unreadable, error, reason) in [
            (
                secret(),
                denied.clone(),
                "its nodes can't be read: no permission to read Secret ns/c-kubeconfig".to_owned(),
            ),
            (
                secret(),
                PlaceError::Unreadable("cut".into()),
                format!(
                    "its nodes can't be read: reading Secret ns/c-kubeconfig in the {side}: unreadable answer: cut"
                ),
            ),
            (
                control_plane(),
                denied.clone(),
                "it was not compared in full: no permission to read KubeadmControlPlane ns/cp".to_owned(),
            ),
            (
                control_plane(),
                outage.clone(),
                format!(
                    "it was not compared in full: reading KubeadmControlPlane ns/cp in the {side}: no answer: conversion webhook"
                ),
            ),
        ] {
            let stage = lose_machines().await;
            recover(&stage, side, &equal_nodes(), &[]).await.unwrap_err();
            for place in [&stage.source, &stage.target] {
                let kind = kind(group, "KubeadmControlPlane", "kubeadmcontrolplanes", KindLabels::default());
                place.add_kind(kind);
            }
            let there = get_place(&stage, side);
            let reference = json!({"apiGroup": group, "kind": "KubeadmControlPlane", "name": "cp"});
            there.edit(&cluster(), |body| body["spec"]["controlPlaneRef"] = reference).unwrap();
            there.on_call(move |verb, key| {
                let fails = verb == "get" && *key == unreadable;
                fails.then(|| Fault::Before(error.clone()))
            });
            let stop = recover(&stage, side, &equal_nodes(), &[&other()]).await.unwrap_err();
            let [paused] = left_paused(&stop, side) else { panic!("{side}: {stop}") };
            let [only] = paused.reasons.as_slice() else { panic!("{stop}") };
            assert!(paused.cluster == cluster() && only.starts_with(&reason), "{reason}: {stop}");
            assert!(is_paused(there, &cluster()) && !is_paused(there, &other()), "{side}: {reason}");
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

/// A single command may accept the danger and name Clusters, so that no earlier command listed the differences.
#[tokio::test(start_paused = true)]
async fn reasons_against_named_clusters_are_reported() {
    for side in SIDES {
        for (nodes, how) in [
            (equal_nodes(), None),
            (
                Nodes::with_names(&["m0"]),
                Some(" because this command names it: no node has the provider ID of Machine ns/m1"),
            ),
            (
                Nodes::silent(),
                Some(
                    " without a comparison because this command names it: its nodes can't be read: no route to host",
                ),
            ),
        ] {
            let stage = lose_machines().await;
            let warnings = Arc::new(Warnings::default());
            let mut with = recovering(&stage, &[&cluster(), &other()]);
            with.setup.workload_clusters = Some(nodes);
            with.setup.watcher = warnings.clone();
            recover_with(side, with).await.unwrap();
            let first = how.map(|how| format!("Cluster ns/c in the {side} is unpaused{how}"));
            let second = format!(
                "Cluster ns/d in the {side} is unpaused without a comparison because this command names it: its nodes can't be read \
                 without Secret ns/d-kubeconfig"
            );
            let expected: Vec<String> = first.into_iter().chain([second]).collect();
            assert_eq!(*warnings.0.lock().unwrap(), expected, "{side}");
        }
        let stage = lose_machines().await;
        let warnings = Arc::new(Warnings::default());
        let mut with = recovering(&stage, &[&cluster()]);
        with.setup.workload_clusters = Some(with_unknown_member());
        with.setup.watcher = warnings.clone();
        recover_with(side, with).await.unwrap_err();
        assert!(warnings.0.lock().unwrap().is_empty(), "{side}: both stay paused");
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

/// Replaces the annotation that undoes the pause of a Cluster.
pub(crate) fn keep_paused(body: &mut Value) {
    let annotations = body["metadata"]["annotations"].as_object_mut().unwrap();
    annotations.remove(names::UNDO).unwrap();
    annotations.insert(names::PAUSED.to_owned(), json!(""));
}

/// A way to end a recovery although nothing corrects the Cluster.
#[tokio::test(start_paused = true)]
async fn recoveries_end_with_clusters_that_users_pause() {
    for side in SIDES {
        let stage = lose_machines().await;
        let nodes = with_unknown_member();
        recover(&stage, side, &nodes, &[&cluster(), &other()]).await.unwrap_err();
        get_place(&stage, side).edit(&cluster(), keep_paused).unwrap();
        recover(&stage, side, &nodes, &[&cluster(), &other()]).await.unwrap();
        assert!(is_paused(get_place(&stage, side), &cluster()), "{side}");
        assert!(under_way(stage.setup()).await.is_none(), "{side}");
        assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{side}");
    }
}

/// The controllers of Machines report a pause, as Cluster API's have since 1.9.
pub(crate) fn report_pause(place: &MemoryPlace) {
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
    stage.target.edit(&cluster(), keep_paused).unwrap();
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

/// The Cluster ran in the target, so its controllers must take over its Machines. A later pause changes nothing.
// proves: I11
#[tokio::test(start_paused = true)]
async fn later_pauses_excuse_no_missing_takeover() {
    let mut stage = lose_machines().await;
    report_pause(&stage.source);
    let (side, nodes) = (Side::Target, equal_nodes());
    recover(&stage, side, &nodes, &[]).await.unwrap_err();
    report_pause(&stage.target);
    stage.options.accept.remove(Risk::TakeoverUnchecked);
    stage.options.takeover_timeout = Duration::from_secs(60);
    let pause = |body: &mut Value| body["metadata"]["annotations"][names::PAUSED] = json!("");
    for is_paused_later in [false, true] {
        if is_paused_later {
            assert!(!is_paused(&stage.target, &cluster()));
            stage.target.edit(&cluster(), pause).unwrap();
        }
        let stop = recover(&stage, side, &nodes, &[&cluster(), &other()]).await.unwrap_err();
        let Failure::NotTakenOver(missing) = &stop.failure else { panic!("{stop}") };
        let machine = key(CLUSTERS, "Machine", "m0");
        assert!(missing.iter().any(|awaited| awaited.object.as_ref() == Some(&machine)), "{stop}");
        assert!(stage.source.body(&cluster()).is_some());
    }
}

/// Workload clusters that answer late. Something happens before the answer.
pub(crate) struct Late<F> {
    nodes: Arc<Nodes>,
    meanwhile: F,
    has_answered: AtomicBool,
}

impl<F: Fn()> Late<F> {
    pub(crate) fn new(meanwhile: F) -> Arc<Self> {
        Arc::new(Self { nodes: equal_nodes(), meanwhile, has_answered: AtomicBool::new(false) })
    }
}

#[async_trait]
impl<F: Fn() + Send + Sync> WorkloadClusters for Late<F> {
    async fn list_nodes(&self, kubeconfig: Object) -> Result<Vec<Object>, String> {
        (self.meanwhile)();
        tokio::time::sleep(Duration::from_secs(20)).await;
        self.has_answered.store(true, Ordering::SeqCst);
        self.nodes.list_nodes(kubeconfig).await
    }

    fn patience(&self) -> Duration {
        self.nodes.patience()
    }
}

// proves: I14
#[tokio::test(start_paused = true)]
async fn stops_during_comparisons_unpause_nothing() {
    for side in SIDES {
        let stage = lose_machines().await;
        let mut with = recovering(&stage, &[&cluster(), &other()]);
        let halter = with.setup.halter.clone();
        let late = Late::new(move || halter.halt(Halt::Signal(2)));
        with.setup.workload_clusters = Some(late.clone());
        let stop = recover_with(side, with).await.unwrap_err();
        assert_eq!(stop.exit, Exit::Interrupted, "{side}: {stop}");
        assert!(!late.has_answered.load(Ordering::SeqCst), "{side}: nothing is changed, so there is no wait");
        let there = get_place(&stage, side);
        assert!(is_paused(there, &cluster()) && is_paused(there, &other()), "{side}");
        recover(&stage, side, &equal_nodes(), &[&cluster(), &other()]).await.unwrap();
        assert!(!is_paused(there, &cluster()) && !is_paused(there, &other()), "{side}");
    }
}

#[derive(Default)]
struct Waits(Mutex<Vec<String>>);

impl Watcher for Waits {
    fn event(&self, event: Event) {
        if let Event::Waiting { awaited, .. } = event {
            self.0.lock().unwrap().extend(awaited.iter().map(ToString::to_string));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn slow_comparisons_are_reported() {
    for side in SIDES {
        let stage = lose_machines().await;
        let waits = Arc::new(Waits::default());
        let mut with = recovering(&stage, &[&cluster(), &other()]);
        with.setup.workload_clusters = Some(Late::new(|| {}));
        with.setup.watcher = waits.clone();
        recover_with(side, with).await.unwrap();
        let waits = waits.0.lock().unwrap().clone();
        let describe_wait =
            |name| format!("Cluster ns/{name} in the {side}: not compared with its nodes yet");
        assert!(waits.contains(&describe_wait("c")), "{waits:?}");
        assert!(!waits.contains(&describe_wait("d")), "it has no kubeconfig to wait for: {waits:?}");
    }
}

/// Others pause a Cluster, so that it isn't compared, and end their pause while another Cluster is compared.
// proves: I14
#[tokio::test(start_paused = true)]
async fn clusters_are_never_unpaused_uncompared() {
    for side in SIDES {
        let stage = lose_machines().await;
        recover(&stage, side, &equal_nodes(), &[]).await.unwrap_err();
        let there = get_place(&stage, side);
        there.edit(&other(), keep_paused).unwrap();
        let place = there.clone();
        let late = Late::new(move || {
            let end_pause = |body: &mut Value| {
                body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::PAUSED);
            };
            place.edit(&other(), end_pause).unwrap();
        });
        let mut with = recovering(&stage, &[&cluster(), &other()]);
        with.setup.workload_clusters = Some(late);
        let stop = recover_with(side, with).await.unwrap_err();
        assert!(!is_paused(there, &cluster()) && is_paused(there, &other()), "{side}");
        match (&stop.failure, side) {
            (Failure::UndoLost { clusters }, Side::Source) => assert_eq!(*clusters, [other()]),
            (Failure::LeftPaused { clusters, .. }, Side::Target) => {
                assert!(matches!(clusters.as_slice(), [paused] if paused.cluster == other()), "{stop}");
            }
            _ => panic!("{stop}"),
        }
        recover(&stage, side, &equal_nodes(), &[&other()]).await.unwrap();
        assert!(!is_paused(there, &other()), "{side}");
    }
}

/// Removes the annotation that undoes the pause of a Cluster.
pub(crate) fn lose_undo(body: &mut Value) {
    body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO).unwrap();
}

/// Without the annotation, only the name of a Cluster unpauses it, and it is compared like any other.
// proves: I14
#[tokio::test(start_paused = true)]
async fn endangered_clusters_without_undo_stay_paused() {
    for side in SIDES {
        let stage = lose_machines().await;
        let nodes = with_unknown_member();
        recover(&stage, side, &nodes, &[&other()]).await.unwrap_err();
        let there = get_place(&stage, side);
        there.edit(&cluster(), lose_undo).unwrap();
        for is_named in [false, true] {
            let cluster = cluster();
            let named = &[&cluster][..usize::from(is_named)];
            let stop = recover(&stage, side, &nodes, named).await.unwrap_err();
            let [paused] = left_paused(&stop, side) else { panic!("{side}: {stop}") };
            assert_eq!((&paused.cluster, paused.can_be_named), (&cluster, false), "{side}: {stop}");
            assert!(is_paused(there, &cluster), "{side}");
        }
        recover(&stage, side, &equal_nodes(), &[&cluster()]).await.unwrap();
        assert!(!is_paused(there, &cluster()), "{side}");
        assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{side}");
    }
}

/// Fails the test if a run lists nodes.
struct Unasked;

#[async_trait]
impl WorkloadClusters for Unasked {
    async fn list_nodes(&self, kubeconfig: Object) -> Result<Vec<Object>, String> {
        panic!("{} was used", kubeconfig.key())
    }

    fn patience(&self) -> Duration {
        Duration::ZERO
    }
}

/// Collects the reads of both sides in the namespace that moves.
fn collect_reads(stage: &Stage) -> Arc<Mutex<BTreeSet<String>>> {
    let reads = Arc::new(Mutex::new(BTreeSet::new()));
    for (side, place) in [(Side::Source, &stage.source), (Side::Target, &stage.target)] {
        let reads = reads.clone();
        place.on_call(move |verb, key| {
            let is_read = verb == "get" || verb.starts_with("list");
            if is_read && key.namespace.as_deref() == Some("ns") {
                reads.lock().unwrap().insert(format!("{verb} {key} {side}"));
            }
            None
        });
    }
    reads
}

/// Returns what a move and a rollback read.
async fn run_ordinary_moves(workload_clusters: Option<Arc<dyn WorkloadClusters>>) -> [BTreeSet<String>; 2] {
    let setup = |stage: &Stage| Setup { workload_clusters: workload_clusters.clone(), ..stage.setup() };
    let stage = two_clusters();
    let moved = collect_reads(&stage);
    run::start(setup(&stage)).await.unwrap();
    let stage = half_committed(two_clusters()).await;
    let rolled_back = collect_reads(&stage);
    run::rollback(setup(&stage)).await.unwrap();
    assert!(!is_paused(&stage.source, &cluster()));
    [moved, rolled_back].map(|reads| reads.lock().unwrap().clone())
}

#[tokio::test(start_paused = true)]
async fn ordinary_moves_read_no_nodes() {
    let without = run_ordinary_moves(None).await;
    assert!(without.iter().all(|reads| !reads.is_empty()), "{without:?}");
    assert_eq!(run_ordinary_moves(Some(Arc::new(Unasked))).await, without);
}
