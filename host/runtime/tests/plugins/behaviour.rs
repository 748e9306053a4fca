//! A plugin that behaves: its inputs and outputs.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Hook, Point, Relation, Settlement, Severity};
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::{Both, GroupKind, Key, Object};
use pivot_runtime::{Answer, Probe, Query, RunContext, RunKind, ServiceError, Services};
use serde_json::json;

use crate::log::log;
use crate::support::{Asked, Place, asked, granted, grants, guest, host, moving, object, of_version, run};

#[tokio::test]
async fn hook_answers_become_host_types() {
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
    let source = host(json!({"status": {"sizeBytes": 9_007_199_254_740_993_u64, "unset": null}}));
    assert_eq!(
        plugin.restore(&source, &bare).await.unwrap(),
        Some(json!({"status": {"sizeBytes": 9_007_199_254_740_993_u64}}))
    );

    assert_eq!(plugin.settle(&ready, false, asked()).await.unwrap(), Settlement::Done);
    let both = host(json!({"state": "ready", "note": "test.io/held"}));
    assert!(matches!(plugin.settle(&both, false, asked()).await.unwrap(), Settlement::Patch(_)));
    assert!(
        matches!(plugin.settle(&bare, false, asked()).await.unwrap(), Settlement::Wait(f) if f.severity == Severity::Wait)
    );
    let restored = host(json!({"state": "restored"}));
    assert!(matches!(plugin.settle(&restored, false, asked()).await.unwrap(), Settlement::Wait(_)));
    assert_eq!(plugin.settle(&restored, true, asked()).await.unwrap(), Settlement::Done);
    let broken = host(json!({"state": "broken"}));
    assert!(matches!(plugin.settle(&broken, false, asked()).await.unwrap(), Settlement::Stop(_)));
}

#[tokio::test]
async fn error_names_plugin_hook_and_object() {
    let place = Place::with(&["steady"], &grants("steady")).await;
    let plugin = place.plugin().await;
    let error = plugin.settle(&host(json!({"state": "mute"})), false, asked()).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.message.as_str(), error.hook), ("mute", "says no word", "settle"));
    let said = error.to_string();
    assert!(said.starts_with("plugin steady 0.1.0 (steady.wasm, sha256 "), "{said}");
    assert!(said.ends_with(" failed in settle of Host n/h: says no word (mute)"), "{said}");
}

// proves: T4
#[tokio::test]
async fn undeclared_kinds_are_not_shown() {
    let place = Place::with(&["hostile"], &grants("hostile")).await;
    let plugin = place.plugin().await;
    let other = object("test.io", "Rack", json!({"metadata": {"name": "r"}, "mode": "trap"}));
    assert_eq!(plugin.relate(&other).await.unwrap(), []);
    assert_eq!(plugin.hold(&other).await.unwrap(), None);
    assert_eq!(plugin.settle(&other, false, asked()).await.unwrap(), Settlement::Done);
}

#[tokio::test]
async fn plugin_of_older_contract_runs() {
    let place = Place::with(&["older"], "").await;
    let plugin = place.plugin().await;
    assert_eq!(plugin.description().hooks, [Hook::Relate]);
    let secret = object("", "Secret", json!({"metadata": {"name": "s"}}));
    let relations = plugin.for_run(run("m")).relate(&secret).await.unwrap();
    assert_eq!(relations, [Relation::Leave("it always did, in m".into())]);
    assert_eq!(plugin.check(Point::BeforePause, &moving(), asked()).await.unwrap(), []);
}

#[tokio::test]
async fn function_of_newer_contract_is_named() {
    let place = Place::new();
    place.put("newer.wasm", &guest("newer"));
    let error = place.runtime.inspect(&place.path("newer.wasm")).await.unwrap_err();
    assert_eq!(error.code(), "mismatch");
    let said = "it needs pivot:provider/context.phase, which this pivot-host lacks: use a newer one";
    assert!(error.to_string().contains(said), "{error}");
}

