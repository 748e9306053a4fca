//! Records of other releases: one of the first is gone on with in each phase, one of the future is refused in each phase.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use pivot_core::hooks::{Description, Hook, Settlement};
use pivot_core::{GroupKind, Key, Object};
use pivot_engine::hooks::{HookError, Hooks, Services};
use pivot_engine::{Exit, run};
use pivot_places::MemoryPlace;
use serde_json::{Value, json};

use crate::crash::{die_at, revive};
use crate::stage::{CLUSTERS, Stage, is_record, picture, under_way};

/// Has nothing more to change. A move writes down that it settles only where something does.
struct Settles(Description);

#[async_trait]
impl Hooks for Settles {
    fn describe(&self) -> &Description {
        &self.0
    }

    async fn settle(&self, _: &Object, _: Arc<dyn Services>) -> Result<Settlement, HookError> {
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

/// Puts an object there under another name.
fn rename(place: &MemoryPlace, key: &Key, name: &str, change: impl FnOnce(&mut Value)) {
    let mut body = place.body(key).unwrap();
    place.remove(key).unwrap();
    body["metadata"]["name"] = json!(name);
    change(&mut body);
    place.insert(body).unwrap();
}

/// Rewrites what a move keeps into what the first release kept of it.
fn as_of_the_first_release(stage: &Stage) {
    for (place, side) in [(&stage.source, "source"), (&stage.target, "target")] {
        for key in records(place, side) {
            let mut record = record(place, &key);
            for field in ["format", "writtenBy", "by"] {
                record.as_object_mut().unwrap().remove(field);
            }
            record["scope"].as_object_mut().unwrap().remove("format");
            rename(place, &key, &format!("pivot-host-{side}"), |body| {
                body["metadata"]["labels"]["pivot-host.io/record"] = json!("");
                body["data"]["record.json"] = json!(record.to_string());
            });
        }
        for key in place.keys() {
            if key.name.starts_with("pivot-host-release-") {
                place
                    .edit(&key, |body| body["data"]["list"] = json!(older_list(&body["data"]["list"])))
                    .unwrap();
            }
            if key.group_kind.kind == "Lease" {
                rename(place, &key, "pivot-host", |body| {
                    body["metadata"]
                        .as_object_mut()
                        .unwrap()
                        .retain(|field, _| field != "labels" && field != "annotations");
                });
            }
        }
    }
}

/// Without its first line, and silent about finalizers.
fn older_list(list: &Value) -> String {
    let lines = list.as_str().unwrap().lines().filter(|line| !line.starts_with("v "));
    let older = lines.map(|line| {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        if let ("o", Some(flags)) = (line.split(' ').next().unwrap(), words.get_mut(8)) {
            *flags = flags.replace('n', "");
            if flags.is_empty() {
                "-".clone_into(flags);
            }
        }
        words.join(" ") + "\n"
    });
    older.collect()
}

/// Nothing of a move but what is left of one that finished, and Leases that nobody holds.
fn nothing_left(place: &MemoryPlace) -> bool {
    place.keys().iter().filter(|key| key.namespace.as_deref() == Some("kube-system")).all(|key| {
        let body = place.body(key).unwrap();
        body["metadata"]["labels"].get("pivot-host.io/finished").is_some()
            || (key.group_kind.kind == "Lease" && body["spec"]["holderIdentity"] == "")
    })
}

#[tokio::test(start_paused = true)]
async fn a_record_of_the_first_release_is_resumed_and_rolled_back_in_each_phase() {
    let whole = Stage::new();
    let untouched = picture(&whole.source);
    run::start(whole.setup()).await.unwrap();
    let (source, target) = (picture(&whole.source), picture(&whole.target));
    let (mut resumed, mut rolled_back) = (BTreeSet::new(), BTreeSet::new());
    for (back, settles) in [(false, false), (false, true), (true, true)] {
        for n in 1.. {
            let Some(stage) = dead_after(n, settles).await else { break };
            let phases = phases(&stage);
            as_of_the_first_release(&stage);
            let Some(found) = under_way(stage.setup()).await else { continue };
            assert_eq!(found.record.written_by, "", "write {n}");
            if !back {
                run::resume(stage.setup()).await.unwrap();
                assert_eq!(picture(&stage.target), target, "write {n}");
                assert_eq!(picture(&stage.source), source, "write {n}");
                resumed.insert(phases);
            } else if found.record.phase.committed() {
                let stop = run::rollback(stage.setup()).await.unwrap_err();
                assert!(stop.to_string().contains("point of no return"), "write {n}: {stop}");
                continue;
            } else {
                run::rollback(stage.setup()).await.unwrap();
                assert_eq!(picture(&stage.source), untouched, "write {n}");
                assert!(picture(&stage.target).is_empty(), "write {n}");
                rolled_back.insert(phases);
            }
            assert!(nothing_left(&stage.source) && nothing_left(&stage.target), "write {n}");
        }
    }
    let both = |source: &str, target: &str| {
        let phase = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        (phase(source), phase(target))
    };
    let forth = [
        both("Paused", ""),
        both("Copied", ""),
        both("Copied", "Live"),
        both("Committed", "Live"),
        both("Committed", "Released"),
        both("Committed", "Settled"),
        both("", "Settled"),
        both("", "Released"),
    ];
    assert_eq!(resumed, BTreeSet::from(forth.clone()));
    assert_eq!(rolled_back, forth.into_iter().take(3).collect());
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
    assert_eq!(seen.len(), 8, "{seen:?}");
}
