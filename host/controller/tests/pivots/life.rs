//! The life of a Pivot whose controller lives.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pivot_controller::{GROUP, Pages};
use pivot_core::objects::names;
use pivot_core::request::selector_syntax;
use pivot_core::{GroupKind, Key};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::stage::{Stage, object};

#[tokio::test(start_paused = true)]
async fn namespace_moves_into_its_workload_cluster() {
    let stage = Stage::new(&["a", "b"]);
    stage.ask("a");
    let running = stage.start();
    stage.until("done", |stage| stage.done("a")).await;
    stage.is_only_in(&stage.target, "a");
    stage.is_only_in(&stage.home, "b");
    let status = stage.pivot("a").unwrap()["status"].clone();
    assert_eq!(status["phase"], "Succeeded");
    assert_eq!(status["progress"], "5/5");
    assert_eq!(status["message"], "5 objects moved");
    assert!(stage.is("a", "Connected") && stage.is("a", "Committed") && !stage.is("a", "Stalled"));
    assert!(stage.is("a", "Ready"));
    assert_eq!(stage.ways(), [], "a kubeconfig is kept only while the move is under way");
    stage.until("told", |stage| told(stage, "Copied") && told(stage, "Succeeded")).await;
    let counted =
        |stage: &Stage| stage.metrics.render_page().contains("pivot_host_attempts_total{ended=\"done\"} 1");
    stage.until("counted", counted).await;
    // A controller that starts counts none that others have carried out.
    running.stop().await;
    let running = stage.start();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(counted(&stage), "{}", stage.metrics.render_page());

    stage.delete("a").await;
    stage.until("let go", |stage| stage.pivot("a").is_none()).await;
    stage.is_only_in(&stage.target, "a");
    running.stop().await;
}

/// Whether there is an Event with this reason.
fn told(stage: &Stage, reason: &str) -> bool {
    let events = stage.home.keys().into_iter().filter(|key| key.group_kind.kind == "Event");
    let mut reasons = events.map(|key| stage.home.body(&key).unwrap()["reason"].clone());
    reasons.any(|there| there == reason)
}

#[tokio::test(start_paused = true)]
async fn ten_pivots_run_at_once() {
    let names: Vec<String> = (0..10).map(|index| format!("n{index}")).collect();
    let namespaces: Vec<&str> = names.iter().map(String::as_str).collect();
    let stage = Stage::new(&namespaces);
    namespaces.iter().for_each(|namespace| stage.ask(namespace));
    let running = stage.start();
    stage
        .until("all done", |stage| namespaces.iter().all(|namespace| stage.is(namespace, "Succeeded")))
        .await;
    namespaces.iter().for_each(|namespace| stage.is_only_in(&stage.target, namespace));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn refused_pivot_stalls_until_corrected() {
    let stage = Stage::new(&["a"]);
    stage.ask_for("a", json!({"to": {"cluster": "c"}, "options": {"accept": [{"code": "takeover-unchecked"}], "exclude": ["machines"]}}));
    let running = stage.start();
    stage.until("stalled", |stage| stage.is("a", "Stalled")).await;
    let message = stage.condition("a", "Stalled").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("options.exclude \"machines\": not a kind"), "{message}");
    stage.is_only_in(&stage.home, "a");
    let pivot = stage.home.keys().into_iter().find(|key| key.group_kind.kind == "Pivot").unwrap();
    stage
        .home
        .edit(&pivot, |body| {
            body["spec"] =
                json!({"to": {"cluster": "c"}, "options": {"accept": [{"code": "takeover-unchecked"}]}});
            body["metadata"]["generation"] = json!(2);
        })
        .unwrap();
    stage.until("done", |stage| stage.done("a")).await;
    assert!(!stage.is("a", "Stalled"));
    stage.is_only_in(&stage.target, "a");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn unknown_field_anywhere_refuses_the_pivot() {
    let stage = Stage::new(&["a"]);
    let running = stage.start();
    for path in [
        "",
        "/spec",
        "/spec/from",
        "/spec/from/kubeconfig",
        "/spec/to",
        "/spec/to/kubeconfig",
        "/spec/options",
    ] {
        let way = json!({"kubeconfig": {"name": "way"}});
        stage.ask_for(
            "a",
            json!({"from": way, "to": way, "options": {"accept": [{"code": "takeover-unchecked"}]}}),
        );
        let pivot = stage.home.keys().into_iter().find(|key| key.group_kind.kind == "Pivot").unwrap();
        stage.home.edit(&pivot, |body| body.pointer_mut(path).unwrap()["mistyped"] = json!(["c"])).unwrap();
        stage.until("stalled", |stage| stage.is("a", "Stalled")).await;
        let message = stage.condition("a", "Stalled").unwrap()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("unknown field `mistyped`"), "{path}: {message}");
        stage.is_only_in(&stage.home, "a");
        stage.delete("a").await;
        stage.until("let go", |stage| stage.pivot("a").is_none()).await;
    }
    running.stop().await;
}

