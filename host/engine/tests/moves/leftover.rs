//! Whether a source may be deleted once its moves have ended.

use pivot_core::request::mapping::NamespaceMap;
use pivot_core::{KindLabels, Side};
use pivot_engine::{Leftover, run};
use pivot_memory::Fault;
use pivot_places::PlaceError;
use serde_json::json;

use crate::stage::{CLUSTERS, INFRA, Stage, body, kind};

async fn left(stage: &Stage) -> Option<Leftover> {
    run::status(stage.setup()).await.unwrap().left
}

fn names(left: &Leftover) -> Vec<String> {
    left.only_here.iter().map(ToString::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn a_source_may_be_deleted_once_everything_in_it_is_in_the_target_too() {
    let stage = Stage::new();
    let before = left(&stage).await.unwrap();
    assert!(!before.may_be_deleted && names(&before).contains(&"Cluster ns/c".to_owned()), "{before:?}");
    assert!(before.with_finalizers > 0);
    run::start(stage.setup()).await.unwrap();
    // The Secret that is nobody's may be named by what moved.
    let after = left(&stage).await.unwrap();
    let named: Vec<String> = after.beside_moved.iter().map(ToString::to_string).collect();
    assert_eq!((named, after.may_be_deleted), (vec!["Secret ns/pull".to_owned()], false));
    stage.target.insert(stage.source.body(&after.beside_moved[0]).unwrap()).unwrap();
    let after = left(&stage).await.unwrap();
    assert_eq!(after, Leftover { may_be_deleted: true, ..Leftover::default() });
}

#[tokio::test(start_paused = true)]
async fn objects_that_no_move_copied_are_named() {
    let stage = Stage::new();
    run::start(stage.setup()).await.unwrap();
    for (group, kind, name) in
        [(CLUSTERS, "Cluster", "other"), (INFRA, "Pool", "p"), ("", "Secret", "other-etcd")]
    {
        let mut object = body(group, kind, name, None);
        object["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "other"});
        stage.source.insert(object).unwrap();
    }
    let left = left(&stage).await.unwrap();
    // The pool's name is taken in the target: of it there is a copy.
    assert_eq!(names(&left), ["Secret ns/other-etcd", "Cluster ns/other"]);
    assert_eq!((left.may_be_deleted, left.on_both, left.with_finalizers), (false, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn kinds_that_can_not_be_read_are_not_reported_as_gone() {
    let stage = Stage::new();
    run::start(stage.setup()).await.unwrap();
    stage.source.on_call(|verb, key| {
        let hidden = verb == "list-meta" && key.group_kind.kind == "Machine";
        hidden.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    let left = left(&stage).await.unwrap();
    assert_eq!(left.unread.iter().map(ToString::to_string).collect::<Vec<_>>(), ["Machine.cluster.x-k8s.io"]);
    assert!(!left.may_be_deleted);
}

/// Nobody should delete either side before it has ended.
#[tokio::test(start_paused = true)]
async fn no_leftover_is_reported_while_a_move_is_under_way_or_a_side_is_missing() {
    let stage = crate::trouble::live().await;
    assert_eq!(left(&stage).await, None);
    let alone = run::status_of_one(Stage::new().setup(), Side::Source).await.unwrap();
    assert_eq!(alone.left, None);
}

/// An object of that name in the target may be somebody else's.
#[tokio::test(start_paused = true)]
async fn another_object_of_the_same_name_is_no_copy() {
    let stage = Stage::new();
    stage.target.add_namespace("ns");
    stage.target.insert(body(CLUSTERS, "Cluster", "c", None)).unwrap();
    let left = left(&stage).await.unwrap();
    assert!(names(&left).contains(&"Cluster ns/c".to_owned()) && !left.may_be_deleted, "{left:?}");
    assert_eq!(left.on_both, 0);
}

/// Cluster API's definitions are not labelled where clusterctl didn't install them, or may not be read.
#[tokio::test(start_paused = true)]
async fn objects_of_unlabelled_kinds_are_not_reported_as_nothing() {
    for unread in [false, true] {
        let stage = Stage::new();
        for (group, name, plural) in [(CLUSTERS, "Cluster", "clusters"), (CLUSTERS, "Machine", "machines")] {
            let labels = KindLabels { unread, ..KindLabels::default() };
            stage.source.add_kind(kind(group, name, plural, labels));
        }
        let left = left(&stage).await.unwrap();
        assert!(!left.may_be_deleted && names(&left).contains(&"Machine ns/m0".to_owned()), "{left:?}");
        assert_eq!(left.unread.len(), if unread { 2 } else { 0 });
    }
}

#[tokio::test(start_paused = true)]
async fn settings_beside_a_renamed_namespace_are_named() {
    let stage = Stage::new();
    let mut setup = stage.setup();
    setup.options.scope.namespace_map = NamespaceMap::new([("ns".to_owned(), "prod".to_owned())]).unwrap();
    run::start(setup).await.unwrap();
    let before = left(&stage).await.unwrap();
    let [pull] = before.beside_moved.as_slice() else { panic!("{before:?}") };
    assert_eq!((pull.to_string(), before.may_be_deleted), ("Secret ns/pull".to_owned(), false));
    let mut copy = stage.source.body(pull).unwrap();
    copy["metadata"]["namespace"] = json!("prod");
    stage.target.insert(copy).unwrap();
    assert!(left(&stage).await.unwrap().may_be_deleted);
}

/// An identity is in no namespace, and names a Secret of its provider's namespace, which has no Provider if clusterctl didn't make it.
#[tokio::test(start_paused = true)]
async fn credentials_that_copies_name_are_named() {
    let stage = Stage::new();
    let labels = KindLabels { discover: true, moves: true, ..KindLabels::default() };
    for place in [&stage.source, &stage.target] {
        place.add_kind(kind(INFRA, "Identity", "identities", labels));
    }
    let mut identity = body(INFRA, "Identity", "id", None);
    identity["metadata"].as_object_mut().unwrap().remove("namespace");
    identity["spec"] = json!({"secretName": "vcenter"});
    stage.source.insert(identity).unwrap();
    for (namespace, name) in [("capv-system", "vcenter"), ("capv-system", "other"), ("ns", "pull")] {
        let mut secret = body("", "Secret", name, None);
        secret["metadata"]["namespace"] = json!(namespace);
        secret["metadata"]["uid"] = json!(format!("{namespace}-{name}"));
        stage.source.add_namespace(namespace);
        match namespace {
            "ns" => drop(stage.target.insert(secret).unwrap()),
            _ => drop(stage.source.insert(secret).unwrap()),
        }
    }
    run::start(stage.setup()).await.unwrap();
    let after = left(&stage).await.unwrap();
    let named: Vec<String> = after.beside_moved.iter().map(ToString::to_string).collect();
    assert_eq!((named, after.may_be_deleted), (vec!["Secret capv-system/vcenter".to_owned()], false));
    stage.target.insert(stage.source.body(&after.beside_moved[0]).unwrap()).unwrap();
    let after = left(&stage).await.unwrap();
    assert!(after.may_be_deleted, "{after:?}");
}

/// Two sources made from one template have the same names, and only one has moved.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_still_in_the_source_was_not_moved_whatever_the_target_has() {
    let (moved, mut stage) = (Stage::new(), Stage::new());
    run::start(moved.setup()).await.unwrap();
    stage.target = moved.target;
    let left = left(&stage).await.unwrap();
    assert_eq!((names(&left), left.may_be_deleted), (vec!["Cluster ns/c".to_owned()], false));
}
