//! The line between a run and a server: slow, lossy, and cut dead where the dice say so.
//!
//! A write that was sent travels on its own: it acts even if its run dies while it is on the way.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use pivot_core::records::route::EndKind;
use pivot_core::{Key, Kind, Object, Side};
use pivot_engine::{Clock, Halt, Halter, Moment};
use pivot_memory::MemoryPlace;
use pivot_places::{
    Access, Capabilities, Change, Event, Identity, Listing, MetaListing, Patch, Place, PlaceError,
    Preconditions, Result, Subresource,
};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::ids::without_ids;
use super::sabotage;
use super::world::World;
use pivot_worlds::Dice;

/// What becomes of a run at one of its requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// It dies before the request is sent.
    CutBefore,
    /// It dies once the request is on its way.
    CutAfter,
    /// Somebody presses Ctrl-C.
    Signal,
    /// A side does not answer for so many seconds.
    Silence(Side, u64),
    /// Its process is stopped, and goes on after others have been at work.
    Freeze,
    /// Its machine sleeps meanwhile: one of its clocks stands still.
    Sleep,
}

/// How many milliseconds a request can be on its way.
const LONGEST_WAY: u64 = 1500;
/// Longer than a run may go on without having renewed its lease.
const TOO_LONG: Duration = Duration::from_secs(11);

/// Lets others work while a process stands still; says for how long.
pub(super) type Meanwhile = Box<dyn Fn() -> Duration + Send + Sync>;

/// The luck of one run.
pub(super) struct Luck {
    pub(super) name: String,
    pub(super) dice: Dice,
    /// How many requests of a hundred fail.
    pub(super) faults: u64,
    /// How many take seconds.
    pub(super) slow: u64,
    /// What becomes of the run, once, and at how many requests of a thousand that may be.
    pub(super) end: Option<(u64, End)>,
    pub(super) halter: Halter,
    /// What others do while it stands still.
    pub(super) meanwhile: Option<Meanwhile>,
    /// How far its clocks are ahead of those of the runtime.
    ahead: Arc<Mutex<(Duration, Duration)>>,
    /// It is about to stand still: nothing more is sent.
    stands: AtomicBool,
    /// It has a lease, and was told so.
    holds: AtomicBool,
    /// It stood still for too long while it had one.
    stood: AtomicBool,
    ended: AtomicBool,
    asked: Mutex<BTreeMap<String, u64>>,
    silent: Mutex<Option<(Side, Instant)>>,
    dead: AtomicBool,
    cut: Notify,
}

impl Luck {
    pub(super) fn new(name: String, dice: Dice) -> Self {
        let (ahead, began) = (Arc::<Mutex<(Duration, Duration)>>::default(), Instant::now());
        let ahead_of = ahead.clone();
        let clock = Clock::new(move || {
            let (steady, wall) = *ahead_of.lock().unwrap();
            let wall = SystemTime::UNIX_EPOCH + began.elapsed() + wall;
            Moment { steady: Instant::now() + steady, wall }
        });
        Self {
            name,
            dice,
            faults: 0,
            slow: 0,
            end: None,
            halter: Halter::with_clock(clock),
            meanwhile: None,
            ahead,
            stands: AtomicBool::new(false),
            holds: AtomicBool::new(false),
            stood: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            asked: Mutex::default(),
            silent: Mutex::new(None),
            dead: AtomicBool::new(false),
            cut: Notify::new(),
        }
    }

    /// Ends when the run is cut dead.
    pub(super) async fn died(&self) {
        self.cut.notified().await;
    }

    fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.cut.notify_one();
    }

    /// Dice for one request; the same request asked again has others.
    fn roll(&self, question: &str) -> Dice {
        let mut asked = self.asked.lock().unwrap();
        let times = asked.entry(question.to_owned()).or_default();
        *times += 1;
        self.dice.about(&format!("{question} {times}"))
    }

    /// Stands still while others work; no task of this run gets to do anything, whatever its timers say.
    async fn stand_still(self: Arc<Self>, sleeps: bool) {
        let Some(meanwhile) = &self.meanwhile else { return };
        self.stands.store(true, Ordering::SeqCst);
        // What is on its way arrives.
        sleep(Duration::from_millis(2 * LONGEST_WAY)).await;
        let stood = meanwhile();
        let (steady, wall) = &mut *self.ahead.lock().unwrap();
        *steady += if sleeps { Duration::ZERO } else { stood };
        *wall += stood;
        self.stood.fetch_or(stood >= TOO_LONG && self.holds.load(Ordering::SeqCst), Ordering::SeqCst);
        self.stands.store(false, Ordering::SeqCst);
    }

    /// Ends once the run does not stand still, or goes on.
    pub(super) async fn stands_no_more(&self) {
        while self.stands.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn silent(&self, side: Side) -> bool {
        self.silent.lock().unwrap().is_some_and(|(silent, until)| silent == side && Instant::now() < until)
    }
}