// proves: T37
#[tokio::test(start_paused = true)]
async fn pivot_moves_no_other_own_namespace() {
    let stage = Stage::new(&["a", "b"]);
    stage.ask_for(
        "a",
        json!({"from": {"namespace": "b"}, "to": {"cluster": "c"}, "options": {"accept": [{"code": "takeover-unchecked"}]}}),
    );
    let running = stage.start();
    stage.until("stalled", |stage| stage.is("a", "Stalled")).await;
    let message = stage.condition("a", "Stalled").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("out of this cluster, a Pivot moves its own namespace"), "{message}");
    stage.is_only_in(&stage.home, "b");
    running.stop().await;
}

// proves: T43
#[tokio::test(start_paused = true)]
async fn pivots_also_copy_only_in_their_namespace() {
    let mut stage = Stage::new(&["a"]);
    stage.home.add_namespace("keys");
    for (namespace, name, label) in [("a", "own", ""), ("keys", "aws", "yes"), ("keys", "root", "no")] {
        let mut secret = object(namespace, "Secret", name, None);
        secret["metadata"]["labels"] = json!({"hand-on": label});
        stage.home.insert(secret).unwrap();
    }
    stage.also_copy = BTreeSet::from([selector_syntax::parse_part("Secret/keys/*:hand-on=yes").unwrap()]);
    let running = stage.start();
    for other in ["Secret/keys/root", "Secret/keys/*", "Secret/keys/*:hand-on", "Node/n"] {
        stage.ask_for("a", json!({"to": {"cluster": "c"}, "options": {"alsoCopy": [other], "accept": [{"code": "takeover-unchecked"}]}}));
        stage.until("stalled", |stage| stage.is("a", "Stalled")).await;
        let message = stage.condition("a", "Stalled").unwrap()["message"].as_str().unwrap().to_owned();
        assert!(
            message.contains("a Pivot can also copy objects of its namespace only"),
            "{other}: {message}"
        );
        stage.is_only_in(&stage.home, "a");
        stage.delete("a").await;
        stage.until("let go", |stage| stage.pivot("a").is_none()).await;
    }
    stage.ask_for("a", json!({"to": {"cluster": "c"}, "options": {"alsoCopy": ["Secret"], "accept": [{"code": "takeover-unchecked"}]}}));
    stage.until("done", |stage| stage.done("a")).await;
    let secrets = |place: &MemoryPlace| {
        let keys = place.keys().into_iter().filter(|key| key.group_kind.is_secret());
        keys.map(|key| key.to_string()).collect::<BTreeSet<_>>()
    };
    let there = ["Secret a/c-kubeconfig", "Secret a/own", "Secret keys/aws"];
    assert_eq!(secrets(&stage.target), there.map(str::to_owned).into());
    let kept = ["Secret a/own", "Secret keys/aws", "Secret keys/root"];
    assert_eq!(secrets(&stage.home), kept.map(str::to_owned).into());
    running.stop().await;
}

/// Nothing of it gets through, until it is let.
pub(crate) fn held_at(place: &MemoryPlace, held: &Arc<AtomicBool>) {
    let held = held.clone();
    place.on_call(move |verb, key| {
        let this = verb == "create" && key.name == "m2" && held.load(Ordering::SeqCst);
        this.then(|| Fault::Before(PlaceError::Unavailable("held".into())))
    });
}

