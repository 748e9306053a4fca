//! The table of patches that the SDK's harness is held against, through whole moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use pivot_core::objects::merge;
use pivot_core::plugins::hooks::{Description, Hook, Settlement};
use pivot_core::{GroupKind, Object};
use pivot_engine::hooks::{HookError, Hooks, Services};
use pivot_engine::run;
use serde_json::{Value, json};

use crate::stage::{INFRA, Stage, body};

/// Gives one patch in one hook: once, and then until it is applied.
struct Hosts {
    description: Description,
    patch: Value,
    gave: AtomicBool,
}

impl Hosts {
    fn new(hook: Hook, patch: Value) -> Self {
        let description = Description {
            name: "hosts".into(),
            version: "1.0.0".into(),
            digest: "d".into(),
            vouched_by: vec![],
            granted: vec![],
            kinds: vec![GroupKind::new(INFRA, "Host")],
            hooks: vec![hook],
            secret_data: false,
            reach: Vec::new(),
        };
        Self { description, patch, gave: AtomicBool::new(false) }
    }

    fn patch(&self, object: &Object) -> Option<Value> {
        let before = object.value().unwrap();
        let mut after = before.clone();
        merge::apply_patch(&mut after, &self.patch);
        let first = !self.gave.swap(true, Ordering::SeqCst);
        (first || after != before).then(|| self.patch.clone())
    }
}

#[async_trait]
impl Hooks for Hosts {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn changes(&self, hook: Hook, kind: &GroupKind) -> bool {
        self.description.has_hook_for(hook, kind)
    }

    async fn hold(&self, object: &Object) -> Result<Option<Value>, HookError> {
        Ok(self.patch(object))
    }

    async fn adapt(&self, object: &Object) -> Result<Option<Value>, HookError> {
        Ok(self.patch(object))
    }

    async fn restore(&self, _: &Object, created: &Object) -> Result<Option<Value>, HookError> {
        Ok(self.patch(created))
    }

    async fn settle(&self, object: &Object, _: bool, _: Arc<dyn Services>) -> Result<Settlement, HookError> {
        Ok(self.patch(object).map_or(Settlement::Done, Settlement::Patch))
    }
}

/// A host that has what the patch takes away.
fn host(patch: &Value) -> Value {
    let mut host = body(INFRA, "Host", "h", None);
    host["metadata"].as_object_mut().unwrap().remove("labels");
    for (path, value) in pivot_bounds::patch_leaves(patch) {
        if value.is_null() && host.pointer(&path).is_none() {
            let words = path.split('/').skip(1).map(|word| word.replace("~1", "/").replace("~0", "~"));
            let words: Vec<String> = words.collect();
            // A label or an annotation is a string; what holds them is a map.
            let was = if words.len() > 2 { json!("was") } else { json!({"was": "was"}) };
            merge::apply_patch(
                &mut host,
                &words.iter().rev().fold(was, |below, word| json!({ word: below })),
            );
        }
    }
    host
}

// proves: T8
#[tokio::test(start_paused = true)]
async fn the_engine_judges_patches_as_the_harness_does() {
    let cases: Vec<(Hook, Value, bool, String)> =
        serde_json::from_str(include_str!("../../../../sdk/bounds/cases.json")).unwrap();
    for (hook, patch, allowed, about) in cases {
        let mut stage = Stage::new();
        stage.source.insert(host(&patch)).unwrap();
        let hosts = Arc::new(Hosts::new(hook, patch.clone()));
        stage.plugins = vec![hosts.clone()];
        let stop = run::start(stage.setup()).await.err().map(|stop| stop.to_string());
        assert!(hosts.gave.load(Ordering::SeqCst), "{hook} was not asked for {about}: {patch}: {stop:?}");
        let refused = stop.as_deref().is_some_and(|stop| stop.contains("its patch touches"));
        assert_eq!(!refused, allowed, "{hook}: {about}: {patch}: {stop:?}");
    }
}
