//! Records and release lists that no move wrote: anyone with permission to write ConfigMaps in the record namespace can
//! write them. Each is refused in bounded time and words, and nothing is changed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::records::record::Phase;
use pivot_core::{Key, Side};
use pivot_engine::{Exit, Failure, Next, Stop};
use pivot_memory::MemoryPlace;
use serde_json::{Value, json};

use crate::committed::commit;
use crate::crash::{die_at, revive};
use crate::recovered::two_clusters;
use crate::run;
use crate::stage::{CLUSTERS, Stage, body, is_record, key, picture, under_way};
use crate::trouble::{half_committed, live};

/// The target's record of a committed move, which decides, and where it is.
fn record(stage: &Stage) -> (Key, Value) {
    let key = stage.target.keys().into_iter().find(|key| is_record(key, "target")).unwrap();
    let text = stage.target.body(&key).unwrap()["data"]["record.json"].as_str().unwrap().to_owned();
    (key, serde_json::from_str(&text).unwrap())
}

/// Everything but Leases, which say no more than that somebody was there.
fn everything(stage: &Stage) -> Vec<BTreeMap<Key, Value>> {
    let bodies = |place: &MemoryPlace| {
        let keys = place.keys().into_iter().filter(|key| key.group_kind.kind != "Lease");
        keys.map(|key| (key.clone(), place.body(&key).unwrap())).collect()
    };
    vec![bodies(&stage.source), bodies(&stage.target)]
}

/// A resume that refuses, soon, in few words, and without a write.
async fn refused(stage: &Stage, at: &str) -> Stop {
    let (before, begun) = (everything(stage), Instant::now());
    let stop = run::resume(stage.setup()).await.expect_err(at);
    assert!(begun.elapsed() < Duration::from_secs(20), "{at}: {:?}", begun.elapsed());
    assert!([Exit::Refused, Exit::PastCommit].contains(&stop.exit), "{at}: {stop}");
    let told = stop.to_string();
    assert!(told.len() < 2_000 && !told.contains('\n'), "{at}: {} bytes: {told:.2000}", told.len());
    assert_eq!(everything(stage), before, "{at}");
    stop
}

// proves: T101
#[tokio::test(start_paused = true)]
async fn a_record_that_no_move_wrote_is_refused_and_nothing_is_changed() {
    let stage = live().await;
    let (key, good) = record(&stage);
    let names: Vec<String> = (0..60_000).map(|n| format!("n{n}")).collect();
    for (field, value) in [
        ("releaseChunks", json!(100_000_000)),
        ("releaseChunks", json!(u64::MAX)),
        ("releaseChunks", json!(501)),
        ("moveId", json!("../../secrets/x")),
        ("copiedNamespaces", json!(names)),
        ("copiedNamespaces", json!(["../kube-system"])),
        ("createdNamespaces", json!([".."])),
        ("kinds", json!([{"group": "..", "kind": "Secret"}])),
        ("startedBy", json!("x".repeat(1_000_000))),
        ("startedBy", json!("somebody else")),
        ("more\nerror: all is lost", json!("x".repeat(1_000_000))),
    ] {
        let mut bad = good.clone();
        bad[field] = value;
        stage.target.edit(&key, |body| body["data"]["record.json"] = json!(bad.to_string())).unwrap();
        refused(&stage, field).await;
    }
    stage.target.edit(&key, |body| body["data"]["record.json"] = json!(good.to_string())).unwrap();
    run::resume(stage.setup()).await.unwrap();
}

/// Dead right after the commit: the copies are paused still.
async fn committed() -> Stage {
    for n in 1.. {
        let stage = Stage::new();
        die_at(&stage, n, true);
        run::start(stage.setup()).await.unwrap_err();
        revive(&stage);
        if under_way(stage.setup()).await.is_some_and(|one| one.record.phase >= Phase::Committed) {
            return stage;
        }
    }
    unreachable!()
}

