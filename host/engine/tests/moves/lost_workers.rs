//! A backup from before a scale-down: the copies of lost workers are dropped, and nothing else is.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pivot_core::objects::merge;
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::{Key, KindLabels, Side};
use pivot_engine::{Exit, Failure, PausedCluster, Setup, Stop};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::crash::{at_every_write, nothing_of_ours};
use crate::importing::exported;
use crate::recovered::is_paused;
use crate::recovered_machines::lose_undo;
use crate::restored::cluster;
use crate::run::{self, With};
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, kind, picture};
use crate::stale_backup::{Nodes, Warnings, left_paused, restoring};

/// A stage whose sides know MachineDeployments.
fn empty() -> Stage {
    let stage = Stage::empty();
    let discover = KindLabels { discover: true, ..KindLabels::default() };
    for side in [&stage.source, &stage.target] {
        side.add_kind(kind(CLUSTERS, "MachineDeployment", "machinedeployments", discover));
    }
    stage
}

/// A backup of a Cluster with a MachineDeployment of two Machines, each with infrastructure and a Secret. `change` adds to the
/// source.
async fn backup(change: impl Fn(&Stage)) -> tempfile::TempDir {
    let stage = empty();
    let owner = |kind, name| Some((CLUSTERS, kind, name));
    let mut all = vec![
        body(CLUSTERS, "Cluster", "c", None),
        body(INFRA, "InfraCluster", "c", owner("Cluster", "c")),
        body("", "Secret", "c-kubeconfig", None),
        body(CLUSTERS, "MachineDeployment", "md", owner("Cluster", "c")),
        body(CLUSTERS, "MachineSet", "ms", owner("MachineDeployment", "md")),
    ];
    all[0]["spec"] = json!({"paused": false});
    all[0]["status"] = json!({"initialization": {"infrastructureProvisioned": true},
        "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]});
    for maker in &mut all[3..] {
        maker["spec"] = json!({"clusterName": "c", "replicas": 2});
    }
    for name in ["m0", "m1"] {
        let mut machine = body(CLUSTERS, "Machine", name, owner("MachineSet", "ms"));
        machine["spec"] = json!({"clusterName": "c", "providerID": format!("lab://{name}")});
        machine["status"] = json!({"nodeRef": {"name": name}});
        let infra = body(INFRA, "InfraMachine", name, owner("Machine", name));
        all.extend([machine, infra, body("", "Secret", name, Some((INFRA, "InfraMachine", name)))]);
    }
    for object in all {
        stage.source.insert(object).unwrap();
    }
    change(&stage);
    exported(&stage).await
}

fn find_copy(stage: &Stage, kind: &str, name: &str) -> Option<Value> {
    stage.target.body(&key(CLUSTERS, kind, name))
}

fn lost() -> [Key; 3] {
    [key(CLUSTERS, "Machine", "m1"), key(INFRA, "InfraMachine", "m1"), key("", "Secret", "m1")]
}

fn has_lost(stage: &Stage) -> [bool; 3] {
    lost().map(|key| stage.target.body(&key).is_some())
}

fn replicas(stage: &Stage) -> [Value; 2] {
    [("MachineDeployment", "md"), ("MachineSet", "ms")]
        .map(|(kind, name)| find_copy(stage, kind, name).unwrap()["spec"]["replicas"].clone())
}

fn only(stop: &Stop) -> &PausedCluster {
    let [paused] = left_paused(stop) else { panic!("{stop}") };
    paused
}

fn dropping(stage: &Stage, dir: &Path, nodes: &Arc<Nodes>) -> With {
    With::drop_workers(restoring(stage, dir, nodes), &[&cluster()])
}

#[tokio::test(start_paused = true)]
async fn lost_workers_are_dropped_without_controllers() {
    let dir = backup(|_| {}).await;
    let (stage, nodes) = (empty(), Nodes::with_names(&["m0"]));
    let warnings = Arc::new(Warnings::default());
    let setup = Setup { watcher: warnings.clone(), ..restoring(&stage, dir.path(), &nodes) };
    run::plan(setup).await.unwrap();
    let planned = warnings.0.lock().unwrap().join("\n");
    assert!(planned.contains("; can be dropped: Machine ns/m1, so that"), "{planned}");
    let stop = run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
    assert!(only(&stop).can_be_dropped && only(&stop).can_be_named);
    assert_eq!(
        only(&stop).reasons,
        [
            "no node has the provider ID of Machine ns/m1",
            "can be dropped: Machine ns/m1, so that MachineDeployment ns/md wants 1 replica and MachineSet ns/ms wants 1 replica",
        ]
    );
    let target = stage.target.clone();
    stage.target.on_call(move |verb, key| {
        if verb == "delete" && lost().contains(key) {
            assert!(is_paused(&target, &cluster()), "{key}");
            assert_eq!(target.body(key).unwrap()["metadata"]["finalizers"], Value::Null, "{key}");
        }
        None
    });
    run::resume(dropping(&stage, dir.path(), &nodes)).await.unwrap();
    assert_eq!((has_lost(&stage), replicas(&stage)), ([false; 3], [json!(1), json!(1)]));
    assert!(find_copy(&stage, "Machine", "m0").is_some() && !is_paused(&stage.target, &cluster()));
    assert!(nothing_of_ours(&stage.target));
}

#[tokio::test(start_paused = true)]
async fn other_differences_drop_nothing() {
    let host = |content: Value| {
        move |stage: &Stage| {
            let mut host = body(INFRA, "Host", "h", None);
            merge::apply_patch(&mut host, &content);
            stage.source.insert(host).unwrap();
        }
    };
    let consumer =
        json!({"spec": {"consumerRef": {"kind": "InfraMachine", "name": "m1", "namespace": "ns"}}});
    let label = json!({"metadata": {"labels": {"example.com/machine": "ns.m1"}}});
    let annotation = json!({"metadata": {"annotations": {"example.com/machine": "m1"}}});
    let claimed = "Host ns/h stays, and refers to Machine ns/m1 in example.com/machine";
    let topology = |stage: &Stage| {
        let class = |body: &mut Value| body["spec"]["topology"] = json!({"classRef": {"name": "class"}});
        stage.source.edit(&cluster(), class).unwrap();
        stage.source.insert(body(CLUSTERS, "ClusterClass", "class", None)).unwrap();
    };
    let down = Nodes::with_names(&["m0"]);
    let cases: [(tempfile::TempDir, &Arc<Nodes>, &str); 6] = [
        (backup(topology).await, &down, "the topology of Cluster ns/c creates its Machines"),
        (backup(host(consumer)).await, &down, "Host ns/h stays, and refers to InfraMachine ns/m1"),
        (backup(host(label)).await, &down, claimed),
        (backup(host(annotation)).await, &down, claimed),
        (
            backup(|_| {}).await,
            &Nodes::with_names(&["m0", "m2"]),
            "nodes without a Machine may come from a rollout",
        ),
        (backup(|_| {}).await, &Nodes::silent(), "its nodes can't be read"),
    ];
    for (dir, nodes, why) in &cases {
        let stage = empty();
        let stop = run::start(restoring(&stage, dir.path(), nodes)).await.unwrap_err();
        let before = picture(&stage.target);
        assert!(!only(&stop).can_be_dropped, "{why}");
        let stop = run::resume(dropping(&stage, dir.path(), nodes)).await.unwrap_err();
        assert_eq!(stop.exit, Exit::PastCommit);
        let said = format!("nothing is dropped: {why}");
        assert_eq!(only(&stop).reasons.last(), Some(&said));
        assert_eq!(picture(&stage.target), before, "{why}");
    }
}

/// An object in the target that the move didn't make, and that belongs to a lost Machine.
#[tokio::test(start_paused = true)]
async fn objects_of_others_are_never_dropped() {
    let dir = backup(|_| {}).await;
    let (stage, nodes) = (empty(), Nodes::with_names(&["m0"]));
    run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
    let mut other = body(INFRA, "Pool", "other", None);
    let machine = stage.target.body(&lost()[0]).unwrap();
    other["metadata"]["ownerReferences"] = json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "name": "m1", "uid": machine["metadata"]["uid"], "controller": true}]);
    stage.target.insert(other).unwrap();
    let stop = run::resume(dropping(&stage, dir.path(), &nodes)).await.unwrap_err();
    assert_eq!(
        only(&stop).reasons.last().unwrap(),
        "nothing is dropped: Pool ns/other is no copy of this move"
    );
    assert_eq!(has_lost(&stage), [true; 3]);
}

