//! Eight moves at once in one process, between one pair of servers: they share the servers and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{join_all, try_join_all};
use pivot_core::messages::risk::Risk;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point};
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key};
use pivot_engine::hooks::{HookError, Hooks, MoveContext, Services};
use pivot_engine::{Exit, MoveStatus, Options, Setup};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tracing::Span;
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::crash::nothing_of_ours;
use crate::run::{self, With};
use crate::stage::{Stage, objects, picture};

const SEEDS: u64 = 4;
/// Fewer than the writes of one move to objects of its namespace.
const WRITES: u64 = 36;

fn namespaces() -> Vec<String> {
    (0..8).map(|index| format!("ns-{index}")).collect()
}

/// The stage's management cluster once in each namespace.
fn estate() -> Stage {
    let stage = Stage::empty();
    for namespace in namespaces() {
        for object in objects() {
            stage.source.insert(relocated(object, &namespace)).unwrap();
        }
    }
    stage
}

fn relocated(mut object: Value, namespace: &str) -> Value {
    let relocate = |uid: &mut Value| *uid = json!(format!("{namespace}-{}", uid.as_str().unwrap()));
    object["metadata"]["namespace"] = json!(namespace);
    relocate(&mut object["metadata"]["uid"]);
    let owners = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
    owners.into_iter().flatten().for_each(|owner| relocate(&mut owner["uid"]));
    object
}

/// A run of its own, for one namespace.
fn of(stage: &Stage, namespace: &str) -> Setup {
    let scope = Scope::new(Namespaces::One(namespace.to_owned()));
    let options = Options { accept: Risk::TakeoverUnchecked.into(), ..Options::new(scope) };
    Setup { options, ..stage.setup() }
}

/// Where a run is cut: at the n-th write to an object of its namespace, which the server has done or not.
struct Cut {
    nth: usize,
    acted: bool,
    writes: AtomicUsize,
    reached: Notify,
    dead: AtomicBool,
}

impl Cut {
    /// A draw that comes back the same in each run of the test.
    fn drawn(seed: u64) -> Self {
        let draw = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let nth = usize::try_from((draw >> 33) % WRITES).unwrap() + 1;
        let acted = (draw >> 50).is_multiple_of(2);
        Self { nth, acted, writes: Default::default(), reached: Notify::new(), dead: Default::default() }
    }

    /// What becomes of a write. From the cut on nothing gets through, until the run is dead.
    fn fault(&self) -> Option<Fault> {
        if self.dead.load(Ordering::SeqCst) {
            return None;
        }
        let lost = || PlaceError::Unavailable("cut".into());
        let write = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        if write == self.nth {
            self.reached.notify_one();
        }
        match write {
            write if write < self.nth => None,
            write if write == self.nth && self.acted => Some(Fault::After(lost())),
            _ => Some(Fault::Before(lost())),
        }
    }

    /// Starts a run that ends there, in the middle of whatever it does.
    async fn run<T: Debug + Send + 'static>(&self, run: impl Future<Output = T> + Send + 'static) {
        let run = tokio::spawn(run);
        self.reached.notified().await;
        run.abort();
        assert!(run.await.unwrap_err().is_cancelled());
        self.dead.store(true, Ordering::SeqCst);
    }
}

fn lease(namespace: &str) -> Key {
    let lease = GroupKind::new("coordination.k8s.io", "Lease");
    Key::new(lease, Some("pivot-host-records"), format!("pivot-host.ns.{namespace}"))
}