fn changed(place: &MemoryPlace, side: &str, fields: &[(&str, Value)]) {
    let key = place.keys().into_iter().find(|key| is_record(key, side)).unwrap();
    let change = |body: &mut Value| {
        let mut record: Value = serde_json::from_str(body["data"]["record.json"].as_str().unwrap()).unwrap();
        fields.iter().for_each(|(field, value)| record[field] = value.clone());
        body["data"]["record.json"] = json!(record.to_string());
    };
    place.edit(&key, change).unwrap();
}

/// A record that its own move makes unreadable would stop every other move of the cluster that has it: what a foreign source says
/// of its move goes into the target's record.
// proves: T152
#[tokio::test(start_paused = true)]
async fn records_stay_readable_whatever_a_source_notes() {
    let copying = async || {
        for n in 1.. {
            let mut stage = Stage::new();
            // So that it doesn't lock each of the namespaces.
            stage.options.confined = Some(Side::Source);
            die_at(&stage, n, true);
            run::start(stage.setup()).await.unwrap_err();
            revive(&stage);
            if under_way(stage.setup()).await.is_some_and(|one| one.record.phase == Phase::Copied) {
                return stage;
            }
        }
        unreachable!()
    };
    let stage = copying().await;
    // As many as may be; the move's own is not among them.
    let names: Vec<String> = (0..50_000).map(|n| format!("n{n}")).collect();
    changed(&stage.source, "source", &[("copiedNamespaces", json!(names))]);
    assert!(under_way(stage.setup()).await.is_some(), "it can be read");
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(stop.to_string().contains("the number of namespaces of this move can't be right"), "{stop}");
    let records = stage.target.keys().into_iter().filter(|key| is_record(key, "target"));
    assert_eq!(records.collect::<Vec<_>>(), []);
    assert!(under_way(stage.setup()).await.is_some(), "it can still be read");
}

/// Whoever has a source of their own can write a record there with the id that another's copies have as a mark.
// proves: T45
#[tokio::test(start_paused = true)]
async fn a_record_with_the_id_of_anothers_move_has_that_neither_undone_nor_forgotten() {
    let stage = committed().await;
    changed(&stage.source, "source", &[("startedBy", json!("somebody else")), ("phase", json!("Copied"))]);
    let before = everything(&stage);
    let (undone, again) = (run::rollback(stage.setup()).await, run::resume(stage.setup()).await);
    for stop in [undone.map(drop).unwrap_err(), again.map(drop).unwrap_err()] {
        assert!(stop.to_string().contains("two records of move"), "{stop}");
        assert!(stop.to_string().contains("\"somebody else\""), "{stop}");
        assert!(
            !stop.to_string().contains("finalizers"),
            "no advice that would lose what the source has: {stop}"
        );
    }
    assert_eq!(everything(&stage), before);
}