/// Someone created the hosts in the target: the move has none.
#[tokio::test(start_paused = true)]
async fn hosts_of_others_keep_their_machines() {
    let dir = backup(|_| {}).await;
    let (stage, nodes) = (empty(), Nodes::with_names(&["m0"]));
    stage.target.add_kind(kind("example.com", "Hardware", "hardware", KindLabels::default()));
    run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
    let mut host = body("example.com", "Hardware", "h", None);
    host["metadata"]["labels"] = json!({"example.com/owner-name": "m1", "example.com/owner-namespace": "ns"});
    stage.target.insert(host).unwrap();
    let stop = run::resume(dropping(&stage, dir.path(), &nodes)).await.unwrap_err();
    assert_eq!(
        only(&stop).reasons.last().unwrap(),
        "nothing is dropped: Hardware ns/h stays, and refers to Machine ns/m1 in example.com/owner-name"
    );
    assert_eq!(has_lost(&stage), [true; 3]);
}

/// The hosts know the name of the namespace in the target.
#[tokio::test(start_paused = true)]
async fn hosts_in_renamed_namespaces_keep_machines() {
    let dir = backup(|_| {}).await;
    let (mut stage, nodes) = (empty(), Nodes::with_names(&["m0"]));
    let pairs = [("ns".to_owned(), "prod".to_owned())];
    stage.options.scope.namespace_map = NamespaceMap::new(pairs).unwrap();
    stage.target.add_kind(kind("example.com", "Hardware", "hardware", KindLabels::default()));
    run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
    let mut host = body("example.com", "Hardware", "h", None);
    host["metadata"]["namespace"] = json!("prod");
    host["metadata"]["labels"] = json!({"example.com/owner": "prod.m1"});
    stage.target.insert(host).unwrap();
    let stop = run::resume(dropping(&stage, dir.path(), &nodes)).await.unwrap_err();
    assert_eq!(
        only(&stop).reasons.last().unwrap(),
        "nothing is dropped: Hardware ns/h stays, and refers to Machine ns/m1 in example.com/owner"
    );
    let copy = Key { namespace: Some("prod".to_owned()), ..key(CLUSTERS, "Machine", "m1") };
    assert!(stage.target.body(&copy).is_some());
}

