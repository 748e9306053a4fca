//! Rules for plugins that are checked without a move. Each function finds one defect.
//!
//! The host refuses some defects in a move, too, when a plugin is loaded or when it has answered. Others do harm that no host can
//! see: a stale generation, a rounded number, a user's pause that is gone.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use crate::messages::refusal::some_of;
use crate::messages::safe_text;
use crate::objects::merge;
use crate::plugins::hooks::{Description, Finding, Hook, Severity};
use crate::plugins::reach::{EVERYWHERE, Reach};
use crate::{GroupKind, Key};

/// The most kinds or paths that a message lists.
const MAX_LISTED: usize = 8;
/// The longest path that a message has.
const MAX_PATH_BYTES: usize = 300;
/// Codes of calls that the host ended or whose answer it refused. Other codes are the plugin's own.
const HOST_CODES: [&str; 8] = [
    "exit",
    "invalid-answer",
    "out-of-memory",
    "out-of-tables",
    "output-too-large",
    "timeout",
    "too-many-host-calls",
    "trap",
];
/// The largest integer up to which a floating-point number has all of them.
const MAX_EXACT_INTEGER: u128 = 1 << 53;
/// Stands for a code that is no code, or that was not declared.
const INVALID_CODE: &str = "invalid-code";
/// Ends of the annotations that pause.
const PAUSES: [&str; 2] = ["paused", "detached"];

/// A rule that a plugin breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Defect {
    /// Stable code for programs.
    pub code: String,
    /// `stop` if a move would stop or do harm, else `warn`.
    pub severity: Severity,
    /// Hook of the call; none: the defect is no call's.
    pub hook: Option<Hook>,
    /// Object of the call.
    pub object: Option<Key>,
    /// Sentence for people.
    pub message: String,
    /// Action that the plugin's author can take.
    pub help: String,
}

impl Defect {
    /// A defect with which a move would stop or do harm.
    pub fn stop(code: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Self {
        let (code, message, help) = (code.into(), message.into(), help.into());
        Self { code, severity: Severity::Stop, hook: None, object: None, message, help }
    }

    fn warn(code: &str, message: impl Into<String>, help: &str) -> Self {
        Self { severity: Severity::Warn, ..Self::stop(code, message, help) }
    }

    /// Names the call.
    #[must_use]
    pub fn with_call(self, hook: Hook, object: Option<Key>) -> Self {
        Self { hook: Some(hook), object, ..self }
    }
}

/// Finds declared kinds that no hook is called for. `changed` are the kinds that hooks change.
pub fn find_idle_kinds<'a>(
    description: &Description,
    changed: impl Iterator<Item = &'a GroupKind> + Clone,
) -> Option<Defect> {
    let shown = [Hook::Relate, Hook::Check].iter().any(|hook| description.hooks.contains(hook));
    let is_idle =
        |kind: &&GroupKind| !shown && !changed.clone().any(|other| kind.narrower_of(other).is_some());
    let idle: Vec<&GroupKind> = description.kinds.iter().filter(is_idle).collect();
    (!idle.is_empty()).then(|| {
        let message = format!("it declares {}, and no hook is called for them", some_of(&idle, MAX_LISTED));
        Defect::warn("idle-kind", message, "remove the kinds from its description")
    })
}

/// Finds a reach that no relation between namespaces needs. `related` has both objects of each relation.
pub fn find_needless_reach(reaches: &[Reach], related: &[(Key, Key)]) -> Option<Defect> {
    let across = |(one, other): &&(Key, Key)| one.namespace.is_none() || one.namespace != other.namespace;
    let is_needed = |reach: &Reach| {
        let mut keys = related.iter().filter(across).flat_map(|(one, other)| [one, other]);
        keys.any(|key| reach.covers(&key.group_kind, key.namespace.as_deref()))
    };
    let needless = reaches.iter().find(|reach| !is_needed(reach))?;
    let place = match needless.namespace.as_str() {
        EVERYWHERE => "in all namespaces".to_owned(),
        one => format!("in namespace {one}"),
    };
    let message =
        format!("it declares a reach of {} {place}, and no relation in the scenes needs it", needless.kind);
    Some(Defect::warn("needless-reach", message, "remove the reach, or add a scene that needs it"))
}

/// Finds a plugin that reads its configuration and accepts a field that it doesn't know.
pub fn find_unchecked_configuration(accepts_unknown_field: bool) -> Option<Defect> {
    accepts_unknown_field.then(|| {
        let message = "it accepts a configuration with a field that it doesn't know";
        let help = "refuse unknown fields in `configure`: a misspelt one is ignored otherwise";
        Defect::warn("unchecked-configuration", message, help)
    })
}

/// Finds a call that the host ended, or whose answer it refused.
pub fn find_failure(code: &str, message: &str) -> Option<Defect> {
    let help = match code {
        INVALID_CODE => return Some(invalid_code()),
        "invalid-answer" => "see the bounds and forms of answers in the contract",
        "trap" | "exit" => "return an error, or expect such an object: fields may be missing, null or new",
        _ => "see the limits of a call in plugins.toml",
    };
    HOST_CODES.contains(&code).then(|| Defect::stop(code, message, help))
}

/// Finds a question that was denied.
pub fn find_denied_question(why: &str) -> Defect {
    let help = "declare it in the description, with the namespaces, or don't ask; pure hooks must not ask";
    Defect::warn("denied", why, help)
}

