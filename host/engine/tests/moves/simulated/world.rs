//! Two servers, and everyone at work on them beside the runs: controllers, garbage collectors, users, strangers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pivot_core::objects::names::LABEL_CLUSTER;
use pivot_core::{GroupKind, Key, Side};
use pivot_engine::{Event, Watcher};
use pivot_memory::MemoryPlace;
use pivot_places::PlaceError;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::holds::add_host;
use super::ids::without_ids;
use super::sabotage::{self, Sabotage};
use super::witness::{Witness, Write};
use crate::generated;
use crate::stage::{CLUSTERS, Stage, body};
use pivot_worlds::Dice;

/// How many requests a seed may take before that counts as no end; the usual ones take less than 2000.
pub(super) const MOST_REQUESTS: usize = 20_000;

/// What there is to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    /// The seed of its world.
    world: u64,
    /// A host, and a plugin that holds it.
    host: bool,
    /// The target has a class already, if there is one.
    shared_class: bool,
}

impl Shape {
    pub(crate) fn of(dice: Dice) -> Self {
        // Of three worlds the smallest: what goes wrong with five objects seldom needs a hundred.
        let worlds = ["one", "two", "three"].map(|which| dice.about(which).below(1 << 32));
        let size = |seed: &u64| pivot_worlds::World::of_sound(*seed).objects.len();
        Self {
            world: worlds.into_iter().min_by_key(size).unwrap(),
            host: dice.about("host").percent(30),
            shared_class: dice.about("shared class").percent(20),
        }
    }

    pub(crate) fn stage(self) -> Stage {
        let world = pivot_worlds::World::of_sound(self.world);
        let mut stage = generated::stage(&world);
        let (namespace, _) = &world.clusters[0];
        if self.host {
            add_host(&mut stage, namespace);
        }
        if self.shared_class {
            let class = |object: &&Value| {
                let metadata = &object["metadata"];
                let of_class = object["kind"] == "ClusterClass"
                    || metadata["ownerReferences"][0]["kind"] == "ClusterClass";
                of_class && metadata["namespace"] == namespace.as_str()
            };
            for object in world.objects.iter().filter(class) {
                stage.target.insert(object.clone()).unwrap();
            }
        }
        stage.options.break_lease = false;
        stage
    }

    /// The namespaces that can be moved one by one, in whatever order: none if something belongs to several of them.
    pub(super) fn namespaces(self) -> Vec<String> {
        let world = pivot_worlds::World::of_sound(self.world);
        let shared = |object: &Value| {
            object["metadata"].get("namespace").is_none()
                || object.pointer("/spec/topology/classRef/namespace").is_some()
        };
        let namespaces: BTreeSet<String> =
            world.clusters.iter().map(|(namespace, _)| namespace.clone()).collect();
        match world.objects.iter().any(shared) {
            true => Vec::new(),
            false => namespaces.into_iter().collect(),
        }
    }
}

/// Tells what a stranger made.
fn strange_data() -> Value {
    json!({"of": "c3RyYW5nZXJz"})
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
    /// In so many of a hundred seconds a controller of the target gets to an object that it should take over.
    pub(super) takes_over: u64,
}

pub(super) struct World {
    pub(super) source: MemoryPlace,
    pub(super) target: MemoryPlace,
    pub(super) sabotage: Option<Sabotage>,
    pub(super) witness: Mutex<Witness>,
    pub(super) edits: Mutex<Vec<Edit>>,
    pub(super) stranger: Mutex<Option<Key>>,
    pub(super) trace: Mutex<Vec<String>>,
    /// The Cluster that an object belongs to.
    clusters: BTreeMap<Key, Key>,
    bustle: Mutex<Bustle>,
    dice: Dice,
    /// Requests of all runs.
    requests: AtomicUsize,
    /// How often the same was asked before.
    asked: Mutex<BTreeMap<String, u64>>,
    /// A moment of the clock that goes on, and the time then.
    time: Mutex<(Instant, Duration)>,
}

