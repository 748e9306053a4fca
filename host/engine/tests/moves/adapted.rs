//! What plugins that may change every object cost where they change few.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Description, Hook};
use pivot_core::{GroupKind, Object};
use pivot_engine::hooks::{HookError, Hooks};
use pivot_engine::{back_up, run};
use pivot_memory::MemoryPlace;
use pivot_places::DirectoryPlace;
use serde_json::{Value, json};

use crate::backup::file;
use crate::stage::{CLUSTERS, INFRA, Stage, body, key};

/// May adapt every Pool, and adapts one.
#[derive(Default)]
struct AdaptsOne {
    description: Description,
    name: &'static str,
    calls: AtomicUsize,
}

#[async_trait]
impl Hooks for AdaptsOne {
    fn describe(&self) -> &Description {
        &self.description
    }

    async fn adapt(&self, object: &Object) -> Result<Option<Value>, HookError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok((object.meta.name == self.name).then(|| json!({"spec": {"adapted": true}})))
    }
}

const POOLS: usize = 51;

/// The dry runs of Pools, and the calls of `adapt`, in a move of so many.
async fn costs(adapts: &'static str) -> (usize, usize) {
    let mut stage = Stage::new();
    // One is there already.
    for n in 1..POOLS {
        let pool = body(INFRA, "Pool", &format!("p{n}"), Some((CLUSTERS, "Cluster", "c")));
        stage.source.insert(pool).unwrap();
    }
    let description = Description {
        name: "adapts".into(),
        kinds: vec![GroupKind::new(INFRA, "Pool")],
        hooks: vec![Hook::Adapt],
        ..Description::default()
    };
    let plugin = Arc::new(AdaptsOne { description, name: adapts, ..AdaptsOne::default() });
    stage.plugins = vec![plugin.clone()];
    run::start(stage.setup()).await.unwrap();
    let asked = stage.target.journal().into_iter();
    let asked = asked.filter(|call| call.verb == "dry-run create" && call.key.group_kind.kind == "Pool");
    (asked.count(), plugin.calls.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn the_target_is_asked_about_what_a_plugin_changes_and_not_about_what_it_sees() {
    // The Pool without an owner is paused itself: its copy is of another version.
    assert_eq!(costs("none of them").await, (1, POOLS + 1));
    // An object that a plugin changes is adapted for the check, for its dry run, and for its copy.
    assert_eq!(costs("p50").await, (2, POOLS + 1 + 2));
}

/// Adapts Pools that are new, and edits one of them in the source when it was asked about all.
struct EditsAfterwards {
    description: Description,
    source: MemoryPlace,
    calls: AtomicUsize,
}

#[async_trait]
impl Hooks for EditsAfterwards {
    fn describe(&self) -> &Description {
        &self.description
    }

    async fn adapt(&self, object: &Object) -> Result<Option<Value>, HookError> {
        if self.calls.fetch_add(1, Ordering::Relaxed) == 1 {
            let edit = |body: &mut Value| body["spec"] = json!({"new": true});
            self.source.edit(&key(INFRA, "Pool", "p1"), edit).unwrap();
        }
        let is_new = object.value().unwrap()["spec"]["new"] == true;
        Ok(is_new.then(|| json!({"spec": {"adapted": true}})))
    }
}

#[tokio::test(start_paused = true)]
async fn objects_that_changed_are_adapted_again() {
    let mut stage = Stage::new();
    stage.source.insert(body(INFRA, "Pool", "p1", Some((CLUSTERS, "Cluster", "c")))).unwrap();
    let description = Description {
        name: "edits".into(),
        kinds: vec![GroupKind::new(INFRA, "Pool")],
        hooks: vec![Hook::Adapt],
        ..Description::default()
    };
    let (source, calls) = (stage.source.clone(), AtomicUsize::default());
    stage.plugins = vec![Arc::new(EditsAfterwards { description, source, calls })];
    run::start(stage.setup()).await.unwrap();
    let copy = stage.target.body(&key(INFRA, "Pool", "p1")).unwrap();
    assert_eq!(copy["spec"], json!({"new": true, "adapted": true}));
}

/// Holds Pools, and adapts those that it holds.
struct AdaptsHeld(Description);

#[async_trait]
impl Hooks for AdaptsHeld {
    fn describe(&self) -> &Description {
        &self.0
    }

    async fn hold(&self, _object: &Object) -> Result<Option<Value>, HookError> {
        Ok(Some(json!({"metadata": {"annotations": {"held": ""}}})))
    }

    async fn adapt(&self, object: &Object) -> Result<Option<Value>, HookError> {
        Ok(object.meta.has_annotation("held").then(|| json!({"spec": {"adapted": true}})))
    }
}

/// A backup pauses and holds objects in its reading alone, where they keep their version.
#[tokio::test(start_paused = true)]
async fn objects_held_in_a_reading_are_adapted_again() {
    let (stage, dir) = (Stage::new(), tempfile::tempdir().unwrap());
    let description = Description {
        name: "held".into(),
        kinds: vec![GroupKind::new(INFRA, "Pool")],
        hooks: vec![Hook::Hold, Hook::Adapt],
        ..Description::default()
    };
    let mut setup = stage.setup();
    setup.plugins = vec![Arc::new(AdaptsHeld(description)) as Arc<dyn Hooks>].into();
    setup.sides.source = Arc::new(stage.source.clone());
    setup.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
    back_up(setup).await.unwrap();
    assert_eq!(file(dir.path(), "Pool", "p")["spec"]["adapted"], true);
}
