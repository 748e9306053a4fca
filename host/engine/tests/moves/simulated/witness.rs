//! Sees every write on either side, and says which invariant of ARCHITECTURE.md it broke.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::{Key, Side, names};
use pivot_places::MemoryPlace;
use serde_json::{Value, json};

use super::holds::HELD;

/// One write, as the server saw it.
pub(super) struct Write<'a> {
    pub(super) side: Side,
    pub(super) verb: &'a str,
    pub(super) key: &'a Key,
    pub(super) before: Option<&'a Value>,
    pub(super) after: Option<&'a Value>,
}

#[derive(Default)]
pub(super) struct Witness {
    /// What is to move, and must be somewhere at every instant.
    pub(super) moves: BTreeSet<Key>,
    /// What was in the target before, and may stand for a copy.
    pub(super) there: BTreeSet<Key>,
    /// The moves that were begun.
    begun: BTreeSet<String>,
    /// Each state in which an object was ever written to the target.
    copied: BTreeMap<Key, Vec<Value>>,
    /// Whether a move was ever committed.
    pub(super) committed: bool,
    pub(super) broken: Vec<String>,
}

impl Witness {
    /// What is in the target before the first move.
    pub(super) fn found_there(&mut self, key: Key, body: &Value) {
        self.copied.entry(key.clone()).or_default().push(content(body));
        self.there.insert(key);
    }

    /// A write of one of the runs.
    pub(super) fn run_wrote(&mut self, write: &Write<'_>) {
        let Write { side, verb, key, before, after } = write;
        if key.namespace.as_deref() == Some("kube-system") {
            self.record_written(*side, key, *after);
            return;
        }
        match (side, after) {
            (Side::Target, _) => {
                if let Some(before) = before.filter(|before| !self.is_ours(before)) {
                    let named = before["metadata"]["annotations"].to_string();
                    self.breaks(7, key, &format!("{verb} of what no move of ours made ({named})"));
                }
                if let Some(after) = after {
                    let states = self.copied.entry((*key).clone()).or_default();
                    let state = content(after);
                    if !states.contains(&state) {
                        states.push(state);
                    }
                }
            }
            (Side::Source, after) => {
                let deleting = |body: &Value| body["metadata"].get("deletionTimestamp").is_some();
                let Some(before) = before.filter(|before| !deleting(before)) else { return };
                if after.is_none_or(deleting) {
                    let state = content(before);
                    if !self.copied.get(*key).is_some_and(|states| states.contains(&state)) {
                        self.breaks(3, key, "deleted in a state that was never copied");
                    }
                }
            }
        }
    }

    /// What must hold after each write, whoever made it.
    pub(super) fn look(&mut self, key: &Key, source: &MemoryPlace, target: &MemoryPlace) {
        if !self.moves.contains(key) {
            return;
        }
        let (here, there) = (source.body(key), target.body(key));
        let stands = |body: &&Value| body["metadata"].get("deletionTimestamp").is_none();
        let copy =
            there.as_ref().filter(stands).filter(|there| self.there.contains(key) || self.is_ours(there));
        if here.as_ref().filter(stands).is_none() && copy.is_none() {
            self.breaks(1, key, "is on neither side");
        }
        let active = |body: &Value| match key.group_kind.kind.as_str() {
            "Cluster" => body["spec"]["paused"] != json!(true),
            "Host" => body["metadata"]["annotations"].get(HELD).is_none(),
            _ => false,
        };
        if here.as_ref().is_some_and(active) && there.as_ref().is_some_and(active) {
            self.breaks(2, key, "is active on both sides");
        }
    }

    fn record_written(&mut self, side: Side, key: &Key, after: Option<&Value>) {
        let record = after.and_then(|body| body["data"]["record.json"].as_str());
        let Some(record) = record.and_then(|text| serde_json::from_str::<Value>(text).ok()) else { return };
        let _ = key;
        self.begun.extend(record["moveId"].as_str().map(str::to_owned));
        self.committed |= side == Side::Source && record["phase"] == "Committed";
    }

    /// Whether a move made it.
    fn is_ours(&self, body: &Value) -> bool {
        let mark = body["metadata"]["annotations"][names::MARK].as_str();
        mark.is_some_and(|mark| self.begun.contains(mark))
    }

    fn breaks(&mut self, invariant: u8, key: &Key, what: &str) {
        self.broken.push(format!("invariant {invariant}: {key} {what}"));
    }
}

/// What counts of an object: not what a server writes, not its pause, not what a move notes on it, not its finalizers.
fn content(body: &Value) -> Value {
    let mut body = body.clone();
    body.as_object_mut().unwrap().remove("status");
    if let Some(spec) = body.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("paused");
        if spec.is_empty() {
            body.as_object_mut().unwrap().remove("spec");
        }
    }
    let metadata = body["metadata"].as_object().unwrap();
    let mut annotations = metadata.get("annotations").cloned().unwrap_or_else(|| json!({}));
    annotations.as_object_mut().unwrap().retain(|name, _| {
        let pauses = [names::PAUSED, names::DELETE_FOR_MOVE, HELD].contains(&name.as_str());
        !name.starts_with(names::OURS) && !pauses
    });
    let owners = metadata.get("ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let owners: Vec<String> = owners.map(|owner| format!("{} {}", owner["kind"], owner["name"])).collect();
    body["metadata"] =
        json!({"labels": metadata.get("labels"), "annotations": annotations, "owners": owners});
    body
}
