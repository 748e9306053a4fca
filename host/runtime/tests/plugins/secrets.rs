//! A plugin that sees the data of Secrets, and every leak that it tries.

use std::sync::Arc;

use pivot_core::Object;
use pivot_core::plugins::hooks::{Point, Relation};
use pivot_runtime::Scene;
use serde_json::json;

use crate::log::log;
use crate::support::{Place, grants, moving, object};

const GRANTS: &str = "[plugins.secretive]\nhooks = ['relate']\nkinds = ['Secret']\nsecret-data = true";

fn secret(way: &str) -> Object {
    let annotations = json!({"way": way});
    object(
        "",
        "Secret",
        json!({"metadata": {"name": "s", "namespace": "n", "annotations": annotations}, "data": {"k": "hunter2"}}),
    )
}

#[tokio::test]
async fn secret_data_can_not_leak() {
    let plugin = Place::with(&["secretive"], GRANTS).await.plugin().await;
    let leave = plugin.relate(&secret("reason")).await.unwrap();
    assert!(matches!(&leave[..], [Relation::Leave(reason)] if reason.contains("withheld")), "{leave:?}");
    for way in ["name", "error", "panic"] {
        let error = plugin.relate(&secret(way)).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        assert!(error.message.contains("withheld"));
    }
    let log = log().text();
    assert!(log.contains("secretive") && log.contains("outcome") && !log.contains("hunter2"), "{log}");
}

// proves: T5
#[tokio::test]
async fn without_the_grant_it_is_refused() {
    let place =
        Place::with(&["secretive"], "[plugins.secretive]\nhooks = ['relate']\nkinds = ['Secret']").await;
    let refused = place.refused().await;
    assert_eq!(refused[0].0, "not-granted");
    assert!(refused[0].1.contains("the data of Secrets (secret-data)"), "{}", refused[0].1);
}

/// A tool that stores a copy of the object on the object has put the data outside `data`.
// proves: T5
#[tokio::test]
async fn copies_of_secret_data_are_withheld() {
    let copy = json!({"data": {"k": "hunter2"}}).to_string();
    let secret = object(
        "",
        "Secret",
        json!({"metadata": {"name": "s", "namespace": "ironic", "annotations": {
                "kapp.k14s.io/original": copy,
                "pivot-host.io/undo": copy,
                "clusterctl.cluster.x-k8s.io/block-move": "wait",
                "steady.pivot-host.io/was": "good",
            }}, "data": {"k": "hunter2"}}),
    );
    let plugin = Place::with(&["steady"], &grants("steady")).await.plugin().await;
    let scene = Arc::new(Scene { source: vec![secret], ..Scene::default() });
    let findings = plugin.check(Point::BeforePause, &moving(), scene).await.unwrap();
    let seen = findings.iter().find(|finding| finding.message.contains("\"kind\":\"Secret\"")).unwrap();
    for withheld in [r#""kapp.k14s.io/original":"""#, r#""pivot-host.io/undo":"""#, r#"{"k":null}"#] {
        assert!(seen.message.contains(withheld), "{}", seen.message);
    }
    for open in [r#""clusterctl.cluster.x-k8s.io/block-move":"wait""#, r#""steady.pivot-host.io/was":"good""#]
    {
        assert!(seen.message.contains(open), "{}", seen.message);
    }
    assert!(!format!("{findings:?}").contains("hunter2"));
}
