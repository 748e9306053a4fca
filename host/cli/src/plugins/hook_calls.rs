//! Calls of hooks on the objects of a scene, as a move makes them.

use std::sync::Arc;

use pivot_core::objects::merge;
use pivot_core::plugins::conformance::{
    Defect, find_repeated_patch, find_repeated_settlement, find_violation,
};
use pivot_core::plugins::hooks::{Finding, Hook, Point, Relation, Settlement};
use pivot_core::{Key, Object};
use pivot_engine::describe_violation;
use pivot_runtime::{CallError, MoveContext, Plugin, Scene};
use serde::Serialize;
use serde_json::{Value, json};

/// Codes whose messages depend on the build: an expected answer leaves the message open.
const CODES_OF_CRASHES: [&str; 2] = ["trap", "exit"];

/// A call of a hook, and its subject.
#[derive(Clone, Copy)]
pub(super) enum Question<'a> {
    Check(Point),
    Object(Hook, &'a Object),
}

/// Answer of a hook. Documents have it as the contract's value.
#[derive(PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Answer {
    Relations(Vec<Relation>),
    Findings(Vec<Finding>),
    Patch(Option<Value>),
    Settlement(Settlement),
}

/// Returns the answer of a call that failed, as scenes and recordings have it.
pub(super) fn error_answer(code: &str, message: &str) -> Value {
    if CODES_OF_CRASHES.contains(&code) {
        return json!({"error": code});
    }
    json!({"error": code, "message": message})
}

/// Calls a hook as a move does.
pub(super) async fn ask_plugin(
    plugin: &Plugin,
    question: Question<'_>,
    scene: &Arc<Scene>,
) -> Result<Answer, CallError> {
    Ok(match question {
        Question::Check(point) => {
            let keys = scene.source.iter().map(Object::key);
            let is_seen = |key: &Key| plugin.description().can_see(&key.group_kind);
            let context = MoveContext {
                namespaces: scene.moving_namespaces(),
                objects: keys.filter(is_seen).collect(),
            };
            Answer::Findings(plugin.check(point, &context, scene.clone()).await?)
        }
        Question::Object(Hook::Relate, object) => Answer::Relations(plugin.relate(object).await?),
        Question::Object(Hook::Hold, object) => Answer::Patch(plugin.hold(object).await?),
        Question::Object(Hook::Adapt, object) => Answer::Patch(plugin.adapt(object).await?),
        Question::Object(Hook::Restore, object) => {
            Answer::Patch(plugin.restore(object, &created_copy(object, scene)).await?)
        }
        // Objects of the target are as its controllers left them.
        Question::Object(Hook::Settle, object) => {
            Answer::Settlement(plugin.settle(object, !scene.target.is_empty(), scene.clone()).await?)
        }
        Question::Object(Hook::Check, _) => Answer::Findings(Vec::new()),
    })
}

/// The copy in the target; if the file has none, the object as it is right after it was created: of the first generation, without a
/// status.
pub(super) fn created_copy(object: &Object, scene: &Scene) -> Object {
    if let Some(there) = scene.target.iter().find(|there| there.key() == object.key()) {
        return there.clone();
    }
    let created =
        json!({"metadata": {"generation": 1, "resourceVersion": null, "uid": null}, "status": null});
    apply_patch(object, &created).unwrap_or_else(|| object.clone())
}

pub(super) fn apply_patch(object: &Object, patch: &Value) -> Option<Object> {
    let mut value = object.value().ok()?;
    merge::apply_patch(&mut value, patch);
    Object::from_value(object.kind.clone(), &value).ok()
}

/// Finds a patch that exceeds its bounds, or a hook that returns another patch once this one is applied.
pub(super) async fn find_patch_defect(
    plugin: &Plugin,
    hook: Hook,
    object: &Object,
    scene: &Arc<Scene>,
    answer: &Answer,
) -> Result<Option<Defect>, CallError> {
    let (Answer::Patch(Some(patch)) | Answer::Settlement(Settlement::Patch(patch))) = answer else {
        return Ok(None);
    };
    let violation = describe_violation(plugin.description(), hook, patch);
    if violation.is_some() {
        return Ok(find_violation(violation));
    }
    let again = if hook == Hook::Restore {
        let Some(after) = apply_patch(&created_copy(object, scene), patch) else { return Ok(None) };
        Answer::Patch(plugin.restore(object, &after).await?)
    } else {
        let Some(after) = apply_patch(object, patch) else { return Ok(None) };
        ask_plugin(plugin, Question::Object(hook, &after), scene).await?
    };
    Ok(match again {
        Answer::Patch(again) => find_repeated_patch(again.as_ref()),
        Answer::Settlement(Settlement::Patch(again)) => find_repeated_settlement(patch, &again),
        _ => None,
    })
}