#[tokio::test(start_paused = true)]
async fn begun_move_keeps_its_also_copied_objects() {
    let mut stage = Stage::new(&["a"]);
    stage.home.add_namespace("keys");
    let mut secret = object("keys", "Secret", "aws", None);
    secret["metadata"]["labels"] = json!({"hand-on": "yes"});
    stage.home.insert(secret).unwrap();
    let held = Arc::new(AtomicBool::new(true));
    held_at(&stage.target, &held);
    stage.also_copy = BTreeSet::from([selector_syntax::parse_part("Secret/keys/*:hand-on").unwrap()]);
    let running = stage.start();
    stage.ask("a");
    stage.until("copying", |stage| stage.pivot("a").unwrap()["status"]["phase"] == "Copied").await;
    running.stop().await;
    stage.also_copy = BTreeSet::new();
    let running = stage.start();
    tokio::time::sleep(Duration::from_secs(60)).await;
    held.store(false, Ordering::SeqCst);
    stage.until("done", |stage| stage.done("a")).await;
    let aws = Key::new(GroupKind::new("", "Secret"), Some("keys"), "aws");
    assert!(stage.target.body(&aws).is_some() && stage.home.body(&aws).is_some());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn refused_move_shows_its_phase() {
    let stage = Stage::new(&["a"]);
    let held = Arc::new(AtomicBool::new(true));
    held_at(&stage.target, &held);
    stage.ask("a");
    let running = stage.start();
    stage.until("copying", |stage| stage.pivot("a").unwrap()["status"]["phase"] == "Copied").await;
    running.kill();
    stage.target.insert(object("a", "Machine", "m2", None)).unwrap();
    let running = stage.start();
    let shown = |stage: &Stage| stage.pivot("a").unwrap()["status"].clone();
    stage
        .until("refused", |stage| shown(stage)["message"].to_string().contains("in the target already"))
        .await;
    assert_eq!(shown(&stage)["phase"], "Copied", "{:#}", shown(&stage));
    stage.delete("a").await;
    stage.until("let go", |stage| stage.pivot("a").is_none()).await;
    // The last Events are written although the Pivot is gone.
    stage.until("told", |stage| told(stage, "RollingBack") && told(stage, "RolledBack")).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn silent_cluster_is_asked_again() {
    let stage = Stage::new(&["a"]);
    let silent = Arc::new(AtomicBool::new(true));
    stage.target.on_call({
        let silent = silent.clone();
        move |_, _| {
            let lost = || Fault::Before(PlaceError::Unavailable("nothing there".into()));
            silent.load(Ordering::SeqCst).then(lost)
        }
    });
    stage.ask("a");
    let running = stage.start();
    stage
        .until("not connected", |stage| {
            stage.condition("a", "Connected").is_some_and(|condition| condition["status"] == "False")
        })
        .await;
    assert!(!stage.is("a", "Stalled"), "{:#}", stage.pivot("a").unwrap());
    stage.is_only_in(&stage.home, "a");
    silent.store(false, Ordering::SeqCst);
    stage.until("done", |stage| stage.done("a")).await;
    stage.is_only_in(&stage.target, "a");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn lost_status_returns_from_the_records() {
    let stage = Stage::new(&["a"]);
    stage.ask_for("a", json!({"to": {"kubeconfig": {"name": "way"}}, "options": {"accept": [{"code": "takeover-unchecked"}]}}));
    stage.secret("a", "way", "target");
    let running = stage.start();
    stage.until("done", |stage| stage.done("a")).await;
    let shown = stage.pivot("a").unwrap()["status"]["moveId"].clone();
    running.stop().await;
    let pivot = stage.home.keys().into_iter().find(|key| key.group_kind.kind == "Pivot").unwrap();
    stage.home.edit(&pivot, |body| body["status"] = json!({})).unwrap();
    let running = stage.start();
    stage.until("done again", |stage| stage.done("a")).await;
    assert_eq!(stage.pivot("a").unwrap()["status"]["moveId"], shown);
    stage.is_only_in(&stage.target, "a");
    running.stop().await;
}

// proves: T44
#[tokio::test(start_paused = true)]
async fn pivot_moves_in_from_another_cluster() {
    let stage = Stage::new(&["a"]);
    stage.ask("a");
    let running = stage.start();
    stage.until("done", |stage| stage.done("a")).await;
    // Back again: no controller here has written a status.
    stage.home.add_namespace("desk");
    stage.secret("desk", "way", "target");
    let options = json!({"accept": [{"code": "takeover-unchecked"}, {"code": "unprovisioned"}]});
    let from = json!({"kubeconfig": {"name": "way"}, "namespace": "a"});
    // Users who may write Pivots in one namespace change nothing in another.
    stage.ask_for("desk", json!({"from": from, "to": {"namespace": "a"}, "options": options}));
    stage.until("stalled", |stage| stage.is("desk", "Stalled")).await;
    let message = stage.condition("desk", "Stalled").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("into this cluster, a Pivot moves to its own namespace"), "{message}");
    stage.is_only_in(&stage.target, "a");
    stage.delete("desk").await;
    stage.until("let go", |stage| stage.pivot("desk").is_none()).await;
    stage.ask_for("desk", json!({"from": from, "to": {}, "options": options}));
    stage.until("back", |stage| stage.is("desk", "Succeeded")).await;
    assert_eq!(stage.cluster_in(&stage.target, "a"), Vec::<String>::new());
    assert_eq!(stage.cluster_in(&stage.home, "a"), Vec::<String>::new());
    assert_eq!(stage.cluster_in(&stage.home, "desk").len(), 5);
    running.stop().await;
}

/// A user removed the finalizer of the first one.
// proves: T176
#[tokio::test(start_paused = true)]
async fn pivot_of_the_same_name_continues_no_move() {
    let stage = Stage::new(&["a"]);
    held_at(&stage.target, &Arc::new(AtomicBool::new(true)));
    stage.ask("a");
    let running = stage.start();
    stage.until("copying", |stage| stage.pivot("a").unwrap()["status"]["phase"] == "Copied").await;
    running.kill();
    stage.home.remove(&Key::new(GroupKind::new(GROUP, "Pivot"), Some("a"), "pivot")).unwrap();
    stage.ask("a");
    let running = stage.start();
    let says =
        |stage: &Stage, what: &str| stage.pivot("a").unwrap()["status"]["message"].to_string().contains(what);
    stage.until("refused", |stage| stage.is("a", "Stalled") && says(stage, "is under way, which ")).await;
    stage.delete("a").await;
    stage.until("let go", |stage| stage.pivot("a").is_none()).await;
    running.stop().await;
    let of_record = |key: &&Key| key.name.starts_with("pivot-host-source-");
    let keys = stage.home.keys();
    let record = stage.home.body(keys.iter().find(of_record).unwrap()).unwrap();
    assert!(record.to_string().contains("Paused") || record.to_string().contains("Copied"), "{record:#}");
}

// proves: T48
#[tokio::test(start_paused = true)]
async fn second_controller_works_after_the_first_dies() {
    let stage = Stage::new(&["a", "b"]);
    let first = stage.start();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let second = stage.start();
    stage.ask("a");
    stage.until("done", |stage| stage.done("a")).await;
    first.kill();
    stage.ask("b");
    stage.until("done by the other", |stage| stage.done("b")).await;
    stage.is_only_in(&stage.target, "b");
    second.stop().await;
}

/// As a container of a pod does that was killed.
#[tokio::test(start_paused = true)]
async fn restarted_controller_leads_at_once() {
    let stage = Stage::new(&["a"]);
    let first = stage.start_as("pod".to_owned());
    let leads = |stage: &Stage| stage.metrics.render_page().contains("pivot_host_leader 1");
    stage.until("leading", leads).await;
    first.kill();
    stage.ask("a");
    let begun = tokio::time::Instant::now();
    let second = stage.start_as("pod".to_owned());
    stage.until("done", |stage| stage.done("a")).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn controller_without_a_permission_is_not_ready() {
    for (denied, shown) in
        [("Pivot", "the Pivots can't be read"), ("Lease", "Lease can't be read or written")]
    {
        let stage = Stage::new(&["a"]);
        let holds = Arc::new(AtomicBool::new(true));
        let held = holds.clone();
        stage.home.on_call(move |_, key| {
            let this = key.group_kind.kind == denied && held.load(Ordering::SeqCst);
            this.then(|| Fault::Before(PlaceError::Forbidden("no role".into())))
        });
        let running = stage.start();
        let blocked = |stage: &Stage| stage.metrics.obstacles().iter().any(|why| why.contains(shown));
        stage.until("blocked", blocked).await;
        assert!(stage.metrics.render_page().contains("pivot_host_leader 0"));
        holds.store(false, Ordering::SeqCst);
        stage.until("ready", |stage| stage.metrics.obstacles().is_empty()).await;
        stage.ask("a");
        stage.until("done", |stage| stage.done("a")).await;
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn third_cluster_runs_a_move_between_others() {
    let stage = Stage::new(&["a"]);
    stage.home.add_namespace("desk");
    stage.secret("desk", "from", "home");
    stage.secret("desk", "into", "target");
    let spec = json!({
        "from": {"kubeconfig": {"name": "from"}, "namespace": "a"},
        "to": {"kubeconfig": {"name": "into"}, "namespace": "b"},
        "options": {"accept": [{"code": "takeover-unchecked"}]},
    });
    stage.target.add_namespace("b");
    stage.ask_for("desk", spec);
    let running = stage.start();
    stage.until("done", |stage| stage.is("desk", "Succeeded")).await;
    assert_eq!(stage.cluster_in(&stage.home, "a"), Vec::<String>::new());
    assert_eq!(stage.cluster_in(&stage.target, "b").len(), 5);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn deleted_pivot_without_a_move_is_released() {
    let stage = Stage::new(&["a"]);
    stage.ask_for("a", json!({"to": {"kubeconfig": {"name": "mistyped"}}}));
    let running = stage.start();
    stage.until("stalled", |stage| stage.is("a", "Stalled")).await;
    let message = stage.condition("a", "Stalled").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("there is no Secret a/mistyped"), "{message}");
    stage.delete("a").await;
    stage.until("let go", |stage| stage.pivot("a").is_none()).await;
    stage.is_only_in(&stage.home, "a");
    running.stop().await;
}

/// Without the condition, kstatus takes a Pivot for done as soon as its generation was observed.
#[tokio::test(start_paused = true)]
async fn pivot_is_ready_only_after_its_move() {
    let stage = Stage::new(&["a"]);
    let held = Arc::new(AtomicBool::new(true));
    held_at(&stage.target, &held);
    stage.ask("a");
    let running = stage.start();
    let status = |stage: &Stage| stage.pivot("a").unwrap()["status"].clone();
    let shown = |stage: &Stage| status(stage)["observedGeneration"] == 1;
    stage.until("observed", shown).await;
    for phase in ["", "Copied"] {
        stage.until("there", |stage| status(stage)["phase"].to_string().contains(phase)).await;
        let ready = stage.condition("a", "Ready").unwrap();
        assert_eq!((&ready["status"], &ready["observedGeneration"]), (&json!("False"), &json!(1)), "{ready}");
    }
    held.store(false, Ordering::SeqCst);
    stage.until("done", |stage| stage.done("a")).await;
    assert!(stage.is("a", "Ready"));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn late_secret_is_found_soon() {
    let stage = Stage::new(&["a"]);
    stage.ask_for("a", json!({"to": {"kubeconfig": {"name": "late"}}, "options": {"accept": [{"code": "takeover-unchecked"}]}}));
    let running = stage.start();
    stage.until("stalled", |stage| stage.is("a", "Stalled")).await;
    let created = tokio::time::Instant::now();
    stage.secret("a", "late", "target");
    stage.until("done", |stage| stage.is("a", "Succeeded")).await;
    assert!(created.elapsed() < Duration::from_secs(60), "{:?}", created.elapsed());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn requested_attempt_needs_no_change_of_the_spec() {
    let stage = Stage::new(&["a"]);
    stage.ask_for("a", json!({"to": {"kubeconfig": {"name": "late"}}, "options": {"accept": [{"code": "takeover-unchecked"}]}}));
    let running = stage.start();
    let status = |stage: &Stage| stage.pivot("a").unwrap()["status"].clone();
    stage.until("tried often", |stage| status(stage)["failures"] == 6).await;
    assert!(status(&stage)["nextAttempt"].is_string(), "{:#}", status(&stage));
    let asked = tokio::time::Instant::now();
    stage.secret("a", "late", "target");
    let pivot = stage.home.keys().into_iter().find(|key| key.group_kind.kind == "Pivot").unwrap();
    let request =
        |body: &mut Value| body["metadata"]["annotations"]["pivot-host.io/requestedAt"] = json!("now");
    stage.home.edit(&pivot, request).unwrap();
    stage.until("done", |stage| stage.done("a")).await;
    assert!(asked.elapsed() < Duration::from_secs(60), "{:?}", asked.elapsed());
    let status = status(&stage);
    assert_eq!((&status["lastHandledRequest"], &status["nextAttempt"]), (&json!("now"), &Value::Null));
    running.stop().await;
}

/// No controllers run in the target.
#[tokio::test(start_paused = true)]
async fn committed_pivot_continues_with_changed_options() {
    let stage = Stage::new(&["a"]);
    stage.ask_for("a", json!({"to": {"cluster": "c"}, "options": {"takeoverTimeoutSeconds": 86_400}}));
    let running = stage.start();
    let message = |stage: &Stage| stage.pivot("a").unwrap()["status"]["message"].to_string();
    stage
        .until("waiting", |stage| stage.is("a", "Committed") && message(stage).contains("waiting, until"))
        .await;
    // The move can't be undone any more.
    stage.delete("a").await;
    stage.until("told", |stage| told(stage, "Finishing")).await;
    let pivot = stage.home.keys().into_iter().find(|key| key.group_kind.kind == "Pivot").unwrap();
    stage
        .home
        .edit(&pivot, |body| {
            body["spec"]["options"] = json!({"accept": [{"code": "takeover-unchecked"}]});
            body["metadata"]["generation"] = json!(3);
        })
        .unwrap();
    stage.until("let go", |stage| stage.pivot("a").is_none()).await;
    stage.is_only_in(&stage.target, "a");
    running.stop().await;
}

/// The target of a committed move has its list.
// proves: T147
#[tokio::test(start_paused = true)]
async fn controller_reads_no_list_beyond_its_limit() {
    let mut stage = Stage::new(&["a"]);
    stage.ask_for("a", json!({"to": {"cluster": "c"}, "options": {"takeoverTimeoutSeconds": 86_400}}));
    let running = stage.start();
    let says =
        |stage: &Stage, what: &str| stage.pivot("a").unwrap()["status"]["message"].to_string().contains(what);
    stage.until("waiting", |stage| stage.is("a", "Committed") && says(stage, "waiting, until")).await;
    running.kill();
    stage.release_list_limit = 10;
    let running = stage.start();
    stage.until("refused", |stage| says(stage, "release list has more than 10 bytes")).await;
    assert!(!stage.is("a", "Succeeded"));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kept_secret_leads_to_no_other_cluster() {
    let stage = Stage::new(&["a"]);
    // Refused after the way was kept.
    stage.ask_for(
        "a",
        json!({"to": {"cluster": "c"}, "options": {"accept": [{"code": "takeover-unchecked"}], "exclude": ["Cluster.cluster.x-k8s.io"]}}),
    );
    let running = stage.start();
    stage.until("stalled", |stage| stage.is("a", "Stalled")).await;
    assert_eq!(stage.ways().len(), 1);
    let connected = stage.condition("a", "Connected").unwrap();
    assert_eq!(
        (&connected["status"], &connected["reason"], &connected["message"]),
        (&json!("True"), &json!("Answered"), &json!("")),
        "both answered; why it stalls is said by the other conditions"
    );
    let pivot = stage.home.keys().into_iter().find(|key| key.group_kind.kind == "Pivot").unwrap();
    stage
        .home
        .edit(&pivot, |body| {
            body["spec"] =
                json!({"to": {"cluster": "other"}, "options": {"accept": [{"code": "takeover-unchecked"}]}});
            body["metadata"]["generation"] = json!(2);
        })
        .unwrap();
    let no_way = |stage: &Stage| {
        let message = stage.condition("a", "Stalled").unwrap()["message"].as_str().unwrap().to_owned();
        message.contains("there is no Secret a/other-kubeconfig")
    };
    stage.until("without a way", no_way).await;
    stage.is_only_in(&stage.home, "a");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pivots_never_move_into_record_namespace() {
    let stage = Stage::new(&["a"]);
    let running = stage.start();
    stage.ask_for("a", json!({"to": {"cluster": "c", "namespace": names::RECORD_NAMESPACE}}));
    stage.until("stalled", |stage| stage.is("a", "Stalled")).await;
    let message = stage.condition("a", "Stalled").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("the namespace of leases and records does not move"), "{message}");
    stage.is_only_in(&stage.home, "a");
    running.stop().await;
}
