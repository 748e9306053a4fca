//! Objects that a GitOps tool applies to the source.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::records::record::Phase;
use pivot_core::{GroupKind, Key, KindLabels};
use pivot_engine::{Exit, Failure, Next};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::clusters::Notes;
use crate::stage::{CLUSTERS, Stage, body, is_record, key, kind, picture};
use crate::{handover, run};

const GROUP: &str = "kustomize.toolkit.fluxcd.io";

fn owner() -> Key {
    Key::new(GroupKind::new(GROUP, "Kustomization"), Some("flux-system"), "clusters")
}

/// A Cluster that Flux applied, whose labels its machine has, too.
fn stage() -> Stage {
    let stage = Stage::new();
    for (kind, name) in [("Cluster", "c"), ("Machine", "m0")] {
        let label = |body: &mut Value| {
            body["metadata"]["labels"] =
                json!({format!("{GROUP}/name"): "clusters", format!("{GROUP}/namespace"): "flux-system"});
        };
        stage.source.edit(&key(CLUSTERS, kind, name), label).unwrap();
    }
    stage
}

/// The stage, with the owner in the source.
pub(crate) fn stage_with_owner() -> Stage {
    let stage = stage();
    stage.source.add_kind(kind(GROUP, "Kustomization", "kustomizations", KindLabels::default()));
    stage.source.add_namespace("flux-system");
    let mut kustomization = body(GROUP, "Kustomization", "clusters", None);
    kustomization["metadata"]["namespace"] = json!("flux-system");
    stage.source.insert(kustomization).unwrap();
    stage
}

async fn move_with_notes(stage: &Stage) -> Arc<Notes> {
    let notes = Arc::new(Notes::default());
    let mut setup = stage.setup();
    setup.watcher = notes.clone();
    run::start(setup).await.unwrap();
    notes
}

async fn move_with_warnings(stage: &Stage) -> Vec<String> {
    move_with_notes(stage).await.lines_of("owners-unreadable")
}

#[tokio::test(start_paused = true)]
async fn active_owners_are_refused_until_suspended() {
    let stage = stage_with_owner();
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.passes()), (Exit::Refused, true), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before, "nothing is changed");
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    let [refusal] = &refusals[..] else { panic!("{refusals:?}") };
    assert_eq!((refusal.code, refusal.object.as_ref()), ("gitops-active", Some(&owner())));
    assert!(refusal.message.contains("Cluster ns/c, which move"), "{refusal}");
    let Remedy::Kubectl { command, .. } = &refusal.remedies[0] else { panic!("{refusal:?}") };
    let patch = serde_json::from_str(command.words.last().unwrap()).unwrap();
    let suspend = |body: &mut Value| pivot_core::objects::merge::apply_patch(body, &patch);
    stage.source.edit(&owner(), suspend).unwrap();
    assert_eq!(move_with_warnings(&stage).await, Vec::<String>::new());
    assert!(stage.source.body(&owner()).is_some());
}

#[tokio::test(start_paused = true)]
async fn active_owners_are_accepted_by_kind() {
    let mut stage = stage_with_owner();
    stage.options.accept.insert_kind(Risk::Gitops, owner().group_kind);
    run::start(stage.setup()).await.unwrap();
}

/// A definition whose conversion webhook is gone, for example.
#[tokio::test(start_paused = true)]
async fn accepted_owners_need_no_answer() {
    let mut stage = stage_with_owner();
    stage.source.on_call(|verb, key| {
        let is_owner = verb == "get" && key.group_kind.group == GROUP;
        is_owner.then(|| Fault::Before(PlaceError::Unavailable("no webhook".into())))
    });
    run::start(stage.setup()).await.unwrap_err();
    stage.options.accept.insert_kind(Risk::Gitops, owner().group_kind);
    let notes = move_with_notes(&stage).await;
    assert_eq!(notes.lines_of("owners-unreadable").len(), 1);
    assert!(notes.lines_of("risk-not-needed").is_empty(), "the risk was used");
}

fn suspend(source: &MemoryPlace, is_suspended: bool) {
    source.edit(&owner(), |body| body["spec"] = json!({"suspend": is_suspended})).unwrap();
}

/// Moves until an owner, which a user unsuspends meanwhile, stops the move.
async fn stop_by_owner() -> Stage {
    let stage = stage_with_owner();
    suspend(&stage.source, true);
    let source = stage.source.clone();
    stage.target.on_call(move |verb, key| {
        if verb == "create" && key.group_kind.kind == "Machine" {
            suspend(&source, false);
        }
        None
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PartWay, Some(Phase::Copied)), "{stop}");
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert_eq!(refusals[0].code, "gitops-active");
    assert_eq!(stop.next, [Next::Resume, Next::Rollback]);
    stage
}

