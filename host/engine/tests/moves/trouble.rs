//! Others at work while a move is: people, GitOps tools, controllers, other moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{KindLabels, Side, Uid};
use pivot_engine::{Exit, Failure, Next, Options};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{DirectoryPlace, PlaceError};
use serde_json::{Value, json};

use crate::crash::{die_at, revive};
use crate::run::{self, With};
use crate::seeds::distance_of_deaths;
use crate::stage::{CLUSTERS, INFRA, Stage, body, is_record, key, kind, picture, under_way};

pub(crate) fn code(stop: &pivot_engine::Stop) -> &str {
    match &stop.failure {
        Failure::Refused(refusals) => refusals[0].code,
        _ => "",
    }
}

/// A move that is committed and live, and of whose source nothing is deleted yet: as a kill would leave it.
pub(crate) async fn live() -> Stage {
    let stage = Stage::new();
    // Released.
    let stop =
        stage.dies(|verb, key| verb == "patch" && is_record(key, "target"), |verb, _| verb == "patch").await;
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    stage
}

/// As the one for KubeadmConfigs writes bootstrap data that no Machine has used yet, with an update that drops annotations.
// proves: T98
#[tokio::test(start_paused = true)]
async fn a_copy_that_a_controller_of_the_target_has_written_anew_is_still_one() {
    let stage = live().await;
    let data = key("", "Secret", "m0-bootstrap");
    let anew = |body: &mut serde_json::Value| {
        body["metadata"]["annotations"] = json!({});
        body["data"] = json!({"value": "YW5ldw=="});
    };
    stage.target.edit(&data, anew).unwrap();
    // Not if its owner is somebody else's.
    let owner = stage.target.body(&data).unwrap()["metadata"]["ownerReferences"][0]["uid"].clone();
    let owned_by = |uid: serde_json::Value| {
        let edit = |body: &mut serde_json::Value| body["metadata"]["ownerReferences"][0]["uid"] = uid.clone();
        stage.target.edit(&data, edit).unwrap();
    };
    owned_by(json!("another"));
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, code(&stop)), (Exit::PastCommit, "copy-replaced"));
    owned_by(owner);
    run::resume(stage.setup()).await.unwrap();
    assert!(stage.source.body(&data).is_none());
    assert_eq!(stage.target.body(&data).unwrap()["data"]["value"], "YW5ldw==");
}

// proves: T89, T98
#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_for_a_copy_that_is_gone() {
    let stage = live().await;
    let machine = key(CLUSTERS, "Machine", "m1");
    let before = picture(&stage.source);
    stage.target.remove(&machine).unwrap();
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, code(&stop)), (Exit::PastCommit, "copy-gone"));
    assert_eq!(picture(&stage.source), before);

    stage.target.insert(body(CLUSTERS, "Machine", "m1", None)).unwrap();
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, code(&stop)), (Exit::PastCommit, "copy-replaced"), "nor for another of its name");
    let record = under_way(stage.setup()).await.expect("a move is under way").record;
    let mark = json!({names::MARK: record.move_id});
    stage.target.edit(&machine, |b| b["metadata"]["annotations"] = mark).unwrap();

    let cluster = key(CLUSTERS, "Cluster", "c");
    stage.source.edit(&cluster, |b| b["spec"]["paused"] = json!(false)).unwrap();
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!(
        (stop.exit, code(&stop)),
        (Exit::PastCommit, "pause-undone"),
        "nor for a source someone unpaused"
    );
    // By hand, as they are told to; what the move had noted on it is lost.
    let by_hand = |b: &mut serde_json::Value| {
        b["spec"]["paused"] = json!(true);
        b["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO);
    };
    stage.source.edit(&cluster, by_hand).unwrap();
    run::resume(stage.setup()).await.unwrap();
    assert!(stage.source.body(&cluster).is_none());
}

