//! No move is committed before the target's controllers have shown that they see the paused copies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::records::record::Phase;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key};
use pivot_engine::{Exit, Failure, Next, Options, Setup};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::crash::{die_at, revive};
use crate::run;
use crate::stage::{CLUSTERS, Stage, body, key, picture, under_way};

pub(crate) const NAMESPACES: [&str; 9] = ["ns", "b", "c", "d", "e", "f", "g", "h", "i"];

/// A Cluster and two Machines, whose controllers reported the pause in the source.
pub(crate) fn stage() -> Stage {
    let mut stage = Stage::empty();
    stage.options.accept.remove(Risk::TakeoverUnchecked);
    stage.options.takeover_timeout = Duration::from_secs(300);
    add_cluster(&stage, "ns");
    stage
}

/// The stage in some of these namespaces, which both sides have.
pub(crate) fn stage_in_namespaces(count: usize) -> Stage {
    let mut stage = stage();
    stage.options.scope = Scope::new(Namespaces::All);
    for namespace in &NAMESPACES[..count] {
        stage.source.add_namespace(namespace);
        stage.target.add_namespace(namespace);
        if *namespace != "ns" {
            add_cluster(&stage, namespace);
        }
    }
    stage
}

fn add_cluster(stage: &Stage, namespace: &str) {
    let mut cluster = body(CLUSTERS, "Cluster", "c", None);
    cluster["spec"] = json!({"paused": false});
    let mut machine = body(CLUSTERS, "Machine", "m", Some((CLUSTERS, "Cluster", "c")));
    machine["metadata"]["ownerReferences"][0]["uid"] = json!(format!("Cluster-c-{namespace}"));
    for mut object in [cluster, machine] {
        let uid = format!("{}-{namespace}", object["metadata"]["uid"].as_str().unwrap());
        (object["metadata"]["namespace"], object["metadata"]["uid"]) = (json!(namespace), json!(uid));
        object["status"] = status("True");
        stage.source.insert(object).unwrap();
    }
}

fn status(paused: &str) -> Value {
    json!({"initialization": {"infrastructureProvisioned": true}, "nodeRef": {"name": "m"}, "conditions": [
        {"type": "Paused", "status": paused}, {"type": "ControlPlaneInitialized", "status": "True"},
        {"type": "Ready", "status": "True"}]})
}

/// Controllers of the target that watch some namespaces: they report whether each Cluster is paused.
pub(crate) fn controllers(target: &MemoryPlace, namespaces: &'static [&'static str]) -> JoinHandle<()> {
    let target = target.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let is_watched = |key: &Key| {
                key.group_kind.group == CLUSTERS
                    && namespaces.contains(&key.namespace.as_deref().unwrap_or(""))
            };
            for key in target.keys().into_iter().filter(is_watched) {
                let cluster =
                    Key { group_kind: GroupKind::new(CLUSTERS, "Cluster"), name: "c".into(), ..key.clone() };
                let Some(cluster) = target.body(&cluster) else { continue };
                let paused = if cluster["spec"]["paused"] == true { "True" } else { "False" };
                let write = |b: &mut Value| {
                    b["status"] = status(paused);
                    b["metadata"]["managedFields"] = json!([{"manager": "manager", "operation": "Update",
                        "subresource": "status", "time": "2026-01-01T00:00:00Z"}]);
                };
                if target.body(&key).is_some_and(|b| b["status"] != status(paused)) {
                    drop(target.edit(&key, write));
                }
            }
        }
    })
}

/// Before, such a move was committed and stopped without a way back.
// proves: I11
#[tokio::test(start_paused = true)]
async fn without_controllers_the_move_can_be_rolled_back() {
    let stage = stage();
    let before = picture(&stage.source);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PartWay, Some(Phase::Ready)), "{stop}");
    let told = stop.to_string();
    assert!(told.contains("Cluster ns/c") && told.contains("Machine ns/m"), "{told}");
    assert_eq!(stop.next, [Next::Resume, Next::Rollback]);
    let kinds = ["Cluster", "Machine"].map(|kind| GroupKind::new(CLUSTERS, kind)).into();
    assert_eq!(stop.remedies(), [Remedy::ResumeAgain, Remedy::AcceptUnseen { kinds }]);
    assert_eq!(under_way(stage.setup()).await.unwrap().record.phase, Phase::Ready);
    run::rollback(stage.setup()).await.unwrap();
    assert_eq!(picture(&stage.source), before);
    assert!(picture(&stage.target).is_empty());
}

