//! Backups of a cluster that stays in service: everything of one version, paused in the files and nowhere else.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pivot_core::objects::names;
use pivot_core::records::backup::{BackupFacts, UnfinishedWork};
use pivot_engine::{Failure, Report, Setup, Stop, back_up, run};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{DirectoryPlace, Place, PlaceError, SnapshotPlace};
use serde_json::{Value, json};

use crate::committed::Warnings;
use crate::importing::importing;
use crate::plugins;
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, picture};

/// Backs up a source in memory, which no link can do.
async fn run_backup(stage: &Stage, path: &Path) -> Result<Report, Stop> {
    let mut setup = stage.setup();
    setup.sides.source = Arc::new(stage.source.clone());
    setup.sides.target = Arc::new(DirectoryPlace::to_write(path).unwrap());
    back_up(setup).await
}

fn facts(path: &Path) -> BackupFacts {
    DirectoryPlace::to_read(path).unwrap().manifest().unwrap().backup.clone().unwrap()
}

/// The file of an object.
pub(crate) fn file(path: &Path, kind: &str, name: &str) -> Value {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut bodies = entries.filter_map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).ok());
    bodies.find(|body: &Value| body["kind"] == kind && body["metadata"]["name"] == name).unwrap()
}

#[tokio::test(start_paused = true)]
async fn backups_pause_files_and_no_cluster() {
    let (stage, dir) = (Stage::new(), tempfile::tempdir().unwrap());
    let block = |body: &mut Value| body["metadata"]["annotations"] = json!({names::BLOCK_MOVE: "true"});
    stage.source.edit(&key(INFRA, "InfraMachine", "m0"), block).unwrap();
    let before = picture(&stage.source);
    run_backup(&stage, dir.path()).await.unwrap();
    assert_eq!((picture(&stage.source), stage.source.journal()), (before, Vec::new()));

    let cluster = file(dir.path(), "Cluster", "c");
    assert_eq!(cluster["spec"]["paused"], json!(true));
    assert!(cluster["metadata"]["annotations"].get(names::UNDO).is_some(), "{cluster}");
    let machine = file(dir.path(), "InfraMachine", "m0");
    assert!(machine["metadata"]["annotations"].get(names::BLOCK_MOVE).is_none(), "{machine}");
    let facts = facts(dir.path());
    assert_eq!(facts.unfinished, []);
    let kind = DirectoryPlace::to_read(dir.path()).unwrap().kinds().await.unwrap()[0].clone();
    let version = stage.source.list(&kind, None).await.unwrap().resource_version;
    assert_eq!(facts.resource_version, Some(version));
}

#[tokio::test(start_paused = true)]
async fn unfinished_work_is_in_the_manifest() {
    let stage = plugins::stage_of_stopping_check();
    let new = |body: &mut Value| body["status"] = json!({});
    stage.source.edit(&key(CLUSTERS, "Machine", "m0"), new).unwrap();
    let deleting = |body: &mut Value| body["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    stage.source.edit(&key(INFRA, "InfraMachine", "m1"), deleting).unwrap();
    let warnings = Arc::new(Warnings::default());
    let dir = tempfile::tempdir().unwrap();
    let mut setup = stage.setup();
    setup.sides.source = Arc::new(stage.source.clone());
    setup.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
    back_up(Setup { watcher: warnings.clone(), ..setup }).await.unwrap();
    let unfinished = facts(dir.path()).unfinished;
    let work: Vec<_> =
        unfinished.iter().map(|work| (work.code.as_str(), &work.cluster, &work.object)).collect();
    let cluster = &Some(key(CLUSTERS, "Cluster", "c"));
    let (machine, infra) = (Some(key(CLUSTERS, "Machine", "m0")), Some(key(INFRA, "InfraMachine", "m1")));
    let expected =
        [("seen", &None, &None), ("not-provisioned", cluster, &machine), ("being-deleted", cluster, &infra)];
    assert_eq!(work, expected);
    assert_eq!(unfinished[0].message, "plugin hosts: seen");
    let deleted = file(dir.path(), "InfraMachine", "m1");
    assert!(deleted["metadata"].get("deletionTimestamp").is_none(), "{deleted}");
    assert!(
        warnings.0.lock().unwrap().iter().any(|text| text.contains("Machine ns/m0 is not provisioned yet"))
    );
    // The plugin's hold is in the files, so that a restore can end it.
    let host = file(dir.path(), "Host", "h0");
    assert!(host["metadata"]["annotations"].get(names::UNDO).is_some(), "{host}");
}

/// Only the end of that move removes its pause, and a restore comes when its source is lost.
#[tokio::test(start_paused = true)]
async fn pauses_of_other_moves_refuse_backups() {
    let (stage, dir) = (Stage::new(), tempfile::tempdir().unwrap());
    let paused = |body: &mut Value| {
        body["spec"]["paused"] = json!(true);
        body["metadata"]["annotations"] = json!({names::UNDO: "{}"});
    };
    stage.source.edit(&key(CLUSTERS, "Cluster", "c"), paused).unwrap();
    let stop = run_backup(&stage, dir.path()).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop:?}") };
    assert_eq!(refusals[0].code, "paused-by-other-move");
}