#[tokio::test(start_paused = true)]
async fn objects_that_appear_during_the_pause_are_paused_and_copied() {
    let stage = Stage::new();
    let (source, once) = (stage.source.clone(), AtomicUsize::new(0));
    stage.source.on_call(move |verb, key| {
        if verb == "patch" && key.group_kind.kind == "Cluster" && once.fetch_add(1, Ordering::SeqCst) == 0 {
            let mut late = body(INFRA, "Pool", "late", None);
            late["metadata"]["uid"] = json!("late");
            drop(source.insert(late));
        }
        None
    });
    run::start(stage.setup()).await.unwrap();
    let late = key(INFRA, "Pool", "late");
    assert!(stage.source.body(&late).is_none());
    assert!(stage.target.body(&late).unwrap()["metadata"]["annotations"].get(names::PAUSED).is_none());
    let pauses =
        stage.source.journal().iter().filter(|call| call.key == late && call.verb == "patch").count();
    assert_eq!(pauses, 2, "one pause, one release");
}

#[tokio::test(start_paused = true)]
async fn an_owner_cycle_can_be_opened() {
    let mut stage = Stage::new();
    for (name, owner) in [("m0", "m1"), ("m1", "m0")] {
        stage
            .source
            .edit(&key(CLUSTERS, "Machine", name), |b| {
                let owners = b["metadata"]["ownerReferences"].as_array_mut().unwrap();
                owners.push(
                    json!({"apiVersion": format!("{CLUSTERS}/v1beta2"), "kind": "Machine", "name": owner,
                    "uid": format!("Machine-{owner}")}),
                );
            })
            .unwrap();
    }
    assert_eq!(code(&run::start(stage.setup()).await.unwrap_err()), "owner-cycle");
    stage.options.scope.accept.insert_kind(Risk::OwnerDropped, "Machine.cluster.x-k8s.io".parse().unwrap());
    run::start(stage.setup()).await.unwrap();
    assert!(stage.target.collect_garbage().is_empty());
}

/// A move that brings one of the two classes of another namespace, and keeps it in the source.
pub(crate) fn with_a_shared_class() -> Stage {
    let stage = Stage::new();
    for (name, uid) in [("one", "c1"), ("two", "c2")] {
        let mut class = body(CLUSTERS, "ClusterClass", name, None);
        class["metadata"]["namespace"] = json!("shared");
        class["metadata"]["uid"] = json!(uid);
        stage.source.insert(class).unwrap();
    }
    stage
        .source
        .edit(&key(CLUSTERS, "Cluster", "c"), |b| {
            b["spec"]["topology"]["classRef"] = json!({"name": "one", "namespace": "shared"});
        })
        .unwrap();
    stage
}

// proves: D23, W5
#[tokio::test(start_paused = true)]
async fn w5_a_class_of_a_shared_namespace_that_has_others_is_copied_and_kept() {
    let stage = with_a_shared_class();
    let report = run::start(stage.setup()).await.unwrap();
    assert_eq!(report.done.kept.values().sum::<usize>(), 1);
    let one =
        pivot_core::Key::new(pivot_core::GroupKind::new(CLUSTERS, "ClusterClass"), Some("shared"), "one");
    for place in [&stage.source, &stage.target] {
        let class = place.body(&one).unwrap();
        assert!(
            !class.to_string().contains(names::UNDO) && !class.to_string().contains(names::PAUSED),
            "{class}"
        );
    }
}

