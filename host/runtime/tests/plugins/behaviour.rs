//! A plugin that behaves: its inputs and outputs.

use pivot_core::hooks::{Hook, Point, Relation, Settlement, Severity};
use pivot_core::{GroupKind, Key};
use serde_json::json;

use crate::log::log;
use crate::support::{Place, asked, grants, host, moving, object};

#[tokio::test]
async fn every_hooks_answer_is_converted_to_host_types() {
    let place = Place::with(&["steady"], &grants("steady")).await;
    let plugin = place.plugin().await;
    let description = plugin.description();
    assert_eq!((description.name.as_str(), description.version.as_str()), ("steady", "0.1.0"));
    assert_eq!(description.hooks, Hook::ALL);
    assert_eq!(description.kinds, [GroupKind::new("test.io", "Host")]);
    assert!(plugin.declaration().summary.ends_with("while it describes itself: {}."));

    let owned = host(json!({"owner": "rack-1"}));
    let relations = plugin.relate(&owned).await.unwrap();
    let rack = Key::new(GroupKind::new("test.io", "Rack"), Some("n"), "rack-1");
    assert_eq!(relations[0], Relation::Link(rack));
    assert_eq!(relations[1], Relation::Keep("this hook is pure: it can't ask questions".into()));

    let bare = host(json!({}));
    assert_eq!(
        plugin.hold(&bare).await.unwrap(),
        Some(json!({"metadata": {"annotations": {"test.io/held": "yes"}}}))
    );
    let held = host(json!({"note": "test.io/held test.io/adapted"}));
    assert_eq!(plugin.hold(&held).await.unwrap(), None);
    assert_eq!(plugin.adapt(&held).await.unwrap(), None);
    assert!(plugin.adapt(&bare).await.unwrap().is_some());
    let ready = host(json!({"state": "ready"}));
    assert_eq!(plugin.restore(&ready, &bare).await.unwrap(), Some(json!({"status": {"state": "ready"}})));
    assert_eq!(plugin.restore(&ready, &ready).await.unwrap(), None);

    assert_eq!(plugin.settle(&ready, asked()).await.unwrap(), Settlement::Done);
    let both = host(json!({"state": "ready", "note": "test.io/held"}));
    assert!(matches!(plugin.settle(&both, asked()).await.unwrap(), Settlement::Patch(_)));
    assert!(
        matches!(plugin.settle(&bare, asked()).await.unwrap(), Settlement::Wait(f) if f.severity == Severity::Wait)
    );
    let broken = host(json!({"state": "broken"}));
    assert!(matches!(plugin.settle(&broken, asked()).await.unwrap(), Settlement::Stop(_)));
}

#[tokio::test]
async fn a_plugins_error_names_the_plugin_hook_and_object() {
    let place = Place::with(&["steady"], &grants("steady")).await;
    let plugin = place.plugin().await;
    let error = plugin.settle(&host(json!({"state": "mute"})), asked()).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.message.as_str(), error.hook), ("mute", "says no word", "settle"));
    let said = error.to_string();
    assert!(said.starts_with("plugin steady 0.1.0 (steady.wasm, sha256 "), "{said}");
    assert!(said.ends_with(" failed in settle of Host n/h: says no word (mute)"), "{said}");
}

// proves: T4
#[tokio::test]
async fn kinds_it_did_not_declare_are_not_shown_to_it() {
    let place = Place::with(&["hostile"], &grants("hostile")).await;
    let plugin = place.plugin().await;
    let other = object("test.io", "Rack", json!({"metadata": {"name": "r"}, "mode": "trap"}));
    assert_eq!(plugin.relate(&other).await.unwrap(), []);
    assert_eq!(plugin.hold(&other).await.unwrap(), None);
    assert_eq!(plugin.settle(&other, asked()).await.unwrap(), Settlement::Done);
}

#[tokio::test]
async fn a_plugin_built_against_an_older_contract_still_runs() {
    let place = Place::with(&["older"], "").await;
    let plugin = place.plugin().await;
    assert_eq!(plugin.description().hooks, [Hook::Relate]);
    let secret = object("", "Secret", json!({"metadata": {"name": "s"}}));
    let relations = plugin.relate(&secret).await.unwrap();
    assert_eq!(relations, [Relation::Leave("it always did".into())]);
    assert_eq!(plugin.check(Point::BeforePause, &moving("m"), asked()).await.unwrap(), []);
}

#[tokio::test]
async fn calls_run_concurrently() {
    let place = Place::with(&["steady"], &grants("steady")).await;
    let plugin = place.plugin().await;
    let object = host(json!({"owner": "x"}));
    let calls = (0..200).map(|_| plugin.relate(&object));
    let answers = futures::future::try_join_all(calls).await.unwrap();
    assert!(answers.iter().all(|answer| answer == &answers[0]));
}

/// A check is about no object; of four in a log, a reader wants to know which took long.
#[tokio::test]
async fn the_trace_of_a_check_names_its_point_and_no_other_call_has_one() {
    let plugin = Place::with(&["steady"], &grants("steady")).await.plugin().await;
    plugin.check(Point::BeforeCommit, &moving("m"), asked()).await.unwrap();
    plugin.hold(&host(json!({}))).await.unwrap();
    let said = log().text();
    assert!(said.contains("plugin=\"steady\" hook=\"check\" point=\"before-commit\" "), "{said}");
    assert!(said.contains("plugin=\"steady\" hook=\"hold\" kind="), "{said}");
}
