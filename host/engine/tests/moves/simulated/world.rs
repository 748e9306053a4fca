//! Two servers, and everyone at work on them beside the runs: users, controllers, strangers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pivot_core::{GroupKind, Key, Side};
use pivot_engine::Hooks;
use pivot_places::{MemoryPlace, PlaceError};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::holds::Holds;
use super::sabotage::Sabotage;
use super::witness::{Witness, Write};
use crate::stage::{CLUSTERS, INFRA, Stage, body, objects};
use pivot_worlds::Dice;

/// What there is to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    /// A second machine.
    second_machine: bool,
    /// A Cluster in another namespace.
    pub(super) other_namespace: bool,
    /// Hosts, and a plugin that holds them.
    hosts: bool,
    /// The target has the class already.
    shared_class: bool,
}

impl Shape {
    pub(super) fn of(dice: Dice) -> Self {
        Self {
            second_machine: dice.about("second machine").percent(25),
            other_namespace: dice.about("other namespace").percent(40),
            hosts: dice.about("hosts").percent(30),
            shared_class: dice.about("shared class").percent(20),
        }
    }

    /// Each there is.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..16_u8).map(|bits| Self {
            second_machine: bits & 1 != 0,
            other_namespace: bits & 2 != 0,
            hosts: bits & 4 != 0,
            shared_class: bits & 8 != 0,
        })
    }

    pub(crate) fn stage(self) -> Stage {
        let mut stage = Stage::empty();
        let second = |object: &Value| object["metadata"]["name"].as_str().unwrap().starts_with("m1");
        let mut all = objects();
        all.retain(|object| self.second_machine || !second(object));
        if self.hosts {
            all.push(body(INFRA, "Host", "h0", None));
            stage.plugins = vec![Arc::new(Holds::hosts()) as Arc<dyn Hooks>];
        }
        if self.other_namespace {
            all.extend(elsewhere());
        }
        for object in all {
            stage.source.insert(object).unwrap();
        }
        if self.shared_class {
            for name in ["ClusterClass", "InfraTemplate"] {
                let group = if name == "ClusterClass" { CLUSTERS } else { INFRA };
                let key = Key::new(
                    GroupKind::new(group, name),
                    Some("ns"),
                    if name == "ClusterClass" { "class" } else { "t" },
                );
                stage.target.insert(stage.source.body(&key).unwrap()).unwrap();
            }
        }
        stage.options.take_over = false;
        stage
    }
}

/// Tells what a stranger made.
fn strange_data() -> Value {
    json!({"of": "c3RyYW5nZXJz"})
}

/// A Cluster of another namespace.
fn elsewhere() -> Vec<Value> {
    let mut all = vec![
        body(CLUSTERS, "Cluster", "d", None),
        body(INFRA, "InfraCluster", "d", Some((CLUSTERS, "Cluster", "d"))),
        body(INFRA, "Pool", "q", None),
        body("", "Secret", "d-kubeconfig", None),
    ];
    all[0]["status"] = json!({"initialization": {"infrastructureProvisioned": true},
        "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]});
    all[0]["spec"] = json!({"availabilityGates": []});
    for object in &mut all {
        object["metadata"]["namespace"] = json!("other");
    }
    all
}

/// What a user changed in the source.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    pub(super) key: Key,
    value: String,
}

impl Edit {
    /// A field of its own for each edit, so that one can be undone without the others.
    pub(super) fn make(&self, body: &mut Value) {
        let part = if self.key.group_kind.kind == "Secret" { "data" } else { "spec" };
        body[part][&self.value] = json!("eA==");
    }

    pub(super) fn undo(&self, body: &mut Value) {
        let part = if self.key.group_kind.kind == "Secret" { "data" } else { "spec" };
        let fields = body[part].as_object_mut().unwrap();
        fields.remove(&self.value);
        if fields.is_empty() {
            body.as_object_mut().unwrap().remove(part);
        }
    }
}

/// How much goes on beside the runs, in so many of a hundred writes of theirs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bustle {
    pub(super) controllers: u64,
    pub(super) edits: u64,
    pub(super) strangers: u64,
}