/// Others use a class of another namespace, too: who may move one namespace neither pauses it nor locks its namespace.
// proves: T143
#[tokio::test(start_paused = true)]
async fn confined_moves_pause_nothing_elsewhere() {
    let one =
        pivot_core::Key::new(pivot_core::GroupKind::new(CLUSTERS, "ClusterClass"), Some("shared"), "one");
    let mut stage = with_a_shared_class();
    stage.options.confined = Some(Side::Source);
    // As its controllers say of a class that is not paused.
    let awake =
        |body: &mut Value| body["status"] = json!({"conditions": [{"type": "Paused", "status": "False"}]});
    stage.source.edit(&one, awake).unwrap();
    let before = stage.source.body(&one);
    let locks = |stage: &Stage| {
        let leases = stage.source.keys().into_iter().filter(|key| key.group_kind.kind == "Lease");
        leases.map(|key| key.name).collect::<Vec<_>>()
    };
    let stage = half_committed(stage).await;
    let copy = stage.target.body(&one).unwrap();
    assert!(copy["metadata"]["annotations"].get(names::PAUSED).is_some(), "the copy waits: {copy}");
    assert_eq!(
        (locks(&stage), stage.source.body(&one)),
        (vec!["pivot-host.ns.ns".to_owned()], before.clone())
    );
    stage.source.on_call(|verb, key| {
        let elsewhere = key.namespace.as_deref() == Some("shared") || key.name.ends_with(".shared");
        let changes = ["create", "patch", "delete"].contains(&verb) && elsewhere;
        changes.then(|| Fault::Before(PlaceError::Forbidden("another's".into())))
    });
    run::start(stage.setup()).await.unwrap();
    assert_eq!(stage.source.body(&one), before);
    let copy = stage.target.body(&one).unwrap().to_string();
    assert!(!copy.contains(names::PAUSED) && !copy.contains(names::UNDO), "{copy}");
}

/// The record lists objects that a move copies from another namespace, and its author may let the move wait for as long as they like.
// proves: T143
#[tokio::test(start_paused = true)]
async fn confined_moves_keep_no_other_namespace_waiting() {
    for confined in [None, Some(Side::Source)] {
        let mut stage = with_a_shared_class();
        stage.options.confined = confined;
        let mut stage = half_committed(stage).await;
        stage.options = Options::new(Scope::new(Namespaces::One("shared".into())));
        let moved = run::start(stage.setup()).await;
        let told = moved.map(|report| report.move_id).unwrap_or_else(|stop| stop.to_string());
        let waits = told.contains("is under way, with another scope");
        assert_eq!(waits, confined.is_none(), "{confined:?}: {told}");
    }
}

/// The author of a Pivot chooses its cluster, which may claim to be the target of another move.
// proves: T176
#[tokio::test(start_paused = true)]
async fn pivots_continue_no_move_of_others() {
    let mut stage = half_committed(Stage::new()).await;
    let before = (picture(&stage.source), picture(&stage.target));
    let operator = std::mem::replace(&mut stage.options.operator, "Pivot desk/p".to_owned());
    stage.options.asked_by = Some(Uid("0-1-2".to_owned()));
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::BegunByOther { .. }), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    (stage.options.operator, stage.options.asked_by) = (operator, None);
    run::start(stage.setup()).await.unwrap();
}

/// Identities of the whole cluster, with the credentials below them: what the namespace doesn't use is not its tenants' to move.
// proves: T148
#[tokio::test(start_paused = true)]
async fn confined_moves_bring_only_identities_they_use() {
    for (confined, expected) in [(None, [true, true]), (Some(Side::Source), [true, false])] {
        let mut stage = with_identities();
        stage.options.confined = confined;
        run::start(stage.setup()).await.unwrap();
        assert_eq!(identities_in_target(&stage), expected, "{confined:?}");
    }
}

/// An operator continues the move of a Pivot from a terminal, where nothing is confined.
// proves: T148
#[tokio::test(start_paused = true)]
async fn confined_moves_stay_confined_for_other_runs() {
    for write in [6, 8, 10] {
        let mut stage = with_identities();
        stage.options.confined = Some(Side::Source);
        die_at(&stage, write, true);
        run::start(stage.setup()).await.unwrap_err();
        revive(&stage);
        let begun = under_way(stage.setup()).await.unwrap().record.phase;
        assert!(!begun.is_committed(), "write {write}: {begun}");
        stage.options.confined = None;
        run::start(stage.setup()).await.unwrap();
        assert_eq!(identities_in_target(&stage), [true, false], "write {write}");
    }
}

