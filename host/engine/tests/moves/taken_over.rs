//! A source that was handed over in a directory is released once the cluster that imported the directory has taken over.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::records::record::Phase;
use pivot_core::request::scope::Namespaces;
use pivot_core::{GroupKind, Key};
use pivot_engine::{Exit, Failure, Next, Stop};
use pivot_places::DirectoryPlace;
use serde_json::{Value, json};

use crate::crash::{die_at, nothing_of_ours, revive};
use crate::directories::{Life, Mortal, keys};
use crate::handover::{
    cluster, code, handed_over, handing_over, imported, importing, nothing_of_ours_but_leases, taken_over,
};
use crate::importing::{self, exported};
use crate::mapped::map;
use crate::run;
use crate::seeds::{distance_of_deaths, is_brief};
use crate::stage::{CLUSTERS, INFRA, Stage, body, claims, key, picture, under_way};

/// What somebody does to an object.
type Edit = fn(&mut Value);

fn remedies(stop: &Stop) -> Vec<Remedy> {
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    refusals.iter().flat_map(|refusal| refusal.remedies.clone()).collect()
}

/// Nothing runs in the source, and whatever it lost is in the target.
fn at_rest_and_nothing_lost(stage: &Stage, before: &[Key], at: &str) {
    for key in before {
        match stage.source.body(key) {
            Some(body) if key.group_kind.kind == "Cluster" => {
                assert_eq!(body["spec"]["paused"], true, "{at}: {key} runs in the source");
            }
            Some(_) => {}
            None => assert!(stage.target.body(key).is_some(), "{at}: {key} is lost"),
        }
    }
}