/// The garbage collector deletes dependents that the user can't see. Clusters that drop nothing don't depend on such kinds.
#[tokio::test(start_paused = true)]
async fn unreadable_kinds_prevent_drops() {
    for (error, reason) in [
        (PlaceError::Forbidden("no".into()), "can't be listed, and one may belong to a lost Machine"),
        (PlaceError::Invalid("its webhook fails".into()), "objects in the target can't be read"),
    ] {
        let dir = backup(|_| {}).await;
        let (stage, nodes) = (empty(), Nodes::with_names(&["m0"]));
        stage.target.add_kind(kind("example.com", "Hidden", "hiddens", KindLabels::default()));
        stage.target.on_call(move |verb, key| {
            let is_hidden = verb.starts_with("list") && key.group_kind.kind == "Hidden";
            is_hidden.then(|| Fault::Before(error.clone()))
        });
        let stop = run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
        assert!(only(&stop).can_be_dropped, "{stop}");
        let stop = run::resume(dropping(&stage, dir.path(), &nodes)).await.unwrap_err();
        let last = only(&stop).reasons.last().unwrap();
        assert!(last.starts_with("nothing is dropped: ") && last.contains(reason), "{last}");
        assert_eq!(has_lost(&stage), [true; 3]);
    }
}

/// Someone added a MachineDeployment to the paused Cluster.
#[tokio::test(start_paused = true)]
async fn owners_of_others_keep_their_replicas() {
    let dir = backup(|_| {}).await;
    let (stage, nodes) = (empty(), Nodes::with_names(&["m0"]));
    run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
    let mut other = body(CLUSTERS, "MachineDeployment", "new", None);
    other["spec"] = json!({"clusterName": "c", "replicas": 3});
    other["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "c"});
    stage.target.insert(other).unwrap();
    let stop = run::resume(dropping(&stage, dir.path(), &nodes)).await.unwrap_err();
    let last = only(&stop).reasons.last().unwrap();
    assert_eq!(last, "nothing is dropped: MachineDeployment ns/new is no copy of this move");
    assert_eq!(find_copy(&stage, "MachineDeployment", "new").unwrap()["spec"]["replicas"], 3);
    assert_eq!(has_lost(&stage), [true; 3]);
}

/// A change of someone else in the target.
type Interference = fn(&MemoryPlace);

/// While a Cluster drops its workers, someone unpauses it, or replaces an owner of Machines by another of the same name.
#[tokio::test(start_paused = true)]
async fn drops_end_if_others_interfere() {
    let unpause = |target: &MemoryPlace| {
        target.edit(&cluster(), |body| body["spec"]["paused"] = json!(false)).unwrap();
    };
    let replace = |target: &MemoryPlace| {
        let mut other = target.body(&key(CLUSTERS, "MachineDeployment", "md")).unwrap();
        target.remove(&key(CLUSTERS, "MachineDeployment", "md")).unwrap();
        other["metadata"].as_object_mut().unwrap().remove("uid");
        target.insert(other).unwrap();
    };
    let cases: [(Interference, &str); 2] = [
        (unpause, "someone unpaused Cluster ns/c while its lost workers were dropped"),
        (replace, "setting the replicas of MachineDeployment ns/md"),
    ];
    for (interfere, said) in cases {
        let dir = backup(|_| {}).await;
        let (stage, nodes) = (empty(), Nodes::with_names(&["m0"]));
        run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
        let (target, done) = (stage.target.clone(), AtomicBool::new(false));
        stage.target.on_call(move |verb, key| {
            let is_last = verb == "delete" && key.group_kind.kind == "Machine";
            if is_last && !done.swap(true, Ordering::SeqCst) {
                interfere(&target);
            }
            None
        });
        let stop = run::resume(dropping(&stage, dir.path(), &nodes)).await.unwrap_err();
        assert!(stop.failure.to_string().contains(said), "{}", stop.failure);
        assert_eq!(stop.exit, Exit::PastCommit, "{said}");
        assert_eq!(replicas(&stage)[0], json!(2), "{said}");
    }
}

/// A run that drops workers checks that the move's own pause is still in effect.
#[tokio::test(start_paused = true)]
async fn clusters_without_undo_drop_nothing() {
    let dir = backup(|_| {}).await;
    let (stage, nodes) = (empty(), Nodes::with_names(&["m0"]));
    run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
    stage.target.edit(&cluster(), lose_undo).unwrap();
    let stop = run::resume(dropping(&stage, dir.path(), &nodes)).await.unwrap_err();
    let last = only(&stop).reasons.last().unwrap();
    assert_eq!(last, "nothing is dropped: the annotation that undoes its pause is gone");
    assert!(!only(&stop).can_be_dropped && is_paused(&stage.target, &cluster()));
    assert_eq!((has_lost(&stage), replicas(&stage)), ([true; 3], [json!(2), json!(2)]));
}

#[tokio::test(start_paused = true)]
async fn unnamed_clusters_drop_nothing() {
    let dir = backup(|_| {}).await;
    let (stage, nodes) = (empty(), Nodes::with_names(&["m0"]));
    run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
    run::resume(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
    assert_eq!((has_lost(&stage), replicas(&stage)), ([true; 3], [json!(2), json!(2)]));
    run::resume(With::unpause(restoring(&stage, dir.path(), &nodes), &[&cluster()])).await.unwrap();
    assert_eq!((has_lost(&stage), replicas(&stage)), ([true; 3], [json!(2), json!(2)]));
}

#[tokio::test(start_paused = true)]
async fn unknown_names_and_other_moves_are_refused() {
    let dir = backup(|_| {}).await;
    let (stage, nodes) = (empty(), Nodes::with_names(&["m0"]));
    run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
    let unknown = key(CLUSTERS, "Cluster", "typo");
    let named = With::drop_workers(restoring(&stage, dir.path(), &nodes), &[&unknown]);
    let stop = run::resume(named).await.unwrap_err();
    assert!(matches!(&stop.failure, Failure::NoCluster { named, .. } if named == "ns/typo"), "{stop}");
    // A move between clusters deletes from its source.
    let stage = Stage::new();
    let stops =
        stage.dies(|verb, _| verb == "create", |verb, key| verb == "delete" && key.name == "m0").await;
    assert!(stops.move_id.is_some(), "{stops}");
    let setup: Setup = stage.setup();
    let stop = run::resume(With::drop_workers(setup, &[&cluster()])).await.unwrap_err();
    assert!(stop.failure.to_string().contains("restores no backup"), "{stop}");
}

/// The files may be gone, and the run may be killed at any write.
#[tokio::test(start_paused = true)]
async fn killed_drops_end_in_the_same_state() {
    let dir = backup(|_| {}).await;
    let nodes = Nodes::with_names(&["m0"]);
    let stopped = async || {
        let stage = empty();
        run::start(restoring(&stage, dir.path(), &nodes)).await.unwrap_err();
        stage
    };
    let whole = stopped().await;
    run::resume(dropping(&whole, dir.path(), &nodes)).await.unwrap();
    let target = picture(&whole.target);
    let deaths = at_every_write(
        async || (stopped().await, ()),
        async |stage, ()| drop(run::resume(dropping(stage, dir.path(), &nodes)).await),
        async |stage, (), at| {
            let mut setup = restoring(stage, dir.path(), &nodes);
            if at.died && is_paused(&stage.target, &cluster()) {
                // Without the name, what is left differs still, unless the last write was the last difference.
                let _ = run::resume(setup.clone()).await;
                assert!(
                    is_paused(&stage.target, &cluster()) || replicas(stage) == [json!(1), json!(1)],
                    "{at}"
                );
            }
            setup.options.scope.accept = Default::default();
            let mut named = With::absent(Side::Source, setup);
            named.drop = dropping(stage, dir.path(), &nodes).drop;
            match run::resume(named).await {
                Ok(_) => {}
                Err(stop) => assert!(matches!(stop.failure, Failure::NoMove), "{at}: {stop}"),
            }
            assert_eq!(picture(&stage.target), target, "{at}");
        },
    )
    .await;
    assert!(deaths > 12, "{deaths}");
}
