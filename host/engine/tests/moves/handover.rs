//! A source is handed over in a directory: it stays paused until another cluster that imported the directory has taken over, and
//! is then released as by any move; or it is rolled back.

use std::path::Path;
use std::sync::Arc;

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::records::record::Phase;
use pivot_core::{Key, Side};
use pivot_engine::{Exit, Failure, Next, Setup, Stop};
use pivot_memory::MemoryPlace;
use pivot_places::{DirectoryPlace, Identity, Place};
use serde_json::json;
use tempfile::TempDir;

use crate::crash::{at_every_write, die_at, nothing_of_ours, revive};
use crate::directories::{Life, Mortal};
use crate::importing;
use crate::run::{self, With};
use crate::seeds::distance_of_deaths;
use crate::stage::{CLUSTERS, Stage, claims, key, picture, under_way};

pub(crate) fn cluster() -> Key {
    key(CLUSTERS, "Cluster", "c")
}

/// The copy of a stage's source into a directory that takes over.
pub(crate) fn handing_over(stage: &Stage, dir: &Path) -> Setup {
    let mut setup = stage.setup();
    setup.sides.target = Arc::new(DirectoryPlace::to_write(dir).unwrap());
    setup.options.handover = true;
    setup
}

/// The import of such a directory: its manifest says that the source waits.
pub(crate) fn importing(stage: &Stage, dir: &Path) -> Setup {
    let mut setup = importing::importing(stage, dir);
    setup.options.scope.accept.remove(Risk::SourceMayRun);
    setup
}

/// The end of that, for the cluster that imported the directory.
pub(crate) fn imported(stage: &Stage) -> With {
    With { imported: true, ..stage.setup().into() }
}

/// A rollback by a user who says that nobody imported the directory.
pub(crate) fn not_imported(stage: &Stage) -> With {
    let mut setup = stage.setup();
    setup.options.accept.insert(Risk::MaybeImported);
    With::absent(Side::Target, setup)
}

pub(crate) async fn handed_over(stage: &Stage) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let report = run::start(handing_over(stage, dir.path())).await.unwrap();
    assert!(report.done.handed_over && report.done.moved.is_empty());
    dir
}

/// A stage whose source was handed over, and imported into its target.
pub(crate) async fn taken_over() -> (Stage, TempDir) {
    let stage = Stage::new();
    let dir = handed_over(&stage).await;
    run::start(importing(&stage, dir.path())).await.unwrap();
    (stage, dir)
}

pub(crate) fn code(stop: &Stop) -> &str {
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    refusals.first().unwrap().code
}

#[tokio::test(start_paused = true)]
async fn a_handover_killed_at_any_write_is_continued_by_the_same_command() {
    let straight = Stage::new();
    run::start(straight.setup()).await.unwrap();
    let mut deaths = 0;
    for acts in [false, true] {
        for n in (1..).step_by(distance_of_deaths()) {
            let (stage, dir, life) = (Stage::new(), tempfile::tempdir().unwrap(), Life::of(n, acts));
            life.ends(&stage.source);
            let mut setup = handing_over(&stage, dir.path());
            let directory = DirectoryPlace::to_write(dir.path()).unwrap();
            setup.sides.target = Arc::new(Mortal { directory, life: life.clone() });
            let ended = run::start(setup).await.is_ok();
            revive(&stage);
            let at = format!("write {n}, acts {acts}");
            complete_files_are_known(&stage, dir.path(), &at).await;
            if !ended && let Err(stop) = run::start(handing_over(&stage, dir.path())).await {
                // Only the answer to the last write was missing.
                assert!(stop.to_string().contains("handed this source over"), "{at}: {stop}");
            }
            assert_eq!(stage.source.body(&cluster()).unwrap()["spec"]["paused"], true, "{at}");
            run::start(importing(&stage, dir.path())).await.unwrap();
            run::resume(imported(&stage)).await.unwrap();
            assert_eq!(picture(&stage.source), picture(&straight.source), "{at}");
            assert_eq!(picture(&stage.target), picture(&straight.target), "{at}");
            assert!(nothing_of_ours(&stage.source), "{at}");
            if !life.died() {
                break;
            }
            deaths += distance_of_deaths();
        }
    }
    assert!(deaths > 40, "{deaths}");
}

