//! A foreign side that says anything, and something else each time: whoever writes a Pivot may bring a cluster of their own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pivot_core::objects::names;
use pivot_core::records::record::{FORMAT, SUMMARY_FORMAT};
use pivot_core::{GroupKind, Key};
use pivot_memory::MemoryPlace;
use serde_json::{Value, json};

use crate::stage::{OWN, Stage, add_cluster, object};

const CAPI: &str = "cluster.x-k8s.io";
const RECORDS: &str = "pivot-host-records";
/// Moves in each direction.
const SEEDS: u64 = 60;
/// One request in so many is preceded by a lie.
const SELDOM: usize = 6;

/// Pseudo-random numbers (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(limit).unwrap()).unwrap()
    }

    fn choose<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        if all.is_empty() { None } else { all.get(self.below(all.len())) }
    }
}

/// A foreign side that knows everything, and lies.
struct Liar {
    place: MemoryPlace,
    /// UIDs of the Pivot and of the two clusters.
    pivot: String,
    uids: [Value; 2],
    dice: Mutex<Dice>,
    told: AtomicUsize,
}

fn uid(place: &MemoryPlace) -> Value {
    let key = Key::new(GroupKind::new("", "Namespace"), None, RECORDS);
    place.body(&key).unwrap()["metadata"]["uid"].clone()
}

fn operator(namespace: &str, uid: &str) -> String {
    format!("Pivot {namespace}/pivot (UID {uid})")
}

impl Liar {
    /// Values that a field of a record may have.
    fn values(&self) -> Vec<(&'static str, Vec<Value>)> {
        let kinds = |names: &[&str]| -> Value {
            names.iter().map(|name| json!({"group": CAPI, "kind": name})).collect()
        };
        let one = |namespace: &str| json!({"namespaces": {"one": namespace}});
        let clusters = || self.uids.iter().cloned().chain([Value::Null]).collect::<Vec<_>>();
        let phases = ["Checked", "Paused", "Copied", "Ready", "Committed", "Live", "Released", "Settled"];
        vec![
            ("phase", phases.map(Value::from).to_vec()),
            ("scope", vec![one("desk"), one("bank"), json!({"namespaces": "all"})]),
            ("copiedNamespaces", vec![json!([]), json!(["desk"]), json!(["bank"]), json!(["bank", "desk"])]),
            ("kinds", vec![kinds(&[]), kinds(&["Cluster"]), kinds(&["Cluster", "Machine"])]),
            ("createdNamespaces", vec![json!([]), json!(["bank"]), json!(["desk"])]),
            ("startedBy", vec![json!(operator("desk", &self.pivot)), json!(operator("bank", "bank"))]),
            ("moveId", vec![json!("theirs"), json!(format!("1-{}", self.pivot))]),
            ("copyKey", vec![Value::Null, json!("k")]),
            ("releaseChunks", vec![json!(0), json!(1), json!(3)]),
            ("releaseDigest", vec![Value::Null, json!("d")]),
            ("finishAlone", vec![Value::Null, json!("Requested"), json!("Allowed")]),
            (
                "handover",
                vec![Value::Null, json!({}), json!({"files": "directory-1", "rollbackBegun": true})],
            ),
            ("source", clusters()),
            ("target", clusters()),
        ]
    }

    fn keys(&self, matches: impl Fn(&Key) -> bool) -> Vec<Key> {
        self.place.keys().into_iter().filter(matches).collect()
    }

