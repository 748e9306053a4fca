//! Facts that a run tells plugins, and effects of their answers, apart from patches and gates.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Relation, Settlement, Severity};
use pivot_core::{Both, GroupKind, Key, Object, Uid};
use pivot_engine::hooks::{HookError, Hooks, MoveContext, RunContext, RunKind, Services};
use pivot_engine::options::DryRun;
use pivot_engine::{Exit, run};
use pivot_memory::MemoryPlace;
use pivot_runtime::{Probe, Vantage};
use serde_json::{Value, json};

use crate::stage::{CLUSTERS, INFRA, Stage, body, key, picture};

const HELD: &str = "hosts.example.org/paused";

/// Records the facts that it gets.
#[derive(Clone)]
struct Informed {
    description: Description,
    target: MemoryPlace,
    runs: Arc<Mutex<Vec<RunContext>>>,
    /// Whether a host was written to since the commit, at each call of `settle`.
    written: Arc<Mutex<Vec<bool>>>,
    shares: Option<Key>,
    /// The version of Machines that it understands.
    understands: &'static str,
}

impl Informed {
    fn new(stage: &Stage) -> Self {
        let description = Description {
            name: "informed".into(),
            kinds: vec![GroupKind::new(INFRA, "Host"), GroupKind::new(CLUSTERS, "Machine")],
            hooks: vec![Hook::Relate, Hook::Hold, Hook::Settle],
            ..Description::default()
        };
        let (target, runs, written) = (stage.target.clone(), Arc::default(), Arc::default());
        Self { description, target, runs, written, shares: None, understands: "v1beta2" }
    }
}

#[async_trait]
impl Hooks for Informed {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn for_run(&self, run: &RunContext) -> Option<Arc<dyn Hooks>> {
        self.runs.lock().unwrap().push(run.clone());
        Some(Arc::new(self.clone()))
    }

    fn changes(&self, hook: Hook, kind: &GroupKind) -> bool {
        kind.kind == "Host" && self.description.has_hook_for(hook, kind)
    }

    fn check_version(&self, object: &Object) -> Result<(), HookError> {
        if object.kind.group_kind.kind != "Machine" || object.kind.version == self.understands {
            return Ok(());
        }
        Err(HookError { code: "unsupported-version".into(), message: "not that one".into() })
    }

    async fn relate(&self, object: &Object) -> Result<Vec<Relation>, HookError> {
        let shares = self.shares.iter().filter(|_| object.meta.name == "m0");
        Ok(shares.cloned().map(Relation::Share).collect())
    }

    async fn hold(&self, _: &Object) -> Result<Option<Value>, HookError> {
        Ok(Some(json!({"metadata": {"annotations": {HELD: ""}}})))
    }

    async fn settle(
        &self,
        object: &Object,
        written: bool,
        _: Arc<dyn Services>,
    ) -> Result<Settlement, HookError> {
        self.written.lock().unwrap().push(written);
        if written {
            return Ok(Settlement::Done);
        }
        // A controller of the target writes its first status.
        let by = json!([{"manager": "manager", "operation": "Update", "subresource": "status", "time": "2026-01-01T00:00:00Z"}]);
        let write = |body: &mut Value| body["metadata"]["managedFields"] = by.clone();
        self.target.edit(&object.key(), write).unwrap();
        let (code, message) = ("not-yet".into(), "no controller has seen it".into());
        let (object, remedy) = (None, String::new());
        Ok(Settlement::Wait(Finding { severity: Severity::Wait, code, message, object, remedy }))
    }
}

#[tokio::test(start_paused = true)]
async fn plugins_learn_the_kind_of_their_run() {
    let mut stage = Stage::new();
    let informed = Informed::new(&stage);
    stage.plugins = vec![Arc::new(informed.clone())];
    stage.options.kubectl_flags = Both::new(vec!["--context=a".into()], Vec::new());
    stage.options.dry_run = DryRun::Plan;
    run::plan(stage.setup()).await.unwrap();
    stage.options.dry_run = DryRun::Off;
    let report = run::start(stage.setup()).await.unwrap();
    let runs = informed.runs.lock().unwrap();
    assert_eq!(runs.iter().map(|run| run.kind).collect::<Vec<_>>(), [RunKind::Plan, RunKind::Move]);
    assert_eq!(runs[1].move_id, report.move_id);
    assert_eq!(runs[1].kubectl, Both::new(Some(vec!["--context=a".to_owned()]), Some(Vec::new())));
}

