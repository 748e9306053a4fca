//! Records and release lists that no move wrote: anyone with permission to write ConfigMaps in the record namespace can
//! write them. Each is refused in bounded time and words, and nothing is changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pivot_core::Key;
use pivot_engine::{Exit, Stop, run};
use pivot_places::MemoryPlace;
use serde_json::{Value, json};

use crate::stage::{Stage, is_record};
use crate::trouble::live;

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
        ("touched", json!(names)),
        ("touched", json!(["../kube-system"])),
        ("namespaces", json!([".."])),
        ("kinds", json!([{"group": "..", "kind": "Secret"}])),
        ("by", json!("x".repeat(1_000_000))),
        ("by", json!("somebody else")),
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

/// Whoever has a source of their own can write a record there with the id that another's copies have as a mark.
#[tokio::test(start_paused = true)]
async fn a_record_with_the_id_of_anothers_move_has_that_neither_undone_nor_forgotten() {
    let stage = live().await;
    let (key, good) = record(&stage);
    let before = stage.target.body(&key).unwrap();
    let own = stage.source.keys().into_iter().find(|key| is_record(key, "source")).unwrap();
    let lie = Value::from_iter(good.as_object().unwrap().clone().into_iter().map(|(field, value)| {
        match field.as_str() {
            "by" => (field, json!("somebody else")),
            "phase" => (field, json!("Copied")),
            _ => (field, value),
        }
    }));
    stage.source.edit(&own, |body| body["data"]["record.json"] = json!(lie.to_string())).unwrap();
    let _ = run::rollback(stage.setup()).await;
    assert_eq!(stage.target.body(&key).unwrap(), before);
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

#[tokio::test(start_paused = true)]
async fn a_release_list_that_no_move_wrote_is_refused_and_nothing_is_changed() {
    let stage = live().await;
    let (key, _) = record(&stage);
    let good = stage.target.body(&key).unwrap()["data"]["list"].as_str().unwrap().to_owned();
    let last = good.lines().last().unwrap().to_owned();
    let count = good.lines().filter(|line| line.starts_with("o ")).count();
    // The last entry, waiting for something else.
    let waiting = |after: &str| {
        let (words, _) = last.rsplit_once(' ').unwrap();
        good.replace(&last, &format!("{words} {after}"))
    };
    let deleted = good.lines().find(|line| line.starts_with("o ") && line.contains(" d ")).unwrap();
    for (at, bad) in [
        ("another namespace", good.replace(deleted, &deleted.replacen(" ns ", " elsewhere ", 1))),
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
