//! A side that is restored from a backup of before or during a move, with its records.

use std::sync::{Arc, Mutex};

use pivot_core::Side;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::records::record::{Phase, move_of_piece, piece_name};
use pivot_engine::{Exit, Failure, Next, OneSidedMove, Setup, Situation, Stop};
use pivot_memory::MemoryPlace;
use pivot_worlds::SECRET_DATA;
use serde_json::{Value, json};

use crate::committed::{Warnings, commit};
use crate::recovered::{is_paused, other, pause_by_hand, recovering, two_clusters, wake};
use crate::run::{self, With};
use crate::stage::{CLUSTERS, INFRA, Stage, body, is_record, key, picture, under_way};
use crate::trouble::half_committed;

/// A stage whose Cluster shows which workload cluster it is of.
pub(crate) fn stage() -> Stage {
    let stage = Stage::new();
    let endpoint = json!({"host": "10.0.0.1", "port": 6443});
    stage.source.edit(&cluster(), |body| body["spec"]["controlPlaneEndpoint"] = endpoint.clone()).unwrap();
    let mut authority = body("", "Secret", "c-ca", Some((CLUSTERS, "Cluster", "c")));
    authority["data"] = json!({"tls.crt": "Y2E=", "tls.key": "a2V5", "lab": SECRET_DATA});
    stage.source.insert(authority).unwrap();
    stage
}

pub(crate) fn cluster() -> pivot_core::Key {
    key(CLUSTERS, "Cluster", "c")
}

/// The controllers of a server write the status of a Cluster.
pub(crate) fn reconcile(place: &MemoryPlace, cluster: &pivot_core::Key) {
    let by_controller = json!([{"manager": "manager", "operation": "Update", "subresource": "status", "time": "2099-01-01T00:00:00Z"}]);
    place.edit(cluster, |body| body["metadata"]["managedFields"] = by_controller.clone()).unwrap();
}

/// A move that died when it was about to delete from the source.
async fn live() -> Stage {
    live_of(stage()).await
}

async fn live_of(stage: Stage) -> Stage {
    let stop =
        stage.dies(|verb, key| verb == "patch" && is_record(key, "target"), |verb, _| verb == "patch").await;
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    stage
}

/// Everything that a server holds.
#[derive(Clone)]
pub(crate) struct Backup(Vec<Value>);

impl Backup {
    pub(crate) fn take(place: &MemoryPlace) -> Self {
        Self(place.keys().iter().filter_map(|key| place.body(key)).collect())
    }

    /// As a restored data directory of etcd does: with the UIDs of then.
    pub(crate) fn restore(&self, place: &MemoryPlace) {
        place.keys().iter().for_each(|key| place.remove(key).unwrap());
        self.0.iter().for_each(|body| drop(place.insert(body.clone()).unwrap()));
    }
}

async fn commands(stage: &Stage) -> [Stop; 3] {
    [
        run::resume(stage.setup()).await.unwrap_err(),
        run::start(stage.setup()).await.unwrap_err(),
        run::rollback(stage.setup()).await.unwrap_err(),
    ]
}

pub(crate) fn one_sided(stop: &Stop) -> &OneSidedMove {
    match &stop.failure {
        Failure::OneSidedMove { one_sided, .. } => one_sided,
        other => panic!("{other:?}"),
    }
}

/// Removes the target's record of a move, or its summary.
pub(crate) fn forget(target: &MemoryPlace) {
    let record = target.keys().into_iter().find(|key| is_record(key, "target")).unwrap();
    target.remove(&record).unwrap();
}

/// The failure, the state and remedies without a command tell a person to do nothing that only a move may do. The command line has the text
/// of other remedies, and its tests judge that.
pub(crate) fn advises_nothing_by_hand(stop: &Stop) {
    let by_hand: Vec<String> = stop.remedies().iter().filter_map(Remedy::by_hand).collect();
    let words = format!("{stop} {} {}", stop.state, by_hand.join(" "));
    for word in ["delete them", "finalizers", "unpause"] {
        assert!(!words.contains(word), "{words}");
    }
}