/// Finds an answer that has the data of a Secret.
pub fn find_secret_data(has_mark: bool) -> Option<Defect> {
    has_mark.then(|| {
        let help = "name the Secret and the key, never what is in it";
        Defect::stop("secret-data", "its answer has the data of a Secret", help)
    })
}

/// Finds an answer that the same input doesn't give again, in another run.
pub fn find_unsteady_answer<A: PartialEq>(first: &A, second: &A) -> Option<Defect> {
    (first != second).then(|| {
        let message = "it gave two answers for the same object";
        Defect::stop("unsteady", message, "let it depend on the object and the configuration alone")
    })
}

/// Finds a finding whose code is no code, or is not declared.
pub fn find_invalid_code<'a>(mut findings: impl Iterator<Item = &'a Finding>) -> Option<Defect> {
    findings.any(|finding| finding.code == INVALID_CODE).then(invalid_code)
}

fn invalid_code() -> Defect {
    let message = "a code in the answer is malformed, or is not declared";
    let help =
        "lower-case words joined by dashes, 48 characters at most; with the data of Secrets, declare it";
    Defect::warn(INVALID_CODE, message, help)
}

/// Finds a patch that is out of bounds, given the description of the violation.
pub fn find_violation(violation: Option<String>) -> Option<Defect> {
    let help = "change only what the hook may change";
    violation.map(|message| Defect::stop("out-of-bounds", message, help))
}

/// Finds a hook that still changes an object once its patch is applied.
pub fn find_repeated_patch(again: Option<&Value>) -> Option<Defect> {
    let paths: Vec<String> =
        merge::paths(again?).iter().map(|path| safe_text::to_line(path, MAX_PATH_BYTES)).collect();
    let paths = some_of(&paths, MAX_LISTED);
    let message = format!("its patch was applied, and asked again it still changes {paths}");
    Some(Defect::stop("not-idempotent", message, "return a patch only for what differs"))
}

/// Finds a settle hook that returns a patch that is already applied.
pub fn find_repeated_settlement(patch: &Value, again: &Value) -> Option<Defect> {
    let message = "it gives the same patch again after that was applied";
    (patch == again).then(|| Defect::stop("not-idempotent", message, "return a patch only for what differs"))
}

/// Finds a settle hook that changes a pause which its user had set: one that `changes`, the patches of `hold` and `adapt`, left
/// alone. `pauses` are the annotations that its hold sets.
pub fn find_removed_pause(
    source: &Value,
    changes: &[Value],
    patch: &Value,
    pauses: &BTreeSet<String>,
) -> Option<Defect> {
    let annotations = |value: &Value| value.pointer("/metadata/annotations")?.as_object().cloned();
    let before = annotations(source)?;
    let is_users = |name: &&String| {
        before.contains_key(*name)
            && (pauses.contains(*name) || PAUSES.iter().any(|end| name.ends_with(end)))
            && !changes.iter().filter_map(annotations).any(|change| change.contains_key(*name))
    };
    let patched = annotations(patch)?;
    let name = safe_text::to_line(patched.keys().find(is_users)?, MAX_PATH_BYTES);
    let message = format!("it changes the annotation {name}, which paused the object before the move");
    Some(Defect::stop("pause-removed", message, "change only the value that its own hold wrote"))
}

/// Finds an observedGeneration in a status that the copy doesn't have yet.
pub fn find_stale_generation(copy: &Value, patch: &Value) -> Option<Defect> {
    fn newest_generation(value: &Value) -> Option<u64> {
        match value {
            Value::Object(map) => {
                let own = map.get("observedGeneration").and_then(Value::as_u64);
                own.max(map.values().filter_map(newest_generation).max())
            }
            Value::Array(items) => items.iter().filter_map(newest_generation).max(),
            _ => None,
        }
    }
    let (now, written) = (copy.pointer("/metadata/generation")?.as_u64()?, newest_generation(patch)?);
    (written > now).then(|| {
        let message =
            format!("it writes the observedGeneration {written}, and the copy's generation is {now}");
        let help = "copy the field by its pointer (`copy`): the host writes the copy's generation";
        Defect::stop("stale-generation", message, help)
    })
}

/// Finds an integer that a patch writes rounded to a floating-point number.
pub fn find_rounded_integer(before: &Value, patch: &Value) -> Option<Defect> {
    fn find_rounded(before: &Value, patch: &Value) -> Option<(i128, String)> {
        match (before, patch) {
            (Value::Object(before), Value::Object(patch)) => {
                patch.iter().find_map(|(name, value)| find_rounded(before.get(name)?, value))
            }
            (Value::Array(before), Value::Array(patch)) => {
                before.iter().zip(patch).find_map(|(before, value)| find_rounded(before, value))
            }
            (Value::Number(was), Value::Number(is)) => {
                let exact = was.as_i128().filter(|exact| exact.unsigned_abs() > MAX_EXACT_INTEGER)?;
                (is.as_i128() != Some(exact) && was.as_f64() == is.as_f64()).then(|| (exact, is.to_string()))
            }
            _ => None,
        }
    }
    let (was, is) = find_rounded(before, patch)?;
    let message = format!("it writes {is} in place of {was}");
    let help = "parse integers as integers, or copy the field by its pointer (`copy`)";
    Some(Defect::stop("integer-changed", message, help))
}

#[cfg(test)]
mod tests;
