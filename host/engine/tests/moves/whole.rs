//! Moves that go well.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pivot_core::messages::risk::Risk;
use pivot_core::objects::merge;
use pivot_core::objects::names::UNDO;
use pivot_core::records::record::Phase;
use pivot_engine::{Exit, Setup, run};
use serde_json::json;

use crate::clusters::Notes;
use crate::stage::{CLUSTERS, INFRA, Stage, key, picture};

#[tokio::test(start_paused = true)]
async fn a_move_leaves_everything_in_the_target_and_unrelated_objects_in_the_source() {
    let stage = Stage::new();
    let before = picture(&stage.source);
    let report = run::start(stage.setup()).await.unwrap();
    assert_eq!(report.done.moved.values().sum::<usize>(), 12);

    let mut expected = before;
    let stranger = expected.remove("Secret ns/pull").unwrap();
    let after = picture(&stage.target);
    assert_eq!(after, expected);
    assert_eq!(
        picture(&stage.source).into_iter().collect::<Vec<_>>(),
        [("Secret ns/pull".to_owned(), stranger)]
    );
    assert!(stage.target.collect_garbage().is_empty());
}

// proves: D29, I10
#[tokio::test(start_paused = true)]
async fn a_move_there_and_back_restores_the_initial_state() {
    let there = Stage::new();
    let before = picture(&there.source);
    run::start(there.setup()).await.unwrap();
    // In the target nobody restored what the provisioning check looks at.
    let mut back = Stage { source: there.target.clone(), target: there.source.clone(), ..Stage::empty() };
    back.options.scope.accept.insert(Risk::Unprovisioned);
    run::start(back.setup()).await.unwrap();
    assert_eq!(picture(&there.source), before);
    assert!(picture(&there.target).is_empty(), "{:?}", picture(&there.target).keys());
}

#[tokio::test(start_paused = true)]
async fn three_writes_an_object_two_a_secret_and_a_fixed_handful_for_the_move() {
    let stage = Stage::new();
    run::start(stage.setup()).await.unwrap();
    let real = |place: &pivot_memory::MemoryPlace| {
        let calls: Vec<_> =
            place.journal().into_iter().filter(|call| !call.verb.starts_with("dry-run")).collect();
        let own = |call: &&pivot_memory::Call| {
            call.key.namespace.as_deref() == Some("pivot-host-records")
                || call.key.group_kind.kind == "Namespace"
        };
        (calls.iter().filter(|call| !own(call)).count(), calls.iter().filter(own).count())
    };
    let (source, source_own) = real(&stage.source);
    let (target, target_own) = real(&stage.target);
    // 12 objects, 3 of them Secrets without finalizers; paused and resumed: the class, the Cluster, the pool.
    assert_eq!(source + target, 3 * 9 + 2 * 3 + 3 + 3);
    assert!(source_own + target_own <= 20, "{source_own} + {target_own}");
}

#[tokio::test(start_paused = true)]
async fn a_plan_changes_nothing() {
    let stage = Stage::new();
    let plan = run::plan(stage.setup()).await.unwrap();
    assert_eq!(plan.steps.len(), 12);
    let real = |place: &pivot_memory::MemoryPlace| {
        place.journal().into_iter().filter(|call| !call.verb.starts_with("dry-run")).count()
    };
    assert_eq!((real(&stage.source), real(&stage.target)), (0, 0));
}

// proves: D6, W22
#[tokio::test(start_paused = true)]
async fn w22_an_empty_namespace_is_distinguished_from_a_success() {
    let stage = Stage::empty();
    assert_eq!(run::start(stage.setup()).await.unwrap_err().exit, Exit::Empty);
}

// proves: D20, I3, T88, T127, W30
#[tokio::test(start_paused = true)]
async fn w30_a_change_between_copy_and_commit_is_copied_too() {
    let stage = Stage::new();
    let source = stage.source.clone();
    let infra = key(INFRA, "InfraMachine", "m0");
    // When the last object arrives in the target, someone edits the source.
    let edited = infra.clone();
    stage.target.on_call(move |verb, key| {
        if verb == "create" && key.name == "m1-bootstrap" {
            source.edit(&edited, |body| body["spec"]["late"] = json!("yes")).unwrap();
        }
        None
    });
    run::start(stage.setup()).await.unwrap();
    assert_eq!(stage.target.body(&infra).unwrap()["spec"]["late"], "yes");
}

