//! Attacks on others by a Pivot of one tenant, or by the other side of its move.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use pivot_core::copies::mark::CopyMark;
use pivot_core::objects::names;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Severity};
use pivot_core::{GroupKind, Key, KindLabels, Uid};
use pivot_engine::hooks::{HookError, Hooks, MoveContext, Services};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{Access, PlaceError};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::life::held_at;
use crate::stage::{Stage, add_cluster, kind, object};

/// By which records name a cluster.
fn uid(place: &MemoryPlace) -> Value {
    let key = Key::new(GroupKind::new("", "Namespace"), None, "kube-system");
    place.body(&key).unwrap()["metadata"]["uid"].clone()
}

/// A target of one's own can have a record of a move that never was.
// proves: T47
#[tokio::test(start_paused = true)]
async fn foreign_target_adds_no_copied_objects() {
    let stage = Stage::new(&["a"]);
    stage.home.add_namespace("bank");
    stage.home.insert(object("bank", "Secret", "db", None)).unwrap();
    stage.ask("a");
    let pivot = stage.pivot("a").unwrap();
    let by = format!("Pivot a/pivot (UID {})", pivot["metadata"]["uid"].as_str().unwrap());
    stage.target.add_namespace("kube-system");
    let (source, target) = (uid(&stage.home), uid(&stage.target));
    let carry =
        json!([{"kind": {"group": "", "kind": "Secret"}, "object": {"namespace": "bank", "name": "db"}}]);
    let scope = json!({"namespaces": {"one": "other"}, "alsoCopy": carry});
    let record = json!({
        "startedBy": by, "format": 5, "writtenBy": "0.1.0", "moveId": "lie", "phase": "Copied", "scope": scope, "source": source, "target": target,
        "startedAt": "2026-11-21T21:00:00Z", "createdNamespaces": [], "plugins": [], "kinds": [], "copiedNamespaces": ["a"],
        "releaseChunks": 0,
    });
    let labels = json!({names::RECORD: "target"});
    let metadata = json!({"name": "pivot-host-target-lie", "namespace": "pivot-host-records", "labels": labels, "uid": "lie"});
    let data = json!({"record.json": record.to_string()});
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    stage.target.insert(body).unwrap();
    let running = stage.start();
    stage.until("moved without it", |stage| stage.done("a")).await;
    let db = Key::new(GroupKind::new("", "Secret"), Some("bank"), "db");
    assert!(stage.target.body(&db).is_none(), "{}", stage.pivot("a").unwrap()["status"]);
    running.stop().await;
}

/// The author of a Pivot controls the records in a foreign source, which can say anything.
// proves: T44
#[tokio::test(start_paused = true)]
async fn foreign_source_undoes_nothing_in_another_namespace() {
    let stage = Stage::new(&["a"]);
    stage.ask("a");
    let running = stage.start();
    stage.until("moved away", |stage| stage.done("a")).await;
    for namespace in ["desk", "bank"] {
        stage.home.add_namespace(namespace);
    }
    stage.secret("desk", "way", "target");
    let held = Arc::new(AtomicBool::new(true));
    held_at(&stage.home, &held);
    let spec = json!({"from": {"kubeconfig": {"name": "way"}, "namespace": "a"}, "to": {},
        "options": {"accept": [{"code": "takeover-unchecked"}, {"code": "unprovisioned"}]}});
    stage.ask_for("desk", spec);
    stage.until("copying", |stage| stage.pivot("desk").unwrap()["status"]["phase"] == "Copied").await;
    running.kill();
    let of_source = |key: &Key| key.name.starts_with("pivot-host-source-");
    let record = stage.target.keys().into_iter().find(of_source).unwrap();
    let text = stage.target.body(&record).unwrap()["data"]["record.json"].as_str().unwrap().to_owned();
    let mark = CopyMark::from_record(&serde_json::from_str(&text).unwrap());
    let key = Key::new(GroupKind::new("cluster.x-k8s.io", "Machine"), Some("bank"), "theirs");
    let annotations = mark.annotations(&key, &Uid("theirs".into())).into_iter();
    let mut theirs = object("bank", "Machine", "theirs", None);
    theirs["metadata"]["annotations"] =
        annotations.map(|(name, value)| (name.to_owned(), json!(value))).collect();
    stage.home.insert(theirs).unwrap();
    let lie = |body: &mut Value| {
        let text = body["data"]["record.json"].as_str().unwrap();
        let mut record: Value = serde_json::from_str(text).unwrap();
        record["copiedNamespaces"] = json!(["a", "bank"]);
        record["kinds"] = json!([{"group": "cluster.x-k8s.io", "kind": "Machine"}]);
        body["data"]["record.json"] = json!(record.to_string());
    };
    stage.target.edit(&record, lie).unwrap();
    stage.delete("desk").await;
    let running = stage.start();
    let shown = |stage: &Stage| stage.pivot("desk").unwrap()["status"].to_string();
    stage.until("refused", |stage| shown(stage).contains("changes nothing outside of it")).await;
    assert!(stage.home.body(&key).is_some(), "{}", shown(&stage));
    running.stop().await;
}

