//! A source that becomes authoritative again, after the target lost a committed move.

use std::sync::{Arc, Mutex};

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::records::record::Phase;
use pivot_core::{Key, Side};
use pivot_engine::{Event, Exit, Failure, Next, OneSidedMove, Situation, Stop, Watcher};
use pivot_memory::MemoryPlace;
use serde_json::{Value, json};

use crate::committed::commit;
use crate::crash::{at_every_write, nothing_of_ours};
use crate::restored::{Backup, cluster, forget, one_sided, reconcile, stage};
use crate::run::{self, With};
use crate::stage::{CLUSTERS, Stage, body, is_record, key, picture, under_way};
use crate::trouble::half_committed;

pub(crate) fn other() -> Key {
    key(CLUSTERS, "Cluster", "d")
}

/// A stage with a second Cluster.
pub(crate) fn two_clusters() -> Stage {
    let stage = stage();
    let mut other = body(CLUSTERS, "Cluster", "d", None);
    other["spec"] = json!({"paused": false, "controlPlaneEndpoint": {"host": "10.0.0.2", "port": 6443}});
    other["status"] = json!({"initialization": {"infrastructureProvisioned": true},
        "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]});
    stage.source.insert(other).unwrap();
    stage
}

/// A target that lost a committed move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    BeforeCopy,
    BeforeCommit,
}

const LOST: [Lost; 2] = [Lost::BeforeCopy, Lost::BeforeCommit];

pub(crate) async fn lose(lost: Lost) -> Stage {
    let stage = two_clusters();
    let before = Backup::take(&stage.target);
    let stage = commit(stage).await;
    match lost {
        Lost::BeforeCopy => before.restore(&stage.target),
        Lost::BeforeCommit => forget(&stage.target),
    }
    stage
}

/// A command that accepts the danger, and names Clusters.
pub(crate) fn recovering(stage: &Stage, named: &[&Key]) -> With {
    let mut setup = stage.setup();
    setup.options.accept.insert(Risk::WorldChanged);
    With::unpause(setup, named)
}

pub(crate) fn is_paused(place: &MemoryPlace, cluster: &Key) -> bool {
    place.body(cluster).unwrap()["spec"]["paused"] == true
}

/// The Clusters that stay paused. Nothing compared them with their nodes.
fn left_paused(stop: &Stop) -> (Side, Vec<Key>) {
    match &stop.failure {
        Failure::LeftPaused { side, clusters, compared: false } => {
            assert!(clusters.iter().all(|paused| paused.reasons.is_empty() && paused.can_be_named), "{stop}");
            (*side, clusters.iter().map(|paused| paused.cluster.clone()).collect())
        }
        other => panic!("{other:?}"),
    }
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Watcher for Notes {
    fn event(&self, event: Event) {
        if let Event::Note { text, .. } = event {
            self.0.lock().unwrap().push(text);
        }
    }
}

// proves: I14
#[tokio::test(start_paused = true)]
async fn rollback_recovers_sources_of_lost_moves() {
    let untouched = picture(&two_clusters().source);
    for lost in LOST {
        let stage = lose(lost).await;
        let before = (picture(&stage.source), picture(&stage.target));
        let stop = run::rollback(stage.setup()).await.unwrap_err();
        assert_eq!(stop.exit, Exit::Refused, "{lost:?}: {stop}");
        assert_eq!(stop.remedies(), [Remedy::RestoreTarget, Remedy::RecoverSource], "{stop}");
        assert_eq!((picture(&stage.source), picture(&stage.target)), before, "{lost:?}");

        let stop = run::rollback(recovering(&stage, &[])).await.unwrap_err();
        assert_eq!(left_paused(&stop), (Side::Source, vec![cluster(), other()]), "{lost:?}: {stop}");
        assert_eq!((stop.exit, stop.next.as_slice()), (Exit::PartWay, [Next::Rollback].as_slice()));
        assert!(is_paused(&stage.source, &cluster()) && is_paused(&stage.source, &other()), "{lost:?}");
        assert!(picture(&stage.target).is_empty(), "{lost:?}");

        // From here on it is a move that was not committed, but nothing is unpaused that was not named.
        let stop = run::rollback(With::unpause(stage.setup(), &[&other()])).await.unwrap_err();
        assert_eq!(left_paused(&stop), (Side::Source, vec![cluster()]), "{lost:?}: {stop}");
        assert!(is_paused(&stage.source, &cluster()) && !is_paused(&stage.source, &other()), "{lost:?}");
        let pool = stage.source.body(&key(crate::stage::INFRA, "Pool", "p")).unwrap();
        assert!(pool.to_string().contains(names::UNDO), "it may serve any Cluster: {pool}");

        run::rollback(With::unpause(stage.setup(), &[&cluster()])).await.unwrap();
        assert_eq!(picture(&stage.source), untouched, "{lost:?}");
        assert!(picture(&stage.target).is_empty() && under_way(stage.setup()).await.is_none(), "{lost:?}");
        assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{lost:?}");
    }
}

// proves: I14
#[tokio::test(start_paused = true)]
async fn resume_copies_lost_moves_again() {
    let whole = two_clusters();
    run::start(whole.setup()).await.unwrap();
    for lost in LOST {
        let stage = lose(lost).await;
        let first = under_way(stage.setup()).await.unwrap().record.move_id;
        run::resume(stage.setup()).await.unwrap_err();
        let stop = run::resume(recovering(&stage, &[&other()])).await.unwrap_err();
        assert_eq!(left_paused(&stop), (Side::Target, vec![cluster()]), "{lost:?}: {stop}");
        assert_eq!((stop.exit, stop.phase), (Exit::PastCommit, Some(Phase::Live)), "{lost:?}: {stop}");
        assert_eq!(stop.next, [Next::Resume], "{lost:?}");
        assert!(is_paused(&stage.target, &cluster()) && !is_paused(&stage.target, &other()), "{lost:?}");
        assert!(is_paused(&stage.source, &cluster()) && is_paused(&stage.source, &other()), "{lost:?}");
        assert_eq!(under_way(stage.setup()).await.unwrap().record.move_id, first, "{lost:?}");

        // Nothing is deleted from the source before each Cluster is named.
        let stop = run::resume(stage.setup()).await.unwrap_err();
        assert_eq!(left_paused(&stop), (Side::Target, vec![cluster()]), "{lost:?}: {stop}");
        let stop = run::rollback(stage.setup()).await.unwrap_err();
        assert!(stop.to_string().contains("past the point of no return"), "{lost:?}: {stop}");
        run::resume(With::unpause(stage.setup(), &[&cluster()])).await.unwrap();
        let summary = run::status(stage.setup()).await.unwrap().finished.remove(0);
        assert!(summary.accepted.contains(&"world-changed".to_owned()), "{summary:?}");
        assert_eq!(picture(&stage.target), picture(&whole.target), "{lost:?}");
        assert_eq!(picture(&stage.source), picture(&whole.source), "{lost:?}");
        assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{lost:?}");
    }
}

/// A real server would still be deleting the namespace when the next attempt creates its first copy.
#[tokio::test(start_paused = true)]
async fn namespaces_outlive_attempts_that_copy_again() {
    let stage = lose(Lost::BeforeCommit).await;
    let made = |stage: &Stage| {
        stage.target.journal().into_iter().filter(|call| call.key.group_kind.is("", "Namespace"))
    };
    assert_eq!(made(&stage).map(|call| call.verb).collect::<Vec<_>>(), ["create"]);
    let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
    assert_eq!(left_paused(&stop), (Side::Target, vec![cluster(), other()]), "{stop}");
    assert_eq!(made(&stage).filter(|call| call.verb == "delete").count(), 0);
}

// proves: I14
#[tokio::test(start_paused = true)]
async fn recovery_needs_a_complete_paused_source() {
    type Change = fn(&Stage);
    let changes: [(&str, Change); 7] = [
        ("source-incomplete", |stage| drop(stage.source.remove(&key(CLUSTERS, "Machine", "m1")))),
        ("source-incomplete", |stage| {
            let machine = body(CLUSTERS, "Machine", "m2", Some((CLUSTERS, "Cluster", "c")));
            drop(stage.source.insert(machine));
        }),
        ("source-incomplete", |stage| {
            let again = |body: &mut Value| body["metadata"]["uid"] = json!("another");
            drop(stage.source.edit(&key(CLUSTERS, "Machine", "m1"), again));
        }),
        ("source-incomplete", |stage| {
            let deleting =
                |body: &mut Value| body["metadata"]["deletionTimestamp"] = json!("2026-11-25T00:00:00Z");
            drop(stage.source.edit(&key(CLUSTERS, "Machine", "m1"), deleting));
        }),
        ("pause-undone", |stage| {
            let undo = |body: &mut Value| {
                body["spec"]["paused"] = json!(false);
                body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO);
            };
            drop(stage.source.edit(&cluster(), undo));
        }),
        ("pause-undone", |stage| {
            let undo = |body: &mut Value| {
                drop(body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO));
            };
            drop(stage.source.edit(&cluster(), undo));
        }),
        ("pause-undone", |stage| {
            let undo = |body: &mut Value| {
                let annotations = body["metadata"]["annotations"].as_object_mut().unwrap();
                annotations.remove(names::PAUSED);
                annotations.remove(names::UNDO);
            };
            drop(stage.source.edit(&key(crate::stage::INFRA, "Pool", "p"), undo));
        }),
    ];
    for (number, (code, change)) in changes.into_iter().enumerate() {
        let stage = lose(Lost::BeforeCommit).await;
        change(&stage);
        let before = (picture(&stage.source), picture(&stage.target));
        for stop in [
            run::resume(recovering(&stage, &[&cluster(), &other()])).await.unwrap_err(),
            run::rollback(recovering(&stage, &[&cluster(), &other()])).await.unwrap_err(),
        ] {
            let Failure::Refused(refusals) = &stop.failure else { panic!("{number}: {stop}") };
            assert_eq!(refusals[0].code, code, "{number}: {stop}");
            assert_eq!(
                (stop.exit, stop.next.as_slice()),
                (Exit::Refused, [Next::Status].as_slice()),
                "{stop}"
            );
            assert!(stop.state.contains("keep it, paused"), "{number}: {}", stop.state);
        }
        assert_eq!((picture(&stage.source), picture(&stage.target)), before, "{number}");
    }
}

