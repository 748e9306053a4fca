//! What the engine asks plugins: the mirror of `wit/provider.wit`.
//!
//! One implementation per plugin. The runtime's components implement it, and so do native types in tests. What a
//! hook gives back is a decision; the engine carries it out after holding it against the bounds of
//! [`bounds`].

use std::sync::Arc;

use async_trait::async_trait;
use pivot_core::Object;
use pivot_core::hooks::{Description, Finding, Hook, Point, Relation, Settlement};
use pivot_runtime::CallError;
pub use pivot_runtime::{MoveContext, Services};
use serde_json::Value;

/// Why a hook gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{code}: {message}")]
pub struct HookError {
    /// A word for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// A plugin.
#[async_trait]
pub trait Hooks: Send + Sync + 'static {
    /// What it is.
    fn describe(&self) -> &Description;

    /// How one object belongs together with others.
    async fn relate(&self, _object: &Object) -> Result<Vec<Relation>, HookError> {
        Ok(Vec::new())
    }

    /// Whether the move may go on.
    async fn check(
        &self,
        _point: Point,
        _context: &MoveContext,
        _services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        Ok(Vec::new())
    }

    /// The provider's own pause of a source object: a merge patch of metadata.
    async fn hold(&self, _object: &Object) -> Result<Option<Value>, HookError> {
        Ok(None)
    }

    /// A merge patch for an object about to be created.
    async fn adapt(&self, _object: &Object) -> Result<Option<Value>, HookError> {
        Ok(None)
    }

    /// A merge patch for the status of an object just created.
    async fn restore(&self, _source: &Object, _created: &Object) -> Result<Option<Value>, HookError> {
        Ok(None)
    }

    /// What is still to be done before an object is let go of.
    async fn settle(&self, _object: &Object, _services: Arc<dyn Services>) -> Result<Settlement, HookError> {
        Ok(Settlement::Done)
    }
}

impl From<CallError> for HookError {
    fn from(error: CallError) -> Self {
        let CallError { code, message, .. } = error;
        Self { code, message }
    }
}

/// A component: its hooks are called in a sandbox.
#[async_trait]
impl Hooks for pivot_runtime::Plugin {
    fn describe(&self) -> &Description {
        self.description()
    }

    async fn relate(&self, object: &Object) -> Result<Vec<Relation>, HookError> {
        Ok(Self::relate(self, object).await?)
    }

    async fn check(
        &self,
        point: Point,
        context: &MoveContext,
        services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        Ok(Self::check(self, point, context, services).await?)
    }

    async fn hold(&self, object: &Object) -> Result<Option<Value>, HookError> {
        Ok(Self::hold(self, object).await?)
    }

    async fn adapt(&self, object: &Object) -> Result<Option<Value>, HookError> {
        Ok(Self::adapt(self, object).await?)
    }

    async fn restore(&self, source: &Object, created: &Object) -> Result<Option<Value>, HookError> {
        Ok(Self::restore(self, source, created).await?)
    }

    async fn settle(&self, object: &Object, services: Arc<dyn Services>) -> Result<Settlement, HookError> {
        Ok(Self::settle(self, object, services).await?)
    }
}

/// What a plugin's patch may touch.
pub mod bounds {
    use super::{Hook, Value};
    use pivot_core::merge;
    use pivot_core::names;

    /// The first path of a patch that the hook may not touch.
    pub fn violation(hook: Hook, patch: &Value) -> Option<String> {
        merge::paths(patch).into_iter().find(|path| !allowed(hook, path))
    }

    fn allowed(hook: Hook, path: &str) -> bool {
        let ours = |path: &str| {
            let key = path.rsplit('/').next().unwrap_or_default();
            key.starts_with(&names::OURS.replace('/', "~1"))
        };
        match hook {
            Hook::Hold | Hook::Settle => {
                (path.starts_with("/metadata/annotations/") || path.starts_with("/metadata/labels/"))
                    && !ours(path)
            }
            Hook::Adapt => {
                let metadata =
                    path.strip_prefix("/metadata").filter(|rest| rest.is_empty() || rest.starts_with('/'));
                let identity = ["/apiVersion", "/kind", "/status"]
                    .iter()
                    .any(|p| path == *p || path.starts_with("/status/"));
                let pause = path == "/spec/paused" || path.contains(&names::PAUSED.replace('/', "~1"));
                let metadata_ok = metadata
                    .is_none_or(|rest| rest.starts_with("/annotations/") || rest.starts_with("/labels/"));
                !identity && !pause && metadata_ok && path != "/spec" && !path.is_empty() && !ours(path)
            }
            Hook::Restore => path.starts_with("/status"),
            Hook::Relate | Hook::Check => false,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use serde_json::json;

        #[test]
        fn a_hold_touches_only_labels_and_annotations_of_others() {
            let fine = json!({"metadata": {"annotations": {"metal3.io/paused": "x"}}});
            assert_eq!(violation(Hook::Hold, &fine), None);
            for bad in [
                json!({"spec": {"x": 1}}),
                json!({"metadata": {"annotations": {"pivot-host.io/undo": null}}}),
                json!({"metadata": {"annotations": null}}),
                json!({"metadata": {"ownerReferences": []}}),
                json!({"metadata": {"finalizers": []}}),
            ] {
                assert!(violation(Hook::Hold, &bad).is_some(), "{bad}");
            }
        }

        #[test]
        fn an_adaptation_never_touches_identity_owners_pause_or_marks() {
            assert_eq!(violation(Hook::Adapt, &json!({"spec": {"image": {"url": "x"}}})), None);
            for bad in [
                json!({"metadata": {"name": "x"}}),
                json!({"metadata": {"namespace": "x"}}),
                json!({"metadata": {"ownerReferences": null}}),
                json!({"metadata": {"annotations": {"pivot-host.io/move": "x"}}}),
                json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}}),
                json!({"metadata": null}),
                json!({"spec": {"paused": false}}),
                json!({"spec": null}),
                json!({"kind": "Other"}),
                json!({"status": {"x": 1}}),
                json!(null),
            ] {
                assert!(violation(Hook::Adapt, &bad).is_some(), "{bad}");
            }
        }

        #[test]
        fn a_restore_touches_only_status() {
            assert_eq!(violation(Hook::Restore, &json!({"status": {"a": 1}})), None);
            assert!(violation(Hook::Restore, &json!({"status": {"a": 1}, "spec": {"b": 1}})).is_some());
        }
    }
}
