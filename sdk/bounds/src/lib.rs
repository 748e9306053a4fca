//! The bounds of a plugin's patch: one rule for the host and for the SDK's test harness.
//!
//! The host rejects a patch that is out of bounds, and past the commit that ends a run with exit 5. A plugin's own tests
//! must therefore judge as the host does. So the rule is a crate of its own: the host can't depend on the SDK, which is
//! made for guests, and the SDK can't depend on the host; `pivot-host plugin new` copies this crate with the SDK, and it
//! builds for wasm32 with nothing but serde_json. `cases.json` lists patches and whether they are allowed; it is run
//! through this crate, through whole moves of the engine, and through the harness.
//!
//! Patches are judged by their paths: what a plugin intends is unknown, what it touches is not.

pub mod names;
pub mod options;
mod paths;
pub mod restoration;

use std::fmt;

use serde_json::Value;

pub use paths::{patch_leaves, paths};

/// The moments in which a plugin is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Relations between objects; gives no patches.
    Relate,
    /// Findings that decide whether the move may continue; gives no patches.
    Check,
    /// A provider-specific pause of a source object.
    Hold,
    /// A change to an object about to be created.
    Adapt,
    /// The status of an object just created.
    Restore,
    /// Releasing an object at the end.
    Settle,
}

/// As spelled in the contract.
impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Relate => "relate",
            Self::Check => "check",
            Self::Hold => "hold",
            Self::Adapt => "adapt",
            Self::Restore => "restore",
            Self::Settle => "settle",
        })
    }
}

/// A patch that is out of bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The first path that the hook must not touch, or the name inside a list. The plugin chose this text: callers decide how
    /// much of it is printed.
    pub touched: String,
    /// Reason why the path is out of bounds.
    pub why: &'static str,
    hook: Hook,
}

impl Violation {
    fn new(hook: Hook, touched: &str, why: &'static str) -> Self {
        Self { touched: touched.to_owned(), why, hook }
    }

    /// Returns the error message, with `touched` as the path that is printed.
    pub fn message(&self, touched: &str) -> String {
        format!("its patch touches {touched}, which is out of bounds for {}: {}", self.hook, self.why)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(&self.touched))
    }
}

/// Returns the first violation in a plugin's patch; none if the patch is within its hook's bounds.
pub fn find_violation(plugin: &str, hook: Hook, patch: &Value) -> Option<Violation> {
    if let Some((name, why)) = find_refused_name_in_lists(plugin, patch) {
        return Some(Violation::new(hook, name, why));
    }
    patch_leaves(patch).into_iter().find_map(|(path, value)| {
        let why = path_refusal(plugin, hook, &path, value)?;
        Some(Violation::new(hook, &path, why))
    })
}

/// Returns the reason why a hook must not write a value at a path; none if it may.
fn path_refusal(plugin: &str, hook: Hook, path: &str, value: &Value) -> Option<&'static str> {
    let words: Vec<String> = path.split('/').skip(1).map(paths::unescape_segment).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // At any level of the path: a template's annotations are copied to the objects made from it.
    if let Some(why) = words.iter().find_map(|word| reserved_name_refusal(plugin, word)) {
        return Some(why);
    }
    let pause = words.contains(&names::PAUSED);
    match (hook, words.as_slice()) {
        (Hook::Relate | Hook::Check, _) => Some("it gives no patches"),
        // Such a patch may pause more, never less: while the source is held, nothing there may become active.
        (Hook::Hold, _) if pause && value.is_null() => Some("it may pause, but never unpause"),
        (Hook::Settle, _) if pause => Some(PAUSE),
        (Hook::Hold | Hook::Settle, ["metadata", ..]) => metadata_refusal(&words, value),
        (Hook::Hold | Hook::Settle, _) => Some("it may change only labels and annotations"),
        (Hook::Restore, ["status", ..]) => None,
        (Hook::Restore, _) => Some("it may change only status"),
        (Hook::Adapt, ["spec", "paused", ..]) => Some(PAUSE),
        (Hook::Adapt, _) if pause => Some(PAUSE),
        (Hook::Adapt, ["metadata", ..]) => metadata_refusal(&words, value),
        (Hook::Adapt, ["apiVersion" | "kind", ..]) => Some("it says what the object is"),
        (Hook::Adapt, ["status", ..]) => Some("the status belongs to the controllers"),
        (Hook::Adapt, ["spec"]) => Some("that would replace all of it; name the fields"),
        (Hook::Adapt, []) => Some("that is the whole object; name the fields"),
        (Hook::Adapt, _) => None,
    }
}

