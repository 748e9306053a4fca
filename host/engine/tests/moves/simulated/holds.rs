//! A plugin that holds hosts, and releases them at once when it is asked to.

use std::sync::Arc;

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Description, Hook, Settlement};
use pivot_core::{GroupKind, Object};
use pivot_engine::hooks::{HookError, Hooks, Services};
use serde_json::{Value, json};

use crate::stage::{INFRA, Stage, body};

/// What it holds them by.
pub(crate) const HELD: &str = "hosts.example.org/paused";

pub(crate) struct Holds(Description);

impl Holds {
    pub(crate) fn hosts() -> Self {
        Self(Description {
            name: "holds".into(),
            kinds: vec![GroupKind::new(INFRA, "Host")],
            hooks: vec![Hook::Hold, Hook::Settle],
            ..Description::default()
        })
    }
}

/// Adds a host, and the plugin that holds it.
pub(crate) fn add_host(stage: &mut Stage, namespace: &str) {
    let mut host = body(INFRA, "Host", "h0", None);
    host["metadata"]["namespace"] = json!(namespace);
    stage.source.insert(host).unwrap();
    stage.plugins = vec![Arc::new(Holds::hosts())];
}

#[async_trait]
impl Hooks for Holds {
    fn describe(&self) -> &Description {
        &self.0
    }

    fn changes(&self, hook: Hook, kind: &GroupKind) -> bool {
        self.0.has_hook_for(hook, kind)
    }

    async fn hold(&self, _object: &Object) -> Result<Option<Value>, HookError> {
        Ok(Some(json!({"metadata": {"annotations": {HELD: ""}}})))
    }

    async fn settle(
        &self,
        _object: &Object,
        _: bool,
        _services: Arc<dyn Services>,
    ) -> Result<Settlement, HookError> {
        Ok(Settlement::Done)
    }
}