// proves: D35
#[tokio::test(start_paused = true)]
async fn a_source_is_released_once_another_cluster_has_imported_its_files() {
    let straight = Stage::new();
    run::start(straight.setup()).await.unwrap();
    let stage = Stage::new();
    let before = stage.source.keys();
    let dir = handed_over(&stage).await;
    at_rest_and_nothing_lost(&stage, &before, "handed over");
    assert!(picture(&Stage::empty().target) == picture(&stage.target), "nothing is imported yet");
    let waiting = under_way(stage.setup()).await.unwrap();
    assert_eq!((waiting.record.phase, claims(&stage.source).len()), (Phase::Copied, 1));
    assert!(waiting.record.handed_over().is_some());
    let told = waiting.record.handover.unwrap();
    assert_eq!(told.directory, format!("directory {}", dir.path().display()));
    assert!(told.written_at.starts_with("20") && told.written_at.ends_with('Z'), "{}", told.written_at);

    run::start(importing(&stage, dir.path())).await.unwrap();
    at_rest_and_nothing_lost(&stage, &before, "imported");
    assert_eq!(stage.source.keys().iter().filter(|key| key.namespace.as_deref() == Some("ns")).count(), 13);
    let report = run::resume(imported(&stage)).await.unwrap();
    assert_eq!(report.move_id, waiting.record.move_id);
    assert_eq!(report.done.moved.values().sum::<usize>(), 12);
    assert_eq!(picture(&stage.source), picture(&straight.source));
    assert_eq!(picture(&stage.target), picture(&straight.target));
    assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target));
    assert!(under_way(stage.setup()).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_release_after_an_import_killed_at_any_write_ends_the_same() {
    let straight = Stage::new();
    run::start(straight.setup()).await.unwrap();
    let mut deaths = 0;
    for acted in [false, true] {
        for n in (1..).step_by(distance_of_deaths()) {
            let (stage, _dir) = taken_over().await;
            let before: Vec<Key> = stage
                .source
                .keys()
                .into_iter()
                .filter(|key| key.namespace.as_deref() == Some("ns"))
                .collect();
            let calls = die_at(&stage, n, acted);
            let ended = run::resume(imported(&stage)).await.is_ok();
            let died = calls.load(Ordering::SeqCst) >= n;
            revive(&stage);
            let at = format!("write {n}, acted {acted}");
            at_rest_and_nothing_lost(&stage, &before, &at);
            if !ended && let Some(one) = under_way(stage.setup()).await {
                // Whatever it is called: past the commit it is a move like any other.
                let again =
                    if one.record.phase.is_committed() { stage.setup().into() } else { imported(&stage) };
                let again = run::resume(again).await;
                assert!(again.is_ok(), "{at}: {}", again.unwrap_err());
            }
            assert_eq!(picture(&stage.source), picture(&straight.source), "{at}");
            assert_eq!(picture(&stage.target), picture(&straight.target), "{at}");
            assert!(nothing_of_ours_but_leases(&stage.source) && nothing_of_ours(&stage.target), "{at}");
            if !died {
                break;
            }
            deaths += distance_of_deaths();
        }
    }
    assert!(deaths > 40, "{deaths}");
}

// proves: T83
#[tokio::test(start_paused = true)]
async fn what_changed_after_it_was_copied_is_not_deleted() {
    let changes: [(Key, Edit); 2] = [
        (key(INFRA, "InfraMachine", "m0"), |body| body["spec"]["big"] = json!(1)),
        (key("", "Secret", "m0-bootstrap"), |body| body["data"]["value"] = json!("bmV3")),
    ];
    for (changed, change) in changes {
        let (stage, _dir) = taken_over().await;
        let then = stage.source.body(&changed).unwrap();
        stage.source.edit(&changed, change).unwrap();
        let (source, target) = (picture(&stage.source), picture(&stage.target));
        let stop = run::resume(imported(&stage)).await.unwrap_err();
        assert!(matches!(&stop.failure, Failure::Changed { object, .. } if *object == changed), "{stop}");
        assert_eq!((stop.exit, stop.next), (Exit::PartWay, vec![Next::FinishHandover]));
        assert!(stop.state.contains("stays paused"), "{}", stop.state);
        assert_eq!((picture(&stage.source), picture(&stage.target)), (source, target));
        // Back in the state that was copied, it goes.
        stage.source.edit(&changed, |body| *body = Value::clone(&then)).unwrap();
        run::resume(imported(&stage)).await.unwrap();
        assert!(stage.source.body(&changed).is_none());
    }
}

/// Status and finalizers are written to what is paused, too.
#[tokio::test(start_paused = true)]
async fn what_controllers_touch_while_the_source_waits_is_released() {
    let (stage, _dir) = taken_over().await;
    let touch = |body: &mut Value| {
        body["status"]["seen"] = json!(1);
        body["metadata"]["finalizers"] = json!(["another/finalizer"]);
    };
    stage.source.edit(&key(CLUSTERS, "Machine", "m0"), touch).unwrap();
    run::resume(imported(&stage)).await.unwrap();
    assert!(nothing_of_ours(&stage.source));
}

/// Each of these is found before anything is written.
#[tokio::test(start_paused = true)]
async fn a_target_that_has_not_taken_over_releases_nothing() {
    let refused = async |stage: &Stage| {
        let before = (picture(&stage.source), picture(&stage.target));
        let stop = run::resume(imported(stage)).await.unwrap_err();
        assert_eq!(stop.exit, Exit::PartWay, "{stop}");
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
        stop
    };
    // Nobody imported anything; or other files.
    let stage = Stage::new();
    let dir = handed_over(&stage).await;
    let stop = refused(&stage).await;
    assert_eq!((code(&stop), stop.next.clone()), ("import-not-found", vec![Next::FinishHandover]));
    let other = exported(&Stage::new()).await;
    run::start(importing::importing(&stage, other.path())).await.unwrap();
    assert_eq!(code(&refused(&stage).await), "import-not-found");
    // The import has not ended.
    let stage = Stage { target: Stage::empty().target, ..stage };
    die_at(&stage, 8, true);
    run::start(importing(&stage, dir.path())).await.unwrap_err();
    revive(&stage);
    let stop = refused(&stage).await;
    assert_eq!((code(&stop), stop.next.clone()), ("import-under-way", vec![Next::FinishHandover]));
    run::start(importing(&stage, dir.path())).await.unwrap();
    // A copy is gone; another object has its name; the mark is of another move.
    let copy = key(INFRA, "Pool", "p");
    let there = stage.target.body(&copy).unwrap();
    stage.target.remove(&copy).unwrap();
    assert_eq!(code(&refused(&stage).await), "copy-gone");
    stage.target.insert(body(INFRA, "Pool", "p", None)).unwrap();
    assert_eq!(code(&refused(&stage).await), "copy-replaced");
    stage.target.edit(&copy, |body| *body = Value::clone(&there)).unwrap();
    let machine = key(CLUSTERS, "Machine", "m0");
    let there = stage.target.body(&machine).unwrap();
    stage
        .target
        .edit(&machine, |body| body["metadata"]["annotations"][names::MARK] = json!("another"))
        .unwrap();
    assert_eq!(code(&refused(&stage).await), "copy-replaced");
    stage.target.edit(&machine, |body| *body = Value::clone(&there)).unwrap();
    // Somebody resumed the source by hand.
    stage.source.edit(&cluster(), |body| body["spec"]["paused"] = json!(false)).unwrap();
    assert_eq!(code(&refused(&stage).await), "pause-undone");
    stage.source.edit(&cluster(), |body| body["spec"]["paused"] = json!(true)).unwrap();
    // Something new in the source would be collected with its owner.
    let mut new = body(CLUSTERS, "Machine", "m2", Some((CLUSTERS, "Cluster", "c")));
    new["metadata"]["creationTimestamp"] = json!("2100-01-01T00:00:00Z");
    stage.source.insert(new).unwrap();
    refused(&stage).await;
    stage.source.remove(&key(CLUSTERS, "Machine", "m2")).unwrap();
    run::resume(imported(&stage)).await.unwrap();
}

// proves: T83
#[tokio::test(start_paused = true)]
async fn controllers_of_the_importing_cluster_have_to_show_that_they_took_over() {
    let (mut stage, _dir) = taken_over().await;
    stage.options.accept.remove(Risk::TakeoverUnchecked);
    stage.options.takeover_timeout = Duration::from_secs(60);
    let deleted = |stage: &Stage| stage.source.body(&cluster()).is_none();
    let stop = run::resume(imported(&stage)).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::NotTakenOver(_)), "{stop}");
    // It can still be rolled back.
    assert_eq!((stop.exit, deleted(&stage), stop.next), (Exit::PartWay, false, vec![Next::FinishHandover]));
    // They wrote long ago, when the copies were made: there is nothing new to write about a cluster that is well.
    for kind_and_name in [("Cluster", "c"), ("Machine", "m0"), ("Machine", "m1")] {
        let copy = key(CLUSTERS, kind_and_name.0, kind_and_name.1);
        let source = stage.source.body(&copy).unwrap();
        let write = |body: &mut Value| {
            let time = body["metadata"]["creationTimestamp"].clone();
            body["status"] = source["status"].clone();
            body["metadata"]["managedFields"] =
                json!([{"manager": "manager", "operation": "Update", "subresource": "status", "time": time}]);
        };
        stage.target.edit(&copy, write).unwrap();
    }
    run::resume(imported(&stage)).await.unwrap();
    assert!(deleted(&stage));
}