/// Whoever finds complete files finds a source whose record says that it waits for their import.
async fn complete_files_are_known(stage: &Stage, dir: &Path, at: &str) {
    let Ok(files) = DirectoryPlace::to_read(dir) else { return };
    if files.manifest().is_none() {
        return;
    }
    let one = under_way(stage.setup()).await.unwrap();
    let Identity::Directory { contents, .. } = files.identify().await.unwrap() else { panic!("{at}") };
    assert_eq!(one.record.handed_over(), contents.as_ref(), "{at}");
}

fn nothing_in(dir: &Path) -> bool {
    std::fs::read_dir(dir).unwrap().next().is_none()
}

#[tokio::test(start_paused = true)]
async fn a_handover_killed_before_its_end_is_rolled_back() {
    let untouched = picture(&Stage::new().source);
    let (mut taken_back, mut declared) = (0, 0);
    for acts in [false, true] {
        for n in 1.. {
            let (stage, dir, life) = (Stage::new(), tempfile::tempdir().unwrap(), Life::of(n, acts));
            life.ends(&stage.source);
            let mut setup = handing_over(&stage, dir.path());
            let directory = DirectoryPlace::to_write(dir.path()).unwrap();
            setup.sides.target = Arc::new(Mortal { directory, life: life.clone() });
            let _ = run::start(setup).await;
            revive(&stage);
            if !life.died() {
                break;
            }
            let at = format!("write {n}, acts {acts}");
            complete_files_are_known(&stage, dir.path(), &at).await;
            let Some(one) = under_way(stage.setup()).await else { continue };
            let gone = With::absent(Side::Target, stage.setup());
            if one.record.handed_over().is_some() {
                let stop = run::rollback(gone).await.unwrap_err();
                assert!(matches!(stop.failure, Failure::MayBeImported { .. }), "{at}: {stop}");
                run::rollback(not_imported(&stage)).await.unwrap();
                declared += 1;
            } else {
                // Nobody can import files that are not complete.
                assert!(DirectoryPlace::to_read(dir.path()).is_err() || nothing_in(dir.path()), "{at}");
                run::rollback(gone).await.unwrap();
            }
            assert_eq!(picture(&stage.source), untouched, "{at}");
            assert!(nothing_of_ours(&stage.source), "{at}");
            taken_back += 1;
        }
    }
    assert!(taken_back > 30 && declared > 1, "{taken_back}, {declared}");
}

#[tokio::test(start_paused = true)]
async fn a_handover_is_rolled_back_by_those_who_say_that_nobody_imported_it() {
    let untouched = picture(&Stage::new().source);
    let stage = Stage::new();
    let dir = handed_over(&stage).await;
    let paused = picture(&stage.source);
    // A directory at hand may have been copied; a target that is gone may have imported it.
    let mut directory = stage.setup();
    directory.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
    let gone = With::absent(Side::Target, stage.setup());
    for with in [directory.clone().into(), gone] {
        let stop = run::rollback(with).await.unwrap_err();
        assert!(matches!(stop.failure, Failure::MayBeImported { .. }), "{stop}");
        assert_eq!((stop.exit, stop.remedies()), (Exit::Refused, vec![Remedy::NotImported]));
        assert_eq!(stop.next, [Next::FinishHandover, Next::CancelHandover]);
        assert_eq!(picture(&stage.source), paused);
    }
    run::rollback(not_imported(&stage)).await.unwrap();
    assert_eq!(picture(&stage.source), untouched);
    assert!(nothing_of_ours(&stage.source) && claims(&stage.source).is_empty());
    // With the directory at hand, that is emptied.
    let dir = handed_over(&stage).await;
    directory.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
    directory.options.accept.insert(Risk::MaybeImported);
    assert_eq!(run::rollback(directory).await.unwrap().removed, 12);
    assert_eq!((picture(&stage.source), std::fs::read_dir(dir.path()).unwrap().count()), (untouched, 0));
}

