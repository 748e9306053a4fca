//! What is waited for is reported with its objects, when it changes and every half minute.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pivot_core::messages::risk::Risk;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Settlement, Severity};
use pivot_core::{GroupKind, Key, Object};
use pivot_engine::hooks::{HookError, Hooks, MoveContext, Services};
use pivot_engine::{Awaited, Event, Exit, Failure, Setup, Watcher, run};
use serde_json::json;
use tokio::time::Instant;

use crate::stage::{CLUSTERS, INFRA, Stage, body, key};

/// Waits before the pause for Machines, of which one less each half hour, and then for each host for ever.
struct Slow {
    description: Description,
    begun: Instant,
    /// Whether it only finds something worth a warning.
    warns: bool,
    settles: bool,
}

impl Slow {
    fn new(warns: bool, settles: bool) -> Self {
        let hooks = if settles { vec![Hook::Hold, Hook::Settle] } else { vec![Hook::Check] };
        let kinds = vec![GroupKind::new(INFRA, "Host")];
        let description = Description { name: "slow".into(), kinds, hooks, ..Description::default() };
        Self { description, begun: Instant::now(), warns, settles }
    }

    fn finding(&self, object: Option<Key>) -> Finding {
        let severity = if self.warns { Severity::Warn } else { Severity::Wait };
        let message = "no controller has written a status yet".into();
        Finding { severity, code: "odd".into(), message, object, remedy: String::new() }
    }
}

#[async_trait]
impl Hooks for Slow {
    fn describe(&self) -> &Description {
        &self.description
    }

    async fn check(
        &self,
        point: Point,
        _: &MoveContext,
        _: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        if point.as_str() != "before-pause" {
            return Ok(Vec::new());
        }
        let machines = if self.begun.elapsed() < Duration::from_secs(65) { 0..2 } else { 0..1 };
        Ok(machines.map(|n| self.finding(Some(key(CLUSTERS, "Machine", &format!("m{n}"))))).collect())
    }

    async fn hold(&self, _: &Object) -> Result<Option<serde_json::Value>, HookError> {
        Ok(Some(json!({"metadata": {"annotations": {"hosts.example.org/paused": ""}}})))
    }

    async fn settle(&self, _: &Object, _: bool, _: Arc<dyn Services>) -> Result<Settlement, HookError> {
        assert!(self.settles);
        Ok(Settlement::Wait(self.finding(None)))
    }
}

/// Keeps waits and findings, and when they came.
#[derive(Default)]
struct Seen {
    waits: Mutex<Vec<(Instant, Vec<Awaited>)>>,
    findings: Mutex<Vec<Option<Key>>>,
}

impl Watcher for Seen {
    fn event(&self, event: Event) {
        match event {
            Event::Waiting { awaited, .. } => self.waits.lock().unwrap().push((Instant::now(), awaited)),
            Event::Finding { object, .. } => self.findings.lock().unwrap().push(object),
            _ => {}
        }
    }
}

impl Seen {
    /// The seconds at which waits were reported, and for how many objects.
    fn waits(&self, begun: Instant) -> Vec<(u64, usize)> {
        let waits = self.waits.lock().unwrap();
        let seconds = |at: &Instant| at.duration_since(begun).as_secs();
        waits.iter().map(|(at, awaited)| (seconds(at), awaited.len())).collect()
    }
}

async fn stopped(stage: &Stage, seen: &Arc<Seen>) -> pivot_engine::Stop {
    run::start(Setup { watcher: seen.clone(), ..stage.setup() }).await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn a_check_that_waits_is_reported_when_it_changes_and_every_half_minute() {
    let mut stage = Stage::new();
    stage.options.check_timeout = Duration::from_secs(120);
    stage.plugins = vec![Arc::new(Slow::new(false, false))];
    let (seen, begun) = (Arc::new(Seen::default()), Instant::now());
    let stop = stopped(&stage, &seen).await;
    assert_eq!(stop.exit, Exit::Timeout, "{stop}");
    assert_eq!(
        seen.waits(begun),
        [(0, 2), (30, 2), (60, 2), (66, 1), (96, 1)],
        "asked again every 2 seconds"
    );
    let Failure::TimedOut(awaited) = &stop.failure else { panic!("{stop}") };
    assert_eq!(awaited[0].object, Some(key(CLUSTERS, "Machine", "m0")));
    assert!(
        stop.to_string().contains("slow: Machine ns/m0: no controller has written a status yet"),
        "{stop}"
    );
}

#[tokio::test(start_paused = true)]
async fn objects_that_are_waited_for_are_reported_every_half_minute() {
    let mut stage = Stage::empty();
    stage.options.accept.remove(Risk::TakeoverUnchecked);
    stage.options.takeover_timeout = Duration::from_secs(120);
    let mut cluster = body(CLUSTERS, "Cluster", "c", None);
    cluster["status"] = json!({"initialization": {"infrastructureProvisioned": true},
        "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]});
    stage.source.insert(cluster).unwrap();
    let (seen, begun) = (Arc::new(Seen::default()), Instant::now());
    let stop = stopped(&stage, &seen).await;
    assert!(matches!(&stop.failure, Failure::NotTakenOver(missing) if missing.len() == 1), "{stop}");
    let waits = seen.waits(begun);
    assert_eq!(waits.len(), 4, "after 5, 35, 65 and 95 seconds: {waits:?}");
}

#[tokio::test(start_paused = true)]
async fn hosts_that_are_waited_for_at_the_same_time_are_reported_together() {
    let mut stage = Stage::new();
    for n in 0..4 {
        stage.source.insert(body(INFRA, "Host", &format!("h{n}"), None)).unwrap();
    }
    stage.options.check_timeout = Duration::from_secs(60);
    stage.plugins = vec![Arc::new(Slow::new(false, true))];
    let (seen, begun) = (Arc::new(Seen::default()), Instant::now());
    let stop = stopped(&stage, &seen).await;
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    let waits = seen.waits(begun);
    assert!((3..=8).contains(&waits.len()), "{waits:?}");
    let named =
        seen.waits.lock().unwrap().iter().flat_map(|(_, awaited)| awaited.clone()).collect::<Vec<_>>();
    assert!(
        named.iter().all(|one| one.object.as_ref().is_some_and(|object| object.group_kind.kind == "Host"))
    );
}

/// The same message about two objects was told once, of one of them.
#[tokio::test(start_paused = true)]
async fn a_warning_is_reported_of_each_object_it_is_about() {
    let mut stage = Stage::new();
    stage.plugins = vec![Arc::new(Slow::new(true, false))];
    let seen = Arc::new(Seen::default());
    run::start(Setup { watcher: seen.clone(), ..stage.setup() }).await.unwrap();
    let machines = ["m0", "m1"].map(|name| Some(key(CLUSTERS, "Machine", name)));
    assert_eq!(*seen.findings.lock().unwrap(), machines);
}