// proves: I14, T160
#[tokio::test(start_paused = true)]
async fn a_source_is_kept_if_its_target_lost_the_move() {
    let stage = Stage::new();
    let backup = Backup::take(&stage.target);
    let stage = commit(stage).await;
    backup.restore(&stage.target);
    let before = (picture(&stage.source), picture(&stage.target));
    for stop in commands(&stage).await {
        assert_eq!(one_sided(&stop), &OneSidedMove::LastCopyInSource, "{stop}");
        assert_eq!((stop.exit, stop.next.as_slice()), (Exit::Refused, [Next::Status].as_slice()), "{stop}");
        assert!(stop.state.contains("keep it"), "{}", stop.state);
        advises_nothing_by_hand(&stop);
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    let status = under_way(stage.setup()).await.unwrap();
    assert_eq!(status.one_sided, Some(OneSidedMove::LastCopyInSource));
}

/// The backup is of after the copy: what it has is complete, and paused.
// proves: T161
#[tokio::test(start_paused = true)]
async fn paused_copies_do_not_make_a_source_stale() {
    let stage = commit(Stage::new()).await;
    forget(&stage.target);
    for stop in commands(&stage).await {
        assert_eq!(one_sided(&stop), &OneSidedMove::LastCopyInSource, "{stop}");
    }
}

// proves: I14, T162
#[tokio::test(start_paused = true)]
async fn a_source_is_out_of_date_only_with_a_proof() {
    for summary in [true, false] {
        let stage = live().await;
        let backup = Backup::take(&stage.source);
        run::resume(stage.setup()).await.unwrap();
        if !summary {
            forget(&stage.target);
        }
        // As it was after the commit, with its record.
        backup.restore(&stage.source);
        let stop = run::resume(stage.setup()).await.unwrap_err();
        let OneSidedMove::PartTakenOver { without, .. } = one_sided(&stop) else { panic!("{stop}") };
        assert_eq!(without, &[cluster()], "no controller writes to the copy: {stop}");
        reconcile(&stage.target, &cluster());
        let before = (picture(&stage.source), picture(&stage.target));
        for stop in commands(&stage).await {
            let OneSidedMove::TakenOver(proof) = one_sided(&stop) else { panic!("{stop}") };
            let expected =
                if summary { "and Cluster ns/c runs there" } else { "Cluster ns/c, a copy of move" };
            assert!(proof.contains(expected), "{proof}");
            assert_eq!(stop.next, [Next::Status], "{stop}");
            advises_nothing_by_hand(&stop);
        }
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    }
}

// proves: I14
#[tokio::test(start_paused = true)]
async fn sources_restored_with_new_uids_are_not_overlooked() {
    let stage = commit(Stage::new()).await;
    let backup = Backup::take(&stage.target);
    run::resume(stage.setup()).await.unwrap();
    backup.restore(&stage.target);
    let mut anew = body(CLUSTERS, "Cluster", "c", None);
    anew["metadata"]["uid"] = json!("another");
    stage.source.insert(anew).unwrap();
    let before = (picture(&stage.source), picture(&stage.target));
    let replaced = OneSidedMove::SourceReplaced(vec![key(CLUSTERS, "Cluster", "c")]);
    for stop in commands(&stage).await {
        assert_eq!(one_sided(&stop), &replaced, "{stop}");
        advises_nothing_by_hand(&stop);
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    let status = under_way(stage.setup()).await.unwrap();
    assert_eq!(status.one_sided, Some(replaced));
}

// proves: I14, T163
#[tokio::test(start_paused = true)]
async fn copies_that_may_be_the_last_are_not_removed() {
    let stage = commit(Stage::new()).await;
    let backup = Backup::take(&stage.target);
    run::resume(stage.setup()).await.unwrap();
    backup.restore(&stage.target);
    let before = (picture(&stage.source), picture(&stage.target));
    for stop in commands(&stage).await {
        assert_eq!(one_sided(&stop), &OneSidedMove::LastCopyInTarget, "{stop}");
        assert_eq!((stop.exit, stop.next.as_slice()), (Exit::Refused, [Next::Status].as_slice()), "{stop}");
        advises_nothing_by_hand(&stop);
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    let status = under_way(stage.setup()).await.unwrap();
    assert_eq!(status.one_sided, Some(OneSidedMove::LastCopyInTarget));

    run::resume(With::absent(Side::Source, stage.setup())).await.unwrap();
    let cluster = stage.target.body(&key(CLUSTERS, "Cluster", "c")).unwrap();
    assert_eq!(cluster["spec"]["paused"], json!(false));
    assert_eq!(cluster["metadata"]["annotations"].get(names::UNDO), None);
}

/// Removes the list from a record, as the end of a move does before its last write if the list is large.
fn close_but_for_the_summary(body: &mut Value) {
    let data = body["data"].as_object_mut().unwrap();
    data.remove("list");
    let mut record: Value = serde_json::from_str(data["record.json"].as_str().unwrap()).unwrap();
    (record["phase"], record["releaseChunks"]) = (json!("Settled"), json!(0));
    data["record.json"] = json!(record.to_string());
}

fn close(stage: &Stage) {
    let record = stage.target.keys().into_iter().find(|key| is_record(key, "target")).unwrap();
    stage.target.edit(&record, close_but_for_the_summary).unwrap();
}

/// As a move writes a list that is too long for its record, with the pieces that its end has not removed yet.
fn close_in_pieces(stage: &Stage, left: &[usize]) {
    let record = stage.target.keys().into_iter().find(|key| is_record(key, "target")).unwrap();
    let list = stage.target.body(&record).unwrap()["data"]["list"].clone();
    close(stage);
    let mut move_id = String::new();
    let in_pieces = |body: &mut Value| {
        let mut written: Value = serde_json::from_str(body["data"]["record.json"].as_str().unwrap()).unwrap();
        written["releaseChunks"] = json!(2);
        written["moveId"].as_str().unwrap().clone_into(&mut move_id);
        body["data"]["record.json"] = json!(written.to_string());
    };
    stage.target.edit(&record, in_pieces).unwrap();
    for number in left {
        let text = if *number == 0 { list.clone() } else { json!("") };
        let name = piece_name(&move_id, *number);
        let metadata = json!({"namespace": record.namespace, "name": name});
        let piece =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"list": text}});
        stage.target.insert(piece).unwrap();
    }
}