/// Both management clusters would act on the same machines.
// proves: D36, T126
#[tokio::test(start_paused = true)]
async fn a_source_whose_files_were_imported_is_not_resumed() {
    let declined = async |stage: &Stage| {
        let before = (picture(&stage.source), picture(&stage.target));
        for declared in [false, true] {
            let mut setup = stage.setup();
            if declared {
                setup.options.accept.insert(Risk::MaybeImported);
            }
            let stop = run::rollback(setup).await.unwrap_err();
            assert!(matches!(stop.failure, Failure::Imported(_)), "{stop}");
            assert_eq!((stop.exit, stop.next), (Exit::Refused, vec![Next::FinishHandover]));
            assert_eq!((picture(&stage.source), picture(&stage.target)), before);
        }
    };
    declined(&taken_over().await.0).await;
    // While it is being imported; and from a target that has forgotten.
    let stage = Stage::new();
    let dir = handed_over(&stage).await;
    die_at(&stage, 8, true);
    run::start(importing(&stage, dir.path())).await.unwrap_err();
    revive(&stage);
    declined(&stage).await;
    run::start(importing(&stage, dir.path())).await.unwrap();
    let summary = stage.target.keys().into_iter().find(|key| key.group_kind.kind == "ConfigMap").unwrap();
    stage.target.remove(&summary).unwrap();
    declined(&stage).await;
    // A cluster that has nothing of it proves nothing: they are in another one.
    let stage = Stage { target: Stage::empty().target, ..stage };
    let stop = run::rollback(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::MayBeImported { .. }), "{stop}");
    let mut declared = stage.setup();
    declared.options.accept.insert(Risk::MaybeImported);
    run::rollback(declared).await.unwrap();
    assert_eq!(picture(&stage.source), picture(&Stage::new().source));
}

#[tokio::test(start_paused = true)]
async fn a_rollback_of_a_handover_killed_at_any_write_ends_the_same() {
    let untouched = picture(&Stage::new().source);
    let deaths = at_every_write(
        async || {
            let stage = Stage::new();
            handed_over(&stage).await;
            (stage, ())
        },
        async |stage, ()| drop(run::rollback(not_imported(stage)).await),
        async |stage, (), at| {
            if let Some(one) = under_way(stage.setup()).await {
                // Who looks there whether to import the files must not read that the source waits, once it may run again.
                let runs = stage.source.body(&cluster()).unwrap()["spec"]["paused"] == json!(false);
                assert!(one.record.is_being_rolled_back() || !runs, "{at}");
                if one.record.is_being_rolled_back() {
                    let stop = run::resume(imported(stage)).await.unwrap_err();
                    assert_eq!((stop.exit, stop.next), (Exit::Refused, vec![Next::Rollback]));
                }
                run::rollback(not_imported(stage)).await.unwrap();
            }
            assert_eq!(picture(&stage.source), untouched, "{at}");
            assert!(nothing_of_ours_but_leases(&stage.source), "{at}");
        },
    )
    .await;
    assert!(deaths > 4, "{deaths}");
}

pub(crate) fn nothing_of_ours_but_leases(place: &MemoryPlace) -> bool {
    let leases: Vec<Key> = place.keys().into_iter().filter(|key| key.group_kind.kind == "Lease").collect();
    leases.iter().for_each(|key| place.remove(key).unwrap());
    nothing_of_ours(place)
}

