//! Nothing is deleted before somebody has seen that controllers of the target took over.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pivot_core::GroupKind;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::records::record::Phase;
use pivot_engine::{Event, Exit, Failure, Setup, Watcher};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::run;
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, picture};
use crate::trouble::half_committed;

/// A Cluster and a Machine whose controllers wrote a status, as those of Cluster API before 1.9 did: no word of a pause.
fn stage() -> Stage {
    let mut stage = Stage::empty();
    stage.options.accept.remove(Risk::TakeoverUnchecked);
    stage.options.takeover_timeout = Duration::from_secs(60);
    let mut cluster = body(CLUSTERS, "Cluster", "c", None);
    cluster["status"] = json!({"initialization": {"infrastructureProvisioned": true},
        "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}, {"type": "Ready", "status": "True"}]});
    let mut machine = body(CLUSTERS, "Machine", "m0", Some((CLUSTERS, "Cluster", "c")));
    machine["status"] = json!({"nodeRef": {"name": "m0"}});
    let mut other = machine.clone();
    (other["metadata"]["name"], other["metadata"]["uid"]) = (json!("m1"), json!("Machine-m1"));
    for object in [cluster, machine, other] {
        stage.source.insert(object).unwrap();
    }
    stage
}

fn ready() -> Value {
    json!({"conditions": [{"type": "ControlPlaneInitialized", "status": "True"}, {"type": "Ready", "status": "True"}]})
}

fn by(manager: &str) -> Value {
    json!([{"manager": manager, "operation": "Update", "subresource": "status", "time": "2026-01-01T00:00:00Z"}])
}

/// A controller of the target: writes a status once an object is there and its Cluster is not paused.
fn controller(
    target: &MemoryPlace,
    of: &[(&'static str, &'static str)],
    status: Value,
) -> tokio::task::JoinHandle<()> {
    let (target, of) = (target.clone(), of.to_vec());
    tokio::spawn(async move {
        let cluster = key(CLUSTERS, "Cluster", "c");
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let Some(there) = target.body(&cluster) else { continue };
            if there["spec"]["paused"] == true {
                continue;
            }
            for (kind, name) in &of {
                let write = |b: &mut Value| {
                    b["status"] = status.clone();
                    b["metadata"]["managedFields"] = by("manager");
                };
                target.edit(&key(CLUSTERS, kind, name), write).unwrap();
            }
            return;
        }
    })
}

// proves: D22, I11, T112
#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_where_no_controller_is_at_work() {
    let stage = stage();
    let before = picture(&stage.source);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PastCommit, Some(Phase::Live)), "{stop}");
    let told = stop.to_string();
    assert!(told.contains("Cluster ns/c") && told.contains("Machine ns/m"), "{told}");
    assert_eq!(stop.remedies(), [Remedy::ResumeAgain, Remedy::ResumeUnverified]);
    let after = picture(&stage.source);
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().filter(|key| !key.contains("pivot-host")).collect::<Vec<_>>()
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_and_one_of_each_other_kind_are_enough() {
    let stage = stage();
    let controller = controller(&stage.target, &[("Cluster", "c"), ("Machine", "m1")], ready());
    let report = run::start(stage.setup()).await.unwrap();
    controller.abort();
    assert!(report.done.unverified.is_empty());
    assert!(stage.source.body(&key(CLUSTERS, "Cluster", "c")).is_none());
}

// proves: I11
#[tokio::test(start_paused = true)]
async fn a_cluster_alone_is_no_evidence_for_its_machines() {
    let stage = stage();
    let controller = controller(&stage.target, &[("Cluster", "c")], ready());
    let stop = run::start(stage.setup()).await.unwrap_err();
    controller.abort();
    let told = stop.to_string();
    assert!(!told.contains("Cluster ns/c:") && told.contains("Machine ns/m"), "{told}");
    // Once it is accepted, the same move goes on.
    let mut options = stage.options.clone();
    options.accept.insert_kind(Risk::Unverified, GroupKind::new(CLUSTERS, "Machine"));
    let report = run::resume(Setup { options, ..stage.setup() }).await.unwrap();
    assert_eq!(report.done.unverified.into_iter().collect::<Vec<_>>(), [GroupKind::new(CLUSTERS, "Machine")]);
}

/// A commit that failed partway leaves a record in the target. The target's controllers may be gone when the move is committed.
// proves: I11
#[tokio::test(start_paused = true)]
async fn writes_before_a_second_commit_are_no_evidence() {
    let stage = half_committed(stage()).await;
    let write = |time: &str| {
        for (kind, name) in [("Cluster", "c"), ("Machine", "m0"), ("Machine", "m1")] {
            let write = |body: &mut Value| {
                body["status"] = ready();
                body["metadata"]["managedFields"] = by("manager");
                body["metadata"]["managedFields"][0]["time"] = json!(time);
            };
            stage.target.edit(&key(CLUSTERS, kind, name), write).unwrap();
        }
    };
    let before = picture(&stage.source);
    write("2026-01-01T00:30:00Z");
    stage.target.set_time("2026-01-01T01:00:00Z");
    // The run that commits, and one that finds the commit.
    for _ in 0..2 {
        let stop = run::start(stage.setup()).await.unwrap_err();
        assert!(matches!(stop.failure, Failure::NotTakenOver(_)), "{stop}");
        assert_eq!(picture(&stage.source).len(), before.len());
    }
    write("2026-01-01T01:00:00Z");
    run::start(stage.setup()).await.unwrap();
    assert!(stage.source.body(&key(CLUSTERS, "Cluster", "c")).is_none());
}

