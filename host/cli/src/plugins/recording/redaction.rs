//! Removes data of Secrets from the values of a recording, before anything is written.
//!
//! [`redact_secret`] is the rule for plugins without the data of Secrets: such a plugin never had the data, and its recording loses
//! nothing. A plugin with that data may have put it into any object that it changes, now or in an earlier move.

use std::collections::BTreeMap;
use std::sync::Arc;

use pivot_core::plugins::hooks::{Description, Hook, Settlement};
use pivot_core::{GroupKind, Object};
use pivot_engine::Hooks;
use pivot_runtime::redact_secret;
use serde_json::{Value, json};

use super::super::hook_calls::Answer;

/// Replaces a patch of a plugin with the data of Secrets.
const WITHHELD_PATCH: &str = "(redacted)";
/// Hooks that change objects.
const CHANGING_HOOKS: [Hook; 4] = [Hook::Hold, Hook::Adapt, Hook::Restore, Hook::Settle];

/// Returns true if a recorded answer has a patch of a plugin with the data of Secrets.
pub(in crate::plugins) fn has_withheld_patch(answer: &Value) -> bool {
    answer == WITHHELD_PATCH || answer.get("patch").is_some_and(|patch| patch == WITHHELD_PATCH)
}

/// The rules for one plugin.
pub(in crate::plugins) struct Redaction<'a> {
    pub(in crate::plugins) plugin: &'a Description,
    /// All plugins of the move that see the data of Secrets.
    pub(in crate::plugins) secret_readers: &'a [Arc<dyn Hooks>],
}

/// A value without data of Secrets.
pub(in crate::plugins) struct RedactedValue<T> {
    pub(in crate::plugins) value: T,
    /// Whether the value has lost something that the plugin saw or answered.
    pub(in crate::plugins) has_loss: bool,
}

impl Redaction<'_> {
    /// Returns an object as a plugin without the data of Secrets sees it, or null if its body is not readable.
    pub(super) fn redact_object(&self, object: &Object) -> RedactedValue<Value> {
        if self.may_have_secret_data(&object.kind.group_kind) {
            return RedactedValue { value: reduce_to_identity(object), has_loss: true };
        }
        let Ok(mut value) = object.value() else {
            return RedactedValue { value: Value::Null, has_loss: true };
        };
        let is_secret = object.kind.group_kind.is_secret();
        if is_secret {
            redact_secret(&mut value, &self.plugin.name);
        }
        RedactedValue { value, has_loss: is_secret && self.plugin.secret_data }
    }

    /// Returns true for a kind whose objects are changed by a plugin with the data of Secrets.
    fn may_have_secret_data(&self, kind: &GroupKind) -> bool {
        let changes = |reader: &Arc<dyn Hooks>| CHANGING_HOOKS.iter().any(|hook| reader.changes(*hook, kind));
        self.secret_readers.iter().any(changes)
    }

    /// Returns the answer of a hook. The runtime has withheld the words of a plugin that sees the data of Secrets, but not its patches.
    pub(in crate::plugins) fn redact_answer(
        &self,
        answer: Answer,
        object: Option<&Object>,
    ) -> RedactedValue<Answer> {
        match answer {
            Answer::Patch(Some(patch)) => {
                let RedactedValue { value, has_loss } = self.redact_patch(patch, object);
                RedactedValue { value: Answer::Patch(Some(value)), has_loss }
            }
            Answer::Settlement(Settlement::Patch(patch)) => {
                let RedactedValue { value, has_loss } = self.redact_patch(patch, object);
                RedactedValue { value: Answer::Settlement(Settlement::Patch(value)), has_loss }
            }
            answer => RedactedValue { value: answer, has_loss: false },
        }
    }

    fn redact_patch(&self, mut patch: Value, object: Option<&Object>) -> RedactedValue<Value> {
        if self.plugin.secret_data {
            return RedactedValue { value: WITHHELD_PATCH.into(), has_loss: true };
        }
        if !object.is_some_and(|object| object.kind.group_kind.is_secret()) {
            return RedactedValue { value: patch, has_loss: false };
        }
        let before = patch.clone();
        redact_secret(&mut patch, &self.plugin.name);
        RedactedValue { has_loss: patch != before, value: patch }
    }
}

fn reduce_to_identity(object: &Object) -> Value {
    let namespace = object.meta.namespace.as_ref().map(|namespace| ("namespace", namespace));
    let metadata = [("name", &object.meta.name), ("uid", &object.meta.uid.0)].into_iter().chain(namespace);
    let metadata: BTreeMap<&str, &String> = metadata.collect();
    json!({
        "apiVersion": object.kind.api_version(), "kind": object.kind.group_kind.kind, "metadata": metadata,
    })
}