#[tokio::test(start_paused = true)]
async fn nothing_else_is_done_with_a_source_that_was_handed_over() {
    let stage = Stage::new();
    let dir = handed_over(&stage).await;
    let before = (picture(&stage.source), picture(&stage.target));
    let again = tempfile::tempdir().unwrap();
    let mut without = handing_over(&stage, again.path());
    without.options.handover = false;
    let same = handing_over(&stage, dir.path());
    for stop in [
        run::start(handing_over(&stage, again.path())).await.unwrap_err(),
        run::start(same).await.unwrap_err(),
        run::start(without).await.unwrap_err(),
        run::start(stage.setup()).await.unwrap_err(),
        run::resume(stage.setup()).await.unwrap_err(),
    ] {
        assert!(
            matches!(&stop.failure, Failure::Declined(why) if why.contains("handed this source over")),
            "{stop}"
        );
        let cluster_given = stop.next.contains(&Next::FinishHandover);
        let next = if cluster_given {
            vec![Next::FinishHandover, Next::CancelHandover]
        } else {
            vec![Next::CancelHandover]
        };
        assert_eq!(
            (stop.exit, &stop.next, stop.to_string().contains(&dir.path().display().to_string())),
            (Exit::Refused, &next, true)
        );
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    }
    let mut everything = handing_over(&stage, again.path());
    everything.options.scope.namespaces = pivot_core::request::scope::Namespaces::All;
    let stop = run::start(everything).await.unwrap_err();
    assert!(stop.to_string().contains("is under way"), "{stop}");
    assert!(DirectoryPlace::to_read(dir.path()).unwrap().manifest().unwrap().handover);
}

/// The first run decides whether the source stays paused.
#[tokio::test(start_paused = true)]
async fn a_copy_and_a_handover_do_not_continue_each_other() {
    for handover in [false, true] {
        let (stage, dir, life) = (Stage::new(), tempfile::tempdir().unwrap(), Life::of(8, true));
        life.ends(&stage.source);
        let mut first = handing_over(&stage, dir.path());
        let directory = DirectoryPlace::to_write(dir.path()).unwrap();
        first.sides.target = Arc::new(Mortal { directory, life });
        first.options.handover = handover;
        run::start(first).await.unwrap_err();
        revive(&stage);
        let mut other = handing_over(&stage, dir.path());
        other.options.handover = !handover;
        let stop = run::start(other).await.unwrap_err();
        assert!(matches!(&stop.failure, Failure::Declined(why) if why.contains("was begun")), "{stop}");
        // A resume goes on as it was begun.
        let mut resumed = handing_over(&stage, dir.path());
        resumed.options.handover = false;
        assert_eq!(run::resume(resumed).await.unwrap().done.handed_over, handover);
        assert_eq!(stage.source.body(&cluster()).unwrap()["spec"]["paused"], handover);
    }
}

/// A change that only the deletes find stops the move after its commit.
#[tokio::test(start_paused = true)]
async fn changes_during_takeover_stop_before_commit() {
    let (stage, _files) = taken_over().await;
    let (source, machine) = (stage.source.clone(), key(CLUSTERS, "Machine", "m0"));
    // The copies are compared after the first look at the source.
    stage.target.on_call(move |verb, key| {
        if verb == "list" && key.group_kind.kind == "Machine" {
            source.edit(&machine, |body| body["spec"]["version"] = json!("v9")).unwrap();
        }
        None
    });
    let stop = run::resume(imported(&stage)).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PartWay, Some(Phase::Copied)), "{stop}");
    let Failure::Changed { object, fields } = &stop.failure else { panic!("{stop}") };
    assert_eq!(*object, key(CLUSTERS, "Machine", "m0"));
    assert!(fields.iter().all(|field| field.starts_with("spec")) && fields.len() == 1, "{fields:?}");
}

/// The target is in service while the handover waits: controllers there renew kubeconfigs.
#[tokio::test(start_paused = true)]
async fn accepted_changes_of_copied_secrets_stop_nothing() {
    let (mut stage, _files) = taken_over().await;
    let secret = key("", "Secret", "c-kubeconfig");
    stage.target.edit(&secret, |body| body["data"] = json!({"value": "cmVuZXdlZA=="})).unwrap();
    stage.options.accept.insert_kind(Risk::CopyChanged, secret.group_kind.clone());
    run::resume(imported(&stage)).await.unwrap();
    assert!(stage.source.body(&secret).is_none());
}