#[tokio::test(start_paused = true)]
async fn what_was_true_in_the_source_must_be_true_again() {
    let stage = stage();
    let started = json!({"conditions": [{"type": "Ready", "status": "False"}]});
    let controller = controller(&stage.target, &[("Cluster", "c"), ("Machine", "m0")], started);
    let stop = run::start(stage.setup()).await.unwrap_err();
    controller.abort();
    assert!(stop.to_string().contains("conditions not true yet: ControlPlaneInitialized, Ready"), "{stop}");
}

/// The definition of a kind may be gone from what a server lists while its objects are not.
#[tokio::test(start_paused = true)]
async fn a_resumed_run_reads_objects_missing_from_lists_by_name() {
    let stage = stage();
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::NotTakenOver(_)), "{stop}");
    stage.source.on_call(|verb, key| {
        let hidden = verb == "list" && key.group_kind.kind == "Machine";
        hidden.then(|| Fault::Before(PlaceError::NotFound("no such kind".into())))
    });
    let controller = controller(&stage.target, &[("Cluster", "c")], ready());
    let stop = run::resume(stage.setup()).await.unwrap_err();
    controller.abort();
    assert!(stop.to_string().contains("Machine ns/m"), "{stop}");
    assert!(stage.source.body(&key(CLUSTERS, "Machine", "m0")).is_some());

    // What is gone from the source is nobody's to delete.
    for name in ["m0", "m1"] {
        stage.source.remove(&key(CLUSTERS, "Machine", name)).unwrap();
    }
    run::resume(stage.setup()).await.unwrap();
}

/// With `--accept pause-unchecked` nobody waits for the source; that says nothing about the target.
#[tokio::test(start_paused = true)]
async fn assuming_the_pause_does_not_change_what_is_expected() {
    let mut stage = stage();
    stage.options.accept.insert(Risk::PauseUnchecked);
    let says = json!({"nodeRef": {"name": "m0"}, "conditions": [{"type": "Paused", "status": "False"}]});
    stage.source.edit(&key(CLUSTERS, "Machine", "m0"), |b| b["status"] = says).unwrap();
    let controller = controller(&stage.target, &[("Cluster", "c")], ready());
    let stop = run::start(stage.setup()).await.unwrap_err();
    controller.abort();
    assert!(stop.to_string().contains("Machine ns/m0"), "{stop}");
    assert!(stage.source.body(&key(CLUSTERS, "Machine", "m0")).is_some());
}

#[derive(Default)]
struct Warnings(Mutex<Vec<String>>);

impl Watcher for Warnings {
    fn event(&self, event: Event) {
        if let Event::Warning { code, text, .. } = event {
            self.0.lock().unwrap().push(format!("{code}: {text}"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_move_that_does_not_wait_reports_what_was_not_verified() {
    let mut stage = stage();
    stage.options.accept.insert(Risk::TakeoverUnchecked);
    let warnings = Arc::new(Warnings::default());
    let report = run::start(Setup { watcher: warnings.clone(), ..stage.setup() }).await.unwrap();
    let unverified: Vec<String> = report.done.unverified.iter().map(ToString::to_string).collect();
    assert_eq!(unverified, ["Cluster.cluster.x-k8s.io", "Machine.cluster.x-k8s.io"]);
    let told = warnings.0.lock().unwrap().join("\n");
    let warning =
        "unverified: as accepted, pivot-host doesn't check that the target's controllers took over 2 kinds";
    assert!(told.contains(warning) && !told.contains("cluster.x-k8s.io"), "{told}");
}

// proves: I11
#[tokio::test(start_paused = true)]
async fn kinds_that_can_not_be_verified_are_refused_before_the_pause() {
    let mut stage = Stage::empty();
    stage.options.accept.remove(Risk::TakeoverUnchecked);
    stage.source.insert(body(INFRA, "Pool", "p", None)).unwrap();
    let before = picture(&stage.source);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Refused, "{stop}");
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert_eq!(refusals.iter().map(|refusal| refusal.code).collect::<Vec<_>>(), ["unverifiable"]);
    assert_eq!(picture(&stage.source), before);

    stage.options.accept.insert_kind(Risk::Unverified, GroupKind::new(INFRA, "Pool"));
    run::start(stage.setup()).await.unwrap();
}

/// A server may answer each watch like that, for as long as a move waits.
#[tokio::test(start_paused = true)]
async fn lists_after_expired_watches_keep_a_distance() {
    let mut stage = stage();
    stage.options.takeover_timeout = Duration::from_secs(60);
    let lists = Arc::new(AtomicUsize::new(0));
    let counts = lists.clone();
    stage.target.on_call(move |verb, _| {
        counts.fetch_add(usize::from(verb == "list"), Ordering::Relaxed);
        (verb == "watch").then(|| Fault::Before(PlaceError::Expired("too old".into())))
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::NotTakenOver(_)), "{stop}");
    let lists = lists.load(Ordering::Relaxed);
    assert!((100..3_000).contains(&lists), "{lists}");
}
