//! Risks that a run accepts for itself: those that it had no use for are reported at its end.

use std::sync::{Arc, Mutex};

use pivot_core::GroupKind;
use pivot_core::messages::risk::Risk;
use pivot_engine::{Event, Setup, Stop, Watcher};
use pivot_places::DirectoryPlace;
use serde_json::{Value, json};

use crate::crash::{die_at, revive};
use crate::handover::{handed_over, imported, not_imported, taken_over};
use crate::run::{self, With};
use crate::stage::{CLUSTERS, INFRA, Stage, body, key};

#[derive(Default)]
struct Unneeded(Mutex<Vec<String>>);

impl Watcher for Unneeded {
    fn event(&self, event: Event) {
        if let Event::Warning { code, text, .. } = event
            && code == "risk-not-needed"
        {
            self.0.lock().unwrap().push(text);
        }
    }
}

/// The command's result, and the warnings of risks that were not needed.
async fn observe<T, F>(setup: Setup, command: impl FnOnce(Setup) -> F) -> (T, String)
where
    F: Future<Output = Result<T, Stop>>,
{
    let unneeded = Arc::new(Unneeded::default());
    let result = command(Setup { watcher: unneeded.clone(), ..setup }).await.unwrap();
    let warnings = unneeded.0.lock().unwrap().join("\n");
    (result, warnings)
}

fn machine() -> GroupKind {
    GroupKind::new(CLUSTERS, "Machine")
}

fn pool() -> GroupKind {
    GroupKind::new(INFRA, "Pool")
}

#[tokio::test(start_paused = true)]
async fn risks_without_use_are_reported() {
    let mut stage = Stage::new();
    let accept = &mut stage.options.accept;
    accept.insert(Risk::ExistingDiffers);
    accept.insert(Risk::PauseUnchecked);
    accept.insert(Risk::PluginsChanged);
    accept.insert_kinds(Risk::Unverified, [machine(), GroupKind::new(INFRA, "Host")]);
    // Nothing is paused for a plan.
    let (_, planned) = observe(stage.setup(), run::plan).await;
    let of_plan =
        "not needed: existing-differs, unverified=Host.infrastructure.cluster.x-k8s.io, plugins-changed";
    assert_eq!(planned, of_plan);
    let (_, moved) = observe(stage.setup(), run::start).await;
    let of_move = of_plan.replace("unverified", "pause-unchecked, unverified");
    assert_eq!(moved, of_move);
}

#[tokio::test(start_paused = true)]
async fn risks_that_a_run_used_are_not_reported() {
    let mut stage = Stage::new();
    stage.options.accept.insert(Risk::ExistingDiffers);
    stage.options.accept.insert(Risk::PauseUnchecked);
    stage.options.accept.insert_kind(Risk::Unverified, pool());
    let says = json!({"nodeRef": {"name": "m0"}, "conditions": [{"type": "Paused", "status": "False"}]});
    stage.source.edit(&key(CLUSTERS, "Machine", "m0"), |body| body["status"] = says).unwrap();
    let mut class = body(CLUSTERS, "ClusterClass", "class", None);
    let edit = |body: &mut Value| body["spec"] = json!({"side": "source"});
    stage.source.edit(&key(CLUSTERS, "ClusterClass", "class"), edit).unwrap();
    class["spec"] = json!({"side": "target"});
    stage.target.add_namespace("ns").insert(class).unwrap();
    let (_, moved) = observe(stage.setup(), run::start).await;
    assert_eq!(moved, "");
}

#[tokio::test(start_paused = true)]
async fn a_copy_into_a_directory_has_no_takeover() {
    let (stage, directory) = (Stage::new(), tempfile::tempdir().unwrap());
    let mut setup = stage.setup();
    setup.sides.target = Arc::new(DirectoryPlace::to_write(directory.path()).unwrap());
    let (_, copied) = observe(setup, run::start).await;
    assert_eq!(copied, "not needed: takeover-unchecked");
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_reports_its_own_risks() {
    let mut stage = Stage::new();
    stage.options.stop_before_release = true;
    run::start(stage.setup()).await.unwrap_err();
    stage.options.stop_before_release = false;
    stage.target.remove(&key(INFRA, "Pool", "p")).unwrap();
    stage.options.accept.insert(Risk::PauseUnchecked);
    stage.options.accept.insert(Risk::PluginsChanged);
    stage.options.accept.insert_kinds(Risk::CopyChanged, [machine(), pool()]);
    let (_, resumed) = observe(stage.setup(), run::resume).await;
    assert_eq!(resumed, "not needed: plugins-changed, copy-changed=Machine.cluster.x-k8s.io");
}

/// An earlier run of the same command may have used it.
#[tokio::test(start_paused = true)]
async fn repeated_move_judges_no_risk_of_its_run() {
    let mut stage = Stage::new();
    stage.options.accept.insert(Risk::PauseUnchecked);
    stage.options.stop_before_release = true;
    run::start(stage.setup()).await.unwrap_err();
    stage.options.stop_before_release = false;
    let (_, moved) = observe(stage.setup(), run::start).await;
    assert_eq!(moved, "");
}

#[tokio::test(start_paused = true)]
async fn changed_copies_of_an_import_use_their_kind() {
    let (stage, _directory) = taken_over().await;
    let change = |body: &mut Value| body["metadata"]["labels"] = json!({});
    stage.target.edit(&key(CLUSTERS, "Machine", "m0"), change).unwrap();
    stage.target.remove(&key(INFRA, "Pool", "p")).unwrap();
    let mut with = imported(&stage);
    let kinds = [machine(), pool(), GroupKind::new(INFRA, "InfraMachine")];
    with.setup.options.accept.insert_kinds(Risk::CopyChanged, kinds);
    let (_, finished) = observe(with.setup.clone(), |setup| run::resume(With { setup, ..with })).await;
    assert_eq!(finished, "not needed: copy-changed=InfraMachine.infrastructure.cluster.x-k8s.io");
}

#[tokio::test(start_paused = true)]
async fn rollback_needs_maybe_imported_after_handover() {
    let stage = Stage::new();
    let _directory = handed_over(&stage).await;
    let canceling = not_imported(&stage);
    let (_, canceled) =
        observe(canceling.setup.clone(), |setup| run::rollback(With { setup, ..canceling })).await;
    assert_eq!(canceled, "");
    let stage = Stage::new();
    die_at(&stage, 8, true);
    run::start(stage.setup()).await.unwrap_err();
    revive(&stage);
    let mut setup = stage.setup();
    setup.options.accept.insert(Risk::MaybeImported);
    let (_, rolled_back) = observe(setup, run::rollback).await;
    assert_eq!(rolled_back, "not needed: maybe-imported");
}
