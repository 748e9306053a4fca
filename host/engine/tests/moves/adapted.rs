//! What plugins that may change every object cost where they change few.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Description, Hook};
use pivot_core::{GroupKind, Object};
use pivot_engine::hooks::{HookError, Hooks};
use pivot_engine::run;
use serde_json::{Value, json};

use crate::stage::{INFRA, Stage, body};

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
        stage.source.insert(body(INFRA, "Pool", &format!("p{n}"), None)).unwrap();
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
    // One of its kind, which is asked about for its schema, is adapted once more for that.
    assert_eq!(costs("none of them").await, (1, 2 * POOLS + 1));
    assert_eq!(costs("p50").await, (2, 2 * POOLS + 2));
}