/// The end of a move removes the pieces of its list side by side, and leaves their number in the record.
// proves: I14, T178
#[tokio::test(start_paused = true)]
async fn closed_moves_are_told_by_missing_pieces() {
    for left in [&[][..], &[0], &[1]] {
        let stage = live().await;
        reconcile(&stage.target, &cluster());
        close_in_pieces(&stage, left);
        let source = picture(&stage.source);
        for stop in commands(&stage).await {
            assert!(
                matches!(one_sided(&stop), OneSidedMove::ClosedInTarget { proof: Some(_) }),
                "{left:?}: {stop}"
            );
        }
        run::resume(With::absent(Side::Source, stage.setup())).await.unwrap();
        assert_eq!(picture(&stage.source), source);
        let pieces = stage.target.keys().into_iter().filter(|key| move_of_piece(&key.name).is_some());
        assert_eq!(pieces.count(), 0, "{left:?}");
    }
    // With all pieces the list is there.
    let stage = live().await;
    close_in_pieces(&stage, &[0, 1]);
    assert_eq!(under_way(stage.setup()).await.unwrap().one_sided, None);
}

/// The source went back to before the deletion when its target had closed the move, except for the last write.
// proves: I14, T178
#[tokio::test(start_paused = true)]
async fn moves_that_their_target_closed_end_there() {
    for (is_proven, is_there) in [(true, true), (false, true), (false, false)] {
        let stage = live().await;
        close(&stage);
        if is_proven {
            reconcile(&stage.target, &cluster());
        }
        if !is_there {
            stage.target.remove(&cluster()).unwrap();
        }
        let before = (picture(&stage.source), picture(&stage.target));
        for stop in commands(&stage).await {
            let remedy = match one_sided(&stop) {
                OneSidedMove::ClosedInTarget { proof: Some(_) } if is_proven => Remedy::ResumeWithoutSource,
                OneSidedMove::ClosedInTarget { proof: None } if !is_there => Remedy::RestoreTarget,
                OneSidedMove::ClosedInPart(_) if is_there && !is_proven => Remedy::ExplainMissingCopies,
                _ => panic!("{stop}"),
            };
            assert_eq!(stop.remedies(), [remedy], "{stop}");
            advises_nothing_by_hand(&stop);
        }
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
        let status = under_way(stage.setup()).await.unwrap();
        let next = Situation::from_status(&status, None, false).next();
        assert_eq!(next, if is_proven { &[Next::ResumeWithoutSource][..] } else { &[] });
        if !is_proven {
            continue;
        }
        // The proposed command ends the move, and leaves the source whole and paused.
        run::resume(With::absent(Side::Source, stage.setup())).await.unwrap();
        assert_eq!(picture(&stage.source), before.0);
        for stop in commands(&stage).await {
            assert!(matches!(one_sided(&stop), OneSidedMove::TakenOver(_)), "{stop}");
        }
        assert_eq!(picture(&stage.source), before.0);
    }
}