#[tokio::test(start_paused = true)]
async fn controllers_at_work_let_the_move_end() {
    let stage = stage();
    let patches = Arc::new(AtomicUsize::new(0));
    let counts = patches.clone();
    let controllers = controllers(&stage.target, &["ns"]);
    let cluster = key(CLUSTERS, "Cluster", "c");
    stage.target.on_call(move |verb, key| {
        counts
            .fetch_add(usize::from(verb == "patch" && key.group_kind.kind != "ConfigMap"), Ordering::Relaxed);
        None
    });
    let report = run::start(stage.setup()).await.unwrap();
    controllers.abort();
    assert!(stage.source.body(&cluster).is_none());
    let phases: Vec<Phase> = report.times.iter().map(|(phase, _)| *phase).collect();
    assert!(phases.starts_with(&[Phase::Checked, Phase::Paused, Phase::Copied, Phase::Ready]), "{phases:?}");
    // The Cluster is unpaused. Nothing else is written to copies that this run made.
    assert_eq!(patches.load(Ordering::Relaxed), 1);
}

/// A manager that runs with `--namespace` sees part of the copies.
#[tokio::test(start_paused = true)]
async fn each_namespace_needs_a_controller() {
    let mut stage = stage();
    stage.source.add_namespace("other");
    add_cluster(&stage, "other");
    stage.options = Options { scope: Scope::new(Namespaces::All), ..stage.options };
    let controllers = controllers(&stage.target, &["ns"]);
    let stop = run::start(stage.setup()).await.unwrap_err();
    controllers.abort();
    let Failure::NotSeen(missing) = &stop.failure else { panic!("{stop}") };
    let named: Vec<String> =
        missing.iter().map(|awaited| awaited.object.as_ref().unwrap().to_string()).collect();
    assert_eq!(named, ["Cluster other/c"]);
}

/// The controllers may be gone since they reported the pause to the first run.
#[tokio::test(start_paused = true)]
async fn a_resumed_run_needs_a_new_sign() {
    let stage = stage();
    let first = controllers(&stage.target, &["ns"]);
    // The target's record is the commit.
    stage.target.on_call(|verb, key| {
        let commit = verb == "create" && key.group_kind.kind == "ConfigMap";
        commit.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.phase, Some(Phase::Ready), "{stop}");
    stage.target.on_call(|_, _| None);
    first.abort();

    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::NotSeen(_)), "{stop}");
    let second = controllers(&stage.target, &["ns"]);
    run::resume(stage.setup()).await.unwrap();
    second.abort();
    assert!(stage.source.body(&key(CLUSTERS, "Cluster", "c")).is_none());
}

/// A run dies at each write, also while it removes signs and commits.
#[tokio::test(start_paused = true)]
async fn a_death_at_any_write_does_not_matter() {
    let mut finished = false;
    for n in 1.. {
        let stage = stage();
        let controllers = controllers(&stage.target, &["ns"]);
        let calls = die_at(&stage, n, n % 2 == 0);
        let first = run::start(stage.setup()).await;
        revive(&stage);
        if calls.load(Ordering::SeqCst) < n {
            finished = first.is_ok();
            break;
        }
        // A resumed run that dies, too, removed signs before.
        let calls = die_at(&stage, 4, true);
        let second = run::start(stage.setup()).await;
        revive(&stage);
        if second.is_err() && calls.load(Ordering::SeqCst) >= 4 {
            run::start(stage.setup()).await.unwrap_or_else(|stop| panic!("write {n}: {stop}"));
        }
        controllers.abort();
        assert!(stage.source.body(&key(CLUSTERS, "Cluster", "c")).is_none(), "write {n}");
        assert_eq!(
            stage.target.body(&key(CLUSTERS, "Cluster", "c")).unwrap()["spec"]["paused"],
            json!(false),
            "write {n}"
        );
    }
    assert!(finished);
}

/// A large fleet's controllers may need more than the longest silence, and show again and again that they work.
#[tokio::test(start_paused = true)]
async fn each_new_sign_prolongs_the_wait() {
    let mut stage = stage();
    stage.source.add_namespace("other");
    add_cluster(&stage, "other");
    stage.options = Options { scope: Scope::new(Namespaces::All), ..stage.options };
    let (one, target) = (controllers(&stage.target, &["ns"]), stage.target.clone());
    let other = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(90)).await;
        controllers(&target, &["other"]).await.unwrap();
    });
    run::start(stage.setup()).await.unwrap();
    one.abort();
    other.abort();
}

#[tokio::test(start_paused = true)]
async fn kinds_are_accepted_unseen_by_name() {
    let stage = stage();
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::NotSeen(_)), "{stop}");
    let mut options = stage.options.clone();
    options.accept.insert_kind(Risk::Unseen, GroupKind::new(CLUSTERS, "Cluster"));
    let stop = run::resume(Setup { options: options.clone(), ..stage.setup() }).await.unwrap_err();
    let Failure::NotSeen(missing) = &stop.failure else { panic!("{stop}") };
    assert_eq!(missing.len(), 1, "{stop}");
    // The takeover is checked all the same.
    options.accept.insert_kind(Risk::Unseen, GroupKind::new(CLUSTERS, "Machine"));
    let stop = run::resume(Setup { options, ..stage.setup() }).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PastCommit, Some(Phase::Live)), "{stop}");
}