pub(super) struct World {
    pub(super) source: MemoryPlace,
    pub(super) target: MemoryPlace,
    pub(super) sabotage: Option<Sabotage>,
    pub(super) witness: Mutex<Witness>,
    pub(super) edits: Mutex<Vec<Edit>>,
    pub(super) stranger: Mutex<Option<Key>>,
    pub(super) trace: Mutex<Vec<String>>,
    bustle: Mutex<Bustle>,
    dice: Dice,
    writes: Mutex<BTreeMap<String, u64>>,
    began: Instant,
}

impl World {
    pub(super) fn new(stage: &Stage, dice: Dice, bustle: Bustle, sabotage: Option<Sabotage>) -> Self {
        let mut witness = Witness::default();
        for key in stage.target.keys() {
            witness.found_there(key.clone(), &stage.target.body(&key).unwrap());
        }
        let moves = |key: &Key| {
            ["ns", "other"].contains(&key.namespace.as_deref().unwrap_or_default()) && key.name != "pull"
        };
        witness.moves = stage.source.keys().into_iter().filter(moves).collect();
        Self {
            source: stage.source.clone(),
            target: stage.target.clone(),
            sabotage,
            witness: Mutex::new(witness),
            edits: Mutex::default(),
            stranger: Mutex::default(),
            trace: Mutex::default(),
            bustle: Mutex::new(bustle),
            dice,
            writes: Mutex::default(),
            began: Instant::now(),
        }
    }