/// The record has only the number and a digest of what was committed; the copies in the target have names.
// proves: T167
#[tokio::test(start_paused = true)]
async fn differences_from_the_commit_are_named() {
    for (lost, added, expected) in [
        (Lost::BeforeCommit, false, "Machine ns/m1 and Secret ns/m1-bootstrap, which the source lacks"),
        (Lost::BeforeCommit, true, "Machine ns/m2 were not committed"),
        (Lost::BeforeCopy, false, "; at least 3 are missing, and neither side has their names"),
    ] {
        let stage = lose(lost).await;
        match added {
            true => {
                let machine = body(CLUSTERS, "Machine", "m2", Some((CLUSTERS, "Cluster", "c")));
                drop(stage.source.insert(machine).unwrap());
            }
            false => stage.source.remove(&key(CLUSTERS, "Machine", "m1")).unwrap(),
        }
        let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
        assert!(stop.to_string().contains(expected), "{lost:?} {added}: {stop}");
    }
}

fn edit_record(stage: &Stage, change: impl Fn(&mut Value)) {
    let record = stage.source.keys().into_iter().find(|key| is_record(key, "source")).unwrap();
    let says = |body: &mut Value| {
        let mut record: Value = serde_json::from_str(body["data"]["record.json"].as_str().unwrap()).unwrap();
        change(&mut record);
        body["data"]["record.json"] = json!(record.to_string());
    };
    stage.source.edit(&record, says).unwrap();
}