impl World {
    pub(super) fn new(
        stage: &Stage,
        moves: BTreeSet<Key>,
        dice: Dice,
        bustle: Bustle,
        sabotage: Option<Sabotage>,
    ) -> Self {
        let mut witness = Witness::default();
        let finalizers =
            |key: &Key| (key.clone(), stage.source.body(key).unwrap()["metadata"]["finalizers"].clone());
        witness.finalizers = moves.iter().map(finalizers).collect();
        let cluster = |key: &Key| {
            let label = stage.source.body(key)?["metadata"]["labels"][LABEL_CLUSTER].as_str()?.to_owned();
            let cluster = Key::new(GroupKind::new(CLUSTERS, "Cluster"), key.namespace.as_deref(), label);
            Some((key.clone(), cluster))
        };
        let clusters = moves.iter().filter_map(cluster).collect();
        witness.moves = moves;
        for key in stage.target.keys() {
            witness.found_there(key.clone(), &stage.target.body(&key).unwrap());
        }
        Self {
            source: stage.source.clone(),
            target: stage.target.clone(),
            sabotage,
            witness: Mutex::new(witness),
            edits: Mutex::default(),
            stranger: Mutex::default(),
            trace: Mutex::default(),
            clusters,
            bustle: Mutex::new(bustle),
            dice,
            requests: AtomicUsize::new(0),
            asked: Mutex::default(),
            time: Mutex::new((Instant::now(), Duration::ZERO)),
        }
    }

