//! What the user adds from files, and others who work on it: the target's controllers, another move, a source with its namesakes.

use std::sync::Arc;

use pivot_core::messages::risk::Risk;
use pivot_core::records::record::Phase;
use pivot_core::{GroupKind, Key};
use pivot_memory::Fault;
use pivot_places::PlaceError;
use serde_json::json;

use crate::added::{addition, bom, configuration, pull, stage, without_files};
use crate::clusters::Notes;
use crate::crash::{nothing_of_ours, revive};
use crate::run;
use crate::stage::{CLUSTERS, Stage, body, key, picture, under_way};

/// A Job that has a time to live is deleted once it has done its work.
#[tokio::test(start_paused = true)]
async fn what_the_targets_controllers_delete_of_what_is_added_does_not_stop_the_move() {
    for being_deleted in [false, true] {
        let stage = stage();
        let target = stage.target.clone();
        stage.target.on_call(move |verb, key| {
            let last = verb == "create" && key.group_kind.kind == "InfraMachine";
            if last && target.body(&bom()).is_some() {
                if being_deleted {
                    let going = |body: &mut serde_json::Value| {
                        body["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
                        body["metadata"]["finalizers"] = json!(["run.example.org/last"]);
                    };
                    target.edit(&bom(), going).unwrap();
                } else {
                    target.remove(&bom()).unwrap();
                }
            }
            None
        });
        let notes = Arc::new(Notes::default());
        let mut setup = stage.setup();
        setup.watcher = notes.clone();
        run::start(setup).await.unwrap();
        assert!(
            stage.source.body(&key(CLUSTERS, "Cluster", "c")).is_none() && nothing_of_ours(&stage.source)
        );
        assert!(stage.target.body(&pull()).is_some() && stage.target.body(&bom()).is_none() != being_deleted);
        let told = notes.0.lock().unwrap();
        let text = &told.iter().find(|(code, _)| code == "manifest-gone").unwrap().1;
        assert!(text.starts_with("ConfigMap ns/bom were added"), "{text}");
    }
}

/// Two moves add the same, and the second ends first.
#[tokio::test(start_paused = true)]
async fn what_a_move_under_way_elsewhere_created_is_used_and_said_to_be_revocable() {
    let (first, mut second) = (stage(), Stage::empty());
    first.target.on_call(|verb, key| {
        let dead = verb == "create" && key.group_kind.kind == "InfraMachine";
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    run::start(first.setup()).await.unwrap_err();
    revive(&first);
    let id = under_way(without_files(&first)).await.unwrap().record.move_id;
    second.target = first.target.clone();
    second.source.add_namespace("ns");
    second.source.insert(body(CLUSTERS, "Cluster", "other", None)).unwrap();
    second.options.scope.accept.insert(Risk::Unprovisioned);
    second.options = second.options.with_additions(vec![addition(1, configuration("all"))]);
    let told = async |stage: &Stage| {
        let notes = Arc::new(Notes::default());
        let mut setup = stage.setup();
        setup.watcher = notes.clone();
        run::plan(setup).await.unwrap();
        let told = notes.0.lock().unwrap().clone();
        told.into_iter().find(|(code, _)| code == "revocable").map(|(_, text)| text)
    };
    let text = told(&second).await.unwrap();
    assert!(text.starts_with("ConfigMap ns/bom in the target are used") && text.contains(&id), "{text}");
    // What is committed stays, and so does what is finished.
    let phases = [Phase::Live, Phase::Settled];
    for (n, _) in phases.iter().enumerate() {
        if n == 0 {
            let dead = |verb: &str, key: &Key| {
                let dead = verb == "delete" && key.group_kind.kind == "Cluster";
                dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
            };
            first.source.on_call(dead);
            run::resume(first.setup()).await.unwrap_err();
            assert!(under_way(first.setup()).await.unwrap().record.phase.is_committed());
        } else {
            revive(&first);
            run::resume(without_files(&first)).await.unwrap();
        }
        assert_eq!(told(&second).await, None);
    }
}

/// Its name is that of an object which stays in the source: of that one the target has no copy.
#[tokio::test(start_paused = true)]
async fn a_source_may_not_be_deleted_because_of_what_was_added() {
    let secret = |data: &str| {
        let mut secret = body("", "Secret", "other-etcd", None);
        secret["data"] = json!({"key": data});
        secret
    };
    let (mut stage, mut of_source) = (Stage::new(), secret("aGVyZQ=="));
    of_source["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "other"});
    stage.source.insert(of_source).unwrap();
    stage.options = stage.options.with_additions(vec![addition(1, secret("dGhlcmU="))]);
    run::start(stage.setup()).await.unwrap();
    let left = run::status(stage.setup()).await.unwrap().left.unwrap();
    let etcd = Key::new(GroupKind::new("", "Secret"), Some("ns"), "other-etcd");
    assert_eq!((left.only_here, left.may_be_deleted), (vec![etcd.clone()], false));
    // What was added is copied by a later move, as anything else.
    let onwards = Stage::empty();
    onwards.target.add_namespace("ns");
    let mut again = stage.setup();
    again.sides.source = Arc::new(stage.target.clone());
    again.sides.target = Arc::new(onwards.target.clone());
    again.options = again.options.with_additions(Vec::new());
    again.options.scope.accept.insert(Risk::Unprovisioned);
    again.options.scope.also_copy = [pivot_core::objects::selector::Part::of_object(&etcd)].into();
    run::start(again).await.unwrap();
    let annotations = &onwards.target.body(&etcd).unwrap()["metadata"]["annotations"];
    assert!(
        annotations["pivot-host.io/move"].is_string() && annotations.get("pivot-host.io/added").is_none()
    );
    assert!(picture(&onwards.target).contains_key("Cluster ns/c"));
}
