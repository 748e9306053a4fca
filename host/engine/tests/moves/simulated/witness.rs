//! Sees every write on either side, and says which invariant of ARCHITECTURE.md it broke.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::objects::names;
use pivot_core::{Key, Side};
use pivot_memory::MemoryPlace;
use pivot_worlds::has_secret;
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
    /// The finalizers that controllers put on that.
    pub(super) finalizers: BTreeMap<Key, Value>,
    /// What was in the target before, and may stand for a copy.
    pub(super) there: BTreeSet<Key>,
    /// The copies that a controller of the target has written to since they run.
    pub(super) taken_over: BTreeSet<Key>,
    /// The moves that were begun.
    begun: BTreeSet<String>,
    /// Each state in which an object was ever written to the target.
    copied: BTreeMap<Key, Vec<Value>>,
    /// Whether a move was ever committed.
    pub(super) committed: bool,
    pub(super) broken: Vec<String>,
}

impl Witness {
    /// The kinds whose controllers have reported something in the source.
    const REPORTS: [&str; 3] = ["Cluster", "Machine", "MachinePool"];

    /// What is in the target before the first move.
    pub(super) fn found_there(&mut self, key: Key, body: &Value) {
        self.copied.entry(key.clone()).or_default().push(content(body));
        self.there.insert(key);
    }

    /// A write of one of the runs.
    pub(super) fn run_wrote(&mut self, write: &Write<'_>) {
        let Write { side, verb, key, before, after } = write;
        if let Some(after) = after {
            let shown = if key.group_kind.kind == "Secret" { &after["metadata"] } else { after };
            self.told(&format!("{key} in the {side}"), &shown.to_string());
        }
        if key.namespace.as_deref() == Some("pivot-host-records") {
            self.record_written(*side, *after);
            return;
        }
        self.merged(write);
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
                let Some(before) = before.filter(|before| !deleting(before)) else { return };
                if after.is_none_or(deleting) {
                    let state = content(before);
                    if !self.copied.get(*key).is_some_and(|states| states.contains(&state)) {
                        self.breaks(3, key, "deleted in a state that was never copied");
                    }
                    self.deleted(key);
                }
            }
        }
    }

    /// Annotations of others stay, and so does the pause of what is being deleted.
    fn merged(&mut self, write: &Write<'_>) {
        let Write { verb, key, before, after, .. } = write;
        let Some(before) = before else { return };
        if !deleting(before) && after.is_none_or(deleting) && is_active(key, before) {
            self.breaks(4, key, "is deleted while it is active");
        }
        let Some(after) = after else { return };
        if deleting(before) && !is_active(key, before) && is_active(key, after) {
            self.breaks(4, key, "loses its pause while it is being deleted");
        }
        let annotations =
            |body: &Value| body["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        let after = annotations(after);
        let lost = annotations(before)
            .into_iter()
            .find(|(name, value)| !is_a_moves(name) && after.get(name) != Some(value));
        if let Some((name, _)) = lost {
            self.breaks(4, key, &format!("{verb} replaced its annotation {name}"));
        }
    }

    /// Somebody of the target has taken over the Clusters of the namespace, or all where there are none, and the kind.
    fn deleted(&mut self, key: &Key) {
        let clusters = || self.moves.iter().filter(|one| one.group_kind.kind == "Cluster");
        let of_namespace = |one: &&Key| one.namespace == key.namespace;
        let any = clusters().any(|one| of_namespace(&one));
        let waiting = clusters().find(|one| (!any || of_namespace(one)) && !self.taken_over.contains(one));
        if let Some(cluster) = waiting {
            let why = format!("is deleted before a controller has taken over {cluster}");
            return self.breaks(11, key, &why);
        }
        let kind = key.group_kind.kind.as_str();
        let same = |one: &Key| one.group_kind == key.group_kind;
        if Self::REPORTS.contains(&kind) && !self.taken_over.iter().any(same) {
            self.breaks(11, key, "is deleted before a controller has taken over any of its kind");
        }
    }

    /// What the garbage collector deleted once this object was gone.
    pub(super) fn collected(&mut self, side: Side, gone: &Key, collected: &[Key]) {
        if let Some(first) = collected.first() {
            self.breaks(6, first, &format!("is collected in the {side} because {gone} is gone"));
        }
    }

    /// A run wrote that had stood still for longer than its lease lasts.
    pub(super) fn breaks_fence(&mut self, run: &str, verb: &str, key: &Key) {
        self.broken.push(format!("the fence: {run} stood still for too long, and sent {verb} {key}"));
    }

    /// What people and programs get to read.
    pub(super) fn told(&mut self, what: &str, text: &str) {
        if has_secret(text) {
            self.broken.push(format!("invariant 8: {what} shows the data of a Secret"));
        }
    }

    /// What must hold after each write, whoever made it.
    pub(super) fn look(&mut self, key: &Key, source: &MemoryPlace, target: &MemoryPlace) {
        if !self.moves.contains(key) {
            return;
        }
        let (here, there) = (source.body(key), target.body(key));
        let stands = |body: &&Value| !deleting(body);
        let copy =
            there.as_ref().filter(stands).filter(|there| self.there.contains(key) || self.is_ours(there));
        if here.as_ref().filter(stands).is_none() && copy.is_none() {
            self.breaks(1, key, "is on neither side");
        }
        let active = |body: &Value| is_active(key, body);
        if here.as_ref().is_some_and(active) && there.as_ref().is_some_and(active) {
            self.breaks(2, key, "is active on both sides");
        }
    }

    fn record_written(&mut self, side: Side, after: Option<&Value>) {
        let record = after.and_then(|body| body["data"]["record.json"].as_str());
        let Some(record) = record.and_then(|text| serde_json::from_str::<Value>(text).ok()) else { return };
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

fn deleting(body: &Value) -> bool {
    body["metadata"].get("deletionTimestamp").is_some()
}

/// Whether somebody's controllers act on it.
fn is_active(key: &Key, body: &Value) -> bool {
    match key.group_kind.kind.as_str() {
        "Cluster" => body["spec"]["paused"] != json!(true),
        "Host" => body["metadata"]["annotations"].get(HELD).is_none(),
        _ => false,
    }
}

/// Whether an annotation comes and goes with a move.
fn is_a_moves(name: &str) -> bool {
    name.starts_with(names::OURS) || [names::PAUSED, names::DELETE_FOR_MOVE, HELD].contains(&name)
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
    annotations.as_object_mut().unwrap().retain(|name, _| !is_a_moves(name));
    let owners = metadata.get("ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let owners: Vec<String> = owners.map(|owner| format!("{} {}", owner["kind"], owner["name"])).collect();
    body["metadata"] =
        json!({"labels": metadata.get("labels"), "annotations": annotations, "owners": owners});
    body
}
