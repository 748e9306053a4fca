//! What the release of a source that was handed over finds in the cluster that imported it: the import itself, and objects that
//! the import did not make.

use std::sync::Arc;

use pivot_core::Key;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_engine::{Failure, Stop};
use pivot_places::DirectoryPlace;
use serde_json::json;

use crate::crash::nothing_of_ours;
use crate::handover::{cluster, code, handed_over, imported, importing, taken_over};
use crate::mapped::map;
use crate::run;
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, picture};

fn remedies(stop: &Stop) -> &[Remedy] {
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    &refusals.first().unwrap().remedies
}

/// A site that makes a backup each night has forgotten the moves before.
#[tokio::test(start_paused = true)]
async fn an_import_is_remembered_after_many_other_moves() {
    let (stage, _dir) = taken_over().await;
    for _ in 0..12 {
        let backup = tempfile::tempdir().unwrap();
        let mut setup = stage.setup();
        setup.sides.source = Arc::new(stage.target.clone());
        setup.sides.target = Arc::new(DirectoryPlace::to_write(backup.path()).unwrap());
        setup.options.scope.accept.insert(Risk::Unprovisioned);
        run::start(setup).await.unwrap();
    }
    let summaries = stage.target.keys().into_iter().filter(|key| key.group_kind.kind == "ConfigMap");
    assert_eq!(summaries.count(), 11, "of the others ten are kept");
    run::resume(imported(&stage)).await.unwrap();
    assert!(nothing_of_ours(&stage.source) && stage.source.body(&cluster()).is_none());
}

/// The source waits for copies of the names that are in its list.
#[tokio::test(start_paused = true)]
async fn files_of_a_handover_keep_their_namespaces() {
    let stage = Stage::new();
    let dir = handed_over(&stage).await;
    let mut into = importing(&stage, dir.path());
    into.options.scope.namespace_map = map(&[("ns", "prod")]);
    let stop = run::start(into).await.unwrap_err();
    assert_eq!(code(&stop), "handover-mapped");
    assert!(nothing_of_ours(&stage.target) && picture(&stage.target) == picture(&Stage::empty().target));
    // Nor is that proposed.
    stage.target.insert(body(CLUSTERS, "Machine", "m0", None)).unwrap();
    let stop = run::start(importing(&stage, dir.path())).await.unwrap_err();
    assert_eq!((code(&stop), remedies(&stop).len()), ("exists", 1), "{stop}");
}

/// Two management clusters made from one template bring the same class; so do two parts of one share a pool.
#[tokio::test(start_paused = true)]
async fn what_an_import_used_because_the_target_had_it_is_no_foreign_object() {
    let shared = [
        (key(CLUSTERS, "ClusterClass", "class"), None),
        (key(INFRA, "InfraTemplate", "t"), None),
        (key(INFRA, "Pool", "p"), Some("an-earlier-move")),
    ];
    let stage = Stage::new();
    stage.source.edit(&shared[0].0, |body| body["spec"] = json!({"size": 1})).unwrap();
    for (one, by) in &shared {
        let mut theirs = body(&one.group_kind.group, &one.group_kind.kind, &one.name, None);
        theirs["metadata"]["labels"] = json!({"theirs": "1"});
        theirs["metadata"]["uid"] = json!(format!("their-{}", one.name));
        theirs["spec"] = json!({"size": 1});
        if let Some(by) = by {
            theirs["metadata"]["annotations"] = json!({names::MARK: by});
        }
        stage.target.insert(theirs).unwrap();
    }
    let bodies = |stage: &Stage| shared.clone().map(|(one, _): (Key, _)| stage.target.body(&one).unwrap());
    let theirs = bodies(&stage);
    let dir = handed_over(&stage).await;
    run::start(importing(&stage, dir.path())).await.unwrap();
    assert_eq!(bodies(&stage), theirs);
    // As long as it is the same: nothing else would be left of the source's.
    stage.target.edit(&shared[0].0, |body| body["spec"]["size"] = json!(2)).unwrap();
    let stop = run::resume(imported(&stage)).await.unwrap_err();
    assert!(stop.to_string().contains("ClusterClass ns/class (spec.size)"), "{stop}");
    stage.target.edit(&shared[0].0, |body| body["spec"]["size"] = json!(1)).unwrap();
    run::resume(imported(&stage)).await.unwrap();
    for (one, _) in &shared {
        assert!(stage.source.body(one).is_none(), "{one}");
        assert!(stage.target.body(one).is_some(), "{one}");
    }
}