// proves: I14
#[tokio::test(start_paused = true)]
async fn recovery_is_refused_once_deleting_has_begun() {
    for field in ["phase", "releaseUids"] {
        let stage = lose(Lost::BeforeCopy).await;
        edit_record(&stage, |record| {
            let value = if field == "phase" { json!("Released") } else { Value::Null };
            record[field] = value;
        });
        let before = picture(&stage.source);
        for stop in [
            run::resume(recovering(&stage, &[])).await.unwrap_err(),
            run::rollback(recovering(&stage, &[])).await.unwrap_err(),
        ] {
            assert!(stop.to_string().contains("can't be recovered"), "{field}: {stop}");
            assert_eq!(stop.exit, Exit::Refused, "{stop}");
        }
        assert_eq!(picture(&stage.source), before, "{field}");
    }
}

// proves: I14, T103, T170
#[tokio::test(start_paused = true)]
async fn recovery_is_refused_beside_running_copies() {
    for (has_controllers, missing) in [(true, vec![other()]), (false, vec![cluster(), other()])] {
        let stage = lose(Lost::BeforeCommit).await;
        // One of two: that is no complete copy, but in service.
        stage.target.edit(&cluster(), |body| body["spec"]["paused"] = json!(false)).unwrap();
        if has_controllers {
            reconcile(&stage.target, &cluster());
        }
        let before = (picture(&stage.source), picture(&stage.target));
        for stop in [
            run::resume(stage.setup()).await.unwrap_err(),
            run::resume(recovering(&stage, &[])).await.unwrap_err(),
            run::rollback(recovering(&stage, &[])).await.unwrap_err(),
        ] {
            let OneSidedMove::PartTakenOver { without, .. } = one_sided(&stop) else { panic!("{stop}") };
            assert_eq!(without, &missing, "{stop}");
            assert_eq!(stop.remedies(), [Remedy::ExplainMissingCopies], "{stop}");
        }
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    }
}