/// One run's line to one side.
pub(super) struct Line {
    pub(super) side: Side,
    pub(super) place: MemoryPlace,
    pub(super) luck: Arc<Luck>,
    pub(super) world: Arc<World>,
}

impl Line {
    async fn ask<T: Send + 'static>(
        &self,
        verb: &str,
        key: &str,
        act: impl FnOnce(MemoryPlace) -> BoxFuture<'static, Result<T>> + Send,
    ) -> Result<T> {
        let (luck, side) = (&self.luck, self.side);
        if luck.dead.load(Ordering::SeqCst) {
            return std::future::pending().await;
        }
        if luck.stands.load(Ordering::SeqCst) {
            luck.stands_no_more().await;
            return Err(PlaceError::Unavailable("connection reset".into()));
        }
        self.world.let_request_through().await;
        let question = without_ids(&format!("{side} {verb} {key}"));
        let dice = luck.roll(&question);
        let end = luck.end.filter(|(chance, _)| dice.about("ends").below(1000) < *chance);
        let end = end.filter(|_| !luck.ended.swap(true, Ordering::SeqCst)).map(|(_, end)| end);
        match end {
            None | Some(End::CutAfter | End::Freeze | End::Sleep) => {}
            Some(End::CutBefore) => {
                self.world.note(&luck.name, &format!("dies before {question}"));
                luck.die();
                return std::future::pending().await;
            }
            Some(End::Signal) => luck.halter.halt(Halt::Signal(2)),
            Some(End::Silence(side, seconds)) => {
                *luck.silent.lock().unwrap() = Some((side, Instant::now() + Duration::from_secs(seconds)));
            }
        }
        let travels = |way: &str| match dice.about("slow").percent(luck.slow) {
            true => Duration::from_millis(dice.about(way).below(LONGEST_WAY)),
            false => Duration::from_millis(dice.about(way).below(50)),
        };
        let (there, back) = (travels("there"), travels("back"));
        let fails = dice.about("fails").percent(luck.faults) || luck.silent(side);
        let lost = || PlaceError::Unavailable("connection reset".into());
        let kind_of_failure = if luck.silent(side) { 0 } else { dice.about("how").below(3) };
        match kind_of_failure {
            0 if fails => {
                sleep(there + back).await;
                return Err(lost());
            }
            1 if fails => {
                sleep(there + back).await;
                let seconds = dice.about("later").below(5);
                let retry_after = (seconds > 0).then(|| Duration::from_secs(seconds));
                return Err(PlaceError::TooManyRequests { retry_after });
            }
            _ => {}
        }
        let held = luck.holds.load(Ordering::SeqCst);
        let acts = act(self.place.clone());
        let acts = tokio::spawn(async move {
            sleep(there).await;
            acts.await
        });
        if matches!(end, Some(End::CutAfter)) {
            self.world.note(&luck.name, &format!("dies after {question}"));
            luck.die();
            return std::future::pending().await;
        }
        let answer = acts.await.unwrap();
        sleep(back).await;
        // A run that is not told that it has a lease asks for it again.
        if fails && !held {
            luck.holds.store(false, Ordering::SeqCst);
        }
        if let Some(end @ (End::Freeze | End::Sleep)) = end {
            self.world.note(&luck.name, &format!("stands still after {question}"));
            // A task of its own: a process goes on even if the run has given this request up.
            tokio::spawn(luck.clone().stand_still(matches!(end, End::Sleep))).await.unwrap();
        }
        if fails { Err(lost()) } else { answer }
    }

    async fn read<T: Send + 'static>(
        &self,
        verb: &str,
        key: &Key,
        act: impl FnOnce(MemoryPlace) -> BoxFuture<'static, Result<T>> + Send,
    ) -> Result<T> {
        self.ask(verb, &key.to_string(), act).await
    }

    async fn write<T: Send + 'static>(
        &self,
        verb: &'static str,
        key: &Key,
        act: impl FnOnce(MemoryPlace) -> BoxFuture<'static, Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (world, side, luck, touched) = (self.world.clone(), self.side, self.luck.clone(), key.clone());
        let seen = |place: MemoryPlace| {
            async move {
                world.writes(side, verb, &touched);
                if luck.stood.load(Ordering::SeqCst) {
                    world.witness.lock().unwrap().breaks_fence(&luck.name, verb, &touched);
                }
                let before = place.body(&touched);
                let answer = act(place.clone()).await;
                let refusal = answer.as_ref().err();
                if touched.group_kind.kind == "Lease" && refusal.is_none() {
                    let lease = place.body(&touched);
                    luck.holds.store(
                        lease.is_some_and(|lease| lease["spec"]["holderIdentity"] != ""),
                        Ordering::SeqCst,
                    );
                }
                world.wrote(&luck.name, side, verb, &touched, before.as_ref(), refusal);
                answer
            }
            .boxed()
        };
        self.ask(verb, &key.to_string(), seen).await
    }
}

