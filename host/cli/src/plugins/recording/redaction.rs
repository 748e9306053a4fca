//! Removes data of Secrets from the values of a recording, before anything is written.
//!
//! [`redact_secret`] is the rule for plugins without the data of Secrets: such a plugin never had the data, and its recording loses
//! nothing. A plugin with that data may have put it into its questions, and into any object that it changes, now or in an earlier
//! move. Another plugin that sees such an object may repeat the data anywhere.

use std::collections::BTreeMap;

use pivot_core::Object;
use pivot_core::plugins::hooks::{Description, Settlement};
use pivot_engine::hooks::HookError;
use pivot_runtime::redact_secret;
use serde_json::{Value, json};

use super::super::hook_calls::{Answer, error_answer};
use super::secret_carriers::SecretCarriers;

/// Replaces a patch of a plugin with the data of Secrets, and each answer of a plugin that saw an object which may have it.
const WITHHELD: &str = "(redacted)";

/// Returns true if a patch was removed from a recorded answer, or the whole answer.
pub(in crate::plugins) fn has_withheld_patch(answer: &Value) -> bool {
    answer == WITHHELD || answer.get("patch").is_some_and(|patch| patch == WITHHELD)
}

/// The rules for one plugin.
pub(in crate::plugins) struct Redaction<'a> {
    pub(in crate::plugins) plugin: &'a Description,
    pub(in crate::plugins) carriers: &'a SecretCarriers,
}

/// A value without data of Secrets.
pub(in crate::plugins) struct RedactedValue<T> {
    pub(in crate::plugins) value: T,
    /// True if the value has lost something that the plugin saw or answered.
    pub(in crate::plugins) has_loss: bool,
}

impl Redaction<'_> {
    /// Returns an object as a plugin without the data of Secrets sees it, or null if its body is not readable.
    pub(super) fn redact_object(&self, object: &Object) -> RedactedValue<Value> {
        if self.has_exposed_object(Some(object)) {
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

    /// Returns true for an object that the plugin saw whole, although it may have data of Secrets. The plugin may have put that data
    /// into its questions and its answer.
    pub(super) fn has_exposed_object(&self, object: Option<&Object>) -> bool {
        object.is_some_and(|object| self.carriers.may_change(&object.kind.group_kind))
    }

    /// Returns the answer or the failure of a hook, as a recording has it. `is_exposed`: the plugin may have the data of Secrets from
    /// an object or an answer.
    pub(super) fn redact_result(
        &self,
        answer: Result<Answer, HookError>,
        object: Option<&Object>,
        is_exposed: bool,
    ) -> RedactedValue<Value> {
        match answer {
            // The runtime restricts the codes and words of this plugin alone.
            _ if is_exposed && !self.plugin.secret_data => {
                RedactedValue { value: WITHHELD.into(), has_loss: true }
            }
            Ok(answer) => {
                let RedactedValue { value, has_loss } = self.redact_answer(answer, object);
                RedactedValue { value: json!(value), has_loss }
            }
            Err(HookError { code, .. }) if self.plugin.secret_data => {
                RedactedValue { value: json!({"error": code}), has_loss: false }
            }
            Err(HookError { code, message }) => {
                RedactedValue { value: error_answer(&code, &message), has_loss: false }
            }
        }
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
            return RedactedValue { value: WITHHELD.into(), has_loss: true };
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