/// What is deleted in the source has to be in the target: each copy that is not as it was is named, with what differs.
// proves: T83
#[tokio::test(start_paused = true)]
async fn a_copy_that_differs_releases_nothing_until_that_is_accepted() {
    let changes: [(Key, Edit, &str); 5] = [
        (key(INFRA, "InfraMachine", "m0"), |body| body["spec"]["big"] = json!(1), "spec.big"),
        (key(CLUSTERS, "Machine", "m0"), |body| body["metadata"]["labels"] = json!({}), "metadata.labels"),
        (key(CLUSTERS, "Machine", "m1"), |body| body["spec"] = json!({}), "spec."),
        (key("", "Secret", "m0-bootstrap"), |body| body["data"] = json!({"value": "bmV3"}), "data.value"),
        (
            cluster(),
            |body| body["metadata"]["annotations"]["site"] = json!("other"),
            "metadata.annotations.site",
        ),
    ];
    let stage = Stage::new();
    stage.source.edit(&cluster(), |body| body["metadata"]["annotations"]["site"] = json!("one")).unwrap();
    for machine in ["m0", "m1"] {
        let add = |body: &mut Value| {
            body["metadata"]["labels"]["of"] = json!("c");
            body["spec"]["version"] = json!("v1.30.0");
        };
        stage.source.edit(&key(CLUSTERS, "Machine", machine), add).unwrap();
    }
    let dir = handed_over(&stage).await;
    run::start(importing(&stage, dir.path())).await.unwrap();
    for (changed, change, _) in &changes {
        stage.target.edit(changed, change).unwrap();
    }
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::resume(imported(&stage)).await.unwrap_err();
    assert_eq!(
        (stop.exit, code(&stop), stop.next.clone()),
        (Exit::PartWay, "copy-differs", vec![Next::FinishHandover])
    );
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    let named: BTreeSet<&Key> = refusals[0].object.iter().chain(&refusals[0].others).collect();
    assert_eq!(named, changes.iter().map(|(changed, ..)| changed).collect());
    for (changed, _, field) in &changes {
        let described = format!("{changed} ({field}");
        assert!(refusals[0].message.contains(&described), "{described} is not in {}", refusals[0].message);
    }
    assert!(!stop.to_string().contains("bmV3"), "no value is quoted");
    let all: BTreeSet<GroupKind> = changes.iter().map(|(changed, ..)| changed.group_kind.clone()).collect();
    assert!(remedies(&stop).ends_with(&[Remedy::AcceptChanged { kinds: all.into_iter().collect() }]));
    // Each kind is accepted by name.
    let mut accepting = imported(&stage);
    let kinds: BTreeSet<GroupKind> = changes.iter().map(|(changed, ..)| changed.group_kind.clone()).collect();
    accepting.setup.options.accept.insert_kinds(Risk::CopyChanged, kinds.iter().skip(1).cloned());
    let accepted = [Remedy::AcceptChanged { kinds: kinds.iter().take(1).cloned().collect() }];
    let stop = run::resume(accepting.clone()).await.unwrap_err();
    assert_eq!(code(&stop), "copy-differs");
    assert!(remedies(&stop).ends_with(&accepted), "{:?}", remedies(&stop));
    accepting.setup.options.accept.insert_kinds(Risk::CopyChanged, kinds);
    run::resume(accepting).await.unwrap();
    assert!(nothing_of_ours(&stage.source) && stage.source.body(&cluster()).is_none());
}