/// The target said that it took over, and ran since: an older state of it lacks Machines. One Cluster of two is gone, or is paused.
// proves: I14
#[tokio::test(start_paused = true)]
async fn closed_targets_that_ran_are_not_restored() {
    for runs in [true, false] {
        let stage = live_of(two_clusters()).await;
        [cluster(), other()].iter().for_each(|key| reconcile(&stage.target, key));
        close(&stage);
        match runs {
            true => stage.target.remove(&other()).unwrap(),
            false => [cluster(), other()].iter().for_each(|key| pause_by_hand(&stage.target, key)),
        }
        let before = (picture(&stage.source), picture(&stage.target));
        for stop in commands(&stage).await {
            let OneSidedMove::ClosedInPart(what) = one_sided(&stop) else { panic!("{stop}") };
            assert!(what.contains(if runs { "runs in the target" } else { "paused again" }), "{what}");
            assert_eq!(stop.remedies(), [Remedy::ExplainMissingCopies], "{stop}");
        }
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    }
}

/// A user unpaused a Cluster in the restored source: people hear of that first, and of no end of the move.
// proves: I2, I14
#[tokio::test(start_paused = true)]
async fn woken_sources_are_told_before_the_end() {
    for (has_ended, all_run) in [(false, true), (false, false), (true, true), (true, false)] {
        let stage = live_of(two_clusters()).await;
        let backup = Backup::take(&stage.source);
        match has_ended {
            true => {
                run::resume(stage.setup()).await.unwrap();
                backup.restore(&stage.source);
            }
            false => close(&stage),
        }
        reconcile(&stage.target, &cluster());
        if all_run {
            reconcile(&stage.target, &other());
        }
        wake(&stage.source, &cluster());
        let before = (picture(&stage.source), picture(&stage.target));
        for stop in commands(&stage).await {
            let OneSidedMove::SourceWentBack { awake, is_recorded: true, .. } = one_sided(&stop) else {
                panic!("{has_ended} {all_run}: {stop}")
            };
            assert_eq!(awake, &[cluster()], "{stop}");
            assert_eq!(stop.remedies(), [Remedy::PauseSource], "{stop}");
        }
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
        let status = under_way(stage.setup()).await.unwrap();
        assert_eq!(Situation::from_status(&status, None, false).next(), []);
        // The proposed command pauses it, and only that.
        let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
        let Failure::SourcePaused { clusters, .. } = &stop.failure else { panic!("{stop}") };
        assert_eq!(clusters, &[cluster()], "{stop}");
        assert_eq!(picture(&stage.target), before.1);
        for stop in commands(&stage).await {
            let is_expected = match one_sided(&stop) {
                OneSidedMove::TakenOver(_) => has_ended && all_run,
                OneSidedMove::PartTakenOver { .. } => has_ended && !all_run,
                OneSidedMove::ClosedInTarget { proof } => !has_ended && all_run && proof.is_some(),
                OneSidedMove::ClosedInPart(_) => !has_ended && !all_run,
                _ => false,
            };
            assert!(is_expected, "{has_ended} {all_run}: {stop}");
        }
    }
}