/// Whoever has a target of their own can write a record there that names any move, and any namespace, of the source.
// proves: I13, T141
#[tokio::test(start_paused = true)]
async fn target_record_alone_changes_nothing_in_source() {
    let handed_over =
        json!({"files": "directory-0", "directory": "a directory", "writtenAt": "2026-11-21T21:00:00Z"});
    for (phase, fields) in [
        ("Paused", vec![("copiedNamespaces", json!(["bank", "ns"])), ("handover", json!({}))]),
        (
            "Copied",
            vec![("scope", json!({"namespaces": "all"})), ("copiedNamespaces", json!(["bank", "ns"]))],
        ),
        ("Live", vec![("copiedNamespaces", json!(["bank"])), ("handover", json!({}))]),
        ("Live", vec![("copiedNamespaces", json!(["bank"])), ("handover", handed_over)]),
    ] {
        let mut stage = half_committed(Stage::new()).await;
        stage.options.accept.insert(Risk::MaybeImported);
        let of_source = stage.source.keys().into_iter().find(|key| is_record(key, "source")).unwrap();
        let id = of_source.name.trim_start_matches("pivot-host-source-").to_owned();
        stage.source.remove(&of_source).unwrap();
        // Of another's move with that id, which came in: a copy that waits, and a list that was handed over.
        let mut waits = body(CLUSTERS, "Cluster", "theirs", None);
        waits["metadata"]["namespace"] = json!("bank");
        waits["metadata"]["annotations"] = json!({
            names::MARK: id, names::UNDO: json!({"move": id, "patch": {"spec": {"paused": null}}}).to_string(),
        });
        waits["spec"] = json!({"paused": true});
        stage.source.add_namespace("bank");
        stage.source.insert(waits).unwrap();
        let piece = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"list": "[]"},
            "metadata": {"name": format!("pivot-host-release-{id}-0"), "namespace": "pivot-host-records"}});
        stage.source.insert(piece).unwrap();
        changed(&stage.target, "target", &[&[("phase", json!(phase))], &fields[..]].concat());
        let writes = Arc::new(Mutex::new(Vec::new()));
        stage.source.on_call({
            let writes = writes.clone();
            move |verb, key| {
                if ["create", "patch", "delete"].contains(&verb) {
                    writes.lock().unwrap().push(format!("{verb} {key}"));
                }
                None
            }
        });
        run::rollback(stage.setup()).await.unwrap();
        assert_eq!(*writes.lock().unwrap(), Vec::<String>::new(), "{phase}");
        assert!(under_way(stage.setup()).await.is_none(), "{phase}");
    }
}

/// It would have the move begin again, with more objects.
// proves: T47
#[tokio::test(start_paused = true)]
async fn after_the_commit_the_target_says_only_how_far_the_move_is() {
    let stage = committed().await;
    let hidden = key("", "ConfigMap", "hidden");
    stage.source.insert(body("", "ConfigMap", "hidden", None)).unwrap();
    let carry = json!([{"kind": {"group": "", "kind": "ConfigMap"}}]);
    let mut scope = record(&stage).1["scope"].clone();
    scope["alsoCopy"] = carry;
    let touched = json!(["ns", "elsewhere"]);
    changed(
        &stage.target,
        "target",
        &[("phase", json!("Copied")), ("scope", scope), ("copiedNamespaces", touched)],
    );
    let seen = under_way(stage.setup()).await.unwrap().record;
    assert_eq!(
        (seen.phase, seen.scope.also_copy.len(), seen.copied_namespaces.len()),
        (Phase::Committed, 0, 1)
    );
    run::resume(stage.setup()).await.unwrap();
    assert!(stage.target.body(&hidden).is_none() && stage.source.body(&hidden).is_some());
}

// proves: T46, T102
#[tokio::test(start_paused = true)]
async fn a_list_that_is_not_the_one_that_was_committed_deletes_nothing() {
    let stage = live().await;
    let (key, _) = record(&stage);
    let good = stage.target.body(&key).unwrap()["data"]["list"].as_str().unwrap().to_owned();
    let deleted = good.lines().find(|line| line.starts_with("o ") && line.contains(" d ")).unwrap();
    let other = good.replace(deleted, &deleted.replacen(" ns ", " elsewhere ", 1));
    stage.target.edit(&key, |body| body["data"]["list"] = json!(other)).unwrap();
    let stop = refused(&stage, "another list").await;
    assert!(stop.to_string().contains("not the one that the source committed"), "{stop}");
    stage.target.edit(&key, |body| body["data"]["list"] = json!("x")).unwrap();
    let stop = refused(&stage, "no list").await;
    assert!(
        stop.to_string().contains("not the one that the source committed"),
        "nothing is made of it: {stop}"
    );
    stage.target.edit(&key, |body| body["data"]["list"] = json!(other)).unwrap();
    // As an older version left it.
    changed(&stage.source, "source", &[("releaseDigest", Value::Null)]);
    let stop = refused(&stage, "another namespace").await;
    assert!(stop.to_string().contains("in none of the namespaces"), "{stop}");
    stage.target.edit(&key, |body| body["data"]["list"] = json!(good)).unwrap();
    run::resume(stage.setup()).await.unwrap();
}