// proves: I3
#[tokio::test(start_paused = true)]
async fn a_controllers_finalizer_that_comes_back_does_not_hold_up_the_release() {
    let stage = Stage::new();
    let source = stage.source.clone();
    let cluster = key(CLUSTERS, "Cluster", "c");
    let theirs = cluster.clone();
    stage.source.on_call(move |verb, key| {
        if verb == "delete" && *key == theirs {
            let body = source.body(&theirs).unwrap();
            if body["metadata"].get("deletionTimestamp").is_none() {
                assert_eq!(body["spec"]["paused"], true, "never deleted without its pause");
                source.edit(&theirs, |body| body["metadata"]["finalizers"] = json!(["back"])).unwrap();
            }
        }
        None
    });
    run::start(stage.setup()).await.unwrap();
    assert!(stage.source.body(&cluster).is_none());
}

// proves: I3
#[tokio::test(start_paused = true)]
async fn a_secret_that_changes_during_its_delete_is_compared_again() {
    for (touch, moved) in [("annotations", false), ("finalizers", true), ("data", false)] {
        let stage = Stage::new();
        let source = stage.source.clone();
        let secret = key("", "Secret", "m0-bootstrap");
        let (theirs, touched) = (secret.clone(), AtomicBool::new(false));
        stage.source.on_call(move |verb, key| {
            if verb == "delete" && *key == theirs && !touched.swap(true, Ordering::SeqCst) {
                let change = |body: &mut serde_json::Value| match touch {
                    "annotations" => body["metadata"]["annotations"] = json!({"seen": "yes"}),
                    "finalizers" => body["metadata"]["finalizers"] = json!(["mine/too"]),
                    _ => body["data"]["value"] = json!("bmV3"),
                };
                source.edit(&theirs, change).unwrap();
            }
            None
        });
        let result = run::start(stage.setup()).await;
        assert_eq!(result.is_ok(), moved, "{touch}");
        assert_eq!(stage.source.body(&secret).is_none(), moved, "{touch}");
        let patches =
            stage.source.journal().iter().filter(|call| call.key == secret && call.verb == "patch").count();
        assert_eq!(patches, usize::from(touch == "finalizers"), "{touch}");
    }
}

/// Up to the commit the source decides: what users make of the paused copies would be lost, or lose what the source has.
// proves: I5
#[tokio::test(start_paused = true)]
async fn copies_changed_before_the_commit_are_made_again() {
    let undisturbed = Stage::new();
    run::start(undisturbed.setup()).await.unwrap();
    let (machine, cluster) = (key(CLUSTERS, "Machine", "m0"), key(CLUSTERS, "Cluster", "c"));
    let finalizer = format!("{CLUSTERS}/finalizer");
    for (edited, change, again) in [
        (&machine, json!({"spec": {"theirs": true}}), true),
        (&machine, json!({"metadata": {"labels": {"theirs": "x"}}}), true),
        (&machine, json!({"metadata": {"annotations": {"theirs": "x"}}}), false),
        (&machine, json!({"metadata": {"finalizers": ["theirs", finalizer]}}), false),
        // What was sent has to stay.
        (&machine, json!({"metadata": {"finalizers": []}}), true),
        (&cluster, json!({"metadata": {"annotations": {"mine": "2"}}}), true),
        (&cluster, json!({"metadata": {"annotations": {"mine": null}}}), true),
        (&cluster, json!({"metadata": {"annotations": {UNDO: null}}}), true),
    ] {
        let stage = Stage::new();
        let (target, done) = (stage.target.clone(), AtomicBool::new(false));
        let last = key(INFRA, "InfraMachine", "m0");
        let (edited, patch) = (edited.clone(), change.clone());
        stage.target.on_call(move |verb, _| {
            let copied =
                verb == "list-meta" && target.body(&edited).is_some() && target.body(&last).is_some();
            if copied && !done.swap(true, Ordering::SeqCst) {
                target.edit(&edited, |body| merge::apply_patch(body, &patch)).unwrap();
            }
            None
        });
        let notes = Arc::new(Notes::default());
        run::start(Setup { watcher: notes.clone(), ..stage.setup() }).await.unwrap();
        let warned = notes.0.lock().unwrap().iter().any(|(code, _)| code == "copies-changed");
        assert_eq!(warned, again, "{change}");
        if again {
            assert_eq!(picture(&stage.target), picture(&undisturbed.target), "{change}");
        }
    }
}

