//! Records of other releases: moves that format 4 began are resumed and rolled back in each phase, and records of the future are refused
//! in each phase.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Description, Hook, Settlement};
use pivot_core::records::record::{FORMAT, OLDEST_FORMAT};
use pivot_core::{GroupKind, Key, Object};
use pivot_engine::hooks::{HookError, Hooks, Services};
use pivot_engine::{Exit, Options};
use pivot_memory::MemoryPlace;
use serde_json::{Value, json};

use crate::crash::{die_at, revive};
use crate::run;
use crate::stage::{CLUSTERS, Stage, is_record, is_summary, key, picture, under_way};

/// Has nothing more to change. A move writes down that it settles only where something does.
struct Settles(Description);

#[async_trait]
impl Hooks for Settles {
    fn describe(&self) -> &Description {
        &self.0
    }

    async fn settle(&self, _: &Object, _: bool, _: Arc<dyn Services>) -> Result<Settlement, HookError> {
        Ok(Settlement::Done)
    }
}

fn stage(settles: bool) -> Stage {
    let mut stage = Stage::new();
    if settles {
        let description = Description {
            name: "settles".into(),
            kinds: vec![GroupKind::new(CLUSTERS, "Machine")],
            hooks: vec![Hook::Settle],
            ..Description::default()
        };
        stage.plugins = vec![Arc::new(Settles(description))];
    }
    stage
}

/// A move that died after its n-th write; none where it has fewer.
async fn dead_after(n: usize, settles: bool) -> Option<Stage> {
    let stage = stage(settles);
    let calls = die_at(&stage, n, true);
    let _ = run::start(stage.setup()).await;
    revive(&stage);
    (calls.load(Ordering::SeqCst) >= n).then_some(stage)
}

fn records(place: &MemoryPlace, side: &str) -> Vec<Key> {
    let under_way = |key: &Key| place.body(key).unwrap()["data"].get("record.json").is_some();
    place.keys().into_iter().filter(|key| is_record(key, side) && under_way(key)).collect()
}

fn record(place: &MemoryPlace, key: &Key) -> Value {
    serde_json::from_str(place.body(key).unwrap()["data"]["record.json"].as_str().unwrap()).unwrap()
}

/// What both sides' records say of how far the move has come.
fn phases(stage: &Stage) -> (Option<String>, Option<String>) {
    let phase = |place: &MemoryPlace, side| {
        let key = records(place, side).into_iter().next()?;
        Some(record(place, &key)["phase"].as_str().unwrap().to_owned())
    };
    (phase(&stage.source, "source"), phase(&stage.target, "target"))
}

fn set_record(place: &MemoryPlace, key: &Key, record: &Value) {
    place.edit(key, |body| body["data"]["record.json"] = json!(record.to_string())).unwrap();
}

/// A Cluster with one Machine, and what belongs to them.
fn few() -> Stage {
    let stage = Stage {
        options: Options {
            operator: "somebody@example.org".into(),
            record_namespace: "kube-system".into(),
            ..Stage::new().options
        },
        ..stage(true)
    };
    let left = |key: &Key| ["c", "m0", "m0-bootstrap", "c-kubeconfig"].contains(&key.name.as_str());
    for key in stage.source.keys() {
        if key.namespace.as_deref() == Some("ns") && !left(&key) {
            stage.source.remove(&key).unwrap();
        }
    }
    stage
        .source
        .edit(&key(CLUSTERS, "Cluster", "c"), |body| body["spec"] = json!({"paused": false}))
        .unwrap();
    stage
}

/// What a run of each format of the record left on both servers when it died, in each phase. No program writes these files: whatever
/// today's writes, they are what others wrote, and must be read.
const LEFT_BEHIND: [(u32, &str); 2] =
    [(4, include_str!("formats/4.json")), (5, include_str!("formats/5.json"))];