/// Deleting begins when both records say so.
// proves: I11, T102
#[tokio::test(start_paused = true)]
async fn released_by_the_targets_word_waits_for_evidence() {
    let mut stage = commit(two_clusters()).await;
    stage.options.accept.remove(Risk::TakeoverUnchecked);
    stage.options.takeover_timeout = Duration::from_secs(60);
    changed(&stage.target, "target", &[("phase", json!("Released"))]);
    let before = picture(&stage.source);
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::NotTakenOver(_)), "{stop}");
    assert_eq!(picture(&stage.source), before);
}

/// A move without a list is one that was about to be closed, if its source's record has come that far.
// proves: T103
#[tokio::test(start_paused = true)]
async fn settled_without_a_list_forgets_no_source_record() {
    let stage = committed().await;
    let (key, _) = record(&stage);
    changed(&stage.target, "target", &[("phase", json!("Settled")), ("releaseChunks", json!(0))]);
    let unlist = |body: &mut Value| drop(body["data"].as_object_mut().unwrap().remove("list"));
    stage.target.edit(&key, unlist).unwrap();
    let stop = refused(&stage, "no list").await;
    assert!(stop.to_string().contains("its release list is missing"), "{stop}");
}

/// It says how many pieces its list has; none of them is there.
#[tokio::test(start_paused = true)]
async fn pieces_of_a_list_that_are_gone_are_not_all_asked_for() {
    let stage = live().await;
    let (key, mut bad) = record(&stage);
    bad["releaseChunks"] = json!(500);
    stage.target.edit(&key, |body| body["data"]["record.json"] = json!(bad.to_string())).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    stage.target.on_call({
        let asked = asked.clone();
        move |verb, key| {
            if verb == "get" && key.name.starts_with("pivot-host-release-") {
                asked.fetch_add(1, Ordering::SeqCst);
            }
            None
        }
    });
    let stop = refused(&stage, "500 pieces").await;
    assert!(stop.to_string().contains("its release list is missing"), "{stop}");
    assert!((1..=48).contains(&asked.load(Ordering::SeqCst)), "{asked:?}");
}

/// All moves of a controller have their lists in its memory.
// proves: T147
#[tokio::test(start_paused = true)]
async fn release_lists_are_read_up_to_a_limit() {
    let mut stage = live().await;
    let (key, mut bad) = record(&stage);
    bad["releaseChunks"] = json!(200);
    for number in 0..200 {
        let name = format!("pivot-host-release-{}-{number}", bad["moveId"].as_str().unwrap());
        let piece = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"list": "x".repeat(1_000)},
            "metadata": {"name": name, "namespace": key.namespace}});
        stage.target.insert(piece).unwrap();
    }
    let good = stage.target.body(&key).unwrap()["data"].clone();
    stage.target.edit(&key, |body| body["data"]["record.json"] = json!(bad.to_string())).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    stage.target.on_call({
        let asked = asked.clone();
        move |verb, key| {
            let is_piece = verb == "get" && key.name.starts_with("pivot-host-release-");
            asked.fetch_add(usize::from(is_piece), Ordering::SeqCst);
            None
        }
    });
    stage.options.release_list_limit = 2_500;
    let stop = refused(&stage, "200 pieces").await;
    assert!(stop.to_string().contains("more than 2500 bytes"), "{stop}");
    assert!((1..=9).contains(&asked.load(Ordering::SeqCst)), "{asked:?}: no piece is read that can't count");
    // A list in the record itself has that limit, too.
    stage.target.edit(&key, |body| body["data"] = good.clone()).unwrap();
    stage.options.release_list_limit = 10;
    let stop = refused(&stage, "a list").await;
    assert!(stop.to_string().contains("more than 10 bytes"), "{stop}");
    // So have its lines, each of which takes more than its text.
    let short: String = (0..200).map(|n| format!("o 0 - a{n} a{n} 1 k - - -\n")).collect();
    let short = format!("v 3\nk /v1 secrets Secret\n{short}");
    stage.target.edit(&key, |body| body["data"]["list"] = json!(short)).unwrap();
    stage.options.release_list_limit = 100 << 10;
    let stop = refused(&stage, "short lines").await;
    assert!(stop.to_string().contains("more than 100 lines"), "{stop}");
    stage.target.edit(&key, |body| body["data"] = good).unwrap();
    stage.options.release_list_limit = usize::MAX;
    run::resume(stage.setup()).await.unwrap();
}

