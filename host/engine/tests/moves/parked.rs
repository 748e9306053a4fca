//! Runs that wait for others, whose caller has other runs work meanwhile.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pivot_core::messages::risk::Risk;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Settlement, Severity};
use pivot_core::{GroupKind, Key, Object};
use pivot_engine::hooks::{HookError, Hooks, MoveContext, Services};
use pivot_engine::{Failure, Halt, Parking, Scheduler, Setup, run};
use pivot_memory::MemoryPlace;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::stage::{CLUSTERS, INFRA, Stage, body, halter, key};

const MINUTE: Duration = Duration::from_secs(60);
/// Time that each run waits until it may work again.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// Admits runs late.
#[derive(Default)]
struct Late {
    parked: AtomicUsize,
    admitted: AtomicUsize,
    is_parked: Arc<AtomicBool>,
    /// Writes of a run that was parked.
    written: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl Scheduler for Late {
    fn park(&self) {
        assert!(!self.is_parked.swap(true, Ordering::Relaxed), "it is parked already");
        self.parked.fetch_add(1, Ordering::Relaxed);
    }

    async fn admit(&self) {
        sleep(HOUR).await;
        assert!(self.is_parked.swap(false, Ordering::Relaxed), "it is not parked");
        self.admitted.fetch_add(1, Ordering::Relaxed);
    }
}

impl Late {
    /// Notes what a parked run writes there, except its leases.
    fn watch(&self, place: &MemoryPlace) {
        let (is_parked, written) = (self.is_parked.clone(), self.written.clone());
        place.on_call(move |verb, key| {
            let writes = ["create", "patch", "delete"].contains(&verb) && key.group_kind.kind != "Lease";
            if writes && is_parked.load(Ordering::Relaxed) {
                written.lock().unwrap().push(format!("{verb} {key}"));
            }
            None
        });
    }
}

/// Waits for a minute: before the pause, and again for each held host.
struct Waits {
    description: Description,
    checked: Instant,
    /// When each host was asked about first.
    settled: Mutex<Vec<(String, Instant)>>,
}

impl Waits {
    fn finding() -> Finding {
        let (severity, object, remedy) = (Severity::Wait, None, String::new());
        Finding { severity, code: "odd".into(), message: "not yet".into(), object, remedy }
    }
}

#[async_trait]
impl Hooks for Waits {
    fn describe(&self) -> &Description {
        &self.description
    }

    async fn check(
        &self,
        _: Point,
        _: &MoveContext,
        _: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        Ok(Vec::from_iter((self.checked.elapsed() < MINUTE).then(Self::finding)))
    }

    async fn hold(&self, _: &Object) -> Result<Option<Value>, HookError> {
        Ok(Some(json!({"metadata": {"annotations": {"hosts.example.org/paused": ""}}})))
    }

    async fn settle(&self, object: &Object, _: bool, _: Arc<dyn Services>) -> Result<Settlement, HookError> {
        let mut settled = self.settled.lock().unwrap();
        let now = Instant::now();
        let begun = settled.iter().find(|(name, _)| *name == object.meta.name).map(|(_, begun)| *begun);
        let begun = begun.unwrap_or_else(|| {
            settled.push((object.meta.name.clone(), now));
            now
        });
        Ok(if begun.elapsed() < MINUTE { Settlement::Wait(Self::finding()) } else { Settlement::Done })
    }
}

fn machine() -> Key {
    key(CLUSTERS, "Machine", "m0")
}

/// A check that waits, and a machine whose controller is late to acknowledge the pause. Three hosts come up late, and two of them are
/// settled at the same time.
fn stage() -> Stage {
    let mut stage = Stage::new();
    stage.options.accept.insert(Risk::TakeoverUnchecked);
    for limit in [&mut stage.options.pause_timeout, &mut stage.options.check_timeout] {
        *limit = 2 * MINUTE;
    }
    for name in ["h0", "h1", "h2"] {
        stage.source.insert(body(INFRA, "Host", name, None)).unwrap();
    }
    let unpaused =
        |body: &mut Value| body["status"]["conditions"] = json!([{"type": "Paused", "status": "False"}]);
    stage.source.edit(&machine(), unpaused).unwrap();
    let kinds = vec![GroupKind::new(INFRA, "Host")];
    let hooks = vec![Hook::Check, Hook::Hold, Hook::Settle];
    let description = Description { name: "waits".into(), kinds, hooks, ..Description::default() };
    let waits = Waits { description, checked: Instant::now(), settled: Mutex::default() };
    stage.plugins = vec![Arc::new(waits)];
    stage
}

/// Each wait is satisfied in time. That the run may work again only long after its limit changes nothing.
#[tokio::test(start_paused = true)]
async fn parked_runs_write_nothing_until_they_are_admitted() {
    let (stage, late) = (stage(), Arc::new(Late::default()));
    late.watch(&stage.source);
    late.watch(&stage.target);
    let acknowledges = async {
        // After the check's minute and hour.
        sleep(HOUR + 2 * MINUTE).await;
        let paused = |body: &mut Value| body["status"]["conditions"][0]["status"] = json!("True");
        stage.source.edit(&machine(), paused).unwrap();
    };
    let setup = Setup { parking: Parking::new(late.clone()), ..stage.setup() };
    let (ended, ()) = tokio::join!(run::start(setup), acknowledges);
    ended.unwrap();
    assert_eq!(*late.written.lock().unwrap(), [""; 0]);
    // The check, the pause, a wave of one host and a wave of two.
    assert_eq!((late.parked.load(Ordering::Relaxed), late.admitted.load(Ordering::Relaxed)), (4, 4));
}

#[tokio::test(start_paused = true)]
async fn runs_that_wait_for_admission_can_be_halted() {
    let (stage, late, halter) = (stage(), Arc::new(Late::default()), halter());
    let setup = Setup { parking: Parking::new(late.clone()), halter: halter.clone(), ..stage.setup() };
    let halts = async {
        sleep(2 * MINUTE).await;
        halter.halt(Halt::Signal(15));
    };
    let begun = Instant::now();
    let (ended, ()) = tokio::join!(run::start(setup), halts);
    let stop = ended.unwrap_err();
    assert!(matches!(stop.failure, Failure::Halted(Halt::Signal(15))), "{stop}");
    assert!(begun.elapsed() < 3 * MINUTE);
    assert_eq!((late.parked.load(Ordering::Relaxed), late.admitted.load(Ordering::Relaxed)), (1, 0));
}

/// Says wait for a minute, then nothing for ten, and then stop.
struct Closes {
    description: Description,
    begun: Instant,
}

#[async_trait]
impl Hooks for Closes {
    fn describe(&self) -> &Description {
        &self.description
    }