/// Runs a backup during which the source changes before each of the first lists at one version.
async fn run_expiring_backup(expiring: usize, path: &Path) -> (Result<Report, Stop>, usize) {
    let (stage, lists, snapshots) = (Stage::new(), AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let (source, taken) = (stage.source.clone(), snapshots.clone());
    stage.source.on_call(move |verb, _| {
        if verb == "list-version" {
            taken.fetch_add(1, Ordering::SeqCst);
        }
        let list = if verb == "list-snapshot" { lists.fetch_add(1, Ordering::SeqCst) } else { usize::MAX };
        if list < expiring {
            source
                .edit(&key(CLUSTERS, "Machine", "m0"), |body| body["spec"] = json!({"list": list}))
                .unwrap();
        }
        None
    });
    (run_backup(&stage, path).await, snapshots.load(Ordering::SeqCst) / 4)
}

#[tokio::test(start_paused = true)]
async fn expired_versions_start_a_backup_over() {
    let dir = tempfile::tempdir().unwrap();
    let (result, snapshots) = run_expiring_backup(1, dir.path()).await;
    result.unwrap();
    assert_eq!(snapshots, 2);
    assert!(facts(dir.path()).resource_version.is_some());
    // After three attempts, plain lists are compared with later ones.
    let dir = tempfile::tempdir().unwrap();
    let (result, snapshots) = run_expiring_backup(usize::MAX, dir.path()).await;
    result.unwrap();
    assert_eq!((snapshots, facts(dir.path()).resource_version), (3, None));
}

/// Backs up a source that lists nothing at one version, and changes it during each of the first lists of InfraMachines. Returns what
/// the manifest lists, and how often InfraMachines were listed.
async fn back_up_with_plain_lists(
    changes: usize,
    change: impl Fn(&MemoryPlace) + Send + Sync + 'static,
    path: &Path,
) -> (Vec<UnfinishedWork>, usize) {
    let (stage, lists) = (Stage::new(), Arc::new(AtomicUsize::new(0)));
    let (source, counted) = (stage.source.clone(), lists.clone());
    stage.source.on_call(move |verb, key| {
        if verb == "list"
            && key.group_kind.kind == "InfraMachine"
            && counted.fetch_add(1, Ordering::SeqCst) < changes
        {
            change(&source);
        }
        let refused =
            || Fault::Before(PlaceError::Unsupported("source".into(), "list at one version".into()));
        (verb == "list-version").then(refused)
    });
    run_backup(&stage, path).await.unwrap();
    let BackupFacts { resource_version, unfinished, .. } = facts(path);
    assert_eq!(resource_version, None);
    (unfinished, lists.load(Ordering::SeqCst))
}

#[tokio::test(start_paused = true)]
async fn changed_clusters_are_read_again_or_named() {
    let edit = |place: &MemoryPlace| {
        let next = |body: &mut Value| {
            body["spec"]["n"] = json!(body["spec"]["n"].as_u64().unwrap_or_default() + 1);
        };
        place.edit(&key(CLUSTERS, "Machine", "m0"), next).unwrap();
    };
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(back_up_with_plain_lists(2, edit, dir.path()).await, (Vec::new(), 3));
    let dir = tempfile::tempdir().unwrap();
    let (unfinished, lists) = back_up_with_plain_lists(usize::MAX, edit, dir.path()).await;
    assert_eq!(lists, 5);
    let machine = key(CLUSTERS, "Machine", "m0");
    let expected = UnfinishedWork {
        cluster: Some(key(CLUSTERS, "Cluster", "c")),
        message: format!("{machine} changed while it was read"),
        object: Some(machine),
        code: "changed-while-read".into(),
    };
    assert_eq!(unfinished, [expected]);
}

/// A list that was read before lacks the new Machine, and a list that is read afterwards counts it.
#[tokio::test(start_paused = true)]
async fn new_objects_of_clusters_start_a_backup_over() {
    let dir = tempfile::tempdir().unwrap();
    let create = |place: &MemoryPlace| {
        drop(place.insert(body(CLUSTERS, "Machine", "late", Some((CLUSTERS, "Cluster", "c")))));
    };
    let (unfinished, lists) = back_up_with_plain_lists(1, create, dir.path()).await;
    assert_eq!(lists, 2);
    assert!(unfinished.iter().all(|work| work.code != "changed-while-read"), "{unfinished:?}");
    assert_eq!(file(dir.path(), "Machine", "late")["metadata"]["name"], "late");
}

/// The files lack an object that appears during the last attempt. A restore warns of its Cluster.
#[tokio::test(start_paused = true)]
async fn restores_warn_of_clusters_that_changed() {
    let dir = tempfile::tempdir().unwrap();
    let create = |place: &MemoryPlace| {
        let name = format!("late{}", place.keys().len());
        let mut machine = body(CLUSTERS, "Machine", &name, Some((CLUSTERS, "Cluster", "c")));
        machine["status"] = json!({"nodeRef": {"name": name}});
        place.insert(machine).unwrap();
    };
    let (unfinished, lists) = back_up_with_plain_lists(usize::MAX, create, dir.path()).await;
    assert_eq!(lists, 5);
    let changed: Vec<_> = unfinished.iter().filter(|work| work.code == "changed-while-read").collect();
    assert_eq!((changed.len(), &changed[0].cluster), (1, &Some(key(CLUSTERS, "Cluster", "c"))));
    let (result, _, told) = restore(dir.path()).await;
    result.unwrap();
    assert!(told.contains("work was under way on Cluster ns/c"), "{told}");
    assert!(told.contains(&changed[0].message), "{told}");
}

/// Objects that don't move change all the time.
#[tokio::test(start_paused = true)]
async fn changes_of_other_objects_are_no_changes() {
    let edit = |place: &MemoryPlace| {
        let next = |body: &mut Value| {
            let length = body["data"]["p"].as_str().map_or(0, str::len);
            body["data"]["p"] = json!("eQ==".repeat(length / 4 + 1));
        };
        place.edit(&key("", "Secret", "pull"), next).unwrap();
    };
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(back_up_with_plain_lists(usize::MAX, edit, dir.path()).await, (Vec::new(), 1));
}

/// Objects that were deleted since must not stay in the files, and objects of two versions must not be in one backup.
#[tokio::test(start_paused = true)]
async fn repeated_backup_starts_over() {
    let (stage, dir) = (Stage::new(), tempfile::tempdir().unwrap());
    run_backup(&stage, dir.path()).await.unwrap();
    let refused = run_backup(&stage, dir.path()).await.unwrap_err();
    assert!(refused.failure.to_string().contains("choose a new directory"), "{}", refused.failure);
    // A run died before it wrote the manifest.
    let manifest = dir.path().join("manifest.json");
    let move_id = DirectoryPlace::to_read(dir.path()).unwrap().manifest().unwrap().move_id.clone();
    std::fs::write(dir.path().join(".pivot-host.json"), json!({"moveId": move_id}).to_string()).unwrap();
    std::fs::remove_file(manifest).unwrap();
    for gone in [key(INFRA, "InfraMachine", "m1"), key(CLUSTERS, "Machine", "m1")] {
        stage.source.remove(&gone).unwrap();
    }
    run_backup(&stage, dir.path()).await.unwrap();
    let read = DirectoryPlace::to_read(dir.path()).unwrap();
    for kind in read.kinds().await.unwrap() {
        let names = read.list(&kind, None).await.unwrap().objects;
        assert!(names.iter().all(|object| object.meta.name != "m1"), "{}", kind.group_kind);
    }
}

#[tokio::test(start_paused = true)]
async fn snapshots_are_read_only() {
    let stage = Stage::new();
    let kinds = stage.source.kinds().await.unwrap();
    let cluster = kinds.iter().find(|kind| kind.group_kind.kind == "Cluster").unwrap();
    let place = Arc::new(stage.source.clone());
    let snapshot = SnapshotPlace::take(place, std::slice::from_ref(cluster), None).await.unwrap();
    let key = key(CLUSTERS, "Cluster", "c");
    assert_eq!(snapshot.get(cluster, &key).await.unwrap().unwrap().key(), key);
    let refused = snapshot.delete(cluster, &key, &Default::default()).await;
    assert!(matches!(refused, Err(PlaceError::Unsupported(..))), "{refused:?}");
    assert!(snapshot.watch(cluster, None, "1").await.is_err());
    stage.source.edit(&key, |body| body["spec"] = json!({})).unwrap();
    assert!(matches!(snapshot.list(cluster, None).await, Err(PlaceError::Expired(_))));
}

/// Otherwise a backup would take the objects of such a place for unchanged.
#[tokio::test]
async fn places_without_first_lists_find_no_changes() {
    let found = Stage::new().source.find_changed().await;
    assert!(matches!(found, Err(PlaceError::Unsupported(..))), "{found:?}");
}

/// Someone removed a definition between the lists.
#[tokio::test(start_paused = true)]
async fn objects_of_removed_kinds_are_gone() {
    let stage = Stage::new();
    let kinds = stage.source.kinds().await.unwrap();
    let pools = kinds.iter().find(|kind| kind.group_kind.kind == "Pool").unwrap();
    let snapshot = SnapshotPlace::of_first_lists(Arc::new(stage.source.clone()));
    snapshot.list(pools, None).await.unwrap();
    stage.source.on_call(|verb, _| {
        (verb == "list-meta").then(|| Fault::Before(PlaceError::NotFound("pools".into())))
    });
    let changes = snapshot.find_changed().await.unwrap();
    assert_eq!((changes.changed.len(), changes.gone), (0, vec![key(INFRA, "Pool", "p")]));
}

/// Backs up a source with a Machine that has no node yet and a Cluster that a user paused.
async fn back_up_unfinished_work(path: &Path) {
    let stage = Stage::new();
    let new = |body: &mut Value| body["status"] = json!({});
    stage.source.edit(&key(CLUSTERS, "Machine", "m0"), new).unwrap();
    let paused = |body: &mut Value| body["spec"]["paused"] = json!(true);
    stage.source.edit(&key(CLUSTERS, "Cluster", "c"), paused).unwrap();
    run_backup(&stage, path).await.unwrap();
}

/// Restores a backup into an empty target, and returns the warnings.
async fn restore(path: &Path) -> (Result<Report, Stop>, Stage, String) {
    let (stage, warnings) = (Stage::empty(), Arc::new(Warnings::default()));
    let setup = Setup { watcher: warnings.clone(), ..importing(&stage, path) };
    let result = run::start(setup).await;
    let told = warnings.0.lock().unwrap().join("\n");
    (result, stage, told)
}

#[tokio::test(start_paused = true)]
async fn restores_accept_listed_unfinished_work() {
    let dir = tempfile::tempdir().unwrap();
    back_up_unfinished_work(dir.path()).await;
    let (result, stage, told) = restore(dir.path()).await;
    result.unwrap();
    let listed = "work was under way on Cluster ns/c when the source was backed up: ";
    let line = told.lines().find(|line| line.starts_with(listed)).unwrap_or_else(|| panic!("{told}"));
    for message in ["Machine ns/m0 is not provisioned yet: it has no node", "Cluster ns/c is paused already"]
    {
        assert!(line.contains(message), "{line}");
    }
    // A user's pause stays with the user.
    assert_eq!(stage.target.body(&key(CLUSTERS, "Cluster", "c")).unwrap()["spec"]["paused"], json!(true));
}

/// The list names objects and not risks: other objects of the same files need a user's word as before.
#[tokio::test(start_paused = true)]
async fn restores_refuse_unlisted_unfinished_work() {
    let dir = tempfile::tempdir().unwrap();
    back_up_unfinished_work(dir.path()).await;
    let path = dir.path().join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let listed = manifest["backup"]["unfinished"].as_array_mut().unwrap();
    listed.retain(|work| work["code"] != "not-provisioned");
    assert_eq!(listed.len(), 1);
    std::fs::write(&path, manifest.to_string()).unwrap();
    let (result, stage, _) = restore(dir.path()).await;
    let stop = result.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop:?}") };
    let refused: Vec<_> = refusals.iter().map(|refusal| (refusal.code, refusal.object.clone())).collect();
    assert_eq!(refused, [("not-provisioned", Some(key(CLUSTERS, "Machine", "m0")))]);
    assert!(stage.target.body(&key(CLUSTERS, "Cluster", "c")).is_none());
}

/// Only a server that refuses the version of a list is read without; another refusal is reported as it is.
#[tokio::test(start_paused = true)]
async fn other_refusals_keep_their_reason() {
    let version = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for list";
    for (text, is_version) in [(version, true), ("unable to decode the label selector", false)] {
        let (stage, dir) = (Stage::new(), tempfile::tempdir().unwrap());
        stage.source.on_call(move |verb, _| {
            (verb == "list-snapshot").then(|| Fault::Before(PlaceError::Invalid(text.into())))
        });
        match run_backup(&stage, dir.path()).await {
            Ok(_) => assert!(is_version && facts(dir.path()).resource_version.is_none()),
            Err(stop) => assert!(!is_version && stop.failure.to_string().contains(text), "{stop:?}"),
        }
    }
}
