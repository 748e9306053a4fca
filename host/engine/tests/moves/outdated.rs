//! A source that went back to before the commit of a move, with which its target went on: it is paused, and then deleted from.

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::records::record::Phase;
use pivot_core::request::scope::ClusterName;
use pivot_engine::{Exit, Failure, Next, OneSidedMove, Stop};
use pivot_memory::Fault;
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::committed::commit;
use crate::crash::{at_every_write, nothing_of_ours};
use crate::handover::nothing_of_ours_but_leases;
use crate::recovered::{is_paused, other, pause_by_hand, recovering, two_clusters, wake};
use crate::restored::{Backup, cluster, forget, one_sided};
use crate::run::{self, With};
use crate::stage::{CLUSTERS, INFRA, Stage, body, claims, is_record, key, picture, under_way};
use crate::trouble::half_committed;

/// The source is as it was before the commit, with one Cluster that ran then; the move has ended.
async fn went_back() -> Stage {
    let stage = half_committed(two_clusters()).await;
    let backup = Backup::take(&stage.source);
    run::resume(stage.setup()).await.unwrap();
    backup.restore(&stage.source);
    let wake = |body: &mut Value| {
        body["spec"]["paused"] = json!(false);
        body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO);
    };
    stage.source.edit(&cluster(), wake).unwrap();
    stage
}

/// A resume that names Clusters to pause.
fn pausing(stage: &Stage, names: &[&str]) -> With {
    let pause = names.iter().map(|name| ClusterName::new("ns", *name)).collect();
    With { pause, ..recovering(stage, &[]) }
}

// proves: I14
#[tokio::test(start_paused = true)]
async fn sources_that_went_back_are_paused() {
    let stage = went_back().await;
    let (source, target) = (picture(&stage.source), picture(&stage.target));
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!(stop.remedies(), [Remedy::PauseSource], "{stop}");
    let stop = run::rollback(recovering(&stage, &[])).await.unwrap_err();
    assert!(matches!(one_sided(&stop), OneSidedMove::SourceWentBack { .. }), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), (source.clone(), target.clone()));

    let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
    let Failure::SourcePaused { clusters, .. } = &stop.failure else { panic!("{stop}") };
    assert_eq!((clusters, stop.exit), (&vec![cluster()], Exit::PastCommit), "{stop}");
    assert!(stop.state.contains("pools and whatever else no Cluster pauses still run"), "{}", stop.state);
    assert!(is_paused(&stage.source, &cluster()));
    let unpause = |body: &mut Value| {
        body["spec"]["paused"] = json!(false);
        body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::OUT_OF_DATE).unwrap();
    };
    stage.source.edit(&cluster(), unpause).unwrap();
    assert_eq!(
        (picture(&stage.source), picture(&stage.target)),
        (source, target),
        "nothing else was changed"
    );

    run::resume(recovering(&stage, &[])).await.unwrap_err();
    for stop in [
        run::resume(recovering(&stage, &[])).await.unwrap_err(),
        run::rollback(recovering(&stage, &[])).await.unwrap_err(),
    ] {
        assert!(matches!(one_sided(&stop), OneSidedMove::TakenOver(_)), "{stop}");
    }
}