/// Rollouts replace Machines in a cluster that is in service.
/// Of the files another run may have imported a part only.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_missing_where_files_were_imported_is_not_accepted_by_kind() {
    let (stage, _dir) = taken_over().await;
    let cluster = key(CLUSTERS, "Cluster", "c");
    stage.target.remove(&cluster).unwrap();
    let before = picture(&stage.source);
    let mut accepting = imported(&stage);
    accepting
        .setup
        .options
        .accept
        .insert_kinds(Risk::CopyChanged, stage.source.keys().into_iter().map(|key| key.group_kind));
    let stop = run::resume(accepting).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert_eq!(refusals.iter().map(|refusal| refusal.code).collect::<Vec<_>>(), ["copy-gone"]);
    assert_eq!(refusals[0].object.as_ref(), Some(&cluster));
    assert_eq!(refusals[0].remedies.len(), 1, "{:?}", refusals[0].remedies);
    assert_eq!(picture(&stage.source), before);
}

#[tokio::test(start_paused = true)]
async fn copies_that_are_gone_are_accepted_by_kind_and_a_death_does_not_forget_it() {
    let gone = key(CLUSTERS, "Machine", "m0");
    let mut deaths = 0;
    for n in (1..).step_by(distance_of_deaths()) {
        let (stage, _dir) = taken_over().await;
        stage.target.remove(&gone).unwrap();
        let stop = run::resume(imported(&stage)).await.unwrap_err();
        assert_eq!(code(&stop), "copy-gone");
        assert!(remedies(&stop).contains(&Remedy::AcceptChanged { kinds: [gone.group_kind.clone()].into() }));
        let mut accepting = imported(&stage);
        accepting.setup.options.accept.insert_kind(Risk::CopyChanged, gone.group_kind.clone());
        let calls = die_at(&stage, n, true);
        let ended = run::resume(accepting.clone()).await.is_ok();
        revive(&stage);
        if !ended && let Some(one) = under_way(stage.setup()).await {
            let again = if one.record.phase.is_committed() { stage.setup().into() } else { accepting };
            run::resume(again).await.unwrap();
        }
        assert!(stage.source.body(&gone).is_none() && stage.source.body(&cluster()).is_none(), "write {n}");
        if calls.load(Ordering::SeqCst) < n {
            break;
        }
        deaths += distance_of_deaths();
    }
    assert!(deaths > 20, "{deaths}");
    // Before the commit nothing in the target can have been deleted on purpose.
    let stage = Stage::new();
    die_at(&stage, 8, true);
    run::start(stage.setup()).await.unwrap_err();
    revive(&stage);
    let mut other = stage.setup();
    other.options.accept.insert_kind(Risk::CopyChanged, gone.group_kind);
    let stop = run::resume(other).await.unwrap_err();
    assert!(matches!(&stop.failure, Failure::Declined(why) if why.contains("is not committed")), "{stop}");
}