#[tokio::test]
async fn every_hook_knows_its_run() {
    let place = Place::with(&["steady"], &grants("steady")).await;
    let namespace_map = NamespaceMap::new([("n".to_owned(), "elsewhere".to_owned())]).unwrap();
    let kubectl = Both::new(Some(Vec::new()), None);
    let kind = RunKind::Copy;
    let run = RunContext { kind, move_id: "m".into(), namespace_map, kubectl, ..RunContext::default() };
    let plugin = place.plugin().await.for_run(run);
    let placed = host(json!({"place": "n"}));
    assert_eq!(plugin.adapt(&placed).await.unwrap(), Some(json!({"place": "elsewhere"})));
    assert_eq!(plugin.adapt(&host(json!({"place": "mine"}))).await.unwrap(), None);
    // Each name has one counterpart: the target's own `n` is called by the name that became free.
    let free = plugin.adapt(&host(json!({"place": "elsewhere"}))).await.unwrap();
    assert_eq!(free, Some(json!({"place": "n"})));
    let findings = plugin.check(Point::BeforePause, &moving(), asked()).await.unwrap();
    assert_eq!(
        (findings[0].code.as_str(), findings[0].message.as_str()),
        ("context", "copy m cluster directory n=n")
    );
}

/// Answers each query with a host in a version that `wide` doesn't know.
struct Newer;

#[async_trait]
impl Services for Newer {
    async fn read(&self, _plugin: &str, _query: Query) -> Result<Vec<Object>, ServiceError> {
        Ok(vec![newer()])
    }

    async fn probe(&self, plugin: &str, probe: Probe) -> Result<Answer, ServiceError> {
        Asked::default().probe(plugin, probe).await
    }
}

fn newer() -> Object {
    of_version("v2", host(json!({})))
}

#[tokio::test]
async fn objects_of_unknown_versions_are_withheld() {
    let place = Place::new();
    place.put("wide.wasm", &guest("wide"));
    place.runtime.admit(&place.path("wide.wasm"), &granted()).await.unwrap();
    let plugin = place.plugin().await;
    plugin.check_version(&host(json!({}))).unwrap();
    for error in [plugin.check_version(&newer()).unwrap_err(), plugin.relate(&newer()).await.unwrap_err()] {
        assert_eq!(error.code, "unsupported-version");
        assert_eq!(error.message, "it understands Host.test.io in version v1, and both sides serve v2");
    }
    let findings = plugin.check(Point::BeforePause, &moving(), Arc::new(Newer)).await.unwrap();
    let reads: BTreeSet<_> = findings
        .iter()
        .filter(|finding| !finding.message.contains(':'))
        .map(|found| found.code.as_str())
        .collect();
    assert_eq!(reads, BTreeSet::from(["unsupported-version"]));
}

#[tokio::test]
async fn invalid_configuration_refuses_the_plugin() {
    let config = "[plugins.steady.config]\nwrong = 'it is'\n";
    let place = Place::with(&["steady"], &format!("{}\n{config}", grants("steady"))).await;
    let refused = place.refused().await;
    assert_eq!(refused[0].0, "configuration");
    let said = "the check of its [plugins.steady.config] in plugins.toml failed: wrong: it is";
    assert!(refused[0].1.ends_with(said), "{}", refused[0].1);
    place.operator(&format!("{}\nenabled = false\n{config}", grants("steady")));
    assert_eq!(place.load().await.unwrap().len(), 0);
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
async fn only_check_traces_name_a_point() {
    let plugin = Place::with(&["steady"], &grants("steady")).await.plugin().await;
    plugin.check(Point::BeforeCommit, &moving(), asked()).await.unwrap();
    plugin.hold(&host(json!({}))).await.unwrap();
    let said = log().text();
    assert!(said.contains("plugin=\"steady\" hook=\"check\" point=\"before-commit\" "), "{said}");
    assert!(said.contains("plugin=\"steady\" hook=\"hold\" kind="), "{said}");
}