/// A list that was written once must be readable for every attempt after that.
// proves: T147
#[tokio::test(start_paused = true)]
async fn no_move_commits_a_list_that_it_couldnt_read() {
    let mut stage = two_clusters();
    stage.options.release_list_limit = 10;
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(
        stop.to_string().contains("more than 10 bytes, which are the most here: run fewer moves at once"),
        "{stop}"
    );
    // The source and the copies are paused by now. The stop says so, with both ways out.
    assert_eq!(stop.exit, Exit::PartWay);
    assert_eq!(stop.next, [Next::Resume, Next::Rollback]);
    assert!(
        stop.state.contains("the source is authoritative") && stop.state.contains("paused"),
        "{}",
        stop.state
    );
    assert!(under_way(stage.setup()).await.unwrap().record.phase < Phase::Committed);
    stage.options.release_list_limit = usize::MAX;
    run::resume(stage.setup()).await.unwrap();
}

// proves: T101
#[tokio::test(start_paused = true)]
async fn a_release_list_that_no_move_wrote_is_refused_and_nothing_is_changed() {
    let stage = live().await;
    // The source of an older version knows no list again.
    changed(&stage.source, "source", &[("releaseDigest", Value::Null)]);
    let (key, _) = record(&stage);
    let good = stage.target.body(&key).unwrap()["data"]["list"].as_str().unwrap().to_owned();
    let last = good.lines().last().unwrap().to_owned();
    let count = good.lines().filter(|line| line.starts_with("o ")).count();
    // The last entry, waiting for something else.
    let waiting = |after: &str| {
        let (words, _) = last.rsplit_once(' ').unwrap();
        good.replace(&last, &format!("{words} {after}"))
    };
    for (at, bad) in [
        ("itself", waiting(&(count - 1).to_string())),
        ("what is not there", waiting("1000000")),
        ("more than can be counted", waiting("99999999999999999999999")),
        ("an entry twice", format!("{good}{last}\n")),
        ("no line", "x".repeat(10_000_000)),
        ("a newer format", good.replacen("v 3", "v 4294967295", 1)),
        ("another flag", good.replacen(" d ", " q ", 1)),
        ("a kind that leads elsewhere", good.replacen("k ", "k ../../v1 secrets Secret\nk ", 1)),
    ] {
        stage.target.edit(&key, |body| body["data"]["list"] = json!(bad)).unwrap();
        refused(&stage, at).await;
    }
    // Two that wait for each other: the first for the last.
    let first = good.lines().find(|line| line.starts_with("o ") && line.ends_with(" -")).unwrap();
    let (words, _) = first.rsplit_once(' ').unwrap();
    let bad = good.replace(first, &format!("{words} {}", count - 1));
    stage.target.edit(&key, |body| body["data"]["list"] = json!(bad)).unwrap();
    refused(&stage, "two that wait for each other").await;

    stage.target.edit(&key, |body| body["data"]["list"] = json!(good)).unwrap();
    run::resume(stage.setup()).await.unwrap();
}