/// The mirror image: its target is a cluster of the one who wrote the Pivot, and says that the move worked in another namespace.
// proves: I13, T141
#[tokio::test(start_paused = true)]
async fn foreign_target_undoes_nothing_in_another_namespace() {
    let stage = Stage::new(&["desk"]);
    stage.home.add_namespace("bank");
    let cluster = |namespace| Key::new(GroupKind::new("cluster.x-k8s.io", "Cluster"), Some(namespace), "c");
    let unprovisioned = |body: &mut Value| body["status"] = json!({});
    stage.home.edit(&cluster("desk"), unprovisioned).unwrap();
    let mut theirs = object("bank", "Cluster", "c", None);
    theirs["spec"] = json!({"paused": true});
    theirs["metadata"]["annotations"] = json!({
        names::MARK: "theirs",
        names::UNDO: json!({"move": "theirs", "patch": {"spec": {"paused": null}}}).to_string(),
    });
    stage.home.insert(theirs).unwrap();
    stage.secret("desk", "way", "target");
    stage.ask_for("desk", json!({"to": {"kubeconfig": {"name": "way"}}, "options": {"accept": [{"code": "takeover-unchecked"}]}}));
    let running = stage.start();
    let checked = |stage: &Stage| stage.pivot("desk").unwrap()["status"]["phase"] == "Checked";
    stage.until("refused", |stage| checked(stage) && stage.condition("desk", "Succeeded").is_some()).await;
    let pivot = stage.pivot("desk").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    let record = json!({
        "startedBy": format!("Pivot desk/pivot (UID {pivot})"), "format": 5, "writtenBy": "0.1.0", "moveId": "theirs", "phase": "Paused",
        "scope": {"namespaces": {"one": "desk"}}, "source": uid(&stage.home), "target": uid(&stage.target),
        "startedAt": "", "createdNamespaces": [], "plugins": [], "copiedNamespaces": ["bank"], "releaseChunks": 0,
        "kinds": [{"group": "cluster.x-k8s.io", "kind": "Cluster"}],
    });
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"record.json": record.to_string()},
        "metadata": {"name": "pivot-host-target-theirs", "namespace": "pivot-host-records",
            "labels": {names::RECORD: "target"}}});
    stage.target.insert(body).unwrap();
    let before = stage.home.body(&cluster("bank"));
    stage.home.on_call(|verb, key| {
        let bank = key.namespace.as_deref() == Some("bank") || key.name.ends_with(".bank");
        let changes = ["create", "patch", "delete"].contains(&verb) && bank;
        changes.then(|| Fault::Before(PlaceError::Forbidden("another's".into())))
    });
    stage.delete("desk").await;
    stage.until("let go", |stage| stage.pivot("desk").is_none()).await;
    assert_eq!(stage.home.body(&cluster("bank")), before);
    running.stop().await;
}

