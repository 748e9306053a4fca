//! A backup that is older than the machines that it describes: nothing runs in the target that would create or delete machines.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::messages::shell::Kubectl;
use pivot_core::objects::names;
use pivot_core::{Key, Kind, KindLabels, Object, Side};
use pivot_engine::{Event, Exit, Failure, Next, PausedCluster, Setup, Stop, Watcher, WorkloadClusters};
use pivot_memory::Fault;
use pivot_places::PlaceError;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::committed;
use crate::crash::{at_every_write, nothing_of_ours};
use crate::importing::{exported, importing};
use crate::recovered::{is_paused, other, two_clusters};
use crate::recovered_machines::{
    Late, equal_nodes, find_command, keep_paused, lose_undo, report_pause, with_unknown_member,
};
use crate::restored::cluster;
use crate::run::{self, With};
use crate::stage::{CLUSTERS, INFRA, Stage, key, kind, picture};

/// Workload clusters that answer with these nodes, or not at all.
pub(crate) struct Nodes(Mutex<Result<Vec<Object>, String>>);

impl Nodes {
    /// Workers with the provider IDs of Machines, and a node of the control plane if it is named `cp`.
    pub(crate) fn with_names(names: &[&str]) -> Arc<Self> {
        let kind = Arc::new(Kind { namespaced: false, ..kind("", "Node", "nodes", KindLabels::default()) });
        let node = |name: &&str| {
            let labels =
                if *name == "cp" { json!({"node-role.kubernetes.io/control-plane": ""}) } else { json!({}) };
            let body = json!({"metadata": {"name": name, "labels": labels}, "spec": {"providerID": format!("lab://{name}")}});
            Object::from_value(kind.clone(), &body).unwrap()
        };
        Arc::new(Self(Mutex::new(Ok(names.iter().map(node).collect()))))
    }

    pub(crate) fn silent() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Err("no route to host".into()))))
    }
}

#[async_trait]
impl WorkloadClusters for Nodes {
    async fn list_nodes(&self, kubeconfig: Object) -> Result<Vec<Object>, String> {
        assert_eq!(kubeconfig.meta.name, "c-kubeconfig");
        self.0.lock().unwrap().clone()
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(30)
    }
}

#[derive(Default)]
pub(crate) struct Warnings(pub(crate) Mutex<Vec<String>>);

impl Watcher for Warnings {
    fn event(&self, event: Event) {
        if let Event::Warning { code, text, .. } = event
            && code == "machines-changed"
        {
            self.0.lock().unwrap().push(text);
        }
    }
}

/// Gives the two Machines of the source their provider IDs.
pub(crate) fn provide_machines(stage: &Stage) {
    for name in ["m0", "m1"] {
        let provided = |body: &mut Value| {
            body["spec"] = json!({"clusterName": "c", "providerID": format!("lab://{name}")});
        };
        stage.source.edit(&key(CLUSTERS, "Machine", name), provided).unwrap();
    }
}

/// A backup of a Cluster with two Machines.
async fn backup(stage: Stage) -> tempfile::TempDir {
    provide_machines(&stage);
    exported(&stage).await
}

pub(crate) fn restoring(stage: &Stage, dir: &Path, nodes: &Arc<Nodes>) -> Setup {
    Setup { workload_clusters: Some(nodes.clone()), ..importing(stage, dir) }
}