/// Others are not managed twice: the move didn't take them, or another workload cluster has their name.
// proves: I14
#[tokio::test(start_paused = true)]
async fn sources_are_paused_only_where_copies_run() {
    let stage = went_back().await;
    let mut created = body(CLUSTERS, "Cluster", "e", None);
    created["spec"] = json!({"paused": false, "controlPlaneEndpoint": {"host": "10.0.0.3", "port": 6443}});
    stage.source.insert(created).unwrap();
    wake(&stage.source, &other());
    let another = |body: &mut Value| body["spec"]["controlPlaneEndpoint"]["host"] = json!("10.0.0.4");
    stage.source.edit(&other(), another).unwrap();
    let others = [other(), key(CLUSTERS, "Cluster", "e")];

    let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
    let Failure::SourcePaused { clusters, .. } = &stop.failure else { panic!("{stop}") };
    assert_eq!(clusters, &[cluster()], "{stop}");
    assert!(others.iter().all(|key| !is_paused(&stage.source, key)));

    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
    let OneSidedMove::SourceWentBack { awake, .. } = one_sided(&stop) else { panic!("{stop}") };
    assert_eq!(awake, &[other()], "the move did not copy the third: {stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// A source without a record may be of before the move, or rolled back, and in service. Anyone who controls the target can write what that
/// says about it.
// proves: I14, T172
#[tokio::test(start_paused = true)]
async fn sources_without_a_record_pause_named_clusters() {
    for phase in [Phase::Live, Phase::Released] {
        let stage = two_clusters();
        let backup = Backup::take(&stage.source);
        let stage = commit(stage).await;
        edit_target_record(&stage, |record| record["phase"] = json!(phase));
        wake(&stage.target, &cluster());
        wake(&stage.target, &other());
        backup.restore(&stage.source);
        stage.source.journal();
        let (source, target) = (picture(&stage.source), picture(&stage.target));
        let naming = |names: &[&str]| pausing(&stage, names);
        for stop in [
            run::resume(naming(&[])).await.unwrap_err(),
            run::rollback(recovering(&stage, &[])).await.unwrap_err(),
        ] {
            let OneSidedMove::SourceWentBack { is_recorded: false, awake, .. } = one_sided(&stop) else {
                panic!("{phase}: {stop}")
            };
            assert_eq!(awake, &[cluster(), other()], "{phase}: {stop}");
            assert_eq!(stop.remedies(), [Remedy::NameClusterToPause { cluster: cluster() }], "{stop}");
        }
        let leases = stage.source.journal().into_iter().filter(|call| call.key.group_kind.kind == "Lease");
        assert_eq!(leases.count(), 0, "{phase}: the scope is the target's word");
        let mut unasked = naming(&["c"]);
        unasked.setup.options.accept.remove(Risk::WorldChanged);
        let stop = run::resume(unasked).await.unwrap_err();
        assert!(matches!(one_sided(&stop), OneSidedMove::SourceWentBack { .. }), "{phase}: {stop}");
        let stop = run::resume(naming(&["c", "unknown"])).await.unwrap_err();
        assert!(matches!(stop.failure, Failure::NoCluster { .. }), "{phase}: {stop}");
        assert_eq!((picture(&stage.source), picture(&stage.target)), (source, target.clone()), "{phase}");

        let stop = run::resume(naming(&["c"])).await.unwrap_err();
        let Failure::SourcePaused { clusters, .. } = &stop.failure else { panic!("{phase}: {stop}") };
        assert_eq!((clusters, stop.exit), (&vec![cluster()], Exit::PastCommit), "{phase}: {stop}");
        assert!(is_paused(&stage.source, &cluster()) && !is_paused(&stage.source, &other()), "{phase}");
        let stop = run::resume(naming(&["d"])).await.unwrap_err();
        assert!(matches!(stop.failure, Failure::SourcePaused { .. }), "{phase}: {stop}");
        let stop = run::resume(naming(&["d"])).await.unwrap_err();
        assert!(matches!(one_sided(&stop), OneSidedMove::TakenOver(_)), "{phase}: {stop}");
        assert_eq!(picture(&stage.target), target, "{phase}");
        assert_eq!(claims(&stage.source), Vec::<String>::new(), "{phase}");
    }
}

/// A named Cluster may be another workload cluster than its namesake in the target.
// proves: I14
#[tokio::test(start_paused = true)]
async fn namesakes_of_copies_are_not_paused() {
    let stage = two_clusters();
    let backup = Backup::take(&stage.source);
    let stage = commit(stage).await;
    wake(&stage.target, &cluster());
    wake(&stage.target, &other());
    backup.restore(&stage.source);
    let another = |body: &mut Value| body["spec"]["controlPlaneEndpoint"]["host"] = json!("10.0.0.4");
    stage.source.edit(&other(), another).unwrap();
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::resume(pausing(&stage, &["c", "d"])).await.unwrap_err();
    let Failure::NoCluster { named, there } = &stop.failure else { panic!("{stop}") };
    assert_eq!((named.as_str(), there), ("ns/d", &vec![cluster()]), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// Production may be the source: nothing shows that a paused copy took over.
// proves: I14
#[tokio::test(start_paused = true)]
async fn running_sources_are_not_paused_for_paused_copies() {
    let stage = half_committed(two_clusters()).await;
    wake(&stage.source, &cluster());
    wake(&stage.target, &cluster());
    pause_by_hand(&stage.target, &cluster());
    let before = (picture(&stage.source), picture(&stage.target));
    for stop in [
        run::resume(stage.setup()).await.unwrap_err(),
        run::rollback(stage.setup()).await.unwrap_err(),
        run::resume(recovering(&stage, &[])).await.unwrap_err(),
    ] {
        assert!(matches!(one_sided(&stop), OneSidedMove::PausedAgain(_)), "{stop}");
        assert!(!stop.state.contains("both sides are paused"), "{}", stop.state);
    }
    let stop = run::rollback(recovering(&stage, &[&cluster(), &other()])).await.unwrap_err();
    assert!(matches!(&stop.failure, Failure::Refused(all) if all[0].code == "pause-undone"), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// A run that can't pause the source must not undo what the move did in it either.
// proves: I14
#[tokio::test(start_paused = true)]
async fn failed_pauses_undo_nothing() {
    let stage = went_back().await;
    let record = stage.source.keys().into_iter().find(|key| is_record(key, "source")).unwrap();
    let says = |body: &mut Value| {
        let text = body["data"]["record.json"].as_str().unwrap();
        body["data"]["record.json"] = json!(text.replace("\"Copied\"", "\"Paused\""));
    };
    stage.source.edit(&record, says).unwrap();
    let before = (picture(&stage.source), picture(&stage.target));
    stage.source.on_call(|verb, key| {
        let pauses = verb == "patch" && key.group_kind.kind == "Cluster";
        pauses.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
    assert!(stop.state.contains("out of date, and runs"), "{}", stop.state);
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// Progress of the target before the source went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// The copies run, and the source was whole.
    Live,
    /// Part of the source was deleted.
    Released,
    /// All of the source was deleted.
    Settled,
}

const ALL: [At; 3] = [At::Live, At::Released, At::Settled];

/// A source of before its commit, paused by the move, whose target went on and still has the list.
async fn outdated_source(at: At) -> Stage {
    let mut stage = half_committed(two_clusters()).await;
    let backup = Backup::take(&stage.source);
    match at {
        At::Live => {
            stage.options.stop_before_release = true;
            let stop = run::resume(stage.setup()).await.unwrap_err();
            assert!(matches!(stop.failure, Failure::StoppedBeforeRelease), "{stop}");
            stage.options.stop_before_release = false;
        }
        At::Released | At::Settled => {
            stage.source.on_call(|verb, key| {
                let dead = verb == "delete" && key.group_kind.kind == "Cluster";
                dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
            });
            let stop = run::resume(stage.setup()).await.unwrap_err();
            assert_eq!(stop.phase, Some(Phase::Released), "{stop}");
            stage.source.on_call(|_, _| None);
        }
    }
    if at == At::Settled {
        edit_target_record(&stage, |record| record["phase"] = json!("Settled"));
    }
    backup.restore(&stage.source);
    stage
}

fn edit_target_record(stage: &Stage, change: impl Fn(&mut Value)) {
    let record = stage.target.keys().into_iter().find(|key| is_record(key, "target")).unwrap();
    let says = |body: &mut Value| {
        let mut record: Value = serde_json::from_str(body["data"]["record.json"].as_str().unwrap()).unwrap();
        change(&mut record);
        body["data"]["record.json"] = json!(record.to_string());
    };
    stage.target.edit(&record, says).unwrap();
}

fn refusal_code(stop: &Stop) -> &'static str {
    match &stop.failure {
        Failure::Refused(refusals) => refusals[0].code,
        other => panic!("{other:?}"),
    }
}

// proves: I14, T169
#[tokio::test(start_paused = true)]
async fn sources_that_went_back_are_deleted_from() {
    let whole = two_clusters();
    run::start(whole.setup()).await.unwrap();
    for at in ALL {
        let stage = outdated_source(at).await;
        let before = (picture(&stage.source), picture(&stage.target));
        for stop in [
            run::resume(stage.setup()).await.unwrap_err(),
            run::rollback(recovering(&stage, &[])).await.unwrap_err(),
            run::start(recovering(&stage, &[]).setup).await.unwrap_err(),
        ] {
            assert!(matches!(one_sided(&stop), OneSidedMove::SourceOutOfDate(_)), "{at:?}: {stop}");
            assert_eq!((stop.exit, stop.next.as_slice()), (Exit::Refused, [Next::Status].as_slice()));
        }
        assert_eq!((picture(&stage.source), picture(&stage.target)), before, "{at:?}");

        let id = under_way(stage.setup()).await.unwrap().record.move_id;
        let report = run::resume(recovering(&stage, &[])).await.unwrap();
        assert_eq!(report.move_id, id, "{at:?}");
        assert_eq!(picture(&stage.source), picture(&whole.source), "{at:?}");
        assert_eq!(picture(&stage.target), picture(&whole.target), "{at:?}");
        assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{at:?}");
        let summary = run::status(stage.setup()).await.unwrap().finished.remove(0);
        assert!(summary.accepted.contains(&"world-changed".to_owned()), "{summary:?}");
    }
}

/// A controller that still takes the Cluster for unpaused would answer the deletion of its objects.
// proves: I14
#[tokio::test(start_paused = true)]
async fn sources_are_deleted_from_once_the_pause_is_acknowledged() {
    let stage = outdated_source(At::Live).await;
    let machine = key(CLUSTERS, "Machine", "m0");
    let acknowledge = |status: &str| {
        let conditions = json!([{"type": "Paused", "status": status}]);
        stage.source.edit(&machine, |body| body["status"]["conditions"] = conditions).unwrap();
    };
    acknowledge("False");
    // The run writes to what it waits for, so that its controllers look again.
    let before = (stage.source.keys(), picture(&stage.target));
    let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::TimedOut(_)), "{stop}");
    assert_eq!((stage.source.keys(), picture(&stage.target)), before);
    let status = run::status(stage.setup()).await.unwrap();
    assert!(matches!(status.moves[0].one_sided, Some(OneSidedMove::SourceOutOfDate(_))), "{status:?}");
    acknowledge("True");
    run::resume(recovering(&stage, &[])).await.unwrap();
}

// proves: I14
#[tokio::test(start_paused = true)]
async fn outdated_sources_unpause_no_cluster() {
    let stage = outdated_source(At::Live).await;
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::resume(recovering(&stage, &[&other()])).await.unwrap_err();
    assert!(stop.to_string().contains("is out of date, and unpauses no Cluster"), "{stop}");
    assert!(matches!(stop.failure, Failure::Declined(_)), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// A command that is refused after the second commit would report that it changed nothing.
// proves: I14
#[tokio::test(start_paused = true)]
async fn outdated_sources_drop_no_machines() {
    for (at, runs) in [(At::Live, false), (At::Live, true), (At::Settled, false)] {
        let stage = outdated_source(at).await;
        if runs {
            wake(&stage.source, &cluster());
        }
        let before = (picture(&stage.source), picture(&stage.target));
        let verdict = under_way(stage.setup()).await.unwrap().one_sided;
        let dropping = With::drop_workers(recovering(&stage, &[]).setup, &[&other()]);
        let stop = run::resume(dropping).await.unwrap_err();
        assert!(
            matches!(&stop.failure, Failure::Declined(why) if why.contains("restores no backup")),
            "{at:?}: {stop}"
        );
        assert_eq!(stop.exit, Exit::Refused, "{at:?}: {stop}");
        assert_eq!((picture(&stage.source), picture(&stage.target)), before, "{at:?}");
        assert_eq!(under_way(stage.setup()).await.unwrap().one_sided, verdict, "{at:?}");
    }
}

/// A Cluster of it ran, and is paused by the command that is offered first.
// proves: I14
#[tokio::test(start_paused = true)]
async fn paused_sources_are_deleted_from_next() {
    let whole = two_clusters();
    run::start(whole.setup()).await.unwrap();
    let stage = outdated_source(At::Live).await;
    wake(&stage.source, &cluster());
    let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::SourcePaused { .. }), "{stop}");
    run::resume(recovering(&stage, &[])).await.unwrap();
    assert_eq!(picture(&stage.source), picture(&whole.source));
    assert_eq!(picture(&stage.target), picture(&whole.target));
}

// proves: I10, I14
#[tokio::test(start_paused = true)]
async fn killed_deletions_from_outdated_sources_end_alike() {
    let whole = two_clusters();
    run::start(whole.setup()).await.unwrap();
    let (source, target) = (picture(&whole.source), picture(&whole.target));
    for at in ALL {
        let deaths = at_every_write(
            async || (outdated_source(at).await, ()),
            async |stage, ()| drop(run::resume(recovering(stage, &[])).await),
            async |stage, (), write| {
                assert!(!is_paused(&stage.target, &cluster()), "{at:?}: {write}");
                assert!(!is_paused(&stage.target, &other()), "{at:?}: {write}");
                let again = run::resume(recovering(stage, &[])).await;
                if let Err(stop) = again {
                    assert_eq!(stop.exit, Exit::Empty, "{at:?}: {write}: {stop}");
                }
                assert_eq!(picture(&stage.source), source, "{at:?}: {write}");
                assert_eq!(picture(&stage.target), target, "{at:?}: {write}");
                // A run that died at its end leaves its lease.
                assert!(nothing_of_ours_but_leases(&stage.source), "{at:?}: {write}");
                assert!(nothing_of_ours(&stage.target), "{at:?}: {write}");
            },
        )
        .await;
        assert!(deaths > 20, "{at:?}: {deaths}");
    }
}

/// Nothing is deleted that the target never had, or no longer has.
// proves: I3, I14, T169
#[tokio::test(start_paused = true)]
async fn outdated_sources_that_differ_are_kept() {
    type Change = fn(&Stage);
    let changes: [(&str, Change); 13] = [
        ("source-differs", |stage| {
            let change = |body: &mut Value| body["metadata"]["labels"]["l"] = json!("changed");
            drop(stage.source.edit(&key(CLUSTERS, "Machine", "m1"), change));
        }),
        ("source-differs", |stage| {
            let change = |body: &mut Value| body["data"]["value"] = json!("b3RoZXI=");
            drop(stage.source.edit(&key("", "Secret", "c-kubeconfig"), change));
        }),
        ("source-differs", |stage| {
            let change = |body: &mut Value| body["data"]["value"] = json!("b3RoZXI=");
            drop(stage.target.edit(&key("", "Secret", "c-kubeconfig"), change));
        }),
        ("not-copied", |stage| {
            let machine = body(CLUSTERS, "Machine", "m2", Some((CLUSTERS, "Cluster", "c")));
            drop(stage.source.insert(machine));
        }),
        ("not-copied", |stage| {
            let again = |body: &mut Value| body["metadata"]["uid"] = json!("another");
            drop(stage.source.edit(&key(INFRA, "InfraMachine", "m1"), again));
        }),
        ("copy-gone", |stage| drop(stage.target.remove(&key(CLUSTERS, "Machine", "m1")))),
        ("no-running-copy", |stage| drop(stage.target.remove(&other()))),
        ("no-running-copy", |stage| pause_by_hand(&stage.target, &other())),
        ("no-running-copy", |stage| {
            let another = |body: &mut Value| body["spec"]["controlPlaneEndpoint"]["host"] = json!("10.0.0.9");
            drop(stage.target.edit(&other(), another));
        }),
        ("no-running-copy", |stage| {
            let another = |body: &mut Value| body["data"]["tls.crt"] = json!("b3RoZXI=");
            drop(stage.target.edit(&key("", "Secret", "c-ca"), another));
        }),
        ("no-running-copy", |stage| {
            let unmark = |body: &mut Value| {
                drop(body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::COPY_OF));
            };
            drop(stage.target.edit(&other(), unmark));
        }),
        ("pause-undone", |stage| {
            let undo = |body: &mut Value| {
                let annotations = body["metadata"]["annotations"].as_object_mut().unwrap();
                annotations.remove(names::PAUSED);
                annotations.remove(names::UNDO);
            };
            drop(stage.source.edit(&key(INFRA, "Pool", "p"), undo));
        }),
        ("not-selected", |stage| {
            let unlabel = |body: &mut Value| {
                drop(body["metadata"].as_object_mut().unwrap().remove("ownerReferences"));
            };
            drop(stage.source.edit(&key("", "Secret", "m1-bootstrap"), unlabel));
        }),
    ];
    for (number, (code, change)) in changes.into_iter().enumerate() {
        let stage = outdated_source(At::Live).await;
        change(&stage);
        let before = (picture(&stage.source), picture(&stage.target));
        let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
        assert_eq!(refusal_code(&stop), code, "{number}: {stop}");
        assert_eq!((stop.exit, stop.next.as_slice()), (Exit::Refused, [Next::Status].as_slice()), "{stop}");
        assert!(stop.state.contains("the source is out of date"), "{number}: {}", stop.state);
        assert_eq!((picture(&stage.source), picture(&stage.target)), before, "{number}");
    }
}

/// Unless the user accepted that nothing shows it.
// proves: I11, I14
#[tokio::test(start_paused = true)]
async fn outdated_sources_wait_for_the_targets_controllers() {
    for controllers in [false, true] {
        let mut stage = outdated_source(At::Live).await;
        stage.options.accept.remove(Risk::TakeoverUnchecked);
        if controllers {
            let fields = json!([{"manager": "manager", "operation": "Update", "subresource": "status",
                "time": "2999-01-01T00:00:00Z"}]);
            for key in stage.target.keys() {
                if key.namespace.as_deref() == Some("ns") {
                    let original = stage.source.body(&key);
                    stage
                        .target
                        .edit(&key, |body| {
                            body["metadata"]["managedFields"] = fields.clone();
                            if let Some(status) = original.as_ref().and_then(|one| one.get("status").cloned())
                            {
                                body["status"] = status;
                            }
                        })
                        .unwrap();
                }
            }
        }
        let before = picture(&stage.source);
        match run::resume(recovering(&stage, &[])).await {
            Ok(_) => assert!(controllers),
            Err(stop) => {
                assert!(!controllers, "{stop}");
                assert_eq!(refusal_code(&stop), "no-running-copy", "{stop}");
                assert_eq!(picture(&stage.source), before);
            }
        }
    }
}

/// The list's version of an object is another state of it in a source that lives on from a backup.
// proves: I3, I14
#[tokio::test(start_paused = true)]
async fn versions_of_lost_histories_delete_nothing() {
    let machine = key(CLUSTERS, "Machine", "m1");
    let version = |stage: &Stage| -> u64 {
        let body = stage.source.body(&machine).unwrap();
        body["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
    };
    let stage = outdated_source(At::Live).await;
    let listed = version(&stage) + 500;
    let record = stage.target.keys().into_iter().find(|key| is_record(key, "target")).unwrap();
    let list = |body: &mut Value| {
        let list = body["data"]["list"].as_str().unwrap();
        let lines = list.lines().map(|line| match line.contains(" m1 Machine-m1 ") {
            true => {
                let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
                words[5] = listed.to_string();
                words.join(" ")
            }
            false => line.to_owned(),
        });
        body["data"]["list"] = json!(lines.map(|line| format!("{line}\n")).collect::<String>());
    };
    stage.target.edit(&record, list).unwrap();
    stage.source.on_call(|verb, key| {
        let dead = verb == "patch" && !is_record(key, "source") && key.group_kind.kind != "Lease";
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    run::resume(recovering(&stage, &[])).await.unwrap_err();
    stage.source.on_call(|_, _| None);
    assert!(under_way(stage.setup()).await.unwrap().record.phase.is_committed());
    while version(&stage) < listed {
        let change = |body: &mut Value| {
            let count = body["metadata"]["labels"]["l"].as_str().unwrap().len() % 50 + 1;
            body["metadata"]["labels"]["l"] = json!("x".repeat(count));
        };
        stage.source.edit(&machine, change).unwrap();
    }
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert!(matches!(&stop.failure, Failure::Changed { object, .. } if *object == machine), "{stop}");
    assert!(stage.source.body(&machine).is_some());
}

/// Nothing shows in which state its objects were copied.
// proves: I14
#[tokio::test(start_paused = true)]
async fn sources_without_a_list_are_kept() {
    let stage = half_committed(two_clusters()).await;
    let backup = Backup::take(&stage.source);
    run::resume(stage.setup()).await.unwrap();
    backup.restore(&stage.source);
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::resume(recovering(&stage, &[])).await.unwrap_err();
    assert!(matches!(one_sided(&stop), OneSidedMove::TakenOver(_)), "{stop}");
    assert_eq!(stop.remedies(), [Remedy::SwitchOffSource], "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// A source may go back, too, after all of it was deleted, and its target has yet to end the move.
// proves: I14
#[tokio::test(start_paused = true)]
async fn sources_restored_after_commit_are_deleted_from() {
    let whole = two_clusters();
    run::start(whole.setup()).await.unwrap();
    let stage = commit(two_clusters()).await;
    let backup = Backup::take(&stage.source);
    stage.source.on_call(|verb, key| {
        let dead = verb == "delete" && is_record(key, "source");
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    run::resume(stage.setup()).await.unwrap_err();
    stage.source.on_call(|_, _| None);
    edit_target_record(&stage, |record| record["phase"] = json!("Settled"));
    backup.restore(&stage.source);
    run::resume(stage.setup()).await.unwrap();
    assert_eq!(picture(&stage.source), picture(&whole.source));
    assert_eq!(picture(&stage.target), picture(&whole.target));
}

/// Under another name the target would run the same Clusters twice.
// proves: I14
#[tokio::test(start_paused = true)]
async fn forgotten_moves_offer_no_other_namespace() {
    let stage = two_clusters();
    let backup = Backup::take(&stage.source);
    run::start(stage.setup()).await.unwrap();
    forget(&stage.target);
    backup.restore(&stage.source);
    let stop = run::start(stage.setup()).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert!(refusals.iter().any(|refusal| refusal.message.contains("it may be managed twice")), "{stop}");
    let maps = |remedy: &Remedy| matches!(remedy, Remedy::MapNamespace { .. });
    assert!(!refusals.iter().any(|refusal| refusal.remedies.iter().any(maps)), "{refusals:?}");
}
