//! From a directory into a cluster: as safe and as resumable as between clusters, with lock and record in the target.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pivot_core::names;
use pivot_engine::{Exit, Failure, Setup, run};
use pivot_places::{DirectoryPlace, MemoryPlace};
use serde_json::{Value, json};

use crate::crash::{die_at, nothing_of_ours, revive};
use crate::stage::{CLUSTERS, Stage, key, picture};

/// What a stage's source holds, in a directory.
async fn exported(stage: &Stage) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut setup = stage.setup();
    setup.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
    run::start(setup).await.unwrap();
    dir
}

/// The move of a directory into a stage's target.
fn importing(stage: &Stage, dir: &Path) -> Setup {
    let mut setup = stage.setup();
    setup.sides.source = Arc::new(DirectoryPlace::to_read(dir).unwrap());
    setup.options.scope.source_is_off = true;
    setup
}

#[tokio::test(start_paused = true)]
async fn a_directory_ends_where_a_move_between_clusters_does() {
    let straight = Stage::new();
    run::start(straight.setup()).await.unwrap();
    let dir = exported(&Stage::new()).await;
    let stage = Stage::empty();
    let report = run::start(importing(&stage, dir.path())).await.unwrap();
    assert_eq!(picture(&stage.target), picture(&straight.target));
    assert!(nothing_of_ours(&stage.target));
    assert!(report.done.moved.is_empty(), "nothing was taken from the files");
}

#[tokio::test(start_paused = true)]
async fn files_of_what_may_still_run_are_refused() {
    let dir = exported(&Stage::new()).await;
    let stage = Stage::empty();
    let before = picture(&stage.target);
    let mut setup = importing(&stage, dir.path());
    setup.options.scope.source_is_off = false;
    let stop = run::start(setup).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert_eq!(refusals.iter().map(|refusal| refusal.code).collect::<Vec<_>>(), ["source-may-live-on"]);
    assert_eq!((stop.exit, picture(&stage.target)), (Exit::Refused, before));
}