pub(crate) fn left_paused(stop: &Stop) -> &[PausedCluster] {
    match &stop.failure {
        Failure::RestoreDiffers(clusters) => clusters,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn current_backups_run_after_a_restore() {
    let dir = backup(Stage::new()).await;
    let stage = Stage::empty();
    run::start(restoring(&stage, dir.path(), &Nodes::with_names(&["m0", "m1"]))).await.unwrap();
    assert!(!is_paused(&stage.target, &cluster()) && nothing_of_ours(&stage.target));
}

#[tokio::test(start_paused = true)]
async fn differing_clusters_stay_paused_until_corrected() {
    let dir = backup(Stage::new()).await;
    for (nodes, reason) in [
        (Nodes::with_names(&["m0"]), "no node has the provider ID of Machine ns/m1"),
        (Nodes::with_names(&["m0", "m1", "m2"]), "nodes of workers without a Machine: m2"),
        (Nodes::silent(), "its nodes can't be read: no route to host"),
    ] {
        let stage = Stage::empty();
        let warnings = Arc::new(Warnings::default());
        let setup = Setup { watcher: warnings.clone(), ..restoring(&stage, dir.path(), &nodes) };
        run::plan(setup).await.unwrap();
        assert_eq!(*warnings.0.lock().unwrap(), [format!("Cluster ns/c will stay paused: {reason}")]);
        let stop = run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
        assert_eq!(
            (stop.exit, stop.next.as_slice()),
            (Exit::PastCommit, [Next::Resume].as_slice()),
            "{stop}"
        );
        let expected = PausedCluster {
            cluster: cluster(),
            reasons: vec![reason.into()],
            can_be_named: true,
            can_be_dropped: false,
        };
        assert_eq!(left_paused(&stop), [expected]);
        assert!(
            stop.state.contains("the listed Clusters, and objects outside of Clusters, are paused"),
            "{}",
            stop.state
        );
        assert_eq!(stop.remedies().last(), Some(&Remedy::NameComparedCluster { cluster: None }));
        let pool = stage.target.body(&key(INFRA, "Pool", "p")).unwrap().to_string();
        assert!(is_paused(&stage.target, &cluster()) && pool.contains("pivot-host.io/undo"));

        let corrected = Nodes::with_names(&["m0", "m1"]);
        run::resume(restoring(&stage, dir.path(), &corrected)).await.unwrap();
        assert!(!is_paused(&stage.target, &cluster()) && nothing_of_ours(&stage.target));
    }
}

#[tokio::test(start_paused = true)]
async fn named_clusters_run_unless_etcd_is_in_danger() {
    let dir = backup(Stage::new()).await;
    for (nodes, runs) in [(Nodes::with_names(&["m0", "m1", "cp"]), false), (Nodes::with_names(&["m0"]), true)]
    {
        let stage = Stage::empty();
        let stop = run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
        assert_eq!(left_paused(&stop)[0].can_be_named, runs);
        let keeps = (!runs).then(|| Kubectl::keep_cluster_paused(Side::Target));
        assert_eq!(find_command(&stop), keeps);
        let named = With::unpause(restoring(&stage, dir.path(), &nodes), &[&cluster()]);
        assert_eq!(run::resume(named).await.is_ok(), runs);
        assert_eq!(is_paused(&stage.target, &cluster()), !runs);
    }
}

/// The files may be gone by then.
#[tokio::test(start_paused = true)]
async fn restores_without_their_files_compare_too() {
    let dir = backup(Stage::new()).await;
    let (stage, nodes) = (Stage::empty(), Nodes::with_names(&["m0"]));
    run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
    let mut setup = restoring(&stage, dir.path(), &nodes);
    setup.options.scope.accept = Default::default();
    let stop = run::resume(With::absent(Side::Source, setup.clone())).await.unwrap_err();
    assert_eq!(left_paused(&stop)[0].cluster, cluster());
    assert_eq!((stop.exit, stop.next.as_slice()), (Exit::PastCommit, [Next::Resume].as_slice()), "{stop}");
    assert!(stop.state.starts_with("the target has everything"), "the files were not read: {}", stop.state);
    *nodes.0.lock().unwrap() = Nodes::with_names(&["m0", "m1"]).0.lock().unwrap().clone();
    run::resume(With::absent(Side::Source, setup)).await.unwrap();
    assert!(!is_paused(&stage.target, &cluster()));
}

#[tokio::test(start_paused = true)]
async fn equal_clusters_run_beside_differing_ones() {
    let dir = backup(two_clusters()).await;
    let (stage, nodes) = (Stage::empty(), Nodes::with_names(&["m0", "m1"]));
    let stop = run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
    let [stays] = left_paused(&stop) else { panic!("{stop}") };
    assert_eq!(stays.cluster, other());
    assert_eq!(stays.reasons, ["its nodes can't be read without Secret ns/d-kubeconfig"]);
    assert!(!is_paused(&stage.target, &cluster()) && is_paused(&stage.target, &other()));
    run::resume(With::unpause(restoring(&stage, dir.path(), &nodes), &[&other()])).await.unwrap();
    assert!(!is_paused(&stage.target, &other()) && nothing_of_ours(&stage.target));
}

/// One Cluster's Secret or control plane can't be read: its tenant may have chosen a kind whose webhook is down.
#[tokio::test(start_paused = true)]
async fn unreadable_objects_hold_no_other_cluster() {
    let group = "controlplane.cluster.x-k8s.io";
    for (unreadable, stays, runs, reason) in [
        (
            key("", "Secret", "d-kubeconfig"),
            other(),
            cluster(),
            "its nodes can't be read: reading Secret ns/d-kubeconfig in the target: refused: no",
        ),
        (
            key(group, "KubeadmControlPlane", "cp"),
            cluster(),
            other(),
            "it was not compared in full: reading KubeadmControlPlane ns/cp in the target: refused: no",
        ),
    ] {
        let dir = backup(two_clusters()).await;
        let stage = Stage::empty();
        run::start(restoring(&stage, dir.path(), &Nodes::silent())).await.unwrap_err();
        let labels = KindLabels::default();
        stage.target.add_kind(kind(group, "KubeadmControlPlane", "kubeadmcontrolplanes", labels));
        let reference = json!({"apiGroup": group, "kind": "KubeadmControlPlane", "name": "cp"});
        stage.target.edit(&cluster(), |body| body["spec"]["controlPlaneRef"] = reference).unwrap();
        stage.target.on_call(move |verb, key| {
            let fails = verb == "get" && *key == unreadable;
            fails.then(|| Fault::Before(PlaceError::Invalid("no".into())))
        });
        let setup = restoring(&stage, dir.path(), &equal_nodes());
        let stop = run::resume(With::unpause(setup, &[&runs])).await.unwrap_err();
        let [paused] = left_paused(&stop) else { panic!("{stop}") };
        assert_eq!((&paused.cluster, paused.reasons.as_slice()), (&stays, [reason.to_owned()].as_slice()));
        assert!(is_paused(&stage.target, &stays) && !is_paused(&stage.target, &runs));
    }
}

#[tokio::test(start_paused = true)]
async fn killed_restores_unpause_no_differing_cluster() {
    let dir = backup(Stage::new()).await;
    let whole = Stage::empty();
    run::start(importing(&whole, dir.path())).await.unwrap();
    let target = picture(&whole.target);
    let nodes = Nodes::with_names(&["m0"]);
    let deaths = at_every_write(
        async || (Stage::empty(), ()),
        async |stage, ()| drop(run::start(restoring(stage, dir.path(), &nodes)).await),
        async |stage, (), at| {
            let stop = run::start(restoring(stage, dir.path(), &nodes)).await.unwrap_err();
            assert_eq!(left_paused(&stop)[0].cluster, cluster(), "{at}");
            assert!(is_paused(&stage.target, &cluster()), "{at}");
            let named = With::unpause(restoring(stage, dir.path(), &nodes), &[&cluster()]);
            run::resume(named).await.unwrap();
            assert_eq!(picture(&stage.target), target, "{at}");
        },
    )
    .await;
    assert!(deaths > 20, "{deaths}");
}

/// Both are ways to end a restore although a Cluster differs.
#[tokio::test(start_paused = true)]
async fn clusters_that_a_user_took_over_are_not_compared() {
    let dir = backup(Stage::new()).await;
    let nodes = Nodes::with_names(&["m0", "m1", "cp"]);
    let unpause = |body: &mut Value| body["spec"]["paused"] = json!(false);
    for (change, stays) in [(&keep_paused as &dyn Fn(&mut Value), true), (&unpause, false)] {
        let stage = Stage::empty();
        let stop = run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
        assert!(!left_paused(&stop)[0].can_be_named);
        stage.target.edit(&cluster(), change).unwrap();
        run::resume(restoring(&stage, dir.path(), &nodes)).await.unwrap();
        assert_eq!(is_paused(&stage.target, &cluster()), stays);
        let pool = stage.target.body(&key(INFRA, "Pool", "p")).unwrap().to_string();
        assert!(!pool.contains("pivot-host.io/undo"));
    }
}

/// Without the annotation, only the name of a Cluster unpauses it, and it is compared like any other.
// proves: I14
#[tokio::test(start_paused = true)]
async fn endangered_copies_without_undo_stay_paused() {
    let dir = backup(two_clusters()).await;
    let (stage, nodes) = (Stage::empty(), with_unknown_member());
    let pool_waits = || {
        let pool = stage.target.body(&key(INFRA, "Pool", "p")).unwrap();
        pool.to_string().contains(names::UNDO)
    };
    run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
    stage.target.edit(&cluster(), lose_undo).unwrap();
    let gone = "the annotation that undoes its pause is gone";
    let endangered = "nodes of the control plane without a Machine: cp";
    for named in [vec![other()], vec![other(), cluster()]] {
        let named: Vec<&Key> = named.iter().collect();
        let command = With::unpause(restoring(&stage, dir.path(), &nodes), &named);
        let stop = run::resume(command).await.unwrap_err();
        let [paused] = left_paused(&stop) else { panic!("{stop}") };
        assert_eq!((&paused.cluster, paused.can_be_named), (&cluster(), false), "{stop}");
        assert_eq!(paused.reasons, [endangered, gone]);
        assert!(is_paused(&stage.target, &cluster()) && !is_paused(&stage.target, &other()) && pool_waits());
    }
    let stop = run::resume(restoring(&stage, dir.path(), &equal_nodes())).await.unwrap_err();
    let [paused] = left_paused(&stop) else { panic!("{stop}") };
    assert_eq!((paused.reasons.as_slice(), paused.can_be_named), ([gone.to_owned()].as_slice(), true));
    assert!(is_paused(&stage.target, &cluster()) && pool_waits());
    let command = With::unpause(restoring(&stage, dir.path(), &equal_nodes()), &[&cluster()]);
    run::resume(command).await.unwrap();
    assert!(!is_paused(&stage.target, &cluster()) && nothing_of_ours(&stage.target));
}

/// A user pauses a Cluster, so that it isn't compared, and ends that pause while another Cluster is compared.
// proves: I14
#[tokio::test(start_paused = true)]
async fn copies_are_never_unpaused_uncompared() {
    let dir = backup(two_clusters()).await;
    let stage = Stage::empty();
    run::start(restoring(&stage, dir.path(), &Nodes::with_names(&["m0"]))).await.unwrap_err();
    assert!(is_paused(&stage.target, &cluster()));
    stage.target.edit(&other(), keep_paused).unwrap();
    let place = stage.target.clone();
    let late = Late::new(move || {
        let end_pause = |body: &mut Value| {
            body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::PAUSED);
        };
        place.edit(&other(), end_pause).unwrap();
    });
    let mut setup = restoring(&stage, dir.path(), &equal_nodes());
    setup.workload_clusters = Some(late);
    let stop = run::resume(With::unpause(setup, &[&cluster(), &other()])).await.unwrap_err();
    let [paused] = left_paused(&stop) else { panic!("{stop}") };
    assert_eq!(paused.cluster, other(), "{stop}");
    assert!(!is_paused(&stage.target, &cluster()) && is_paused(&stage.target, &other()));
    let command = With::unpause(restoring(&stage, dir.path(), &equal_nodes()), &[&other()]);
    run::resume(command).await.unwrap();
    assert!(!is_paused(&stage.target, &other()) && nothing_of_ours(&stage.target));
}

/// Controllers of the target rightly do nothing for the paused Cluster. If it runs, they must take over its Machines.
#[tokio::test(start_paused = true)]
async fn restores_await_no_takeover_of_kept_pauses() {
    let source = Stage::new();
    report_pause(&source.source);
    let dir = backup(source).await;
    for is_kept in [true, false] {
        let mut stage = Stage::empty();
        run::start(restoring(&stage, dir.path(), &with_unknown_member())).await.unwrap_err();
        report_pause(&stage.target);
        let nodes = if is_kept { with_unknown_member() } else { equal_nodes() };
        if is_kept {
            stage.target.edit(&cluster(), keep_paused).unwrap();
        }
        stage.options.accept.remove(Risk::TakeoverUnchecked);
        let warnings = Arc::new(committed::Warnings::default());
        let setup = Setup { watcher: warnings.clone(), ..restoring(&stage, dir.path(), &nodes) };
        let begun = Instant::now();
        run::resume(setup).await.unwrap();
        let warnings = warnings.0.lock().unwrap().join("\n");
        let has_timed_out = begun.elapsed() >= stage.options.takeover_timeout;
        assert_eq!(has_timed_out, !is_kept, "{warnings}");
        assert_eq!(warnings.contains("have not taken over"), !is_kept, "{warnings}");
        let excuse = "Cluster ns/c in the target stays paused: pivot-host doesn't check";
        assert_eq!(warnings.contains(excuse), is_kept, "{warnings}");
        assert_eq!(is_paused(&stage.target, &cluster()), is_kept);
    }
}
