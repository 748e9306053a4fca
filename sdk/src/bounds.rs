//! The bounds of patches, for plugins that read patches from their configuration: they can refuse what the host would reject
//! before any object is processed. [`test::Harness`](crate::test::Harness) applies the same rule.

use serde_json::Value;

pub use pivot_bounds::Violation;

use crate::Hook;

/// Returns the first violation in a patch of the plugin; none if the patch is within the hook's bounds.
///
/// ```
/// # use pivot_sdk::{Hook, bounds};
/// # use serde_json::json;
/// let patch = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}});
/// let violation = bounds::find_violation("my-hosts", Hook::Hold, &patch).unwrap();
/// assert_eq!(violation.why, "it may pause, but never unpause");
/// ```
pub fn find_violation(plugin: &str, hook: Hook, patch: &Value) -> Option<Violation> {
    pivot_bounds::find_violation(plugin, hook.into(), patch)
}

impl From<Hook> for pivot_bounds::Hook {
    fn from(hook: Hook) -> Self {
        match hook {
            Hook::Relate => Self::Relate,
            Hook::Check => Self::Check,
            Hook::Hold => Self::Hold,
            Hook::Adapt => Self::Adapt,
            Hook::Restore => Self::Restore,
            Hook::Settle => Self::Settle,
        }
    }
}
