//! Plugins whose every answer is allowed, and whose answers together are not.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Settlement, Severity};
use pivot_core::{GroupKind, Object};
use pivot_engine::Setup;
use pivot_engine::hooks::{HookError, Hooks, MoveContext, Services};
use pivot_engine::{DryRun, Event, Exit, Stop, Watcher, run};
use pivot_memory::MemoryPlace;
use serde_json::{Value, json};

use crate::settling::left;
use crate::stage::{CLUSTERS, INFRA, Stage, body, key};

/// Sees Clusters and hosts, changes hosts alone.
struct Unruly {
    description: Description,
    target: MemoryPlace,
    /// Gives another patch each time it is asked.
    counts: bool,
    /// Takes longer than it may to settle anything.
    dawdles: bool,
    /// Waits for these hosts, which never comes to an end.
    waits_for: fn(&str) -> bool,
    /// How much it has to say in a check, and how much that weighs.
    findings: (usize, Severity),
    /// Whether the target's Cluster was paused when it was asked to settle.
    paused: Mutex<Vec<Value>>,
}

impl Unruly {
    fn new(stage: &Stage) -> Self {
        Self {
            description: Description {
                name: "unruly".into(),
                version: "1.0.0".into(),
                digest: "d".into(),
                vouched_by: vec![],
                granted: vec![],
                kinds: vec![GroupKind::new(INFRA, "Host"), GroupKind::new(CLUSTERS, "Cluster")],
                hooks: Hook::ALL.to_vec(),
                secret_data: false,
                reach: Vec::new(),
            },
            target: stage.target.clone(),
            counts: false,
            dawdles: false,
            waits_for: |_| false,
            findings: (0, Severity::Note),
            paused: Mutex::default(),
        }
    }
}

#[async_trait]
impl Hooks for Unruly {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn changes(&self, hook: Hook, kind: &GroupKind) -> bool {
        self.description.has_hook_for(hook, kind) && kind.kind == "Host"
    }

    async fn check(
        &self,
        _point: Point,
        _context: &MoveContext,
        _services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        let (count, severity) = self.findings;
        let finding = |n: usize| Finding {
            severity,
            code: "more".into(),
            message: format!("more ({n})"),
            object: None,
            remedy: "none".into(),
        };
        Ok((0..count).map(finding).collect())
    }

    async fn hold(&self, _object: &Object) -> Result<Option<Value>, HookError> {
        Ok(Some(json!({"metadata": {"annotations": {"hosts.example.org/paused": ""}}})))
    }

    async fn settle(
        &self,
        object: &Object,
        _: bool,
        _services: Arc<dyn Services>,
    ) -> Result<Settlement, HookError> {
        let cluster = self.target.body(&key(CLUSTERS, "Cluster", "c")).unwrap();
        self.paused.lock().unwrap().push(cluster["spec"]["paused"].clone());
        if self.dawdles {
            return Err(HookError { code: "timeout".into(), message: "it took longer than 10s".into() });
        }
        if (self.waits_for)(&object.meta.name) {
            return Ok(Settlement::Wait(Finding {
                severity: Severity::Wait,
                code: "never".into(),
                message: "it never comes".into(),
                object: None,
                remedy: String::new(),
            }));
        }
        if !self.counts {
            return Ok(Settlement::Done);
        }
        let count = object.meta.annotations.get("count").map_or(0, |count| count.len());
        Ok(Settlement::Patch(json!({"metadata": {"annotations": {"count": "x".repeat(count + 1)}}})))
    }
}

/// How many objects are held for a reason.
fn because(stop: &Stop, why: &str) -> usize {
    left(stop).into_iter().filter(|held| held.why.contains(why)).count()
}

fn stage() -> Stage {
    let stage = Stage::new();
    stage.source.insert(body(INFRA, "Host", "h0", None)).unwrap();
    stage
}

// proves: T11
#[tokio::test(start_paused = true)]
async fn endless_patches_are_stopped() {
    let mut stage = stage();
    stage.plugins = vec![Arc::new(Unruly { counts: true, ..Unruly::new(&stage) })];
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    assert!(stop.to_string().contains("it returned too many patches"), "{stop}");
    let host = stage.target.body(&key(INFRA, "Host", "h0")).unwrap();
    assert!(host["metadata"]["annotations"].get("hosts.example.org/paused").is_some(), "it stays held");
}

/// A thousand hosts of a plugin that hangs are ten thousand seconds.
// proves: T11
#[tokio::test(start_paused = true)]
async fn a_plugin_that_hangs_is_not_asked_about_every_object() {
    let mut stage = stage();
    for n in 1..10 {
        stage.source.insert(body(INFRA, "Host", &format!("h{n}"), None)).unwrap();
    }
    let unruly = Arc::new(Unruly { dawdles: true, ..Unruly::new(&stage) });
    stage.plugins = vec![unruly.clone()];
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    assert_eq!(unruly.paused.lock().unwrap().len(), 3, "calls");
    assert_eq!(because(&stop, "is no longer asked"), 7, "{stop}");
}