/// Everybody can know the id of another's move, and a source of one's own can have a record with it. As soon as the controller's
/// cluster had one too, that move couldn't come in any more.
// proves: T150
#[tokio::test(start_paused = true)]
async fn sources_choose_no_record_names_in_the_target() {
    let stage = Stage::new(&[]);
    stage.home.add_namespace("desk");
    add_cluster(&stage.target, "desk");
    stage.secret("desk", "way", "target");
    let spec = json!({"from": {"kubeconfig": {"name": "way"}}, "to": {}, "options": {"accept": [{"code": "takeover-unchecked"}]}});
    stage.ask_for("desk", spec);
    let pivot = stage.pivot("desk").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    let record = json!({
        "startedBy": format!("Pivot desk/pivot (UID {pivot})"), "format": 5, "writtenBy": "0.1.0", "moveId": "theirs", "phase": "Paused",
        "scope": {"namespaces": {"one": "desk"}}, "source": uid(&stage.target), "target": uid(&stage.home),
        "startedAt": "", "createdNamespaces": [], "plugins": [], "copiedNamespaces": ["desk"], "releaseChunks": 0,
        "kinds": [{"group": "cluster.x-k8s.io", "kind": "Cluster"}],
    });
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"record.json": record.to_string()},
        "metadata": {"name": "pivot-host-source-theirs", "namespace": "pivot-host-records",
            "labels": {names::RECORD: "source"}}});
    stage.target.insert(body).unwrap();
    let running = stage.start();
    let ended = |stage: &Stage| stage.is("desk", "Stalled") || stage.is("desk", "Succeeded");
    stage.until("ended", ended).await;
    let of_theirs: Vec<Key> =
        stage.home.keys().into_iter().filter(|key| key.name.contains("theirs")).collect();
    assert_eq!(of_theirs, [], "{}", stage.pivot("desk").unwrap()["status"]);
    let stalled = stage.condition("desk", "Stalled").unwrap();
    assert!(stalled["message"].as_str().unwrap().contains("a record of move theirs"), "{stalled}");
    stage.is_only_in(&stage.target, "desk");
    running.stop().await;
}

/// Each takes as long as a controller waits for an agent, again and again.
// proves: T146
#[tokio::test(start_paused = true)]
async fn absent_agents_delay_no_other_namespace() {
    let stage = Stage::new(&["z"]);
    stage.home.add_namespace("many");
    for n in 0..150 {
        stage.ask_by_name("many", &format!("p{n}"), json!({"to": {"agent": "absent"}}));
    }
    let running = stage.start();
    // All Pivots are known, and the first wait.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let begun = tokio::time::Instant::now();
    stage.ask("z");
    stage.until("done", |stage| stage.done("z")).await;
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    running.stop().await;
}

// proves: T51
#[tokio::test(start_paused = true)]
async fn pivot_uses_only_agents_of_its_namespace() {
    let stage = Stage::new(&["shop", "bank"]);
    for namespace in ["shop", "bank"] {
        stage.ask_for(
            namespace,
            json!({"to": {"agent": "edge"}, "options": {"accept": [{"code": "takeover-unchecked"}]}}),
        );
    }
    let running = stage.start();
    stage.until("done", |stage| stage.done("shop")).await;
    stage.is_only_in(&stage.target, "shop");
    stage.until("no agent", |stage| stage.condition("bank", "Connected").is_some()).await;
    let connected = stage.condition("bank", "Connected").unwrap();
    assert_eq!((&connected["status"], &connected["reason"]), (&json!("False"), &json!("NoAnswer")));
    assert!(
        connected["message"].as_str().unwrap().contains("agent bank/edge is not connected"),
        "{connected}"
    );
    stage.is_only_in(&stage.home, "bank");
    running.stop().await;
}

// proves: T39
#[tokio::test(start_paused = true)]
async fn secret_without_its_cluster_is_ignored() {
    let stage = Stage::new(&["a"]);
    stage.secret("a", "d-kubeconfig", "target");
    stage.ask_for(
        "a",
        json!({"to": {"cluster": "d"}, "options": {"accept": [{"code": "takeover-unchecked"}]}}),
    );
    let running = stage.start();
    stage.until("stalled", |stage| stage.is("a", "Stalled")).await;
    let message = stage.condition("a", "Stalled").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("Secret a/d-kubeconfig is there, but Cluster a/d is not"), "{message}");
    assert_eq!(stage.ways(), []);
    stage.is_only_in(&stage.home, "a");
    running.stop().await;
}