/// Commands about other moves judge this one as well.
// proves: I14
#[tokio::test(start_paused = true)]
async fn damaged_lists_of_settled_moves_stop_no_status() {
    let stage = live().await;
    let record = stage.target.keys().into_iter().find(|key| is_record(key, "target")).unwrap();
    let damage = |body: &mut Value| {
        close_but_for_the_summary(body);
        body["data"]["list"] = json!("damaged");
    };
    stage.target.edit(&record, damage).unwrap();
    let before = picture(&stage.source);
    assert_eq!(under_way(stage.setup()).await.unwrap().one_sided, None);
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert!(stop.to_string().contains("can't be read"), "{stop}");
    assert_eq!(picture(&stage.source), before);
}

/// A Cluster that was paused before the move rests in the target, too.
#[tokio::test(start_paused = true)]
async fn closed_moves_of_resting_clusters_are_proven() {
    let mut stage = two_clusters();
    pause_by_hand(&stage.source, &other());
    stage.options.scope.accept.insert(Risk::AlreadyPaused);
    let stage = live_of(stage).await;
    reconcile(&stage.target, &cluster());
    close(&stage);
    assert!(is_paused(&stage.target, &other()));
    for stop in commands(&stage).await {
        assert!(matches!(one_sided(&stop), OneSidedMove::ClosedInTarget { proof: Some(_) }), "{stop}");
    }
    // One that ran before the move doesn't rest.
    pause_by_hand(&stage.target, &cluster());
    for stop in commands(&stage).await {
        assert!(matches!(one_sided(&stop), OneSidedMove::ClosedInPart(_)), "{stop}");
    }
}