fn collection(kind: &Kind, namespace: Option<&str>) -> Key {
    Key::new(kind.group_kind.clone(), namespace, "")
}

#[async_trait]
impl Place for Line {
    fn label(&self) -> &str {
        self.place.label()
    }

    fn end_kind(&self) -> EndKind {
        self.place.end_kind()
    }

    fn capabilities(&self) -> Capabilities {
        self.place.capabilities()
    }

    async fn identify(&self) -> Result<Identity> {
        self.ask("identify", "", |place| async move { place.identify().await }.boxed()).await
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        self.ask("kinds", "", |place| async move { place.kinds().await }.boxed()).await
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        let (key, kind, namespace) =
            (collection(kind, namespace), kind.clone(), namespace.map(str::to_owned));
        let act = |place: MemoryPlace| async move { place.list(&kind, namespace.as_deref()).await }.boxed();
        self.read("list", &key, act).await
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        let key = collection(kind, Some(namespace));
        let (kind, namespace, label) = (kind.clone(), namespace.to_owned(), label.to_owned());
        let act =
            |place: MemoryPlace| async move { place.list_labelled(&kind, &namespace, &label).await }.boxed();
        self.read("list-labelled", &key, act).await
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        let (key, kind, namespace) =
            (collection(kind, namespace), kind.clone(), namespace.map(str::to_owned));
        let act =
            |place: MemoryPlace| async move { place.list_meta(&kind, namespace.as_deref()).await }.boxed();
        self.read("list-meta", &key, act).await
    }

    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        let (kind, asked) = (kind.clone(), key.clone());
        self.read("get", key, |place| async move { place.get(&kind, &asked).await }.boxed()).await
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        let (kind, body) = (kind.clone(), body.clone());
        let name = |field: &str| body["metadata"][field].as_str();
        let key = Key::new(kind.group_kind.clone(), name("namespace"), name("name").unwrap_or_default());
        match change {
            Change::DryRun => {
                let act =
                    |place: MemoryPlace| async move { place.create(&kind, &body, change).await }.boxed();
                self.read("dry-run", &key, act).await
            }
            Change::Real => {
                let sabotage = self.world.sabotage;
                let act = move |place: MemoryPlace| {
                    async move { sabotage::create(sabotage, &place, &kind, &body).await }.boxed()
                };
                self.write("create", &key, act).await
            }
        }
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        let (kind, to, patch, sabotage) = (kind.clone(), key.clone(), patch.clone(), self.world.sabotage);
        let verb = match patch.subresource {
            Subresource::None => "patch",
            Subresource::Status => "patch-status",
        };
        let act = move |place: MemoryPlace| {
            async move { sabotage::patch(sabotage, &place, &kind, &to, &patch).await }.boxed()
        };
        self.write(verb, key, act).await
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        let (kind, what) = (kind.clone(), key.clone());
        let must = sabotage::preconditions(self.world.sabotage, preconditions);
        self.write("delete", key, |place| async move { place.delete(&kind, &what, &must).await }.boxed())
            .await
    }

    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        let (key, kind, namespace) =
            (collection(kind, namespace), kind.clone(), namespace.map(str::to_owned));
        let version = resource_version.to_owned();
        let act = |place: MemoryPlace| {
            async move { place.watch(&kind, namespace.as_deref(), &version).await }.boxed()
        };
        self.read("watch", &key, act).await
    }

    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        let asked = asked.to_vec();
        self.ask("denied", "", |place| async move { place.find_denied(&asked).await }.boxed()).await
    }
}
