//! What others do to a move that is committed: to its source, to its target, to its records.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::records::record::Phase;
use pivot_core::{Key, KindLabels, Side};
use pivot_engine::Setup;
use pivot_engine::{Event, Exit, Failure, Next, Stop, Watcher};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::json;

use crate::recovered::{is_paused, other, two_clusters};
use crate::run::{self, With};
use crate::stage::{CLUSTERS, INFRA, Stage, body, claims, is_record, key, kind, picture, under_way};
use crate::trouble::{code, half_committed, live, with_a_shared_class};

fn unreachable(place: &MemoryPlace) {
    place.on_call(|_, _| Some(Fault::Before(PlaceError::Unavailable("no route".into()))));
}

fn paused(place: &MemoryPlace) -> bool {
    place.body(&key(CLUSTERS, "Cluster", "c")).unwrap()["spec"]["paused"] == true
}

/// A move that is committed, and died before it unpaused anything in the target.
async fn committed() -> Stage {
    let stage = commit(Stage::new()).await;
    assert!(paused(&stage.source) && paused(&stage.target));
    stage
}

/// The same of any stage.
pub(crate) async fn commit(stage: Stage) -> Stage {
    let seen = Arc::new(AtomicUsize::new(0));
    stage.source.on_call({
        let seen = seen.clone();
        move |verb, key| {
            // For Paused, for Copied, for Committed.
            if verb == "patch" && is_record(key, "source") {
                seen.fetch_add(1, Ordering::SeqCst);
            }
            None
        }
    });
    stage.target.on_call(move |verb, key| {
        let dead =
            verb == "patch" && seen.load(Ordering::SeqCst) >= 1 && key.group_kind.kind.starts_with("Cluster");
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PastCommit, Some(Phase::Live)), "{stop}");
    stage.source.on_call(|_, _| None);
    stage.target.on_call(|_, _| None);
    stage
}