    pub(super) fn place(&self, side: Side) -> &MemoryPlace {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// Nobody but the runs does anything any more.
    pub(super) fn calms_down(&self) {
        *self.bustle.lock().unwrap() = Bustle::default();
    }

    pub(super) fn note(&self, who: &str, what: &str) {
        let at = self.began.elapsed().as_millis();
        self.trace.lock().unwrap().push(format!("{at:>8} ms  {who:<12} {}", super::ids::without_ids(what)));
    }

    /// A write of a run has acted, or was refused; then whoever else is there has a turn.
    pub(super) fn wrote(
        &self,
        run: &str,
        side: Side,
        verb: &str,
        key: &Key,
        before: Option<&Value>,
        refusal: Option<&PlaceError>,
    ) {
        self.note(
            run,
            &format!("{verb} {key} in the {side}{}", if refusal.is_some() { ": refused" } else { "" }),
        );
        if refusal.is_none() {
            let after = self.place(side).body(key);
            let write = Write { side, verb, key, before, after: after.as_ref() };
            self.witness.lock().unwrap().run_wrote(&write);
            self.look(key);
            if self.sabotage.is_some() {
                self.sabotaged(side, key);
            }
        }
        let question = super::ids::without_ids(&format!("{side} {verb} {key}"));
        let count = {
            let mut writes = self.writes.lock().unwrap();
            let count = writes.entry(question.clone()).or_default();
            *count += 1;
            *count
        };
        self.others(self.dice.about(&format!("others {question} {count}")));
    }

    pub(super) fn look(&self, key: &Key) {
        self.witness.lock().unwrap().look(key, &self.source, &self.target);
    }

    fn others(&self, dice: Dice) {
        let bustle = *self.bustle.lock().unwrap();
        if dice.about("controllers").percent(bustle.controllers) {
            let side = dice.about("side").pick(&[Side::Source, Side::Target]);
            self.controller(side, dice);
        }
        if dice.about("edits").percent(bustle.edits) {
            self.user(dice);
        }
        if dice.about("strangers").percent(bustle.strangers) && self.stranger.lock().unwrap().is_none() {
            self.a_stranger(dice);
        }
    }

    /// Cluster API's controllers write status to what is paused, too, and put finalizers back.
    fn controller(&self, side: Side, dice: Dice) {
        let place = self.place(side);
        let moves: Vec<Key> = self.witness.lock().unwrap().moves.iter().cloned().collect();
        let keys: Vec<&Key> = moves
            .iter()
            .filter(|key| !key.group_kind.group.is_empty() && place.body(key).is_some())
            .collect();
        if keys.is_empty() {
            return;
        }
        let key = dice.about("whose").pick(&keys);
        let body = place.body(key).unwrap();
        let alive = body["metadata"].get("deletionTimestamp").is_none();
        let back = json!([format!("{}/finalizer", key.group_kind.group)]);
        let finalizers = alive && dice.about("finalizers").percent(50);
        let change = |body: &mut Value| match finalizers {
            true => body["metadata"]["finalizers"] = back.clone(),
            false => body["status"]["seen"] = json!(dice.about("seen").below(1000)),
        };
        place.edit(key, change).unwrap();
        self.note(
            "controller",
            &format!("{} of {key} in the {side}", if finalizers { "finalizers" } else { "status" }),
        );
        self.look(key);
    }

    /// A user changes what is to be copied, as long as no move is committed: later on a move stops and says so.
    fn user(&self, dice: Dice) {
        let too_late = self.committing() && self.sabotage != Some(Sabotage::Preconditions);
        if too_late || self.edits.lock().unwrap().len() >= 3 {
            return;
        }
        let moves = self.witness.lock().unwrap().moves.clone();
        let keys: Vec<&Key> = moves
            .iter()
            .filter(|key| ["InfraMachine", "Machine", "Secret"].contains(&key.group_kind.kind.as_str()))
            .filter(|key| self.source.body(key).is_some())
            .collect();
        if keys.is_empty() {
            return;
        }
        let key = dice.about("edited").pick(&keys).clone();
        let mut edits = self.edits.lock().unwrap();
        let edit = Edit { key, value: format!("edited{}", edits.len()) };
        self.source.edit(&edit.key, |body| edit.make(body)).unwrap();
        self.note("user", &format!("edits {}", edit.key));
        edits.push(edit);
    }

    /// Somebody else makes an object in the target whose name the move needs.
    fn a_stranger(&self, dice: Dice) {
        let moves = self.witness.lock().unwrap().moves.clone();
        let keys: Vec<&Key> = moves
            .iter()
            .filter(|key| ["Secret", "Pool"].contains(&key.group_kind.kind.as_str()))
            .filter(|key| self.target.body(key).is_none() && self.source.body(key).is_some())
            .collect();
        if keys.is_empty() {
            return;
        }
        let key = dice.about("stranger").pick(&keys).clone();
        let mut body = body(&key.group_kind.group, &key.group_kind.kind, &key.name, None);
        body["metadata"]["namespace"] = json!(key.namespace);
        body["metadata"]["uid"] = json!("stranger");
        body["data"] = strange_data();
        self.target.insert(body).unwrap();
        self.note("stranger", &format!("makes {key} in the target"));
        *self.stranger.lock().unwrap() = Some(key);
    }

    /// Whether it is what a stranger made.
    pub(super) fn is_a_strangers(body: &Value) -> bool {
        body["data"] == strange_data()
    }

    /// Whether a move is committed, or about to be closed.
    fn committing(&self) -> bool {
        let phases = |place: &MemoryPlace, side: &str| -> Vec<String> {
            let keys = place.keys().into_iter().filter(|key| crate::stage::is_record(key, side));
            let record = |key: Key| place.body(&key)?["data"]["record.json"].as_str().map(str::to_owned);
            keys.filter_map(record).collect()
        };
        let (source, target) = (phases(&self.source, "source"), phases(&self.target, "target"));
        source.iter().any(|record| record.contains("\"Committed\"")) || target.len() > source.len()
    }

    fn sabotaged(&self, side: Side, key: &Key) {
        match self.sabotage {
            Some(Sabotage::Pauses) if side == Side::Target && key.group_kind.kind == "Cluster" => {
                let runs = self.target.body(key).is_some_and(|body| body["spec"]["paused"] == json!(false));
                if runs && self.source.edit(key, |body| body["spec"]["paused"] = json!(false)).is_ok() {
                    self.look(key);
                }
            }
            Some(Sabotage::Copies) if side == Side::Source && key.group_kind.kind == "Secret" => {
                let released = self.source.body(key).is_none();
                let cluster = self
                    .witness
                    .lock()
                    .unwrap()
                    .moves
                    .iter()
                    .find(|key| key.group_kind.kind == "Cluster")
                    .cloned();
                if let Some(cluster) = cluster.filter(|_| released && self.source.body(key).is_none())
                    && self.target.remove(&cluster).is_ok()
                {
                    self.look(&cluster);
                }
            }
            _ => {}
        }
    }
}