/// Probes a special address in each check, and records the errors.
struct Probes(Description, Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Hooks for Probes {
    fn describe(&self) -> &Description {
        &self.0
    }

    async fn check(
        &self,
        _: Point,
        _: &MoveContext,
        services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        let (address, timeout) = ("127.0.0.1:1".to_owned(), Duration::from_secs(3));
        let probe = Probe { http: false, vantage: Vantage::Here, address, timeout, named: Vec::new() };
        let error = services.probe("probes", probe).await.unwrap_err();
        self.1.lock().unwrap().push(error.to_string());
        Ok(Vec::new())
    }
}

/// The author of a Pivot chooses what is probed from the controller's network.
// proves: T151
#[tokio::test(start_paused = true)]
async fn pivots_learn_no_causes_of_failed_probes() {
    for (asked_by, expected) in [
        (None, "denied: 127.0.0.1 has a special address (127.0.0.1), which the operator must name"),
        (
            Some(Uid("0-1-2".to_owned())),
            "unreachable: no connection, or no valid answer; the log of pivot-host says why",
        ),
    ] {
        let (mut stage, told) = (Stage::new(), Arc::new(Mutex::new(Vec::new())));
        let description = Description {
            name: "probes".into(),
            kinds: vec![GroupKind::new(CLUSTERS, "Cluster")],
            hooks: vec![Hook::Check],
            ..Description::default()
        };
        stage.plugins = vec![Arc::new(Probes(description, told.clone()))];
        stage.options.asked_by = asked_by;
        run::start(stage.setup()).await.unwrap();
        let told = told.lock().unwrap();
        assert!(!told.is_empty() && told.iter().all(|error| error == expected), "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn settle_learns_whether_anyone_has_written() {
    let mut stage = Stage::new();
    stage.source.insert(body(INFRA, "Host", "h0", None)).unwrap();
    let informed = Informed::new(&stage);
    stage.plugins = vec![Arc::new(informed.clone())];
    run::start(stage.setup()).await.unwrap();
    assert_eq!(*informed.written.lock().unwrap(), [false, true]);
}

#[tokio::test(start_paused = true)]
async fn shared_objects_are_copied_and_kept() {
    let mut stage = Stage::new();
    let shared = key("", "Secret", "pull");
    let informed = Informed { shares: Some(shared.clone()), ..Informed::new(&stage) };
    stage.plugins = vec![Arc::new(informed)];
    run::start(stage.setup()).await.unwrap();
    assert!(stage.source.body(&shared).is_some(), "others may use it");
    assert!(stage.target.body(&shared).is_some());
}

#[tokio::test(start_paused = true)]
async fn objects_that_both_sides_drive_are_not_shared() {
    for (group, kind) in [("metal3.io", "BareMetalHost"), ("ipam.metal3.io", "IPPool")] {
        let mut stage = Stage::new();
        let informed = Informed { shares: Some(key(group, kind, "one")), ..Informed::new(&stage) };
        stage.plugins = vec![Arc::new(informed)];
        let before = picture(&stage.source);
        let stop = run::start(stage.setup()).await.unwrap_err();
        assert!(stop.to_string().contains("would act on"), "{stop}");
        assert_eq!(picture(&stage.source), before);
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_versions_are_refused_before_the_pause() {
    let mut stage = Stage::new();
    let informed = Informed { understands: "v1beta1", ..Informed::new(&stage) };
    stage.plugins = vec![Arc::new(informed)];
    let before = picture(&stage.source);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Refused, "{stop}");
    assert!(stop.to_string().contains("unsupported-version"), "{stop}");
    assert_eq!(picture(&stage.source), before);
    assert!(picture(&stage.target).is_empty());
}