/// The controller's account can lack permission to create the namespace, and to read it.
#[tokio::test(start_paused = true)]
async fn missing_record_namespaces_stall_pivots_unpaused() {
    for is_readable in [true, false] {
        let stage = Stage::new(&[]);
        stage.home.add_namespace("desk");
        add_cluster(&stage.target, "desk");
        let records = Key::new(GroupKind::new("", "Namespace"), None, names::RECORD_NAMESPACE);
        stage.home.remove(&records).unwrap();
        stage.home.deny(Access {
            verb: "create".into(),
            group: String::new(),
            resource: "namespaces".into(),
            subresource: "".into(),
            namespace: None,
        });
        stage.home.on_call(move |verb, key| {
            let forbidden = *key == records && (verb == "create" || verb == "get" && !is_readable);
            forbidden.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
        });
        stage.secret("desk", "way", "target");
        let spec = json!({"from": {"kubeconfig": {"name": "way"}}, "to": {}, "options": {"accept": [{"code": "takeover-unchecked"}]}});
        stage.ask_for("desk", spec);
        let running = stage.start();
        stage.until("stalled", |stage| stage.is("desk", "Stalled")).await;
        let shown = stage.pivot("desk").unwrap()["status"].to_string();
        assert!(shown.contains("doesn't exist, and can't be created"), "{shown}");
        let written = |call: &pivot_memory::Call| {
            call.done && call.verb == "patch" && call.key.group_kind.kind != "Lease"
        };
        assert_eq!(stage.target.journal().iter().filter(|call| written(call)).count(), 0, "{shown}");
        running.stop().await;
    }
}

/// Has the moves of some namespaces wait while its window is closed.
struct Window {
    description: Description,
    namespaces: Vec<&'static str>,
    is_closed: Arc<AtomicBool>,
}

#[async_trait]
impl Hooks for Window {
    fn describe(&self) -> &Description {
        &self.description
    }

    async fn check(
        &self,
        _: Point,
        context: &MoveContext,
        _: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        let is_one = context.namespaces.iter().any(|(name, _)| self.namespaces.contains(&name.as_str()));
        let waits = is_one && self.is_closed.load(Ordering::Relaxed);
        let finding = Finding {
            severity: Severity::Wait,
            code: "window".into(),
            message: "the maintenance window is closed".into(),
            object: None,
            remedy: String::new(),
        };
        Ok(Vec::from_iter(waits.then_some(finding)))
    }
}

/// As many as may begin wait for hours: half of them for their sources' pause, and half for a check.
// proves: T146
#[tokio::test(start_paused = true)]
async fn pivots_that_wait_delay_no_other() {
    let (for_pause, for_check) = (["p0", "p1", "p2", "p3"], ["c0", "c1", "c2", "c3"]);
    let waiting = [for_pause, for_check].concat();
    let mut stage = Stage::new(&[&waiting[..], &["z"]].concat());
    let is_closed = Arc::new(AtomicBool::new(true));
    let description =
        Description { name: "window".into(), hooks: vec![Hook::Check], ..Description::default() };
    let window = Window { description, namespaces: for_check.to_vec(), is_closed: is_closed.clone() };
    stage.plugins = vec![Arc::new(window) as Arc<dyn Hooks>].into();
    let machine = |namespace| Key::new(GroupKind::new("cluster.x-k8s.io", "Machine"), Some(namespace), "m0");
    let paused = |status: &'static str| {
        move |body: &mut Value| body["status"]["conditions"] = json!([{"type": "Paused", "status": status}])
    };
    for namespace in for_pause {
        stage.home.edit(&machine(namespace), paused("False")).unwrap();
    }
    for namespace in &waiting {
        let options = json!({"pauseTimeoutSeconds": 86_400, "checkTimeoutSeconds": 86_400, "accept": [{"code": "takeover-unchecked"}]});
        stage.ask_for(namespace, json!({"to": {"cluster": "c"}, "options": options}));
    }
    let running = stage.start();
    let shown = |stage: &Stage, namespace| stage.pivot(namespace).unwrap()["status"]["message"].to_string();
    let all_wait = |stage: &Stage| waiting.iter().all(|one| shown(stage, one).contains("waiting, until"));
    stage.until("waiting", all_wait).await;
    let begun = Instant::now();
    stage.ask("z");
    stage.until("done", |stage| stage.is("z", "Succeeded")).await;
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    // Hours later they go on.
    tokio::time::sleep(Duration::from_secs(3 * 60 * 60)).await;
    is_closed.store(false, Ordering::Relaxed);
    for namespace in for_pause {
        stage.home.edit(&machine(namespace), paused("True")).unwrap();
    }
    stage.until("all done", |stage| waiting.iter().all(|one| stage.is(one, "Succeeded"))).await;
    running.stop().await;
}