/// A cluster that uses one of two identities.
fn with_identities() -> Stage {
    let stage = Stage::new();
    let labels = KindLabels { discover: true, hierarchy: true, ..KindLabels::default() };
    for place in [&stage.source, &stage.target] {
        place.add_kind(kind(INFRA, "Identity", "identities", labels));
    }
    for name in ["used", "others"] {
        let mut identity = body(INFRA, "Identity", name, None);
        identity["metadata"].as_object_mut().unwrap().remove("namespace");
        stage.source.insert(identity).unwrap();
    }
    let uses = |b: &mut Value| b["spec"] = json!({"identityRef": {"kind": "Identity", "name": "used"}});
    stage.source.edit(&key(INFRA, "InfraCluster", "c"), uses).unwrap();
    stage
}

/// Returns true if the used identity is in the target, and the other.
fn identities_in_target(stage: &Stage) -> [bool; 2] {
    ["used", "others"].map(|name| {
        let group_kind = pivot_core::GroupKind::new(INFRA, "Identity");
        stage.target.body(&pivot_core::Key::new(group_kind, None, name)).is_some()
    })
}

#[tokio::test(start_paused = true)]
async fn a_class_the_target_has_paused_stays_paused_there() {
    let stage = Stage::new();
    stage.target.add_namespace("ns");
    let mut class = body(CLUSTERS, "ClusterClass", "class", None);
    class["metadata"]["annotations"] = json!({names::PAUSED: "by its owner"});
    class["metadata"]["uid"] = json!("theirs");
    stage.target.insert(class).unwrap();
    let mut template = body(INFRA, "InfraTemplate", "t", None);
    template["metadata"]["uid"] = json!("their-template");
    stage.target.insert(template).unwrap();
    run::start(stage.setup()).await.unwrap();
    let there = stage.target.body(&key(CLUSTERS, "ClusterClass", "class")).unwrap();
    assert_eq!(there["metadata"]["annotations"][names::PAUSED], "by its owner");
    assert_eq!(there["metadata"]["uid"], "theirs");
}

#[tokio::test(start_paused = true)]
async fn two_sources_move_into_one_target_side_by_side() {
    let first = live().await;
    let mut second = Stage::empty();
    for mut object in crate::stage::objects() {
        object["metadata"]["namespace"] = json!("other");
        second.source.insert(object).unwrap();
    }
    second.target = first.target.clone();
    second.options.scope = Scope::new(Namespaces::One("other".into()));
    run::start(second.setup()).await.unwrap();
    run::resume(first.setup()).await.unwrap();
    for (stage, left) in [(&first, 1), (&second, 1)] {
        assert_eq!(picture(&stage.source).len(), left, "{:?}", picture(&stage.source).keys());
    }
}