/// Only the recorded target shows whether it lost the move: another may be named by mistake, or have the Clusters by now.
// proves: I14, T168
#[tokio::test(start_paused = true)]
async fn recovery_needs_the_recorded_target() {
    let mut stage = lose(Lost::BeforeCopy).await;
    let recorded = under_way(stage.setup()).await.unwrap().record.target.unwrap();
    stage.target = Stage::empty().target;
    let before = (picture(&stage.source), picture(&stage.target));
    for stop in [
        run::resume(recovering(&stage, &[&cluster(), &other()])).await.unwrap_err(),
        run::rollback(recovering(&stage, &[&cluster(), &other()])).await.unwrap_err(),
    ] {
        let text = stop.to_string();
        assert!(text.contains(&recorded.0) && text.contains("Only that target shows"), "{text}");
        assert_eq!(stop.exit, Exit::Refused, "{stop}");
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// A copy that ran until somebody paused it has been in service, too.
// proves: I14
#[tokio::test(start_paused = true)]
async fn recovery_is_refused_beside_copies_paused_again() {
    let stage = lose(Lost::BeforeCommit).await;
    wake(&stage.target, &cluster());
    pause_by_hand(&stage.target, &cluster());
    let before = (picture(&stage.source), picture(&stage.target));
    for stop in [
        run::resume(recovering(&stage, &[])).await.unwrap_err(),
        run::rollback(recovering(&stage, &[])).await.unwrap_err(),
    ] {
        assert!(stop.to_string().contains("was unpaused in the target and paused again"), "{stop}");
        assert_eq!(stop.exit, Exit::Refused, "{stop}");
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// The target has the move's summary, but not what moved: then the source is the side that went back.
// proves: I14
#[tokio::test(start_paused = true)]
async fn recovery_is_refused_after_the_moves_end() {
    let stage = commit(two_clusters()).await;
    let backup = Backup::take(&stage.source);
    run::resume(stage.setup()).await.unwrap();
    backup.restore(&stage.source);
    for name in [cluster(), other()] {
        stage.target.remove(&name).unwrap();
    }
    let before = (picture(&stage.source), picture(&stage.target));
    for stop in [
        run::resume(recovering(&stage, &[])).await.unwrap_err(),
        run::rollback(recovering(&stage, &[])).await.unwrap_err(),
    ] {
        assert!(
            stop.to_string().contains("says that move") && stop.to_string().contains("ended at"),
            "{stop}"
        );
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

#[tokio::test(start_paused = true)]
async fn recovery_is_refused_where_nothing_was_lost() {
    let stage = commit(two_clusters()).await;
    let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
    assert!(stop.to_string().contains("nothing shows that the target lost"), "{stop}");
    let unknown = key(CLUSTERS, "Cluster", "e");
    let stop = run::resume(With::unpause(stage.setup(), &[&unknown])).await.unwrap_err();
    assert!(matches!(&stop.failure, Failure::NoCluster { there, .. } if there.len() == 2), "{stop}");

    let stage = lose(Lost::BeforeCopy).await;
    let stop = run::rollback(recovering(&stage, &[&key(CLUSTERS, "Cluster", "e")])).await.unwrap_err();
    assert!(matches!(&stop.failure, Failure::NoCluster { there, .. } if there.len() == 2), "{stop}");
    assert!(matches!(
        one_sided(&run::resume(stage.setup()).await.unwrap_err()),
        OneSidedMove::LastCopyInSource
    ));
}

/// A command that is refused after the recovery would report that it changed nothing.
// proves: I14
#[tokio::test(start_paused = true)]
async fn wrong_options_are_refused_before_recoveries() {
    for lost in LOST {
        let stage = lose(lost).await;
        let before = (picture(&stage.source), picture(&stage.target));
        let mut accepting = recovering(&stage, &[]);
        let machines = key(CLUSTERS, "Machine", "m1").group_kind;
        accepting.setup.options.accept.insert_kind(Risk::CopyChanged, machines);
        let dropping = With::drop_workers(recovering(&stage, &[]).setup, &[&cluster()]);
        let finishing = With { imported: true, ..recovering(&stage, &[]) };
        for (with, expected) in [
            (accepting, "is not committed"),
            (dropping, "restores no backup"),
            (finishing, "hands nothing over in files"),
        ] {
            let stop = run::resume(with).await.unwrap_err();
            assert!(
                matches!(&stop.failure, Failure::Declined(why) if why.contains(expected)),
                "{lost:?}: {stop}"
            );
            assert_eq!(
                (stop.exit, stop.next.as_slice()),
                (Exit::Refused, [Next::Status].as_slice()),
                "{stop}"
            );
            assert!(stop.state.contains("keep it, paused"), "{lost:?}: {}", stop.state);
            assert_eq!((picture(&stage.source), picture(&stage.target)), before, "{lost:?}: {expected}");
        }
        let stop = run::resume(stage.setup()).await.unwrap_err();
        assert_eq!(one_sided(&stop), &OneSidedMove::LastCopyInSource, "{lost:?}: {stop}");
    }
}

/// A Cluster that no command named holds the others back, also if it has lost the annotation that unpauses it.
// proves: I14
#[tokio::test(start_paused = true)]
async fn unnamed_clusters_without_undo_hold_others_back() {
    let lose_undo = |place: &MemoryPlace| {
        let undo = |body: &mut Value| {
            body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO).unwrap();
        };
        place.edit(&cluster(), undo).unwrap();
    };
    let pool = key(crate::stage::INFRA, "Pool", "p");
    for back in [true, false] {
        let stage = lose(Lost::BeforeCopy).await;
        let command = async |named: &[&Key]| match back {
            true => run::rollback(recovering(&stage, named)).await.map(|_| ()),
            false => run::resume(recovering(&stage, named)).await.map(|_| ()),
        };
        command(&[]).await.unwrap_err();
        let (place, side) = match back {
            true => (&stage.source, Side::Source),
            false => (&stage.target, Side::Target),
        };
        lose_undo(place);
        let stop = command(&[&other()]).await.unwrap_err();
        assert_eq!(left_paused(&stop), (side, vec![cluster()]), "{side}: {stop}");
        assert!(!is_paused(place, &other()) && is_paused(place, &cluster()), "{side}");
        assert!(place.body(&pool).unwrap().to_string().contains(names::UNDO), "{side}");
        assert!(stage.source.body(&cluster()).is_some(), "{side}");
        command(&[&cluster()]).await.unwrap();
        assert!(!is_paused(place, &cluster()) && under_way(stage.setup()).await.is_none(), "{side}");
    }
}

/// A field manager tells a move that takes paused Clusters, too, which pauses are its own. A name is enough without that.
// proves: I14
#[tokio::test(start_paused = true)]
async fn recoveries_find_lost_undo_among_paused_clusters() {
    for is_shown in [true, false] {
        let mut stage = two_clusters();
        stage.options.scope.accept.insert(Risk::AlreadyPaused);
        let before = Backup::take(&stage.target);
        let stage = commit(stage).await;
        before.restore(&stage.target);
        let fields = json!([{"manager": names::FIELD_MANAGER, "operation": "Update",
            "fieldsV1": {"f:spec": {"f:paused": {}}}}]);
        let lose = |body: &mut Value| {
            body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO).unwrap();
            body["metadata"]["managedFields"] = if is_shown { fields.clone() } else { json!([]) };
        };
        stage.source.edit(&cluster(), lose).unwrap();
        if is_shown {
            let stop = run::rollback(recovering(&stage, &[&other()])).await.unwrap_err();
            assert_eq!(left_paused(&stop), (Side::Source, vec![cluster()]), "{stop}");
        }
        run::rollback(recovering(&stage, &[&cluster(), &other()])).await.unwrap();
        assert!(!is_paused(&stage.source, &cluster()) && !is_paused(&stage.source, &other()), "{is_shown}");
        assert!(under_way(stage.setup()).await.is_none(), "{is_shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_names_are_refused_after_a_recovery() {
    let unknown = key(CLUSTERS, "Cluster", "e");
    for back in [true, false] {
        let stage = lose(Lost::BeforeCopy).await;
        let command = async |named: &[&Key]| match back {
            true => run::rollback(recovering(&stage, named)).await.map(|_| ()),
            false => run::resume(recovering(&stage, named)).await.map(|_| ()),
        };
        command(&[]).await.unwrap_err();
        let before = (picture(&stage.source), picture(&stage.target));
        let stop = command(&[&cluster(), &unknown]).await.unwrap_err();
        assert!(matches!(&stop.failure, Failure::NoCluster { there, .. } if there.len() == 2), "{stop}");
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
        command(&[&cluster(), &other()]).await.unwrap();
    }
}

/// The server's times of the last writes of the source's record and of the run's lease: one clock.
#[tokio::test(start_paused = true)]
async fn time_since_the_commit_is_reported() {
    let stage = lose(Lost::BeforeCopy).await;
    let record = stage.source.keys().into_iter().find(|key| is_record(key, "source")).unwrap();
    let fields = json!([{"manager": "pivot-host", "operation": "Update", "time": "2026-11-25T10:00:00Z"},
        {"manager": "kubectl", "operation": "Update", "time": "2026-11-26T10:00:00Z"}]);
    stage.source.edit(&record, |body| body["metadata"]["managedFields"] = fields.clone()).unwrap();
    for (now, accepted, long) in [
        (None, false, "some time since"),
        (Some("2026-11-25T09:00:00Z"), false, "some time since"),
        (Some("2026-11-25T10:00:30Z"), false, "up to 1 min: since"),
        (Some("2026-11-25T14:12:00Z"), false, "up to 4 h 13 min: since"),
        (Some("2026-11-28T12:00:00Z"), true, "up to 3 d 3 h: since"),
    ] {
        let source = stage.source.clone();
        stage.source.on_call(move |verb, key| {
            if let (Some(now), "get", "Lease") = (now, verb, &*key.group_kind.kind) {
                let fields = json!([{"manager": "pivot-host", "operation": "Update", "time": now}]);
                drop(source.edit(key, |body| body["metadata"]["managedFields"] = fields.clone()));
            }
            None
        });
        let notes = Arc::new(Notes::default());
        let mut with = if accepted { recovering(&stage, &[]) } else { stage.setup().into() };
        with.setup.watcher = notes.clone();
        run::rollback(with).await.unwrap_err();
        let told = notes.0.lock().unwrap().join("\n");
        assert!(told.contains("may have run each of these Clusters of move "), "{told}");
        assert!(told.contains("Cluster ns/c and Cluster ns/d"), "{told}");
        assert!(told.contains(&format!("{long} its commit at 2026-11-25T10:00:00Z")), "{told}");
    }
}

// proves: I10, I14
#[tokio::test(start_paused = true)]
async fn killed_recovering_rollbacks_end_the_same() {
    let untouched = picture(&two_clusters().source);
    for lost in [Lost::BeforeCopy, Lost::BeforeCommit] {
        let deaths = at_every_write(
            async || (lose(lost).await, ()),
            async |stage, ()| drop(run::rollback(recovering(stage, &[&other()])).await),
            async |stage, (), at| {
                assert!(is_paused(&stage.source, &cluster()), "{lost:?}: {at}");
                let stop = run::rollback(recovering(stage, &[&other()])).await.unwrap_err();
                assert_eq!(left_paused(&stop), (Side::Source, vec![cluster()]), "{lost:?}: {at}: {stop}");
                assert!(!is_paused(&stage.source, &other()), "{lost:?}: {at}");
                run::rollback(recovering(stage, &[&cluster()])).await.unwrap();
                assert_eq!(picture(&stage.source), untouched, "{lost:?}: {at}");
                assert!(picture(&stage.target).is_empty(), "{lost:?}: {at}");
                assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{lost:?}: {at}");
            },
        )
        .await;
        assert!(deaths > 8, "{lost:?}: {deaths}");
    }
}

// proves: I10, I14
#[tokio::test(start_paused = true)]
async fn killed_recovering_resumes_end_the_same() {
    let whole = two_clusters();
    run::start(whole.setup()).await.unwrap();
    let (source, target) = (picture(&whole.source), picture(&whole.target));
    for lost in [Lost::BeforeCopy, Lost::BeforeCommit] {
        let deaths = at_every_write(
            async || (lose(lost).await, ()),
            async |stage, ()| drop(run::resume(recovering(stage, &[&other()])).await),
            async |stage, (), at| {
                assert!(is_paused(&stage.source, &cluster()) && is_paused(&stage.source, &other()), "{at}");
                let stop = run::resume(recovering(stage, &[&other()])).await.unwrap_err();
                assert_eq!(left_paused(&stop), (Side::Target, vec![cluster()]), "{lost:?}: {at}: {stop}");
                run::resume(recovering(stage, &[&cluster()])).await.unwrap();
                assert_eq!(picture(&stage.target), target, "{lost:?}: {at}");
                assert_eq!(picture(&stage.source), source, "{lost:?}: {at}");
                assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{lost:?}: {at}");
            },
        )
        .await;
        assert!(deaths > 40, "{lost:?}: {deaths}");
    }
}

/// The first target comes back as it was when it ran: its copies are none of the second attempt.
// proves: I14
#[tokio::test(start_paused = true)]
async fn returned_first_targets_are_recognised() {
    let stage = two_clusters();
    let before = Backup::take(&stage.target);
    let stage = commit(stage).await;
    let paused = Backup::take(&stage.target);
    for name in [cluster(), other()] {
        let undo = |body: &mut Value| {
            body["spec"]["paused"] = json!(false);
            body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO);
        };
        stage.target.edit(&name, undo).unwrap();
        reconcile(&stage.target, &name);
    }
    let running = Backup::take(&stage.target);
    before.restore(&stage.target);
    let committed = Backup::take(&stage.source);
    run::rollback(recovering(&stage, &[])).await.unwrap_err();
    let rolled_back = Backup::take(&stage.source);
    committed.restore(&stage.source);
    run::resume(recovering(&stage, &[])).await.unwrap_err();
    let again = Backup::take(&stage.source);
    for (number, source) in [&rolled_back, &again].into_iter().enumerate() {
        for with_record in [true, false] {
            running.restore(&stage.target);
            source.restore(&stage.source);
            if !with_record {
                forget(&stage.target);
            }
            let pictures = (picture(&stage.source), picture(&stage.target));
            for stop in [
                run::resume(recovering(&stage, &[&cluster(), &other()])).await.unwrap_err(),
                run::rollback(recovering(&stage, &[&cluster(), &other()])).await.unwrap_err(),
                run::start(stage.setup()).await.unwrap_err(),
            ] {
                assert!(matches!(one_sided(&stop), OneSidedMove::TakenOver(_)), "{number}: {stop}");
            }
            assert_eq!((picture(&stage.source), picture(&stage.target)), pictures, "{number}");
        }
    }

    // As it was before anything ran, it has lost the second attempt.
    paused.restore(&stage.target);
    again.restore(&stage.source);
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!(one_sided(&stop), &OneSidedMove::LastCopyInSource, "{stop}");
    let untouched = picture(&two_clusters().source);
    run::rollback(recovering(&stage, &[&cluster(), &other()])).await.unwrap();
    assert_eq!(picture(&stage.source), untouched);
    assert!(picture(&stage.target).is_empty());
}

/// The first target comes back as it was before anything ran, while the source waits for its second attempt.
// proves: I10, I14, T171
#[tokio::test(start_paused = true)]
async fn returned_targets_at_rest_are_cleared() {
    let whole = two_clusters();
    run::start(whole.setup()).await.unwrap();
    let untouched = picture(&two_clusters().source);
    let returned = async |with_record: bool| {
        let stage = two_clusters();
        let before = Backup::take(&stage.target);
        let stage = commit(stage).await;
        let at_rest = Backup::take(&stage.target);
        before.restore(&stage.target);
        run::rollback(recovering(&stage, &[])).await.unwrap_err();
        at_rest.restore(&stage.target);
        if !with_record {
            forget(&stage.target);
        }
        assert_eq!(under_way(stage.setup()).await.unwrap().one_sided, None);
        (stage, ())
    };
    for with_record in [true, false] {
        for back in [true, false] {
            let command = async |stage: &Stage, named: &[&Key]| {
                let with = With::unpause(stage.setup(), named);
                match back {
                    true => run::rollback(with).await.map(drop),
                    false => run::resume(with).await.map(drop),
                }
            };
            let deaths = at_every_write(
                async || returned(with_record).await,
                async |stage, ()| drop(command(stage, &[]).await),
                async |stage, (), at| {
                    let at = format!("{with_record} {back}: {at}");
                    let stop = command(stage, &[]).await.unwrap_err();
                    assert_eq!(left_paused(&stop).1.len(), 2, "{at}: {stop}");
                    command(stage, &[&cluster(), &other()]).await.unwrap();
                    match back {
                        true => {
                            assert_eq!(picture(&stage.source), untouched, "{at}");
                            assert!(picture(&stage.target).is_empty(), "{at}");
                        }
                        false => {
                            assert_eq!(picture(&stage.source), picture(&whole.source), "{at}");
                            assert_eq!(picture(&stage.target), picture(&whole.target), "{at}");
                        }
                    }
                    assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{at}");
                },
            )
            .await;
            assert!(deaths > 20, "{with_record} {back}: {deaths}");
        }
    }
}

/// A rollback that left Clusters paused is continued first: a resume would pause those that were named again.
#[tokio::test(start_paused = true)]
async fn status_offers_rollback_of_recovered_sources_first() {
    let stage = lose(Lost::BeforeCopy).await;
    run::rollback(recovering(&stage, &[&other()])).await.unwrap_err();
    let one = under_way(stage.setup()).await.unwrap();
    let situation = Situation::from_status(&one, None, false);
    assert_eq!(situation.next(), [Next::Rollback, Next::Resume]);
    assert!(situation.state().contains("authoritative again"), "{}", situation.state());
}

/// The target has the record of a second attempt, of which a source of before its recovery knows nothing.
// proves: I14
#[tokio::test(start_paused = true)]
async fn sources_of_before_their_recovery_are_refused() {
    for (phase, second_runs) in
        [("Committed", false), ("Committed", true), ("Copied", false), ("Copied", true)]
    {
        let at = format!("{phase} {second_runs}");
        let stage = lose(Lost::BeforeCopy).await;
        edit_record(&stage, |record| record["phase"] = json!(phase));
        let backup = Backup::take(&stage.source);
        edit_record(&stage, |record| record["phase"] = json!("Committed"));
        let named: &[&Key] = if second_runs { &[&other()] } else { &[] };
        let stop = run::resume(recovering(&stage, named)).await.unwrap_err();
        assert_eq!(left_paused(&stop).0, Side::Target, "{at}: {stop}");
        backup.restore(&stage.source);
        let before = (picture(&stage.source), picture(&stage.target));
        for stop in [
            run::resume(stage.setup()).await.unwrap_err(),
            run::start(stage.setup()).await.unwrap_err(),
            run::rollback(stage.setup()).await.unwrap_err(),
            run::resume(recovering(&stage, &[])).await.unwrap_err(),
            run::rollback(recovering(&stage, &[])).await.unwrap_err(),
        ] {
            let OneSidedMove::TakenOver(proof) = one_sided(&stop) else { panic!("{at}: {stop}") };
            assert!(proof.contains("a later attempt"), "{at}: {proof}");
        }
        assert_eq!((picture(&stage.source), picture(&stage.target)), before, "{at}");
    }
}

/// A tool that knows nothing of the annotation may have removed it.
// proves: I14
#[tokio::test(start_paused = true)]
async fn copies_that_lost_their_undo_are_rolled_back() {
    let untouched = picture(&two_clusters().source);
    let lose_undo = async || {
        let stage = half_committed(two_clusters()).await;
        let undo = |body: &mut Value| {
            drop(body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO));
        };
        stage.target.edit(&cluster(), undo).unwrap();
        (stage, ())
    };
    let (stage, ()) = lose_undo().await;
    let before = (picture(&stage.source), picture(&stage.target));
    for stop in [
        run::rollback(stage.setup()).await.unwrap_err(),
        run::resume(recovering(&stage, &[&cluster(), &other()])).await.unwrap_err(),
    ] {
        assert!(matches!(one_sided(&stop), OneSidedMove::PausedAgain(_)), "{stop}");
        assert_eq!(stop.remedies(), [Remedy::RollBackLostUndo], "{stop}");
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    let deaths = at_every_write(
        lose_undo,
        async |stage, ()| drop(run::rollback(recovering(stage, &[&other()])).await),
        async |stage, (), at| {
            assert!(is_paused(&stage.source, &cluster()), "{at}");
            let stop = run::rollback(recovering(stage, &[&other()])).await.unwrap_err();
            assert_eq!(left_paused(&stop), (Side::Source, vec![cluster()]), "{at}: {stop}");
            run::rollback(recovering(stage, &[&cluster()])).await.unwrap();
            assert_eq!(picture(&stage.source), untouched, "{at}");
            assert!(picture(&stage.target).is_empty(), "{at}");
        },
    )
    .await;
    assert!(deaths > 20, "{deaths}");
}

// proves: I14
#[tokio::test(start_paused = true)]
async fn lost_undo_is_no_excuse_for_running_copies() {
    let stage = half_committed(two_clusters()).await;
    let undo = |body: &mut Value| {
        drop(body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO));
    };
    stage.target.edit(&cluster(), undo).unwrap();
    stage.target.edit(&other(), |body| body["spec"]["paused"] = json!(false)).unwrap();
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::rollback(recovering(&stage, &[])).await.unwrap_err();
    assert!(matches!(one_sided(&stop), OneSidedMove::SourceOutOfDate(_)), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// A Cluster runs without a note of this move.
pub(crate) fn wake(place: &MemoryPlace, cluster: &Key) {
    let wake = |body: &mut Value| {
        body["spec"]["paused"] = json!(false);
        body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO);
    };
    place.edit(cluster, wake).unwrap();
}

pub(crate) fn pause_by_hand(place: &MemoryPlace, cluster: &Key) {
    place.edit(cluster, |body| body["spec"]["paused"] = json!(true)).unwrap();
}

/// Both sides ran, until somebody paused both.
// proves: I14
#[tokio::test(start_paused = true)]
async fn pauses_since_the_move_hide_no_takeover() {
    for (already_paused, by_hand) in [(false, true), (false, false), (true, false)] {
        let at = format!("{already_paused} {by_hand}");
        let mut stage = two_clusters();
        if already_paused {
            stage.options.scope.accept.insert(Risk::AlreadyPaused);
        }
        let stage = half_committed(stage).await;
        wake(&stage.source, &cluster());
        wake(&stage.target, &cluster());
        match by_hand {
            true => pause_by_hand(&stage.source, &cluster()),
            false => {
                let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
                assert!(matches!(stop.failure, Failure::SourcePaused { .. }), "{at}: {stop}");
            }
        }
        pause_by_hand(&stage.target, &cluster());
        let before = (picture(&stage.source), picture(&stage.target));
        for stop in [
            run::rollback(stage.setup()).await.unwrap_err(),
            run::resume(stage.setup()).await.unwrap_err(),
            run::start(stage.setup()).await.unwrap_err(),
        ] {
            assert!(matches!(one_sided(&stop), OneSidedMove::PausedAgain(_)), "{at}: {stop}");
        }
        assert_eq!((picture(&stage.source), picture(&stage.target)), before, "{at}");
    }
}