/// Makes a server of what was left on one, in the same versions, which a release list has.
fn restore(place: &MemoryPlace, left: &Value) {
    let version =
        |body: &Value| -> u64 { body["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap() };
    let mut left: Vec<&Value> = left.as_array().unwrap().iter().collect();
    left.sort_by_key(|body| version(body));
    let tick = || -> u64 {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ticks"}});
        place.insert(namespace).unwrap().meta.resource_version.parse().unwrap()
    };
    let mut now = tick();
    for body in left {
        while now + 1 < version(body) {
            now = tick();
        }
        now = place.insert(body.clone()).unwrap().meta.resource_version.parse().unwrap();
    }
}

/// Nothing of a move but what is left of one that finished or was rolled back, and Leases that nobody holds.
fn nothing_left(place: &MemoryPlace) -> bool {
    place.keys().iter().filter(|key| key.namespace.as_deref() == Some("kube-system")).all(|key| {
        let body = place.body(key).unwrap();
        is_summary(&body) || (key.group_kind.kind == "Lease" && body["spec"]["holderIdentity"] == "")
    })
}

#[tokio::test(start_paused = true)]
async fn moves_of_every_format_are_resumed_or_rolled_back() {
    let whole = few();
    let untouched = picture(&whole.source);
    run::start(whole.setup()).await.unwrap();
    let (source, target) = (picture(&whole.source), picture(&whole.target));
    for (format, left) in LEFT_BEHIND {
        let left: BTreeMap<String, Value> = serde_json::from_str(left).unwrap();
        let phases: Vec<&str> = left.keys().map(String::as_str).collect();
        // Since the fifth, the source's record says so, too, before anything is deleted.
        let released: &[&str] = match format {
            ..5 => &["Committed, Settled", "Copied, ", "Copied, Live", "Paused, "],
            _ => &["Copied, ", "Copied, Live", "Paused, ", "Released, Released", "Released, Settled"],
        };
        let expected = [&[", Settled", "Committed, Live", "Committed, Released"], released].concat();
        assert_eq!(phases, expected, "format {format}");
        for ((phases, sides), back) in left.iter().flat_map(|left| [(left, false), (left, true)]) {
            let at = format!("format {format}, phases {phases:?}, rolled back {back}");
            let stage = Stage { source: Stage::empty().source, ..few() };
            restore(&stage.source, &sides["source"]);
            restore(&stage.target, &sides["target"]);
            let found = under_way(stage.setup()).await.unwrap();
            assert_eq!(found.record.written_by, "0.1.0", "{at}");
            if !back {
                run::resume(stage.setup()).await.unwrap_or_else(|stop| panic!("{at}: {stop}"));
                assert_eq!(picture(&stage.target), target, "{at}");
                assert_eq!(picture(&stage.source), source, "{at}");
            } else if found.record.phase.is_committed() {
                let stop = run::rollback(stage.setup()).await.unwrap_err();
                assert!(stop.to_string().contains("point of no return"), "{at}: {stop}");
                continue;
            } else {
                run::rollback(stage.setup()).await.unwrap_or_else(|stop| panic!("{at}: {stop}"));
                assert_eq!(picture(&stage.source), untouched, "{at}");
                assert!(picture(&stage.target).is_empty(), "{at}");
            }
            assert!(nothing_left(&stage.source) && nothing_left(&stage.target), "{at}");
        }
    }
}

#[test]
fn each_format_has_a_file_of_moves() {
    let formats: Vec<u32> = LEFT_BEHIND.iter().map(|(format, _)| *format).collect();
    assert_eq!(formats, (OLDEST_FORMAT..=FORMAT).collect::<Vec<_>>(), "add what this release leaves behind");
    for (format, text) in LEFT_BEHIND {
        let written = format!("\\\"format\\\":{format},");
        let spaced = format!("\\\"format\\\": {format},");
        assert!(text.contains(&written) || text.contains(&spaced), "format {format}");
    }
}

/// Everything but Leases, which say no more than that somebody was there.
fn everything(stage: &Stage) -> Vec<BTreeMap<Key, Value>> {
    let bodies = |place: &MemoryPlace| {
        let keys = place.keys().into_iter().filter(|key| key.group_kind.kind != "Lease");
        keys.map(|key| (key.clone(), place.body(&key).unwrap())).collect()
    };
    vec![bodies(&stage.source), bodies(&stage.target)]
}

// proves: T104
#[tokio::test(start_paused = true)]
async fn a_record_of_the_future_is_refused_in_each_phase_and_nothing_is_changed() {
    let changes: [fn(&mut Value); 3] = [
        |record| record["format"] = json!(99),
        |record| record["only"] = json!(["c"]),
        |record| record["scope"]["only"] = json!(["c"]),
    ];
    let mut seen = BTreeSet::new();
    for n in 1.. {
        let Some(stage) = dead_after(n, true).await else { break };
        if !seen.insert(phases(&stage)) {
            continue;
        }
        for (place, side) in [(&stage.source, "source"), (&stage.target, "target")] {
            for key in records(place, side) {
                let known = record(place, &key);
                for (number, change) in changes.iter().enumerate() {
                    let mut newer = known.clone();
                    newer["writtenBy"] = json!("9.9.9");
                    change(&mut newer);
                    set_record(place, &key, &newer);
                    let before = everything(&stage);
                    let stops = [
                        run::start(stage.setup()).await.unwrap_err(),
                        run::resume(stage.setup()).await.unwrap_err(),
                        run::rollback(stage.setup()).await.unwrap_err(),
                    ];
                    for stop in stops {
                        let at = format!("write {n}, {side}, change {number}: {stop}");
                        assert_eq!(stop.exit, Exit::Refused, "{at}");
                        assert!(stop.to_string().contains("pivot-host 9.9.9 wrote it"), "{at}");
                    }
                    assert_eq!(everything(&stage), before, "write {n}, {side}, change {number}");
                }
                set_record(place, &key, &known);
            }
        }
        // As it was written, it is gone on with.
        if under_way(stage.setup()).await.is_some() {
            run::resume(stage.setup()).await.unwrap();
        }
    }
    // As above, and before and after any record.
    assert_eq!(seen.len(), 9, "{seen:?}");
}