    pub(super) fn place(&self, side: Side) -> &MemoryPlace {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// Requests that the runs sent so far.
    pub(super) fn count_requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// Sends no request any more.
    pub(super) fn use_up_requests(&self) {
        self.requests.store(MOST_REQUESTS, Ordering::Relaxed);
    }

    /// Counts a request. Once there were too many no more is answered, so that the seed's time is soon over.
    pub(super) async fn let_request_through(&self) {
        if self.requests.fetch_add(1, Ordering::Relaxed) >= MOST_REQUESTS {
            std::future::pending::<()>().await;
        }
    }

    /// Nobody but the runs does anything any more, and controllers that must take over are awake.
    pub(super) fn calms_down(&self) {
        *self.bustle.lock().unwrap() = Bustle { takes_over: 100, ..Bustle::default() };
    }

    /// The time since the beginning.
    pub(super) fn now(&self) -> Duration {
        let (moment, then) = *self.time.lock().unwrap();
        then + moment.elapsed()
    }

    /// From now on another runtime's clock goes on, or the first one's again, and it is so late.
    pub(super) fn set_time(&self, now: Duration) {
        *self.time.lock().unwrap() = (Instant::now(), now);
    }

    pub(super) fn note(&self, who: &str, what: &str) {
        let at = self.now().as_millis();
        self.trace.lock().unwrap().push(format!("{at:>8} ms  {who:<12} {}", without_ids(what)));
    }

    /// Dice for a question; asked again it has others.
    fn roll(&self, question: &str) -> Dice {
        let question = without_ids(question);
        let mut asked = self.asked.lock().unwrap();
        let count = asked.entry(question.clone()).or_default();
        *count += 1;
        self.dice.about(&format!("{question} {count}"))
    }

    /// A write of a run is about to act.
    pub(super) fn writes(&self, side: Side, verb: &str, key: &Key) {
        if self.sabotage == Some(Sabotage::Dependents) && (side, verb) == (Side::Source, "delete") {
            sabotage::add_dependent(&self.source, key);
        }
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
            if after.is_none() {
                let collected = self.place(side).collect_garbage();
                self.witness.lock().unwrap().collected(side, key, &collected);
            }
            if self.sabotage.is_some() {
                self.sabotaged(side, key);
            }
        }
        self.others(self.roll(&format!("others {side} {verb} {key}")));
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

    /// Controllers of the target, which take over whatever was unpaused there, sooner or later. Never ends.
    pub(super) async fn controllers_take_over(&self) {
        loop {
            sleep(Duration::from_secs(1)).await;
            let chance = self.bustle.lock().unwrap().takes_over;
            for key in self.to_take_over() {
                if self.roll(&format!("takes over {key}")).percent(chance) {
                    sabotage::break_lease(&self.target, &key);
                    self.note("controller", &format!("takes {key} over"));
                    self.witness.lock().unwrap().taken_over.insert(key);
                }
            }
        }
    }

    /// The copies that run, and to which no controller of the target has written anything.
    fn to_take_over(&self) -> Vec<Key> {
        let witness = self.witness.lock().unwrap();
        let unpaused = |key: &&Key| {
            let of_cluster = key.group_kind.kind == "Cluster";
            of_cluster && self.target.body(key).is_some_and(|body| body["spec"]["paused"] != json!(true))
        };
        let running: BTreeSet<&Key> = witness.moves.iter().filter(unpaused).collect();
        if running.is_empty() {
            return Vec::new();
        }
        let runs = |key: &&Key| match self.clusters.get(key) {
            Some(cluster) => running.contains(cluster),
            None => {
                running.iter().any(|cluster| key.namespace.is_none() || cluster.namespace == key.namespace)
            }
        };
        let open = witness.moves.iter().filter(|key| !witness.taken_over.contains(key));
        let reports = open.filter(|key| !key.group_kind.group.is_empty()).filter(runs);
        reports.filter(|key| self.target.body(key).is_some()).cloned().collect()
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
        let back = self.witness.lock().unwrap().finalizers[key].clone();
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
        // Where nobody looks at versions, that is when it would be deleted.
        let late = self.sabotage == Some(Sabotage::Preconditions);
        if self.committing() != late || self.edits.lock().unwrap().len() >= 3 {
            return;
        }
        let moves = self.witness.lock().unwrap().moves.clone();
        let keys: Vec<&Key> = moves
            .iter()
            .filter(|key| ["LabMachine", "Machine", "Secret"].contains(&key.group_kind.kind.as_str()))
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
            .filter(|key| ["Secret", "LabNetwork"].contains(&key.group_kind.kind.as_str()))
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
        let of_cluster = key.group_kind.kind == "Cluster";
        match self.sabotage {
            Some(Sabotage::Pauses) if side == Side::Target && of_cluster => {
                let runs = self.target.body(key).is_some_and(|body| body["spec"]["paused"] != json!(true));
                if runs && self.source.edit(key, |body| body["spec"]["paused"] = json!(false)).is_ok() {
                    self.look(key);
                }
            }
            Some(Sabotage::Evidence) if side == Side::Target && of_cluster => {
                self.to_take_over().iter().for_each(|key| sabotage::break_lease(&self.target, key));
            }
            Some(Sabotage::Copies) if side == Side::Source && key.group_kind.kind == "Secret" => {
                let released = self.source.body(key).is_none();
                let witness = self.witness.lock().unwrap();
                let cluster = witness.moves.iter().find(|key| key.group_kind.kind == "Cluster").cloned();
                drop(witness);
                if let Some(cluster) = cluster.filter(|_| released)
                    && self.target.remove(&cluster).is_ok()
                {
                    self.look(&cluster);
                }
            }
            _ => {}
        }
    }

    /// What people and programs get to read.
    pub(super) fn told(&self, what: &str, text: &str) {
        self.witness.lock().unwrap().told(what, text);
    }
}

/// Reads every event of a run.
pub(super) struct Reader(pub(super) Arc<World>);

impl Watcher for Reader {
    fn event(&self, event: Event) {
        self.0.told("an event", &format!("{event:?} {}", serde_json::to_string(&event).unwrap()));
    }
}