    /// Changes something in its cluster.
    fn lie(&self) {
        let mut dice = self.dice.lock().unwrap();
        let dice = &mut *dice;
        if dice.below(SELDOM) > 0 {
            return;
        }
        self.told.fetch_add(1, Ordering::Relaxed);
        let is_record = |key: &Key| {
            let role =
                ["pivot-host-source-", "pivot-host-target-"].iter().any(|role| key.name.starts_with(role));
            role && key.namespace.as_deref() == Some(RECORDS)
        };
        let (records, objects) =
            (self.keys(is_record), self.keys(|key| key.namespace.as_deref() == Some("desk")));
        match dice.below(8) {
            0..=2 => {
                let Some(key) = dice.choose(&records) else { return };
                let fields = self.values();
                let (name, values) = dice.choose(&fields).unwrap();
                let value = dice.choose(values).cloned().unwrap();
                let change = |body: &mut Value| {
                    let text = body["data"]["record.json"].as_str();
                    let Some(mut record) = text.and_then(|text| serde_json::from_str::<Value>(text).ok())
                    else {
                        return;
                    };
                    record[*name] = value;
                    body["data"]["record.json"] = json!(record.to_string());
                };
                drop(self.place.edit(key, change));
            }
            3 => self.insert_record(dice),
            4 => drop(dice.choose(&records).map(|key| self.place.remove(key))),
            5 => drop(dice.choose(&objects).map(|key| self.place.remove(key))),
            6 => {
                let Some(key) = dice.choose(&objects) else { return };
                let marks = json!({
                    names::MARK: "theirs",
                    names::UNDO: json!({"move": "theirs", "patch": {"spec": {"paused": null}}}).to_string(),
                });
                drop(self.place.edit(key, |body| body["metadata"]["annotations"] = marks));
            }
            _ => {
                // Lists are in records, or beside them.
                let with_list = self
                    .keys(|key| self.place.body(key).is_some_and(|body| body["data"]["list"].is_string()));
                let Some(key) = dice.choose(&with_list) else { return };
                let change = |body: &mut Value| {
                    let list = body["data"]["list"].as_str().unwrap().replace(" desk ", " bank ");
                    body["data"]["list"] = json!(list);
                };
                drop(self.place.edit(key, change));
            }
        }
    }

    fn insert_record(&self, dice: &mut Dice) {
        let fields = self.values();
        let mut record: Value = fields
            .iter()
            .map(|(name, values)| ((*name).to_owned(), dice.choose(values).cloned().unwrap()))
            .collect();
        record["startedAt"] = json!("");
        record["plugins"] = json!([]);
        (record["format"], record["writtenBy"]) = (json!(FORMAT), json!("0.1.0"));
        let role = *dice.choose(&["source", "target"]).unwrap();
        let id = record["moveId"].as_str().unwrap().to_owned();
        let summary = dice.below(4) == 0;
        let (label, entry) = match summary {
            true => (names::FINISHED, "finished.json"),
            false => (names::RECORD, "record.json"),
        };
        if summary {
            record["format"] = json!(SUMMARY_FORMAT);
            for (name, value) in [("endedAt", "2026"), ("sourceLabel", "a"), ("targetLabel", "b")] {
                record[name] = json!(value);
            }
            (record["moved"], record["kept"], record["accepted"]) = (json!(1), json!(0), json!([]));
        }
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {entry: record.to_string()},
            "metadata": {"name": format!("pivot-host-{role}-{id}"), "namespace": RECORDS, "labels": {label: role}}});
        drop(self.place.insert(body));
    }
}

/// Returns true if it is the Pivot's own: what its move may change in the controller's cluster.
fn is_own(key: &Key, pivot: &str) -> bool {
    match (key.namespace.as_deref(), &*key.name) {
        (Some("desk"), _) => true,
        (Some(OWN), name) => name == "pivot-host-controller" || name.ends_with(pivot),
        (Some(RECORDS), name) => {
            let record = ["pivot-host-source-", "pivot-host-target-", "pivot-host-release-"];
            name == "pivot-host.ns.desk"
                || record.iter().any(|of| name.starts_with(of)) && name.contains(pivot)
        }
        _ => false,
    }
}

/// Inserts the objects of others: a move that is under way out of their namespace, and copies that wait.
fn insert_others(home: &MemoryPlace) {
    add_cluster(home, "bank");
    let cluster = Key::new(GroupKind::new(CAPI, "Cluster"), Some("bank"), "c");
    let paused = |body: &mut Value| {
        body["spec"]["paused"] = json!(true);
        body["metadata"]["annotations"] = json!({
            names::MARK: "theirs",
            names::UNDO: json!({"move": "theirs", "patch": {"spec": {"paused": null}}}).to_string(),
        });
    };
    home.edit(&cluster, paused).unwrap();
    let record = json!({
        "startedBy": operator("bank", "bank"), "format": 5, "writtenBy": "0.1.0", "moveId": "theirs", "phase": "Copied",
        "scope": {"namespaces": {"one": "bank"}}, "source": uid(home), "target": "another",
        "startedAt": "", "createdNamespaces": [], "plugins": [], "copiedNamespaces": ["bank"], "releaseChunks": 1,
        "kinds": [{"group": CAPI, "kind": "Cluster"}],
    });
    let map = |name: &str, labels: Value, data: Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": name, "namespace": RECORDS, "labels": labels}})
    };
    let labels = json!({names::RECORD: "source"});
    home.insert(map("pivot-host-source-theirs", labels, json!({"record.json": record.to_string()}))).unwrap();
    home.insert(map("pivot-host-release-theirs-0", json!({}), json!({"list": "[]"}))).unwrap();
    home.insert(object("bank", "Secret", "way", None)).unwrap();
}