/// As many as may begin have targets that fall silent at some request. Each attempt gives up two requests at most, a minute each.
// proves: T146
#[tokio::test(start_paused = true)]
async fn silent_targets_keep_turns_for_two_minutes() {
    let silent = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
    for answers in (1..300).step_by(32) {
        let stage = Stage::new(&[&silent[..], &["z"]].concat());
        for namespace in silent {
            let key = Key::new(GroupKind::new("", "Secret"), Some(namespace), "c-kubeconfig");
            stage.home.edit(&key, |body| body["data"]["value"] = json!("other")).unwrap();
            stage.ask(namespace);
        }
        let calls = Arc::new(AtomicUsize::new(0));
        let asked = calls.clone();
        stage.other.on_call(move |_, _| {
            let is_silent = calls.fetch_add(1, Ordering::Relaxed) >= answers;
            is_silent.then(|| Fault::Before(PlaceError::Unavailable("no answer".into())))
        });
        let running = stage.start();
        stage.until("silent", |_| asked.load(Ordering::Relaxed) >= answers).await;
        let begun = Instant::now();
        stage.ask("z");
        stage.until("done", |stage| stage.is("z", "Succeeded")).await;
        assert!(begun.elapsed() < Duration::from_secs(130), "{answers}: {:?}", begun.elapsed());
        running.stop().await;
    }
}

/// A message with line breaks would look like more conditions of the Pivot.
// proves: T94
#[tokio::test(start_paused = true)]
async fn words_of_foreign_servers_stay_in_one_line() {
    let stage = Stage::new(&["a"]);
    let group = names::GROUP_CLUSTERCTL;
    stage.target.add_kind(kind(group, "Provider", "providers", "v1alpha3", KindLabels::default()));
    stage.target.on_call(|verb, key| {
        let refused = || PlaceError::Forbidden("no\n  Type: Ready\u{1b}[2K".into());
        (verb == "list" && key.group_kind.kind == "Provider").then(|| Fault::Before(refused()))
    });
    stage.ask("a");
    let running = stage.start();
    stage.until("done", |stage| stage.is("a", "Succeeded")).await;
    running.stop().await;
    let events = stage.home.keys().into_iter().filter(|key| key.group_kind.kind == "Event");
    let messages: Vec<String> =
        events.map(|key| stage.home.body(&key).unwrap()["message"].as_str().unwrap().to_owned()).collect();
    assert!(messages.iter().any(|message| message.contains("Type: Ready")), "{messages:?}");
    assert!(!messages.iter().any(|message| message.contains(char::is_control)), "{messages:?}");
}

/// An author can have a Pivot wait for a pause that never comes, and a move that waits holds what it has read.
// proves: T146
#[tokio::test(start_paused = true)]
async fn operator_limits_waits_of_pivots() {
    let mut stage = Stage::new(&["a"]);
    stage.longest_wait = Duration::from_secs(60);
    let machine = Key::new(GroupKind::new("cluster.x-k8s.io", "Machine"), Some("a"), "m0");
    let unpaused =
        |body: &mut Value| body["status"]["conditions"] = json!([{"type": "Paused", "status": "False"}]);
    stage.home.edit(&machine, unpaused).unwrap();
    stage.ask_for(
        "a",
        json!({"to": {"cluster": "c"}, "options": {"pauseTimeoutSeconds": 86_400, "accept": [{"code": "takeover-unchecked"}]}}),
    );
    let begun = Instant::now();
    let running = stage.start();
    let shown = |stage: &Stage| stage.pivot("a").unwrap()["status"]["message"].to_string();
    stage.until("timed out", |stage| shown(stage).contains("timed out")).await;
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}: {}", begun.elapsed(), shown(&stage));
    running.stop().await;
}