#[tokio::test(start_paused = true)]
async fn a_rollback_works_without_a_lost_target() {
    let stage = Stage::new();
    let before = picture(&stage.source);
    stage.target.on_call(|verb, key| {
        (verb == "create" && key.name == "m1").then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    assert_eq!(run::start(stage.setup()).await.unwrap_err().exit, Exit::PartWay);
    stage.target.on_call(|_, _| Some(Fault::Before(PlaceError::Forbidden("gone".into()))));
    run::rollback(With::absent(Side::Target, stage.setup())).await.unwrap();
    assert_eq!(picture(&stage.source), before);
}

/// Whatever a rollback that dies leaves behind: the next rollback ends it, and a resume never deletes a source whose
/// copy is gone.
#[tokio::test(start_paused = true)]
async fn a_rollback_that_dies_at_any_write_does_no_harm() {
    let untouched = picture(&Stage::new().source);
    for resume in [false, true] {
        for n in (1..).step_by(distance_of_deaths()) {
            let stage = half_committed(Stage::new()).await;
            let calls = Arc::new(AtomicUsize::new(0));
            for place in [&stage.source, &stage.target] {
                let calls = calls.clone();
                place.on_call(move |verb, _| {
                    let writes = ["create", "patch", "patch-status", "delete"].contains(&verb);
                    let call = if writes {
                        calls.fetch_add(1, Ordering::SeqCst) + 1
                    } else {
                        calls.load(Ordering::SeqCst)
                    };
                    (call >= n).then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
                });
            }
            let _ = run::rollback(stage.setup()).await;
            let died = calls.load(Ordering::SeqCst) >= n;
            for place in [&stage.source, &stage.target] {
                place.on_call(|_, _| None);
            }
            if resume {
                let _ = run::resume(stage.setup()).await;
                let whole = |place: &MemoryPlace| picture(place).len() >= 12;
                assert!(whole(&stage.source) || whole(&stage.target), "write {n}");
            } else {
                let _ = run::rollback(stage.setup()).await;
                assert_eq!(picture(&stage.source), untouched, "write {n}");
                assert!(picture(&stage.target).is_empty(), "write {n}");
            }
            if !died {
                break;
            }
        }
    }
}

/// A move that died between the two writes of its commit: the target's record says Committed, the source's does not.
pub(crate) async fn half_committed(stage: Stage) -> Stage {
    let stop =
        stage.dies(|verb, key| verb == "create" && is_record(key, "target"), |verb, _| verb == "patch").await;
    assert_eq!(stop.exit, Exit::PartWay, "{stop}");
    stage
}

#[tokio::test(start_paused = true)]
async fn a_copy_into_a_directory_is_not_resumed_as_a_move_to_a_cluster() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    let copied = Arc::new(AtomicUsize::new(0));
    stage.source.on_call(move |verb, key| {
        // Dead once the record says Copied: the copy is made, and the source stays paused.
        let writes = ["create", "patch", "delete"].contains(&verb);
        let dead = writes && copied.load(Ordering::SeqCst) > 0;
        if verb == "patch" && is_record(key, "source") {
            copied.fetch_add(1, Ordering::SeqCst);
        }
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    let into = |stage: &Stage| {
        let mut setup = stage.setup();
        setup.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
        setup
    };
    let stop = run::start(into(&stage)).await.unwrap_err();
    assert_eq!(stop.exit, Exit::PartWay, "{stop}");
    stage.source.on_call(|_, _| None);

    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Refused, "{stop}");
    assert!(stop.to_string().contains("copies into a directory"), "{stop}");
    assert!(picture(&stage.target).is_empty());

    run::rollback(into(&stage)).await.unwrap();
    run::start(stage.setup()).await.unwrap();
}

/// As the Metal3 provider's for Metal3Clusters: it watches Clusters to learn that they run again, and no more.
// proves: W23
#[tokio::test(start_paused = true)]
async fn w23_a_controller_that_has_not_noticed_the_pause_is_made_to_reconcile() {
    let mut stage = Stage::new();
    stage.options.accept.insert(Risk::TakeoverUnchecked);
    let machine = key(INFRA, "InfraMachine", "m0");
    let says = |paused: &str| json!({"conditions": [{"type": "Paused", "status": paused}]});
    stage.source.edit(&machine, |b| b["status"] = says("False")).unwrap();
    let (source, seen) = (stage.source.clone(), machine.clone());
    let controller = tokio::spawn(async move {
        let version = |source: &MemoryPlace| source.body(&seen).map(|b| b["metadata"].clone());
        let first = version(&source);
        while version(&source) == first {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        source.edit(&seen, |b| b["status"] = says("True")).unwrap();
    });
    let before = picture(&stage.source);
    run::start(stage.setup()).await.unwrap();
    controller.await.unwrap();
    // Nothing of it is left on the copy.
    assert_eq!(picture(&stage.target)[&machine.to_string()], before[&machine.to_string()]);
}

// proves: T126
#[tokio::test(start_paused = true)]
async fn a_move_finished_without_its_source_is_not_rolled_back_from_it() {
    let stage = half_committed(Stage::new()).await;
    let before = picture(&stage.source);
    run::resume(With::absent(Side::Source, stage.setup())).await.unwrap();
    let live = picture(&stage.target);

    // The source comes back. Its record knows of no commit.
    for stop in
        [run::rollback(stage.setup()).await.unwrap_err(), run::resume(stage.setup()).await.unwrap_err()]
    {
        assert_eq!(stop.exit, Exit::Refused, "{stop}");
        assert!(stop.to_string().contains("the target has taken over"), "{stop}");
        assert!(stop.state.contains("the target has taken over"), "{}", stop.state);
        assert_eq!(stop.next, [Next::Status], "neither is the way");
    }
    assert_eq!(picture(&stage.target), live);
    assert_eq!(picture(&stage.source), before);
}

#[tokio::test(start_paused = true)]
async fn a_target_lost_before_the_copy_does_not_keep_the_source_paused() {
    let mut stage = Stage::new();
    let pool = key(INFRA, "Pool", "p");
    let block = "clusterctl.cluster.x-k8s.io/block-move";
    stage.source.edit(&pool, |body| body["metadata"]["annotations"] = json!({block: "true"})).unwrap();
    let before = picture(&stage.source);
    stage.options.pause_timeout = std::time::Duration::from_secs(30);
    let (target, once) = (stage.target.clone(), AtomicUsize::new(0));
    stage.source.on_call(move |verb, key| {
        if verb == "patch" && key.group_kind.kind == "Cluster" && once.fetch_add(1, Ordering::SeqCst) == 0 {
            target.on_call(|_, _| Some(Fault::Before(PlaceError::Unavailable("no route".into()))));
        }
        None
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Timeout, "{stop}");
    assert_eq!(picture(&stage.source), before);
}

// proves: T103
#[tokio::test(start_paused = true)]
async fn an_unreadable_record_is_not_mistaken_for_a_missing_one() {
    let stage = live().await;
    for side in [&stage.source, &stage.target] {
        side.on_call(|verb, key| {
            let hidden = verb == "list"
                && key.group_kind.is("", "ConfigMap")
                && key.namespace.as_deref() == Some("pivot-host-records");
            hidden.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
        });
        for stop in
            [run::resume(stage.setup()).await.unwrap_err(), run::status(stage.setup()).await.unwrap_err()]
        {
            assert_eq!(stop.exit, Exit::Refused, "{stop}");
            assert!(
                stop.state.contains("nothing is changed on either side by this command"),
                "{}",
                stop.state
            );
        }
        side.on_call(|_, _| None);
    }
    run::resume(stage.setup()).await.unwrap();
}

// proves: T124
#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_not_mistaken_for_a_dead_runs_lease() {
    let mut stage = Stage::new();
    stage.options.break_lease = false;
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "pivot-host", "namespace": "pivot-host-records"}, "spec": {"holderIdentity": "somebody"}});
    stage.source.insert(lease).unwrap();
    let (source, asked) = (stage.source.clone(), AtomicUsize::new(0));
    stage.source.on_call(move |verb, key| {
        if verb != "get" || key.name != "pivot-host" {
            return None;
        }
        // Its holder lives and renews it; the first answer takes longer than a lease lasts.
        let n = asked.fetch_add(1, Ordering::SeqCst);
        source.edit(key, |body| body["spec"]["leaseTransitions"] = json!(n)).unwrap();
        let later = PlaceError::TooManyRequests { retry_after: Some(std::time::Duration::from_secs(20)) };
        (n == 0).then_some(Fault::Before(later))
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(code(&stop), "run-active", "{stop}");
}

#[tokio::test(start_paused = true)]
async fn an_object_used_as_it_is_need_not_be_creatable() {
    let stage = Stage::new();
    stage.target.add_namespace("ns").insert(body(CLUSTERS, "ClusterClass", "class", None)).unwrap();
    let template = body(INFRA, "InfraTemplate", "t", Some((CLUSTERS, "ClusterClass", "class")));
    stage.target.insert(template).unwrap();
    // As where classes come from a repository, and a policy refuses all others.
    stage.target.on_call(|verb, key| {
        let shared = ["ClusterClass", "InfraTemplate"].contains(&key.group_kind.kind.as_str());
        let asked = verb.ends_with("create") && shared;
        asked.then(|| Fault::Before(PlaceError::Forbidden("a policy".into())))
    });
    run::start(stage.setup()).await.unwrap();
}

/// A move that works in a second namespace locks that, too. Both leases of a run that dies keep its name.
#[tokio::test(start_paused = true)]
async fn a_move_that_locked_two_namespaces_resumes_after_its_run_died() {
    for back in [false, true] {
        let mut stage = Stage::new();
        stage.options.break_lease = false;
        let mut class = body(CLUSTERS, "ClusterClass", "shared", None);
        class["metadata"]["namespace"] = json!("classes");
        stage.source.insert(class).unwrap();
        let uses = |b: &mut Value| {
            b["spec"]["topology"]["classRef"] = json!({"name": "shared", "namespace": "classes"});
        };
        stage.source.edit(&key(CLUSTERS, "Cluster", "c"), uses).unwrap();
        let before = picture(&stage.source);
        // Dead for everybody from the first create on, the leases' renewal included.
        let dead = Arc::new(AtomicUsize::new(0));
        for (place, is_target) in [(&stage.source, false), (&stage.target, true)] {
            let dead = dead.clone();
            place.on_call(move |verb, key| {
                if is_target && verb == "create" && key.group_kind.kind == "Cluster" {
                    dead.store(1, Ordering::SeqCst);
                }
                (dead.load(Ordering::SeqCst) == 1)
                    .then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
            });
        }
        run::start(stage.setup()).await.unwrap_err();
        for place in [&stage.source, &stage.target] {
            place.on_call(|_, _| None);
        }
        let held =
            stage.source.keys().into_iter().filter(|key| key.name.starts_with("pivot-host.ns.")).count();
        assert_eq!(held, 2, "{:?}", stage.source.keys());
        if back {
            run::rollback(stage.setup()).await.unwrap();
            assert_eq!(picture(&stage.source), before);
        } else {
            run::resume(stage.setup()).await.unwrap();
        }
        let left = stage.source.keys().into_iter().filter(|key| key.group_kind.kind == "Lease");
        assert_eq!(left.count(), 0, "{:?}", stage.source.keys());
    }
}

/// A webhook may deny a request, whatever permissions are missing elsewhere.
#[tokio::test(start_paused = true)]
async fn denied_answers_stay_beside_missing_permissions() {
    let secrets = |verb: &'static str| pivot_places::Access {
        verb: verb.into(),
        group: "".into(),
        resource: "secrets".into(),
        subresource: "".into(),
        namespace: Some("ns".into()),
    };
    for lacks_in_source in [true, false] {
        let stage = Stage::new();
        stage.target.deny(secrets("create"));
        if lacks_in_source {
            stage.source.deny(secrets("list"));
        }
        stage.source.on_call(|verb, key| {
            let denied = verb == "list" && key.group_kind.kind == "Secret";
            denied.then(|| Fault::Before(PlaceError::Forbidden("no secrets for u".into())))
        });
        let stop = run::start(stage.setup()).await.unwrap_err();
        assert!(stop.to_string().contains("no secrets for u"), "{stop}");
        let is_replaced = matches!(&stop.failure, Failure::Refused(all) if all.len() == 2);
        assert_eq!(is_replaced, lacks_in_source, "{stop:?}");
        assert_eq!(stop.to_string().contains("no permission to list secrets"), lacks_in_source, "{stop}");
    }
}