/// Twenty seconds for each of a thousand hosts are hours.
#[tokio::test(start_paused = true)]
async fn a_plugin_whose_wait_times_out_is_not_asked_about_every_object() {
    let mut stage = stage();
    for n in 1..100 {
        stage.source.insert(body(INFRA, "Host", &format!("h{n}"), None)).unwrap();
    }
    stage.plugins = vec![Arc::new(Unruly { waits_for: |_| true, ..Unruly::new(&stage) })];
    let begun = tokio::time::Instant::now();
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    assert_eq!(because(&stop, "is no longer asked"), 97, "{stop}");
    let longest = stage.options.check_timeout + std::time::Duration::from_secs(60);
    assert!(begun.elapsed() < longest, "{:?}", begun.elapsed());
}

/// Two hosts that are broken say nothing of the others.
#[tokio::test(start_paused = true)]
async fn a_plugin_that_blocks_only_some_objects_is_still_called_for_the_rest() {
    let mut stage = stage();
    for n in 1..10 {
        stage.source.insert(body(INFRA, "Host", &format!("h{n}"), None)).unwrap();
    }
    let waits_for = |name: &str| !matches!(name, "h2" | "h5" | "h8");
    stage.plugins = vec![Arc::new(Unruly { waits_for, ..Unruly::new(&stage) })];
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(because(&stop, "timed out: plugin unruly: it never comes"), 7, "{stop}");
    let told = "timed out: plugin unruly: it never comes (7 Hosts: ns/h0, ns/h1, ns/h3, … and 4 more)";
    assert!(stop.to_string().contains(told), "{stop}");
    assert!(!stop.to_string().contains("is no longer asked"), "{stop}");
}

/// A plugin that merely looks at Clusters has no say in when they are paused and resumed.
#[tokio::test(start_paused = true)]
async fn seeing_an_object_is_not_holding_it() {
    let mut stage = stage();
    let unruly = Arc::new(Unruly::new(&stage));
    stage.plugins = vec![unruly.clone()];
    run::start(stage.setup()).await.unwrap();
    assert_eq!(*unruly.paused.lock().unwrap(), [json!(false)]);
}

/// Keeps the lines that people would see.
#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Watcher for Lines {
    fn event(&self, event: Event) {
        let line = match event {
            Event::Finding { plugin, text, .. } => format!("{plugin}: {text}"),
            Event::Note { text, .. } | Event::Warning { text, .. } => text,
            _ => return,
        };
        self.0.lock().unwrap().push(line);
    }
}

// proves: T13
#[tokio::test(start_paused = true)]
async fn a_plugins_excessive_findings_are_truncated() {
    for severity in [Severity::Note, Severity::Warn] {
        let mut stage = stage();
        stage.plugins = vec![Arc::new(Unruly { findings: (1_000, severity), ..Unruly::new(&stage) })];
        let lines = Arc::new(Lines::default());
        run::start(Setup { watcher: lines.clone(), ..stage.setup() }).await.unwrap();
        let lines = lines.0.lock().unwrap();
        let said = lines.iter().filter(|line| line.starts_with("unruly: more")).count();
        assert_eq!(said, 4 * 50, "{}", lines.len());
        assert!(
            lines.iter().any(|line| line == "plugin unruly has reported 50 findings; the rest is not shown")
        );
    }
    for severity in [Severity::Stop, Severity::Wait] {
        let mut stage = stage();
        stage.plugins = vec![Arc::new(Unruly { findings: (1_000, severity), ..Unruly::new(&stage) })];
        let stop = run::start(stage.setup()).await.unwrap_err();
        let told = stop.to_string();
        assert!(told.lines().count() < 30 && told.ends_with("and 980 more"), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_says_what_a_move_would_wait_for_and_does_not_wait() {
    let mut stage = stage();
    stage.plugins = vec![Arc::new(Unruly { findings: (1_000, Severity::Wait), ..Unruly::new(&stage) })];
    stage.options.dry_run = DryRun::Plan;
    let lines = Arc::new(Lines::default());
    let begun = tokio::time::Instant::now();
    run::plan(Setup { watcher: lines.clone(), ..stage.setup() }).await.unwrap();
    assert!(begun.elapsed().is_zero());
    let lines = lines.0.lock().unwrap();
    let said = lines.iter().filter(|line| line.starts_with("unruly: a move would wait: more")).count();
    assert_eq!((said, lines.len()), (50, 51), "{lines:?}");
}
