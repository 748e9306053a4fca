//! Messages about a patch that is out of bounds. The rule itself is `pivot_bounds`, which the SDK's test harness uses, too.

use pivot_core::messages::safe_text;
use pivot_core::plugins::hooks::{Description, Hook};
use serde_json::Value;

/// The longest path that is printed.
const MAX_PATH_BYTES: usize = 300;

/// Describes how a patch exceeds the bounds of its hook; `None` if it stays within them.
pub fn describe_violation(plugin: &Description, hook: Hook, patch: &Value) -> Option<String> {
    let found = pivot_bounds::find_violation(&plugin.name, hook.into(), patch)?;
    Some(found.message(&describe_path(&found.touched, plugin.secret_data)))
}

/// Returns the printed form of a path that a plugin wrote. The plugin chooses the text: a plugin that sees the data of Secrets
/// could put the data there.
pub(crate) fn describe_path(path: &str, secret_data: bool) -> String {
    if secret_data {
        "a path that is withheld (the plugin sees the data of Secrets)".to_owned()
    } else {
        safe_text::to_line(path, MAX_PATH_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hosts() -> Description {
        Description { name: "hosts".into(), ..Description::default() }
    }

    /// A key is free text that ends up in a terminal.
    #[test]
    fn reported_path_is_one_bounded_line() {
        let key = format!("a\nerror: the source is lost {}", "x".repeat(10_000));
        for patch in [
            json!({ &key: 1 }),
            json!({"metadata": {"annotations": {&key: 1}}}),
            json!({"metadata": {"annotations": {"a": [{format!("pivot-host.io/{key}"): 1}]}}}),
        ] {
            let message = describe_violation(&hosts(), Hook::Hold, &patch).unwrap();
            assert!(message.contains("error: the source is lost"), "{message}");
            assert!(!message.contains('\n') && message.len() < 400, "{message}");
        }
    }

    #[test]
    fn paths_of_secret_readers_are_withheld() {
        let secretive = Description { secret_data: true, ..hosts() };
        for patch in [json!({"hunter2": 1}), json!({"a": [{"pivot-host.io/hunter2": 1}]})] {
            let message = describe_violation(&secretive, Hook::Hold, &patch).unwrap();
            assert!(!message.contains("hunter2") && message.contains("hold"), "{message}");
        }
    }
}