/// A copy that ran before the commit would run beside whatever the files are a copy of.
#[tokio::test(start_paused = true)]
async fn copies_are_paused_until_all_are_there() {
    let dir = exported(&Stage::new()).await;
    let stage = Stage::empty();
    let cluster = key(CLUSTERS, "Cluster", "c");
    let (seen, target) = (cluster.clone(), stage.target.clone());
    stage.target.on_call(move |verb, _| {
        if verb == "create"
            && let Some(cluster) = target.body(&seen)
        {
            assert_eq!(cluster["spec"]["paused"], true);
        }
        None
    });
    run::start(importing(&stage, dir.path())).await.unwrap();
    assert_eq!(stage.target.body(&cluster).unwrap()["spec"]["paused"], false);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_its_user_paused_stays_paused() {
    let mut stage = Stage::new();
    stage.options.scope.move_paused = true;
    stage.source.edit(&key(CLUSTERS, "Cluster", "c"), |body| body["spec"]["paused"] = json!(true)).unwrap();
    let dir = exported(&stage).await;
    let mut stage = Stage::empty();
    stage.options.scope.move_paused = true;
    run::start(importing(&stage, dir.path())).await.unwrap();
    assert_eq!(stage.target.body(&key(CLUSTERS, "Cluster", "c")).unwrap()["spec"]["paused"], true);
}

/// Of a run that dies at each write in turn: what becomes of the stage afterwards.
async fn killed_at_each_write(dir: &Path, then: impl AsyncFn(&Stage, &str)) -> usize {
    let mut deaths = 0;
    for acted in [false, true] {
        for n in 1.. {
            let stage = Stage::empty();
            let calls = die_at(&stage, n, acted);
            let _ = run::start(importing(&stage, dir)).await;
            let died = calls.load(Ordering::SeqCst) >= n;
            revive(&stage);
            if !died {
                break;
            }
            then(&stage, &format!("write {n}, acted {acted}")).await;
            deaths += 1;
        }
    }
    deaths
}

#[tokio::test(start_paused = true)]
async fn killed_at_any_write_it_is_resumed_to_the_same_end() {
    let dir = exported(&Stage::new()).await;
    let whole = Stage::empty();
    run::start(importing(&whole, dir.path())).await.unwrap();
    let target = picture(&whole.target);
    let deaths = killed_at_each_write(dir.path(), async |stage, at| {
        let over = finished(&stage.target);
        let again = run::start(importing(stage, dir.path())).await;
        assert!(again.is_ok() || over, "{at}: {}", again.unwrap_err());
        assert_eq!(picture(&stage.target), target, "{at}");
        assert!(nothing_of_ours(&stage.target), "{at}");
    })
    .await;
    assert!(deaths > 40, "{deaths}");
}

#[tokio::test(start_paused = true)]
async fn killed_before_its_commit_it_is_rolled_back_to_nothing() {
    let dir = exported(&Stage::new()).await;
    let empty = picture(&Stage::empty().target);
    let taken_back = std::sync::atomic::AtomicUsize::new(0);
    killed_at_each_write(dir.path(), async |stage, at| {
        match run::rollback(importing(stage, dir.path())).await {
            Ok(_) => {
                assert_eq!(picture(&stage.target), empty, "{at}");
                assert!(nothing_of_ours(&stage.target), "{at}");
                taken_back.fetch_add(1, Ordering::SeqCst);
            }
            // Nothing was begun, or there is no way back.
            Err(stop) => assert!(matches!(stop.exit, Exit::Empty | Exit::Refused), "{at}: {stop}"),
        }
    })
    .await;
    assert!(taken_back.load(Ordering::SeqCst) > 20, "{taken_back:?}");
}

/// A move that is under way from files is about those files.
#[tokio::test(start_paused = true)]
async fn other_files_do_not_continue_it_and_take_it_back() {
    let dir = exported(&Stage::new()).await;
    let stage = Stage::empty();
    die_at(&stage, 8, true);
    let stop = run::start(importing(&stage, dir.path())).await.unwrap_err();
    assert_eq!(stop.exit, Exit::PartWay, "{stop}");
    assert!(stop.standing.starts_with("the files are as they were"), "{}", stop.standing);
    revive(&stage);
    change(dir.path());
    for again in
        [run::start(importing(&stage, dir.path())).await, run::resume(importing(&stage, dir.path())).await]
    {
        let stop = again.unwrap_err();
        assert!(matches!(&stop.failure, Failure::Declined(why) if why.contains("other files")), "{stop}");
    }
    run::rollback(importing(&stage, dir.path())).await.unwrap();
    assert_eq!(picture(&stage.target), picture(&Stage::empty().target));
    run::start(importing(&stage, dir.path())).await.unwrap();
}

/// Somebody edits a Machine in the directory.
fn change(dir: &Path) {
    let path = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let machine = path.into_iter().find(|path| path.to_string_lossy().contains("Machine")).unwrap();
    let mut body: Value = serde_json::from_slice(&std::fs::read(&machine).unwrap()).unwrap();
    body["spec"]["edited"] = json!(true);
    std::fs::write(machine, body.to_string()).unwrap();
}

fn finished(place: &MemoryPlace) -> bool {
    let left = |key: &pivot_core::Key| {
        place.body(key).unwrap()["metadata"]["labels"].get("pivot-host.io/finished").is_some()
    };
    place.keys().iter().any(left)
}

/// `clusterctl move --to-directory` pauses each Cluster and class, leaves no note of it, and names its files so.
#[tokio::test(start_paused = true)]
async fn what_clusterctl_paused_is_resumed() {
    let straight = Stage::new();
    run::start(straight.setup()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let source = Stage::new();
    for key in source.source.keys().into_iter().filter(|key| key.name != "pull" && key.namespace.is_some()) {
        let mut body = source.source.body(&key).unwrap();
        match key.group_kind.kind.as_str() {
            "Cluster" => body["spec"]["paused"] = json!(true),
            "ClusterClass" => body["metadata"]["annotations"] = json!({names::PAUSED: "true"}),
            _ => {}
        }
        let name = format!("{}_{}_{}.yaml", key.group_kind.kind, key.namespace.unwrap_or_default(), key.name);
        std::fs::write(dir.path().join(name), format!("{body}\n")).unwrap();
    }
    let stage = Stage::empty();
    run::start(importing(&stage, dir.path())).await.unwrap();
    let (mut there, mut here) = (picture(&straight.target), picture(&stage.target));
    // clusterctl writes it back as it unpauses; absent is not paused.
    for picture in [&mut there, &mut here] {
        let cluster = picture.values_mut().find(|body| body["kind"] == "Cluster").unwrap();
        cluster["spec"].as_object_mut().unwrap().remove("paused");
    }
    assert_eq!(here, there);
}