/// The source's controllers write to the status of paused objects. Then the source is read again, and the copies are compared as well.
// proves: I5
#[tokio::test(start_paused = true)]
async fn copies_are_compared_after_status_changes_in_source() {
    let undisturbed = Stage::new();
    run::start(undisturbed.setup()).await.unwrap();
    let (machine, last) = (key(CLUSTERS, "Machine", "m0"), key(INFRA, "InfraMachine", "m0"));
    let stage = Stage::new();
    let (source, target, done) = (stage.source.clone(), stage.target.clone(), AtomicBool::new(false));
    stage.source.on_call(move |verb, _| {
        let copied = verb == "list-meta" && target.body(&machine).is_some() && target.body(&last).is_some();
        if copied && !done.swap(true, Ordering::SeqCst) {
            source.edit(&last, |body| body["status"]["seen"] = json!("now")).unwrap();
            target.edit(&machine, |body| body["spec"]["theirs"] = json!(true)).unwrap();
        }
        None
    });
    let notes = Arc::new(Notes::default());
    run::start(Setup { watcher: notes.clone(), ..stage.setup() }).await.unwrap();
    assert!(notes.0.lock().unwrap().iter().any(|(code, _)| code == "copies-changed"));
    assert_eq!(picture(&stage.target), picture(&undisturbed.target));
}

/// A copy that vanishes meanwhile is noticed while the source is complete.
// proves: I5
#[tokio::test(start_paused = true)]
async fn copies_that_vanish_are_noticed_after_status_changes_in_source() {
    let stage = Stage::new();
    let (machine, last) = (key(CLUSTERS, "Machine", "m0"), key(INFRA, "InfraMachine", "m0"));
    let (source, target, touched) = (stage.source.clone(), stage.target.clone(), AtomicUsize::new(0));
    stage.source.on_call(move |verb, _| {
        match (verb, touched.load(Ordering::SeqCst)) {
            ("list-meta", 0) if target.body(&last).is_some() => {
                touched.store(1, Ordering::SeqCst);
                source.edit(&last, |body| body["status"]["seen"] = json!("now")).unwrap();
            }
            // The source is read again.
            ("list", 1) => {
                touched.store(2, Ordering::SeqCst);
                target.remove(&machine).unwrap();
            }
            _ => {}
        }
        None
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.phase, Some(Phase::Copied), "{stop}");
    assert!(stage.source.body(&key(CLUSTERS, "Machine", "m0")).is_some());
}

/// Somebody changes it each time.
#[tokio::test(start_paused = true)]
async fn a_copy_that_keeps_changing_is_named() {
    let stage = Stage::new();
    let (target, machine, times) =
        (stage.target.clone(), key(CLUSTERS, "Machine", "m0"), AtomicUsize::new(0));
    let last = key(INFRA, "InfraMachine", "m0");
    stage.target.on_call(move |verb, _| {
        if verb == "list-meta" && target.body(&machine).is_some() && target.body(&last).is_some() {
            let time = times.fetch_add(1, Ordering::SeqCst);
            target.edit(&machine, |body| body["spec"] = json!({"theirs": time})).unwrap();
        }
        None
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.phase, Some(Phase::Copied), "{stop}");
    assert!(stop.to_string().starts_with("comparing the copy Machine ns/m0 in the target: "), "{stop}");
}