const PAUSE: &str = "only the move pauses and unpauses";

/// Returns the reason why a hook must not write a value at a path of the metadata; none for a single label or annotation.
fn metadata_refusal(words: &[&str], value: &Value) -> Option<&'static str> {
    match words {
        ["metadata", "annotations" | "labels", _] if value.is_string() || value.is_null() => None,
        // A server rejects other values too, but its error wouldn't name the plugin.
        ["metadata", "annotations" | "labels", _, ..] => Some("labels and annotations are strings"),
        ["metadata", "annotations" | "labels"] => {
            Some("labels and annotations are changed one by one, so that others keep theirs")
        }
        _ => Some("of the metadata only labels and annotations can be changed"),
    }
}

/// Returns a name that is out of bounds inside a list, and the reason. Lists are written whole, so their contents have no path.
fn find_refused_name_in_lists<'a>(plugin: &str, value: &'a Value) -> Option<(&'a str, &'static str)> {
    fn find_refused_name<'a>(plugin: &str, value: &'a Value) -> Option<(&'a str, &'static str)> {
        match value {
            Value::Object(map) => map.iter().find_map(|(name, value)| {
                let pause = (name == names::PAUSED).then_some(PAUSE);
                let why = pause.or_else(|| reserved_name_refusal(plugin, name));
                why.map(|why| (name.as_str(), why)).or_else(|| find_refused_name(plugin, value))
            }),
            Value::Array(items) => items.iter().find_map(|item| find_refused_name(plugin, item)),
            _ => None,
        }
    }
    match value {
        Value::Object(map) => map.values().find_map(|value| find_refused_name_in_lists(plugin, value)),
        Value::Array(_) => find_refused_name(plugin, value),
        _ => None,
    }
}

/// Returns the reason why no hook may touch a label or annotation of this name; none if the name is not reserved.
fn reserved_name_refusal(plugin: &str, name: &str) -> Option<&'static str> {
    // The inverse of a hold would copy it, including secret data, into an annotation that plugins read.
    if name == names::LAST_APPLIED {
        return Some("it holds a copy of the whole object, secret data included");
    }
    let ours = names::OURS.trim_end_matches('/');
    let (prefix, _) = name.split_once('/')?;
    if prefix == ours {
        return Some("it is pivot-host's own mark");
    }
    let memory = prefix.strip_suffix(ours).is_some_and(|rest| rest.ends_with('.'));
    (memory && prefix != names::memory_prefix(plugin)).then_some("it is another plugin's memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[hook, patch, whether it is allowed, what this is about]`, of a plugin `hosts`.
    // proves: T8
    #[test]
    fn each_hook_has_its_bounds() {
        let cases: Value = serde_json::from_str(include_str!("../cases.json")).unwrap();
        let hooks = [Hook::Hold, Hook::Adapt, Hook::Restore, Hook::Settle];
        for case in cases.as_array().unwrap() {
            let hook = hooks.into_iter().find(|hook| case[0] == hook.to_string()).unwrap();
            let found = find_violation("hosts", hook, &case[1]);
            assert_eq!(found.is_none(), case[2].as_bool().unwrap(), "{case}: {found:?}");
        }
    }

    #[test]
    fn empty_patches_and_pure_hooks_are_rejected() {
        for hook in [Hook::Hold, Hook::Adapt, Hook::Restore, Hook::Settle] {
            assert!(find_violation("hosts", hook, &serde_json::json!({})).is_some(), "{hook}");
        }
        let patch = serde_json::json!({"metadata": {"annotations": {"a": "b"}}, "status": {"a": 1}});
        for hook in [Hook::Relate, Hook::Check] {
            assert!(find_violation("hosts", hook, &patch).is_some(), "{hook}");
        }
    }

    #[test]
    fn violation_names_path_and_reason() {
        let patch = serde_json::json!({"spec": {"online": false}});
        let found = find_violation("hosts", Hook::Hold, &patch).unwrap();
        assert_eq!(
            found.to_string(),
            "its patch touches /spec/online, which is out of bounds for hold: it may change only labels and annotations"
        );
    }
}