#[tokio::test(start_paused = true)]
async fn owners_unsuspended_meanwhile_stop_before_commit() {
    let mut stage = stop_by_owner().await;
    let stop = run::plan(stage.setup()).await.unwrap_err();
    assert_eq!((stop.phase, stop.passes()), (Some(Phase::Copied), false), "no wait begins");
    assert_eq!(run::resume(stage.setup()).await.unwrap_err().exit, Exit::PartWay);
    stage.options.accept.insert_kind(Risk::Gitops, owner().group_kind);
    run::resume(stage.setup()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn moves_that_owners_stopped_roll_back() {
    let (stage, fresh) = (stop_by_owner().await, stage_with_owner());
    suspend(&fresh.source, false);
    run::rollback(stage.setup()).await.unwrap();
    assert_eq!(picture(&stage.source), picture(&fresh.source));
    assert!(picture(&stage.target).is_empty());
}

#[tokio::test(start_paused = true)]
async fn owners_unsuspended_meanwhile_stop_handovers() {
    let mut stage = stage_with_owner();
    suspend(&stage.source, true);
    let files = handover::handed_over(&stage).await;
    run::start(handover::importing(&stage, files.path())).await.unwrap();
    suspend(&stage.source, false);
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::resume(handover::imported(&stage)).await.unwrap_err();
    assert_eq!((handover::code(&stop), stop.exit), ("gitops-active", Exit::PartWay), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before, "nothing is changed");
    stage.options.accept.insert_kind(Risk::Gitops, owner().group_kind);
    run::resume(handover::imported(&stage)).await.unwrap();
    assert!(stage.source.body(&handover::cluster()).is_none());
}

/// The checks and the takeover can take minutes.
#[tokio::test(start_paused = true)]
async fn owners_unsuspended_during_takeover_stop_handovers() {
    let stage = stage_with_owner();
    suspend(&stage.source, true);
    let files = handover::handed_over(&stage).await;
    run::start(handover::importing(&stage, files.path())).await.unwrap();
    let source = stage.source.clone();
    // The copies are compared after the first look at the owners.
    stage.target.on_call(move |verb, key| {
        if verb == "list" && key.group_kind.kind == "Machine" {
            suspend(&source, false);
        }
        None
    });
    let stop = run::resume(handover::imported(&stage)).await.unwrap_err();
    assert_eq!((handover::code(&stop), stop.exit), ("gitops-active", Exit::PartWay), "{stop}");
    assert!(stage.source.body(&handover::cluster()).is_some());
}

/// A status that changed since the copy leads to a second pause, and to no change of a copy.
#[tokio::test(start_paused = true)]
async fn owners_unsuspended_during_second_pause_stop() {
    let stage = stage_with_owner();
    suspend(&stage.source, true);
    let (source, looks) = (stage.source.clone(), Arc::new(AtomicUsize::new(0)));
    let seen = looks.clone();
    stage.source.on_call(move |verb, key| {
        if verb == "get" && *key == owner() {
            seen.fetch_add(1, Ordering::Relaxed);
        }
        // After the looks before the pause and before the comparison.
        if verb.starts_with("list") && seen.load(Ordering::Relaxed) > 1 {
            suspend(&source, false);
        }
        None
    });
    let (source, machine) = (stage.source.clone(), key(CLUSTERS, "Machine", "m0"));
    stage.target.on_call(move |verb, key| {
        if verb == "create" && *key == machine {
            source.edit(&machine, |body| body["status"]["seen"] = json!(true)).unwrap();
        }
        None
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PartWay, Some(Phase::Copied)), "{stop}");
    assert_eq!((handover::code(&stop), looks.load(Ordering::Relaxed)), ("gitops-active", 3));
}

#[tokio::test(start_paused = true)]
async fn unreadable_owners_are_named_once() {
    let forbidden = stage_with_owner();
    forbidden.source.on_call(|verb, key| {
        let is_denied = verb == "get" && *key == owner();
        is_denied.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    for stage in [stage(), forbidden] {
        let warnings = move_with_warnings(&stage).await;
        let expected =
            "owners-unreadable: pivot-host doesn't find Kustomization flux-system/clusters in the source";
        assert!(warnings.len() == 1 && warnings[0].starts_with(expected), "{warnings:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn owners_unreadable_before_commit_are_named() {
    let stage = stage_with_owner();
    suspend(&stage.source, true);
    let asked = AtomicUsize::new(0);
    stage.source.on_call(move |verb, key| {
        let is_asked = verb == "get" && *key == owner();
        let is_denied = is_asked && asked.fetch_add(1, Ordering::SeqCst) > 0;
        is_denied.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    assert_eq!(move_with_warnings(&stage).await.len(), 1);
}

/// Helm charts set the label, too.
#[tokio::test(start_paused = true)]
async fn labelled_objects_without_application_are_no_finding() {
    let stage = Stage::new();
    stage.source.add_kind(kind("argoproj.io", "Application", "applications", KindLabels::default()));
    let label = |body: &mut Value| body["metadata"]["labels"] = json!({"app.kubernetes.io/instance": "shop"});
    stage.source.edit(&key(CLUSTERS, "Cluster", "c"), label).unwrap();
    assert_eq!(move_with_warnings(&stage).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn plain_clusters_cost_no_request() {
    let stage = Stage::new();
    stage.source.add_kind(kind(GROUP, "Kustomization", "kustomizations", KindLabels::default()));
    stage.source.on_call(|verb, key| {
        assert!(verb != "get" || key.group_kind.group != GROUP, "{key}");
        None
    });
    assert_eq!(move_with_warnings(&stage).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn owners_of_unpaused_clusters_are_suspected() {
    let stage = stage();
    let stop =
        stage.dies(|verb, key| verb == "patch" && is_record(key, "target"), |verb, _| verb == "patch").await;
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    let unpause = |body: &mut Value| body["spec"]["paused"] = json!(false);
    stage.source.edit(&key(CLUSTERS, "Cluster", "c"), unpause).unwrap();
    let stop = run::resume(stage.setup()).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    let remedy = refusals[0].remedies[0].by_hand().unwrap();
    assert!(remedy.contains("unpauses them (Kustomization flux-system/clusters?)"), "{remedy}");
}