/// The owner tells whose an object is, also where nobody asks whether the owner is as it was.
#[tokio::test(start_paused = true)]
async fn copies_are_told_by_their_owners_although_those_are_accepted_by_kind() {
    let (stage, _dir) = taken_over().await;
    let machine = key(CLUSTERS, "Machine", "m0");
    let infra = key(INFRA, "InfraMachine", "m0");
    // Written anew by its controller.
    let anew = |body: &mut Value| {
        drop(body["metadata"]["annotations"].as_object_mut().unwrap().remove("pivot-host.io/move"))
    };
    stage.target.edit(&infra, anew).unwrap();
    let mut accepting = imported(&stage);
    accepting.setup.options.accept.insert_kind(Risk::CopyChanged, machine.group_kind.clone());
    run::resume(accepting).await.unwrap();
    assert!(stage.source.body(&infra).is_none() && stage.source.body(&cluster()).is_none());
}

/// With the source deleted, nothing would act on the machines.
#[tokio::test(start_paused = true)]
async fn a_target_whose_copies_are_paused_releases_nothing() {
    let (stage, _dir) = taken_over().await;
    stage.target.edit(&cluster(), |body| body["spec"]["paused"] = json!(true)).unwrap();
    let stop = run::resume(imported(&stage)).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert_eq!((code(&stop), &refusals[0].object), ("copy-paused", &Some(cluster())));
    stage.target.edit(&cluster(), |body| body["spec"]["paused"] = json!(false)).unwrap();
    run::resume(imported(&stage)).await.unwrap();
    // What a user had paused stays paused.
    let stage = Stage::new();
    stage.source.edit(&cluster(), |body| body["spec"]["paused"] = json!(true)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut out = handing_over(&stage, dir.path());
    out.options.scope.accept.insert(Risk::AlreadyPaused);
    run::start(out).await.unwrap();
    let mut into = importing(&stage, dir.path());
    into.options.scope.accept.insert(Risk::AlreadyPaused);
    run::start(into).await.unwrap();
    run::resume(imported(&stage)).await.unwrap();
    assert_eq!(stage.target.body(&cluster()).unwrap()["spec"]["paused"], true);
}

#[tokio::test(start_paused = true)]
async fn a_source_is_handed_over_in_encrypted_files() {
    let straight = Stage::new();
    run::start(straight.setup()).await.unwrap();
    for n in (1..).step_by(3) {
        let (stage, dir, life) = (Stage::new(), tempfile::tempdir().unwrap(), Life::of(n, true));
        let encrypting = |life: Life| {
            let mut setup = stage.setup();
            setup.options.handover = true;
            let directory = DirectoryPlace::to_encrypt(dir.path(), keys().1).unwrap();
            setup.sides.target = Arc::new(Mortal { directory, life });
            setup
        };
        life.ends(&stage.source);
        let ended = run::start(encrypting(life.clone())).await.is_ok();
        revive(&stage);
        if !ended && let Err(stop) = run::start(encrypting(Life::of(usize::MAX, true))).await {
            assert!(stop.to_string().contains("handed this source over"), "write {n}: {stop}");
        }
        let mut into = stage.setup();
        into.sides.source = Arc::new(DirectoryPlace::to_decrypt(dir.path(), keys().0).unwrap());
        run::start(into).await.unwrap();
        run::resume(imported(&stage)).await.unwrap();
        assert_eq!(
            (picture(&stage.source), picture(&stage.target)),
            (picture(&straight.source), picture(&straight.target))
        );
        if !life.died() {
            break;
        }
    }
}

/// Files that somebody changed are not those in which the source was handed over: another source may stand behind them.
// proves: T80
#[tokio::test(start_paused = true)]
async fn files_that_were_changed_need_the_word_that_their_source_is_off() {
    let stage = Stage::new();
    let dir = handed_over(&stage).await;
    std::fs::write(
        dir.path().join("more.yaml"),
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: ns}}",
    )
    .unwrap();
    let stop = run::start(importing(&stage, dir.path())).await.unwrap_err();
    assert_eq!((code(&stop), remedies(&stop)), ("source-may-live-on", vec![Remedy::SourceIsOff]));
}