#[tokio::test(start_paused = true)]
async fn a_wrong_target_says_nothing_of_a_committed_move() {
    for other_knows_another_move in [false, true] {
        let mut stage = live().await;
        let right = std::mem::replace(&mut stage.target, Stage::empty().target);
        if other_knows_another_move {
            stage.target = live().await.target;
        }
        let before = picture(&stage.source);
        let claimed = claims(&stage.source);
        assert_eq!(claimed.len(), 1);
        let stops = [
            run::resume(stage.setup()).await.unwrap_err(),
            run::rollback(stage.setup()).await.unwrap_err(),
            run::start(stage.setup()).await.unwrap_err(),
            run::plan(stage.setup()).await.unwrap_err(),
        ];
        for stop in stops {
            assert_eq!(stop.exit, Exit::Refused, "{stop}");
            assert!(
                stop.to_string().contains("another target than the given one: name the right one"),
                "{stop}"
            );
            assert_eq!(stop.next, [Next::Status], "{stop}");
        }
        assert!(under_way(stage.setup()).await.unwrap().elsewhere);
        assert_eq!(picture(&stage.source), before);
        assert_eq!(claims(&stage.source), claimed, "the move still keeps others out");
        stage.target = right;
        assert!(!under_way(stage.setup()).await.unwrap().elsewhere);
        run::resume(stage.setup()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn status_works_with_the_one_side_that_answers() {
    let stage = live().await;
    unreachable(&stage.target);
    let status = run::status(stage.setup()).await.unwrap();
    assert!(matches!(status.silent, Some((Side::Target, _))), "{status:?}");
    assert!(
        matches!(status.moves.as_slice(), [one] if one.decides == Side::Source && one.record.phase == Phase::Committed),
        "{status:?}"
    );
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.next), (Exit::Unreachable, vec![Next::Status]));

    stage.target.on_call(|_, _| None);
    unreachable(&stage.source);
    let status = run::status(stage.setup()).await.unwrap();
    assert!(matches!(status.silent, Some((Side::Source, _))), "{status:?}");
    assert!(
        matches!(status.moves.as_slice(), [one] if one.decides == Side::Target && one.record.phase == Phase::Released),
        "{status:?}"
    );

    unreachable(&stage.target);
    let stop = run::status(stage.setup()).await.unwrap_err();
    assert!(stop.next.is_empty(), "it can't name itself: {:?}", stop.next);
}

#[tokio::test(start_paused = true)]
async fn a_target_is_not_unpaused_if_its_source_was() {
    let stage = committed().await;
    stage.source.edit(&key(CLUSTERS, "Cluster", "c"), |b| b["spec"]["paused"] = json!(false)).unwrap();
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, code(&stop)), (Exit::PastCommit, "pause-undone"), "{stop}");
    assert!(paused(&stage.target));
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_undo_annotation_is_gone_in_the_source_is_still_unpaused_in_the_target() {
    let stage = committed().await;
    for (kind, name) in [("Cluster", "c"), ("ClusterClass", "class")] {
        let forget = |b: &mut serde_json::Value| {
            b["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO);
        };
        stage.source.edit(&key(CLUSTERS, kind, name), forget).unwrap();
    }
    run::resume(stage.setup()).await.unwrap();
    let there = |kind, name| stage.target.body(&key(CLUSTERS, kind, name)).unwrap();
    assert!(!paused(&stage.target));
    assert_eq!(there("ClusterClass", "class")["metadata"]["annotations"].get(names::PAUSED), None);
}

/// What people are warned of.
#[derive(Default)]
pub(crate) struct Warnings(pub(crate) Mutex<Vec<String>>);

impl Watcher for Warnings {
    fn event(&self, event: Event) {
        if let Event::Warning { text, .. } = event {
            self.0.lock().unwrap().push(text);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn copies_without_an_undo_annotation_stay_paused_until_named() {
    for named in [false, true] {
        let mut stage = committed().await;
        stage.options.accept.insert(Risk::TakeoverUnchecked);
        let forget = |b: &mut serde_json::Value| {
            b["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO);
        };
        stage.target.edit(&key(CLUSTERS, "Cluster", "c"), forget).unwrap();
        let warnings = Arc::new(Warnings::default());
        let setup = Setup { watcher: warnings.clone(), ..stage.setup() };
        let cluster = key(CLUSTERS, "Cluster", "c");
        let names: &[&Key] = if named { &[&cluster] } else { &[] };
        run::resume(With::unpause(setup, names)).await.unwrap();
        assert_eq!(paused(&stage.target), !named);
        let told = warnings.0.lock().unwrap().join("\n");
        assert_eq!(told.contains("Cluster ns/c in the target is still paused"), !named, "{told}");
        assert!(!told.contains("by hand"), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn rollbacks_end_once_clusters_without_undo_are_named() {
    let notes: [fn(&mut serde_json::Map<String, serde_json::Value>); 2] = [
        |annotations| drop(annotations.remove(names::UNDO)),
        |annotations| drop(annotations.insert(names::UNDO.into(), json!("rewritten"))),
    ];
    for lose in notes {
        let stage = Stage::new();
        stage.target.on_call(|verb, key| {
            (verb == "create" && key.name == "m1").then(|| Fault::Before(PlaceError::Forbidden("no".into())))
        });
        assert_eq!(run::start(stage.setup()).await.unwrap_err().exit, Exit::PartWay);
        let cluster = key(CLUSTERS, "Cluster", "c");
        stage.source.edit(&cluster, |b| lose(b["metadata"]["annotations"].as_object_mut().unwrap())).unwrap();
        let stop = run::rollback(stage.setup()).await.unwrap_err();
        let Failure::UndoLost { clusters } = &stop.failure else { panic!("{stop}") };
        assert_eq!((clusters, stop.exit), (&vec![cluster.clone()], Exit::PartWay));
        assert_eq!(stop.remedies(), [Remedy::NameClusterToUnpause { cluster }], "{stop}");
        assert_eq!(stop.next, [Next::Rollback]);
        assert!(paused(&stage.source) && picture(&stage.target).is_empty());
        let other = key(CLUSTERS, "Cluster", "other");
        let stop = run::rollback(With::unpause(stage.setup(), &[&other])).await.unwrap_err();
        assert!(matches!(stop.failure, Failure::NoCluster { .. }), "{stop}");
        run::rollback(With::unpause(stage.setup(), &[&key(CLUSTERS, "Cluster", "c")])).await.unwrap();
        assert!(!paused(&stage.source) && under_way(stage.setup()).await.is_none());
    }
}

/// An operator who believes that the target is empty may use it again, with paused copies in it.
#[tokio::test(start_paused = true)]
async fn rollback_without_target_claims_no_empty_target() {
    let stage = Stage::new();
    stage.target.on_call(|verb, key| {
        (verb == "create" && key.name == "m1").then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    assert_eq!(run::start(stage.setup()).await.unwrap_err().exit, Exit::PartWay);
    let cluster = key(CLUSTERS, "Cluster", "c");
    let forget = |b: &mut serde_json::Value| {
        b["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO);
    };
    stage.source.edit(&cluster, forget).unwrap();
    let (copies, warnings) = (picture(&stage.target), Arc::new(Warnings::default()));
    let setup = Setup { watcher: warnings.clone(), ..stage.setup() };
    let stop = run::rollback(With::absent(Side::Target, setup)).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::UndoLost { .. }), "{stop}");
    assert!(!copies.is_empty() && picture(&stage.target) == copies);
    assert!(warnings.0.lock().unwrap().join("\n").contains("left its copies in the target"));
    assert!(stop.state.ends_with("the target may hold copies, paused"), "{}", stop.state);
    assert_eq!(stop.next, [Next::Rollback]);
    // With the target, the rollback removes them.
    let stop = run::rollback(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::UndoLost { .. }) && picture(&stage.target).is_empty(), "{stop}");
    assert!(stop.state.ends_with("nothing is in the target"), "{}", stop.state);
}

/// A field manager and its time tell a move that takes paused Clusters, too, which pauses are its own.
#[tokio::test(start_paused = true)]
async fn lost_undo_is_found_among_paused_clusters() {
    let by = |manager: &str, time: &str| {
        let fields = json!({"f:spec": {"f:paused": {}}});
        json!([{"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields}])
    };
    let (before, since) = ("2025-12-31T00:00:00Z", "2026-11-25T10:00:00Z");
    let (c, ours) = (key(CLUSTERS, "Cluster", "c"), names::FIELD_MANAGER);
    let unclear = "Cluster ns/c in the source stays paused: nothing shows that this move paused it";
    let theirs = "(field manager kubectl-edit set spec.paused), although it was named";
    // Whether the command names it, whether the rollback ends, whether the Cluster runs then, and a warning.
    for (managers, named, ends, runs, expected) in [
        (by(ours, since), false, false, false, ""),
        (by(ours, since), true, true, true, ""),
        (by(ours, before), false, true, false, unclear),
        (by(ours, before), true, true, true, ""),
        (json!([]), false, true, false, unclear),
        (json!([]), true, true, true, ""),
        (by("kubectl-edit", since), true, true, false, theirs),
    ] {
        let at = format!("{managers} {named}");
        let mut stage = two_clusters();
        stage.options.scope.accept.insert(Risk::AlreadyPaused);
        let rest = |body: &mut serde_json::Value| {
            body["spec"]["paused"] = json!(true);
            body["metadata"]["managedFields"] = by("kubectl-edit", before);
        };
        stage.source.edit(&other(), rest).unwrap();
        let stage = half_committed(stage).await;
        let lose = |body: &mut serde_json::Value| {
            body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO).unwrap();
            body["metadata"]["managedFields"] = managers.clone();
        };
        stage.source.edit(&c, lose).unwrap();
        let warnings = Arc::new(Warnings::default());
        let setup = Setup { watcher: warnings.clone(), ..stage.setup() };
        let clusters: &[&Key] = if named { &[&c] } else { &[] };
        let ended = run::rollback(With::unpause(setup, clusters)).await;
        let told = warnings.0.lock().unwrap().join("\n");
        assert_eq!((ended.is_ok(), !paused(&stage.source)), (ends, runs), "{at}: {told}");
        assert!(told.contains(expected), "{at}: {told}");
        assert!(
            told.contains("Cluster ns/d in the source stays paused: another than this move"),
            "{at}: {told}"
        );
        if let Err(stop) = ended {
            let Failure::UndoLost { clusters } = &stop.failure else { panic!("{at}: {stop}") };
            assert_eq!(
                (clusters.as_slice(), stop.exit),
                ([c.clone()].as_slice(), Exit::PartWay),
                "{at}: {stop}"
            );
            run::rollback(With::unpause(stage.setup(), &[&c])).await.unwrap();
            assert!(!paused(&stage.source), "{at}");
        }
        assert!(is_paused(&stage.source, &other()), "{at}");
        assert!(picture(&stage.target).is_empty() && under_way(stage.setup()).await.is_none(), "{at}");
    }
}

/// A user with write access to a Cluster can pause it at any time. That must not keep a rollback from ending.
// proves: T173
#[tokio::test(start_paused = true)]
async fn clusters_paused_by_others_let_rollbacks_end() {
    type Change<'a> = (&'a dyn Fn(&mut serde_json::Value), Option<&'a str>);
    let by = |manager: &str| json!([{"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {"f:paused": {}}}}]);
    let annotated =
        |body: &mut serde_json::Value| body["metadata"]["annotations"] = json!({names::PAUSED: ""});
    let in_spec = |body: &mut serde_json::Value| {
        body["spec"] = json!({"paused": true});
        body["metadata"]["managedFields"] = by("kubectl-edit");
    };
    let ours = |body: &mut serde_json::Value| {
        body["spec"] = json!({"paused": true});
        body["metadata"]["managedFields"] = by(names::FIELD_MANAGER);
    };
    let unknown = |body: &mut serde_json::Value| body["spec"] = json!({"paused": true});
    let changes: [Change<'_>; 4] = [
        (&annotated, Some("it has the annotation")),
        (&in_spec, Some("field manager kubectl-edit set spec.paused")),
        (&ours, None),
        (&unknown, None),
    ];
    for (pause, shown) in changes {
        let stage = half_committed(Stage::new()).await;
        let mut theirs = body(CLUSTERS, "Cluster", "theirs", None);
        pause(&mut theirs);
        stage.source.insert(theirs).unwrap();
        let before = stage.source.body(&key(CLUSTERS, "Cluster", "theirs"));
        let warnings = Arc::new(Warnings::default());
        let ended = run::rollback(Setup { watcher: warnings.clone(), ..stage.setup() }).await;
        let told = warnings.0.lock().unwrap().join("\n");
        match shown {
            Some(shown) => {
                ended.unwrap();
                assert!(
                    told.contains("Cluster ns/theirs in the source stays paused") && told.contains(shown),
                    "{told}"
                );
                assert!(under_way(stage.setup()).await.is_none());
            }
            // This move may have paused it.
            None => assert!(matches!(ended.unwrap_err().failure, Failure::UndoLost { .. }), "{told}"),
        }
        assert!(!paused(&stage.source));
        assert_eq!(stage.source.body(&key(CLUSTERS, "Cluster", "theirs")), before);
    }
}

/// A Cluster that a user paused, or another move, is not this move's to unpause.
#[tokio::test(start_paused = true)]
async fn pauses_of_others_are_not_undone_by_name() {
    let changes: [fn(&mut serde_json::Value); 2] = [
        |body| body["metadata"]["annotations"][names::PAUSED] = json!(""),
        |body| body["metadata"]["annotations"][names::OUT_OF_DATE] = json!("another"),
    ];
    for change in changes {
        let stage = committed().await;
        let mut setup = stage.setup();
        setup.options.accept.insert(Risk::TakeoverUnchecked);
        let theirs = |body: &mut serde_json::Value| {
            body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO);
            change(body);
        };
        stage.target.edit(&key(CLUSTERS, "Cluster", "c"), theirs).unwrap();
        let warnings = Arc::new(Warnings::default());
        let setup = Setup { watcher: warnings.clone(), ..setup };
        run::resume(With::unpause(setup, &[&key(CLUSTERS, "Cluster", "c")])).await.unwrap();
        assert!(paused(&stage.target));
        let told = warnings.0.lock().unwrap().join("\n");
        assert!(told.contains("stays paused") && told.contains("although it was named"), "{told}");
    }
}

// proves: T87
#[tokio::test(start_paused = true)]
async fn dependents_created_after_the_commit_are_not_deleted_with_their_owner() {
    let stage = live().await;
    let mut late = body("", "Secret", "late", Some((CLUSTERS, "Machine", "m1")));
    late["metadata"]["creationTimestamp"] = json!("2999-01-01T00:00:00Z");
    stage.source.insert(late).unwrap();
    let before = picture(&stage.source);
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, code(&stop)), (Exit::PastCommit, "latecomers"), "{stop}");
    assert!(stop.to_string().contains("late"), "{stop}");
    assert_eq!(picture(&stage.source), before);

    let secret = key("", "Secret", "late");
    stage
        .source
        .edit(&secret, |b| drop(b["metadata"].as_object_mut().unwrap().remove("ownerReferences")))
        .unwrap();
    run::resume(stage.setup()).await.unwrap();
    assert!(stage.source.collect_garbage().is_empty());
    assert!(stage.source.body(&secret).is_some());
}

/// As the garbage collector sees it: an owner that is nowhere saves nothing, one that stays does, wherever it is.
// proves: I6
#[tokio::test(start_paused = true)]
async fn new_dependents_are_judged_by_the_owners_that_exist() {
    let stage = live().await;
    stage.source.insert(body("", "Secret", "stays", None)).unwrap();
    stage.source.add_kind(kind(INFRA, "Identity", "identities", KindLabels::default()));
    let mut identity = body(INFRA, "Identity", "id", None);
    identity["metadata"].as_object_mut().unwrap().remove("namespace");
    stage.source.insert(identity).unwrap();
    let late = |name: &str, owner: (&str, &str, &str)| {
        let mut late = body("", "Secret", name, Some((CLUSTERS, "Machine", "m1")));
        let other = body("", "Secret", name, Some(owner))["metadata"]["ownerReferences"][0].clone();
        late["metadata"]["ownerReferences"].as_array_mut().unwrap().push(other);
        late["metadata"]["creationTimestamp"] = json!("2999-01-01T00:00:00Z");
        stage.source.insert(late).unwrap();
    };
    late("saved", ("", "Secret", "stays"));
    late("saved-too", (INFRA, "Identity", "id"));
    late("lost", (INFRA, "Pool", "nowhere"));
    late("below-lost", ("", "Secret", "lost"));
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, code(&stop)), (Exit::PastCommit, "latecomers"), "{stop}");
    assert!(stop.to_string().contains("Secret ns/below-lost and Secret ns/lost appeared after"), "{stop}");

    for name in ["lost", "below-lost"] {
        stage.source.remove(&key("", "Secret", name)).unwrap();
    }
    run::resume(stage.setup()).await.unwrap();
    assert!(stage.source.collect_garbage().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_move_that_was_rolled_back_without_its_target_is_not_resumed_there() {
    let stage = half_committed(Stage::new()).await;
    unreachable(&stage.target);
    run::rollback(With::absent(Side::Target, stage.setup())).await.unwrap();
    stage.target.on_call(|_, _| None);
    let source = picture(&stage.source);

    let is_orphan = |stop: Stop| {
        assert_eq!((stop.exit, stop.next.as_slice()), (Exit::Refused, [Next::Rollback].as_slice()), "{stop}");
        assert!(stop.to_string().contains("rolled back while this target could not be reached"), "{stop}");
    };
    assert!(under_way(stage.setup()).await.unwrap().orphaned);
    is_orphan(run::resume(stage.setup()).await.unwrap_err());
    is_orphan(run::start(stage.setup()).await.unwrap_err());
    run::rollback(stage.setup()).await.unwrap();
    assert!(picture(&stage.target).is_empty());
    assert_eq!(picture(&stage.source), source);
    run::start(stage.setup()).await.unwrap();
}

/// As who may write in both could: the source has no record any more, and the target's says that all is released.
fn forge_released(stage: &Stage) {
    let record =
        |place: &MemoryPlace, side| place.keys().into_iter().find(|key| is_record(key, side)).unwrap();
    let (source, target) = (record(&stage.source, "source"), record(&stage.target, "target"));
    stage.source.remove(&source).unwrap();
    stage
        .target
        .edit(&target, |body| {
            let text = body["data"]["record.json"].as_str().unwrap().replace("\"Live\"", "\"Released\"");
            body["data"]["record.json"] = json!(text);
        })
        .unwrap();
}

/// Who may write ConfigMaps in the target has no say over what is deleted in the source.
// proves: T102
#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_if_only_the_target_has_a_record() {
    let stage = half_committed(Stage::new()).await;
    forge_released(&stage);
    let before = picture(&stage.source);
    for stop in [run::resume(stage.setup()).await.unwrap_err(), run::start(stage.setup()).await.unwrap_err()]
    {
        assert!(stop.to_string().contains("on the word of the target alone"), "{stop}");
        assert_eq!(picture(&stage.source), before);
    }
}

/// Nor is what stays in the source left paused without a word.
#[tokio::test(start_paused = true)]
async fn kept_objects_that_are_still_paused_are_named_before_the_move_is_done() {
    let stage = half_committed(with_a_shared_class()).await;
    forge_released(&stage);
    for key in stage.source.keys() {
        if key.namespace.as_deref() == Some("ns") && key.name != "pull" {
            stage.source.remove(&key).unwrap();
        }
    }
    let before = picture(&stage.source);
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, code(&stop)), (Exit::PastCommit, "record-removed"), "{stop}");
    assert!(stop.to_string().contains("ClusterClass shared/one"), "{stop}");
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert_eq!(refusals[0].remedies.last(), Some(&Remedy::ResumeWithoutSource));

    run::resume(With::absent(Side::Source, stage.setup())).await.unwrap();
    assert_eq!(picture(&stage.source), before);
}

/// Whoever removes the record that decides takes the move back, and its copies with it.
// proves: T103
#[tokio::test(start_paused = true)]
async fn a_move_whose_record_disappears_at_the_end_is_not_reported_as_done() {
    let stage = half_committed(Stage::new()).await;
    unreachable(&stage.source);
    let (target, gone) = (stage.target.clone(), AtomicUsize::new(0));
    stage.target.on_call(move |verb, key| {
        if verb == "patch" && is_record(key, "target") && gone.fetch_add(1, Ordering::SeqCst) == 0 {
            target.remove(key).unwrap();
        }
        None
    });
    let stop = run::resume(With::absent(Side::Source, stage.setup())).await.unwrap_err();
    assert!(stop.to_string().contains("changed by another run"), "{stop}");
}

// proves: T114
#[tokio::test(start_paused = true)]
async fn a_commit_without_an_answer_is_not_reported_as_failed() {
    let stage = Stage::new();
    let armed = Arc::new(AtomicUsize::new(0));
    stage.target.on_call({
        let armed = armed.clone();
        move |verb, key| {
            if verb == "create" && is_record(key, "target") {
                armed.store(1, Ordering::SeqCst);
            }
            None
        }
    });
    stage.source.on_call(move |verb, key| {
        // The server acts, and nothing is heard of it any more.
        let lost = armed.load(Ordering::SeqCst) == 1;
        let unavailable = || PlaceError::Unavailable("reset".into());
        match (lost, verb == "patch" && is_record(key, "source")) {
            (true, true) => Some(Fault::After(unavailable())),
            (true, false) => Some(Fault::Before(unavailable())),
            (false, _) => None,
        }
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.next.as_slice()), (Exit::PastCommit, [Next::Resume].as_slice()), "{stop}");
    assert!(stop.state.contains("it is not known whether the move is committed"), "{}", stop.state);
    stage.source.on_call(|_, _| None);
    stage.target.on_call(|_, _| None);
    run::resume(stage.setup()).await.unwrap();
}

/// Objects may be made ready meanwhile; that alone harms none of them.
#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_before_the_record_says_released() {
    let stage = Stage::new();
    let before = stage.source.keys();
    stage.target.on_call(|verb, key| {
        // The first change of the target's record is the one to Released.
        let released = verb == "patch" && key.name.starts_with("pivot-host-target");
        released.then(|| Fault::Before(PlaceError::Forbidden("not now".into())))
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PastCommit, Some(Phase::Live)), "{stop}");
    assert!(stop.to_string().contains("not now"), "{stop}");
    assert!(before.iter().all(|key| stage.source.body(key).is_some()));
    assert!(paused(&stage.source));
    stage.target.on_call(|_, _| None);
    run::resume(stage.setup()).await.unwrap();
    assert_eq!(picture(&stage.source).into_keys().collect::<Vec<_>>(), ["Secret ns/pull"]);
}

#[tokio::test(start_paused = true)]
async fn move_stops_before_release_while_source_is_whole() {
    let mut stage = Stage::new();
    let before = stage.source.keys();
    stage.options.stop_before_release = true;
    for command in ["move", "resume"] {
        let stop = match command {
            "move" => run::start(stage.setup()).await.unwrap_err(),
            _ => run::resume(stage.setup()).await.unwrap_err(),
        };
        assert!(matches!(stop.failure, Failure::StoppedBeforeRelease), "{command}: {stop}");
        assert_eq!((stop.exit, stop.phase), (Exit::PastCommit, Some(Phase::Live)), "{command}");
        assert_eq!(stop.next, [Next::Resume], "{command}");
        assert!(before.iter().all(|key| stage.source.body(key).is_some()), "{command}");
        assert!(paused(&stage.source) && !paused(&stage.target), "{command}");
    }
    stage.options.stop_before_release = false;
    run::resume(stage.setup()).await.unwrap();
    assert!(stage.source.body(&key(CLUSTERS, "Cluster", "c")).is_none());
    // Too late.
    let mut stage = Stage::new();
    let dead = || Fault::Before(PlaceError::Forbidden("dead".into()));
    stage.source.on_call(move |verb, _| (verb == "delete").then(dead));
    run::start(stage.setup()).await.unwrap_err();
    stage.source.on_call(|_, _| None);
    stage.options.stop_before_release = true;
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::Declined(_)) && stop.exit == Exit::Refused, "{stop}");
    assert_eq!(stop.next, [Next::Resume]);
}