    async fn check(
        &self,
        _: Point,
        _: &MoveContext,
        _: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        let severity = match self.begun.elapsed() {
            time if time < MINUTE => Severity::Wait,
            time if time < 10 * MINUTE => return Ok(Vec::new()),
            _ => Severity::Stop,
        };
        Ok(vec![Finding { severity, ..Waits::finding() }])
    }
}

/// A backup may have begun while the run had no turn.
#[tokio::test(start_paused = true)]
async fn checks_are_asked_again_once_runs_are_admitted() {
    let mut stage = stage();
    let description =
        Description { name: "closes".into(), hooks: vec![Hook::Check], ..Description::default() };
    stage.plugins = vec![Arc::new(Closes { description, begun: Instant::now() })];
    let setup = Setup { parking: Parking::new(Arc::new(Late::default())), ..stage.setup() };
    let stop = run::start(setup).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::Gate(_)), "{stop}");
    assert!(stage.target.keys().iter().all(|key| *key != machine()), "nothing was copied");
}

/// Waits for a minute, wants a patch, and waits for a minute again.
struct Patches {
    description: Description,
    /// The begin of its wait.
    since: Mutex<Option<Instant>>,
}

#[async_trait]
impl Hooks for Patches {
    fn describe(&self) -> &Description {
        &self.description
    }

    async fn hold(&self, _: &Object) -> Result<Option<Value>, HookError> {
        Ok(Some(json!({"metadata": {"annotations": {"hosts.example.org/paused": ""}}})))
    }

    async fn settle(&self, object: &Object, _: bool, _: Arc<dyn Services>) -> Result<Settlement, HookError> {
        let is_patched = object.meta.annotations.contains_key("hosts.example.org/seen");
        let since = *self.since.lock().unwrap().get_or_insert_with(Instant::now);
        Ok(match (is_patched, since.elapsed() < MINUTE) {
            (_, true) => Settlement::Wait(Waits::finding()),
            (false, false) => {
                *self.since.lock().unwrap() = Some(Instant::now());
                Settlement::Patch(json!({"metadata": {"annotations": {"hosts.example.org/seen": ""}}}))
            }
            (true, false) => Settlement::Done,
        })
    }
}

#[tokio::test(start_paused = true)]
async fn queueing_counts_for_no_deadline() {
    let mut stage = Stage::new();
    stage.options.accept.insert(Risk::TakeoverUnchecked);
    stage.options.check_timeout = 3 * MINUTE;
    stage.source.insert(body(INFRA, "Host", "h", None)).unwrap();
    let (kinds, hooks) = (vec![GroupKind::new(INFRA, "Host")], vec![Hook::Hold, Hook::Settle]);
    let description = Description { name: "patches".into(), kinds, hooks, ..Description::default() };
    stage.plugins = vec![Arc::new(Patches { description, since: Mutex::default() })];
    let late = Arc::new(Late::default());
    run::start(Setup { parking: Parking::new(late.clone()), ..stage.setup() }).await.unwrap();
    assert_eq!(late.admitted.load(Ordering::Relaxed), 2);
}