/// The Secret by which the runs find the target.
#[tokio::test(start_paused = true)]
async fn the_way_to_the_target_is_deleted_last() {
    let way = key("", "Secret", "m0-bootstrap");
    let (straight, _dir) = taken_over().await;
    run::resume(imported(&straight)).await.unwrap();
    let (mut deaths, mut alone) = (0, 0);
    for acted in [false, true] {
        for n in (1..).step_by(distance_of_deaths()) {
            let (stage, _dir) = taken_over().await;
            let resuming = || {
                let mut resuming = imported(&stage);
                resuming.setup.options.found_by = Some(way.clone());
                resuming
            };
            let calls = die_at(&stage, n, acted);
            let _ = run::resume(resuming()).await;
            revive(&stage);
            stage.source.collect_garbage();
            let moved =
                |key: &Key| key.namespace.as_deref() == Some("ns") && straight.source.body(key).is_none();
            let left: Vec<Key> = stage.source.keys().into_iter().filter(moved).collect();
            assert!(left.is_empty() || left.contains(&way), "write {n}, acted {acted}: {left:?}");
            alone += usize::from(left == [way.clone()]);
            if let Some(one) = under_way(stage.setup()).await {
                let again = if one.record.phase.is_committed() { stage.setup().into() } else { resuming() };
                run::resume(again).await.unwrap();
            }
            assert_eq!(picture(&stage.source), picture(&straight.source), "write {n}, acted {acted}");
            if calls.load(Ordering::SeqCst) < n {
                break;
            }
            deaths += distance_of_deaths();
        }
    }
    assert!(deaths > 40 && (alone > 0 || is_brief()), "{deaths}, {alone}");
}

/// The files have the target's names already; the source's record knows both.
#[tokio::test(start_paused = true)]
async fn a_source_is_handed_over_under_another_namespace() {
    let mut stage = Stage::new();
    let refers = |body: &mut Value| {
        body["spec"]["infrastructureRef"] = json!({"kind": "InfraCluster", "name": "c", "namespace": "ns"});
    };
    stage.source.edit(&cluster(), refers).unwrap();
    stage.options.scope.namespace_map = map(&[("ns", "prod")]);
    let dir = handed_over(&stage).await;
    let mut into = importing(&stage, dir.path());
    into.options.scope.namespaces = Namespaces::One("prod".to_owned());
    into.options.scope.namespace_map = map(&[]);
    run::start(into).await.unwrap();
    let there = Key { namespace: Some("prod".to_owned()), ..key(INFRA, "InfraMachine", "m0") };
    let before = stage.target.body(&there).unwrap();
    stage.target.edit(&there, |body| body["spec"]["big"] = json!(1)).unwrap();
    let stop = run::resume(imported(&stage)).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert_eq!((code(&stop), &refusals[0].object), ("copy-differs", &Some(there.clone())));
    stage.target.edit(&there, |body| *body = Value::clone(&before)).unwrap();
    run::resume(imported(&stage)).await.unwrap();
    assert!(nothing_of_ours(&stage.source) && stage.source.body(&cluster()).is_none());
    let cluster = stage.target.body(&Key { namespace: Some("prod".to_owned()), ..cluster() }).unwrap();
    assert_eq!(cluster["spec"]["infrastructureRef"]["namespace"], "prod");
}