/// A Cluster that was woken in its source while its copy is paused runs only there.
#[tokio::test(start_paused = true)]
async fn clusters_that_run_only_in_their_source_stay() {
    let stage = live_of(two_clusters()).await;
    reconcile(&stage.target, &cluster());
    close(&stage);
    pause_by_hand(&stage.target, &other());
    wake(&stage.source, &other());
    let before = (picture(&stage.source), picture(&stage.target));
    for stop in commands(&stage).await {
        assert!(matches!(one_sided(&stop), OneSidedMove::ClosedInPart(_)), "{stop}");
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    // A pause that no move saw proves nothing of a paused copy.
    pause_by_hand(&stage.source, &other());
    for stop in commands(&stage).await {
        assert!(matches!(one_sided(&stop), OneSidedMove::ClosedInPart(_)), "{stop}");
    }
}

/// A summary alone proves nothing: the target may have been restored, or another cluster may have the name by now.
// proves: I14, T170
#[tokio::test(start_paused = true)]
async fn summary_alone_makes_no_source_stale() {
    let authority = key("", "Secret", "c-ca");
    let changes: [fn(&MemoryPlace); 6] = [
        |target| drop(target.edit(&cluster(), |body| body["metadata"]["managedFields"] = json!([]))),
        |target| {
            drop(target.edit(&cluster(), |body| body["spec"]["controlPlaneEndpoint"]["host"] = json!("x")))
        },
        |target| {
            drop(target.edit(&key("", "Secret", "c-ca"), |body| body["data"]["tls.crt"] = json!("b3RoZXI=")))
        },
        |target| drop(target.remove(&key("", "Secret", "c-ca"))),
        |target| drop(target.edit(&cluster(), |body| body["spec"]["paused"] = json!(true))),
        |target| drop(target.remove(&cluster())),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        for source_has_cluster in [true, false] {
            let stage = live().await;
            let backup = Backup::take(&stage.source);
            run::resume(stage.setup()).await.unwrap();
            reconcile(&stage.target, &cluster());
            backup.restore(&stage.source);
            if !source_has_cluster {
                // Then only the summary knows it.
                stage.source.remove(&cluster()).unwrap();
                stage.source.remove(&authority).unwrap();
            }
            let stop = run::resume(stage.setup()).await.unwrap_err();
            assert!(matches!(one_sided(&stop), OneSidedMove::TakenOver(_)), "{number}: {stop}");
            change(&stage.target);
            let stop = run::resume(stage.setup()).await.unwrap_err();
            match one_sided(&stop) {
                // A copy runs, but nothing shows that it is the Cluster that moved, and that controllers have it.
                OneSidedMove::PartTakenOver { without, .. } => {
                    assert!(number < 4, "{number}: {stop}");
                    assert_eq!(without.is_empty(), !source_has_cluster, "{number}: {stop}");
                    assert_eq!(stop.remedies(), [Remedy::ExplainMissingCopies], "{number}: {stop}");
                }
                verdict => {
                    assert!(number >= 4, "{number}: {stop}");
                    assert_eq!(verdict, &OneSidedMove::LastCopyInSource, "{number}: {stop}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn summary_names_sides_and_clusters() {
    let stage = stage();
    run::start(stage.setup()).await.unwrap();
    let finished = run::status(stage.setup()).await.unwrap().finished;
    let uid = |place: &MemoryPlace| {
        let namespace =
            pivot_core::Key::new(pivot_core::GroupKind::new("", "Namespace"), None, "kube-system");
        place.body(&namespace).unwrap()["metadata"]["uid"].clone()
    };
    let summary = serde_json::to_value(&finished[0]).unwrap();
    assert_eq!((&summary["source"], &summary["target"]), (&uid(&stage.source), &uid(&stage.target)));
    let clusters = summary["clusters"].as_array().unwrap();
    assert_eq!(clusters.len(), 1, "{summary}");
    let named = |field: &str| clusters[0][field].as_str().unwrap();
    let one = [named("namespace"), named("name"), named("uid"), named("endpoint")];
    assert_eq!(one, ["ns", "c", "Cluster-c", "10.0.0.1:6443"]);
    assert!(named("authority").len() == 32 && summary.get("allClusters").is_none(), "{summary}");
}

#[tokio::test(start_paused = true)]
async fn summaries_stay_as_long_as_their_clusters() {
    let stage = stage();
    run::start(stage.setup()).await.unwrap();
    let first = run::status(stage.setup()).await.unwrap().finished[0].move_id.clone();
    let summary = stage.target.keys().into_iter().find(|key| is_record(key, "target")).unwrap();
    let long_ago = |body: &mut Value| {
        let mut finished: Value =
            serde_json::from_str(body["data"]["finished.json"].as_str().unwrap()).unwrap();
        finished["endedAt"] = json!("2020-01-01T00:00:00Z");
        body["data"]["finished.json"] = json!(finished.to_string());
    };
    stage.target.edit(&summary, long_ago).unwrap();
    let pool = async |stage: &Stage, number: usize| {
        stage.source.insert(body(INFRA, "Pool", &format!("pool-{number:02}"), None)).unwrap();
        run::start(stage.setup()).await.unwrap();
        let finished = run::status(stage.setup()).await.unwrap().finished;
        (finished.len(), finished.iter().any(|one| one.move_id == first))
    };
    let mut kept = Vec::new();
    for number in 0..12 {
        kept.push(pool(&stage, number).await);
    }
    assert_eq!((kept[8], kept[11]), ((10, true), (11, true)), "{kept:?}");
    stage.target.remove(&cluster()).unwrap();
    assert_eq!(pool(&stage, 12).await, (10, false));
}

/// Whatever a backup of the source is of: before the move, or any of its writes up to the commit.
// proves: I14, T166
#[tokio::test(start_paused = true)]
async fn source_that_went_back_is_never_touched() {
    let stage = stage();
    let taken = [&stage.source, &stage.target].map(|place| {
        let backups = Arc::new(Mutex::new(vec![Backup::take(place)]));
        let (own, all) = (place.clone(), backups.clone());
        place.on_call(move |verb, _| {
            if ["create", "patch", "delete"].contains(&verb) {
                all.lock().unwrap().push(Backup::take(&own));
            }
            None
        });
        backups
    });
    run::start(stage.setup()).await.unwrap();
    let end = Backup::take(&stage.target);
    for place in [&stage.source, &stage.target] {
        place.on_call(|_, _| None);
    }
    let [sources, targets] = taken.map(|backups| backups.lock().unwrap().clone());
    let record = |backup: &Backup| -> Option<Value> {
        let text = backup.0.iter().find_map(|body| body["data"]["record.json"].as_str())?;
        serde_json::from_str(text).ok()
    };
    let phase = |backup: &Backup| record(backup).map(|record| record["phase"].clone());
    let runs = |backup: &Backup| {
        let cluster = backup.0.iter().find(|body| body["kind"] == "Cluster");
        cluster.is_some_and(|cluster| cluster["spec"]["paused"] != json!(true))
    };
    let whole = sources[0].0.iter().filter(|body| body["metadata"]["namespace"] == "ns").count();
    let before: Vec<&Backup> = sources
        .iter()
        .filter(|backup| phase(backup).is_none_or(|phase| phase == "Paused" || phase == "Copied"))
        .filter(|backup| {
            let objects = backup.0.iter().filter(|body| body["metadata"]["namespace"] == "ns");
            objects.count() >= whole
        })
        .collect();
    assert!(before.len() > 5, "{}", before.len());
    let resumed = targets.iter().find(|target| runs(target)).unwrap();
    let released =
        targets.iter().find(|target| phase(target).is_some_and(|phase| phase == "Released")).unwrap();
    let (mut awake, mut asleep) = (0, 0);
    for (target, name) in [(resumed, "resumed"), (released, "released"), (&end, "ended")] {
        for (number, source) in before.iter().enumerate() {
            let at = format!("target {name}, source {number} ({:?})", phase(source));
            target.restore(&stage.target);
            source.restore(&stage.source);
            let pictures = (picture(&stage.source), picture(&stage.target));
            for stop in commands(&stage).await {
                match &stop.failure {
                    Failure::OneSidedMove {
                        one_sided:
                            OneSidedMove::SourceWentBack { awake: found, .. }
                            | OneSidedMove::ClaimedByTarget { clusters: found, .. },
                        ..
                    } => {
                        assert!(runs(source), "{at}: {stop}");
                        assert_eq!(found, &[cluster()], "{at}");
                        awake += 1;
                    }
                    Failure::OneSidedMove {
                        one_sided: OneSidedMove::TakenOver(_) | OneSidedMove::SourceOutOfDate(_),
                        ..
                    } => {
                        assert!(!runs(source), "{at}: {stop}");
                        asleep += 1;
                    }
                    _ => panic!("{at}: {stop}"),
                }
                advises_nothing_by_hand(&stop);
            }
            assert_eq!((picture(&stage.source), picture(&stage.target)), pictures, "{at}");
        }
    }
    assert!(awake > 5 && asleep > 5, "{awake} {asleep}");
}

/// Its copies are paused as its user left them, and carry no annotation of the move.
#[tokio::test(start_paused = true)]
async fn clusters_paused_by_users_do_not_count_as_running() {
    let mut stage = stage();
    stage.options.scope.accept.insert(Risk::AlreadyPaused);
    stage.source.edit(&cluster(), |body| body["spec"]["paused"] = json!(true)).unwrap();
    let before = picture(&stage.source);
    let stage = half_committed(stage).await;
    run::rollback(stage.setup()).await.unwrap();
    assert_eq!(picture(&stage.source), before);
    assert!(picture(&stage.target).is_empty());
}

/// A copy that was unpaused and then paused again in the target has been in service.
// proves: I14
#[tokio::test(start_paused = true)]
async fn copies_paused_again_are_not_removed() {
    let stage = half_committed(stage()).await;
    let undo =
        |body: &mut Value| drop(body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO));
    stage.target.edit(&cluster(), undo).unwrap();
    let before = (picture(&stage.source), picture(&stage.target));
    for stop in commands(&stage).await {
        assert!(matches!(one_sided(&stop), OneSidedMove::PausedAgain(_)), "{stop}");
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

// proves: I14
#[tokio::test(start_paused = true)]
async fn deleted_authority_does_not_hide_that_copies_run() {
    let stage = live().await;
    let record = stage.source.keys().into_iter().find(|key| is_record(key, "source")).unwrap();
    let backup = Backup::take(&stage.source);
    run::resume(stage.setup()).await.unwrap();
    reconcile(&stage.target, &cluster());
    // As the source was when it had begun to delete.
    backup.restore(&stage.source);
    stage.source.remove(&key("", "Secret", "c-ca")).unwrap();
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert!(
        matches!(one_sided(&stop), OneSidedMove::PartTakenOver { .. }),
        "nothing was deleted yet: {stop}"
    );
    stage.source.edit(&record, says_released).unwrap();
    for stop in commands(&stage).await {
        assert!(matches!(one_sided(&stop), OneSidedMove::TakenOver(_)), "{stop}");
    }
}

fn says_released(body: &mut Value) {
    let text = body["data"]["record.json"].as_str().unwrap();
    body["data"]["record.json"] = json!(text.replace("\"Committed\"", "\"Released\""));
}

// proves: I14, T167
#[tokio::test(start_paused = true)]
async fn objects_missing_on_both_sides_are_named() {
    for deleting in [false, true] {
        let stage = live().await;
        if deleting {
            // Then it may have been released, and deleted in the target since.
            let record = stage.source.keys().into_iter().find(|key| is_record(key, "source")).unwrap();
            stage.source.edit(&record, says_released).unwrap();
        }
        let secret = key("", "Secret", "m1-bootstrap");
        for place in [&stage.source, &stage.target] {
            place.remove(&secret).unwrap();
        }
        let warnings = Arc::new(Warnings::default());
        run::resume(Setup { watcher: warnings.clone(), ..stage.setup() }).await.unwrap();
        let told = warnings.0.lock().unwrap().join("\n");
        assert_eq!(
            told.contains(
                "copied objects are on neither side, although nothing was deleted yet: Secret ns/m1-bootstrap"
            ),
            !deleting,
            "{told}"
        );
    }
}

/// A cluster that was replaced has another identity, and nothing of the move.
// proves: I14, T168
#[tokio::test(start_paused = true)]
async fn source_is_kept_if_its_target_was_replaced() {
    let mut stage = commit(stage()).await;
    stage.target = Stage::empty().target;
    let before = (picture(&stage.source), picture(&stage.target));
    for stop in commands(&stage).await {
        assert!(stop.to_string().contains("the source may be the last copy: keep it"), "{stop}");
        assert!(stop.to_string().contains("restore it from a backup of its etcd"), "{stop}");
        assert_eq!(stop.exit, Exit::Refused, "{stop}");
        advises_nothing_by_hand(&stop);
    }
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    assert_eq!(under_way(stage.setup()).await.unwrap().record.phase, Phase::Committed);
}