/// Returns true if the controller's cluster may lose a Cluster of the move now: as a source once it has committed itself, as a target while the
/// copy waits.
fn may_delete(home: &MemoryPlace, key: &Key, is_source: bool, pivot: &str) -> bool {
    if !is_source {
        return home.body(key).is_none_or(|body| body["spec"]["paused"] == true);
    }
    let committed = |key: &Key| {
        let own = key.name.starts_with("pivot-host-source-") && key.name.contains(pivot);
        let text = home.body(key).filter(|_| own).map(|body| body["data"]["record.json"].to_string());
        text.is_some_and(|text| {
            ["Committed", "Live", "Released", "Settled"].iter().any(|phase| text.contains(phase))
        })
    };
    home.keys().iter().any(committed)
}

/// Tries a move. Returns its end, and the number of its other side's lies.
async fn tried(seed: u64, is_source: bool) -> (bool, usize) {
    let stage = Stage::new(&[]);
    insert_others(&stage.home);
    stage.home.add_namespace("desk");
    add_cluster(if is_source { &stage.home } else { &stage.target }, "desk");
    stage.secret("desk", "way", "target");
    let way = json!({"kubeconfig": {"name": "way"}});
    let spec = match is_source {
        true => json!({"to": way, "options": {"accept": [{"code": "takeover-unchecked"}]}}),
        false => json!({"from": way, "to": {}, "options": {"accept": [{"code": "takeover-unchecked"}]}}),
    };
    stage.ask_for("desk", spec);
    let pivot = stage.pivot("desk").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    let liar = Arc::new(Liar {
        place: stage.target.clone(),
        pivot: pivot.clone(),
        uids: [uid(&stage.home), uid(&stage.target)],
        dice: Mutex::new(Dice(seed)),
        told: AtomicUsize::new(0),
    });
    let of_others = |stage: &Stage| -> BTreeMap<Key, Option<Value>> {
        let keys = stage.home.keys().into_iter().filter(|key| !is_own(key, &pivot));
        keys.map(|key| (key.clone(), stage.home.body(&key))).collect()
    };
    let before = of_others(&stage);
    let wrong = Arc::new(Mutex::new(Vec::new()));
    stage.home.on_call({
        let (wrong, home, pivot) = (wrong.clone(), stage.home.clone(), pivot.clone());
        move |verb, key| {
            let writes = ["create", "patch", "patch-status", "delete"].contains(&verb);
            let last = verb == "delete" && key.group_kind.is(CAPI, "Cluster");
            if writes && !is_own(key, &pivot) || last && !may_delete(&home, key, is_source, &pivot) {
                wrong.lock().unwrap().push(format!("{verb} {key}"));
            }
            None
        }
    });
    stage.target.on_call({
        let liar = liar.clone();
        move |_, _| {
            liar.lie();
            None
        }
    });
    let running = stage.start();
    let pace = Duration::from_millis(500 + seed % 7 * 250);
    for _ in 0..40 {
        tokio::time::sleep(pace).await;
        if stage.is("desk", "Succeeded") || stage.pivot("desk").is_none() {
            break;
        }
        if seed.is_multiple_of(3) {
            stage.delete("desk").await;
        }
    }
    running.kill();
    assert_eq!(*wrong.lock().unwrap(), Vec::<String>::new(), "seed {seed}, source: {is_source}");
    assert_eq!(of_others(&stage), before, "seed {seed}, source: {is_source}");
    (stage.is("desk", "Succeeded"), liar.told.load(Ordering::Relaxed))
}

// proves: I13, T44, T141, T150
#[tokio::test(start_paused = true)]
async fn foreign_sides_change_nothing_of_others() {
    for is_source in [true, false] {
        let (mut moved, mut lies) = (0, 0);
        for seed in 0..SEEDS {
            let (succeeded, told) = tried(seed, is_source).await;
            moved += usize::from(succeeded);
            lies += told;
        }
        // Otherwise nothing was at stake.
        assert!(moved > 3 && lies > 200, "{moved} moved, {lies} lies, source: {is_source}");
    }
}