/// The moves under way, by their namespaces.
async fn under_way(stage: &Stage) -> BTreeMap<String, MoveStatus> {
    let moves = run::status(stage.setup()).await.unwrap().moves.into_iter();
    let named = moves.map(|one| match &one.record.scope.namespaces {
        Namespaces::One(namespace) => (namespace.clone(), one),
        Namespaces::All => panic!("{one:?}"),
    });
    named.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_concurrent_moves_each_killed_once_end_as_they_do_one_by_one() {
    let reference = estate();
    for namespace in namespaces() {
        run::start(of(&reference, &namespace)).await.unwrap();
    }
    for seed in 0..SEEDS {
        let stage = estate();
        let cuts: BTreeMap<String, Cut> =
            namespaces().into_iter().zip((8 * seed..).map(Cut::drawn)).collect();
        let cuts = Arc::new(cuts);
        for place in [&stage.source, &stage.target] {
            let cuts = cuts.clone();
            place.on_call(move |verb, key| {
                let writes = ["create", "patch", "patch-status", "delete"].contains(&verb);
                cuts.get(key.namespace.as_ref()?).filter(|_| writes)?.fault()
            });
        }
        join_all(cuts.iter().map(|(namespace, cut)| cut.run(run::start(of(&stage, namespace))))).await;

        // Each left its record, and its claim; a run for all is kept out by them, whoever holds the leases.
        let moves = under_way(&stage).await;
        assert_eq!(moves.keys().cloned().collect::<Vec<_>>(), namespaces(), "seed {seed}");
        // As if they had stood still for long enough: that takes the time of a real clock here.
        for namespace in namespaces() {
            let free = |body: &mut Value| body["spec"]["holderIdentity"] = json!("");
            stage.source.edit(&lease(&namespace), free).unwrap();
        }
        let all = Setup { options: Options::new(Scope::new(Namespaces::All)), ..stage.setup() };
        let refused = run::start(all).await.unwrap_err();
        assert_eq!(refused.exit, Exit::Refused, "{refused}");
        let named = moves.values().filter(|one| refused.to_string().contains(&one.record.move_id));
        assert_eq!(named.count(), 1, "{refused}");

        let resumed = namespaces().into_iter().enumerate().map(|(index, namespace)| {
            let setup = of(&stage, &namespace);
            if index % 2 == 0 {
                return tokio::spawn(run::start(setup));
            }
            let move_id = Some(moves[&namespace].record.move_id.clone());
            tokio::spawn(run::resume(With { move_id, ..setup.into() }))
        });
        for ended in try_join_all(resumed).await.unwrap() {
            ended.unwrap_or_else(|stop| panic!("seed {seed}: {stop}"));
        }
        assert_eq!(picture(&stage.target), picture(&reference.target), "seed {seed}");
        assert_eq!(picture(&stage.source), picture(&reference.source), "seed {seed}");
        for place in [&stage.source, &stage.target] {
            assert!(nothing_of_ours(place), "seed {seed}: {:?}", place.keys());
        }
    }
}

/// A plugin whose check takes longer than a lease goes without renewal.
struct Slow(Description);

#[async_trait]
impl Hooks for Slow {
    fn describe(&self) -> &Description {
        &self.0
    }

    async fn check(
        &self,
        _point: Point,
        _context: &MoveContext,
        _services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        tokio::time::sleep(Duration::from_secs(9)).await;
        Ok(Vec::new())
    }
}

/// What spans were said to be about: their field `id`.
#[derive(Clone, Default)]
struct Ids(Arc<Mutex<BTreeMap<u64, String>>>);

impl Ids {
    /// One for the whole process: whether anybody listens to a span is found out once, by whichever test comes first.
    fn of_all_tests() -> &'static Self {
        static IDS: OnceLock<Ids> = OnceLock::new();
        IDS.get_or_init(|| {
            let ids = Self::default();
            tracing::subscriber::set_global_default(tracing_subscriber::registry().with(ids.clone()))
                .unwrap();
            ids
        })
    }
}

impl<S: tracing::Subscriber> Layer<S> for Ids {
    /// Of the thousands of spans of all tests, one may get the number of another that has ended.
    fn on_new_span(&self, _: &Attributes<'_>, span: &Id, _: Context<'_, S>) {
        self.0.lock().unwrap().remove(&span.into_u64());
    }

    fn on_record(&self, span: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut ids = self.0.lock().unwrap();
        values.record(&mut |field: &Field, value: &dyn Debug| {
            if field.name() == "id" {
                let before = ids.insert(span.into_u64(), format!("{value:?}").replace('"', ""));
                assert_eq!(before, None, "said once");
            }
        });
    }
}

/// A request, and the span in which it was sent: as long as that is held, no other gets its number.
type Sent = (String, Key, Span);

fn listen(place: &MemoryPlace, sent: &Arc<Mutex<Vec<Sent>>>) {
    let sent = sent.clone();
    place.on_call(move |verb, key| {
        sent.lock().unwrap().push((verb.to_owned(), key.clone(), Span::current()));
        None
    });
}

#[tokio::test(start_paused = true)]
async fn every_request_of_a_run_is_in_a_span_with_its_moves_id() {
    let ids = Ids::of_all_tests();
    let mut stage = estate();
    let description = Description {
        name: "slow".into(),
        version: "1".into(),
        digest: String::new(),
        vouched_by: vec![],
        granted: vec![],
        kinds: Vec::new(),
        hooks: [Hook::Check].into(),
        secret_data: false,
        reach: Vec::new(),
    };
    stage.plugins.push(Arc::new(Slow(description)));
    let sent = Arc::default();
    listen(&stage.source, &sent);
    listen(&stage.target, &sent);
    let runs = namespaces().into_iter().map(|namespace| run::start(of(&stage, &namespace)));
    for ended in join_all(runs).await {
        ended.unwrap();
    }

    let ids = ids.0.lock().unwrap();
    let mut of_namespaces: BTreeMap<String, BTreeSet<&String>> = BTreeMap::new();
    let mut renewals = 0;
    for (verb, key, span) in sent.lock().unwrap().iter() {
        let id = span.id().and_then(|span| ids.get(&span.into_u64()));
        let id = id.unwrap_or_else(|| panic!("{verb} {key} is in no span, or in one without an id"));
        // Records have the move's id in their names; of the rest each namespace has one move.
        if key.name.starts_with("pivot-host-source-") || key.name.starts_with("pivot-host-target-") {
            assert!(key.name.contains(id.as_str()), "{verb} {key} in the span of {id}");
        }
        let namespace = match key.name.strip_prefix("pivot-host.ns.") {
            Some(namespace) => Some(namespace.to_owned()),
            None => key.namespace.clone().filter(|namespace| namespace.starts_with("ns-")),
        };
        renewals += usize::from(verb == "patch" && key.group_kind.kind == "Lease");
        if let Some(namespace) = namespace {
            of_namespaces.entry(namespace).or_default().insert(id);
        }
    }
    assert!(renewals >= 16, "{renewals}");
    assert_eq!(of_namespaces.len(), 8);
    assert!(of_namespaces.values().all(|ids| ids.len() == 1), "{of_namespaces:?}");
    assert_eq!(of_namespaces.into_values().flatten().collect::<BTreeSet<_>>().len(), 8);
}
