//! What a plugin's patch may touch. Judged by paths: what a plugin means by a patch is not known, what it touches is.

use pivot_core::hooks::Hook;
use pivot_core::{merge, names};
use serde_json::Value;

/// What is wrong with a patch; none where it stays within what its hook may touch.
pub fn violation(plugin: &str, hook: Hook, patch: &Value) -> Option<String> {
    if let Some(name) = hidden(plugin, patch) {
        return Some(format!("its patch touches {name} in a list, which it may not in {hook}"));
    }
    let leaves = merge::leaves(patch);
    let wrong = leaves.iter().find(|(path, value)| !allowed(plugin, hook, path, value));
    wrong.map(|(path, _)| format!("its patch touches {path}, or writes there what it may not in {hook}"))
}

fn allowed(plugin: &str, hook: Hook, path: &str, value: &Value) -> bool {
    let words: Vec<String> =
        path.split('/').skip(1).map(|word| word.replace("~1", "/").replace("~0", "~")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Anywhere in the path: a template's annotations become those of what is made of it.
    if words.iter().any(|word| reserved(plugin, word)) {
        return false;
    }
    let pause = words.contains(&names::PAUSED);
    // A server refuses what is no text, but then nobody knows whose patch it was.
    let named = matches!(words.as_slice(), ["metadata", "annotations" | "labels", _])
        && (value.is_string() || value.is_null());
    match (hook, words.as_slice()) {
        // It may pause more, never less: while the source is held, nothing there may begin to act.
        (Hook::Hold, _) => named && !(pause && value.is_null()),
        (Hook::Settle, _) => named && !pause,
        (Hook::Adapt, [] | ["apiVersion" | "kind" | "status", ..] | ["spec"] | ["spec", "paused", ..]) => {
            false
        }
        (Hook::Adapt, ["metadata", ..]) => named && !pause,
        (Hook::Adapt, _) => !pause,
        (Hook::Restore, words) => words.first() == Some(&"status"),
        (Hook::Relate | Hook::Check, _) => false,
    }
}

/// A name that is out of bounds wherever it stands, inside a list: those are written whole, so they are no paths.
fn hidden<'a>(plugin: &str, value: &'a Value) -> Option<&'a str> {
    fn any<'a>(plugin: &str, value: &'a Value) -> Option<&'a str> {
        match value {
            Value::Object(map) => map.iter().find_map(|(name, value)| {
                let out = name == names::PAUSED || reserved(plugin, name);
                if out { Some(name.as_str()) } else { any(plugin, value) }
            }),
            Value::Array(items) => items.iter().find_map(|item| any(plugin, item)),
            _ => None,
        }
    }
    match value {
        Value::Object(map) => map.values().find_map(|value| hidden(plugin, value)),
        Value::Array(_) => any(plugin, value),
        _ => None,
    }
}

/// Whether a name of a label or annotation is ours, or the memory of another plugin.
fn reserved(plugin: &str, name: &str) -> bool {
    let ours = names::OURS.trim_end_matches('/');
    let Some((prefix, _)) = name.split_once('/') else { return false };
    let below = prefix.strip_suffix(ours).is_some_and(|rest| rest.ends_with('.'));
    prefix == ours || (below && prefix != names::memory_prefix(plugin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fine(hook: Hook, patch: &Value) -> bool {
        violation("hosts", hook, patch).is_none()
    }

    #[test]
    fn a_hold_touches_only_labels_and_annotations_of_others() {
        for good in [
            json!({"metadata": {"annotations": {"metal3.io/paused": "x", "metal3.io/other": null}}}),
            json!({"metadata": {"annotations": {"hosts.pivot-host.io/state": "provisioned"}}}),
            json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": "by me"}}}),
        ] {
            assert!(fine(Hook::Hold, &good), "{good}");
        }
        for bad in [
            json!({"spec": {"x": 1}}),
            json!({"metadata": {"annotations": {"pivot-host.io/undo": null}}}),
            json!({"metadata": {"annotations": {"pivot-host.io/undo": {"a": "b"}}}}),
            json!({"metadata": {"annotations": {"others.pivot-host.io/state": "provisioned"}}}),
            json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}}),
            json!({"metadata": {"annotations": {"a": 1}}}),
            json!({"metadata": {"annotations": null}}),
            json!({"metadata": {"annotations": {}}}),
            json!({"metadata": {"ownerReferences": []}}),
            json!({"metadata": {"finalizers": []}}),
        ] {
            assert!(!fine(Hook::Hold, &bad), "{bad}");
        }
    }

    #[test]
    fn settling_leaves_the_hosts_pause_alone() {
        assert!(fine(Hook::Settle, &json!({"metadata": {"annotations": {"metal3.io/paused": null}}})));
        for pause in [json!(null), json!("x")] {
            let patch = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": pause}}});
            assert!(!fine(Hook::Settle, &patch));
        }
    }

    #[test]
    fn an_adaptation_never_touches_identity_owners_pause_or_marks() {
        for good in [
            json!({"spec": {"image": {"url": "x"}}}),
            json!({"data": {"a": "b"}, "metadata": {"labels": {"a": "b"}}}),
        ] {
            assert!(fine(Hook::Adapt, &good), "{good}");
        }
        let template = |key: &str| json!({"spec": {"template": {"metadata": {"annotations": {key: "x"}}}}});
        for bad in [
            json!({"metadata": {"name": "x"}}),
            json!({"metadata": {"namespace": "x"}}),
            json!({"metadata": {"ownerReferences": null}}),
            json!({"metadata": {"ownerReferences": {}, "annotations": {"a": "b"}}}),
            json!({"metadata": {"annotations": {"pivot-host.io/move": "x"}}}),
            json!({"metadata": {"annotations": {"pivot-host.io/move": {"a": "x"}}}}),
            json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}}),
            json!({"metadata": null}),
            json!({"spec": {"paused": false}}),
            json!({"spec": {"paused": {"a": 1}}}),
            json!({"spec": {"topology": {"workers": {"machineDeployments": [
                {"name": "md", "metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}]}}}}),
            json!({"spec": {"list": [[{"pivot-host.io/undo": "x"}]]}}),
            json!({"spec": null}),
            json!({"spec": {}}),
            json!({"kind": "Other"}),
            json!({"status": {"x": 1}}),
            json!(null),
            json!({}),
            template("pivot-host.io/move"),
            template("cluster.x-k8s.io/paused"),
        ] {
            assert!(!fine(Hook::Adapt, &bad), "{bad}");
        }
    }

    #[test]
    fn a_restore_touches_only_status() {
        assert!(fine(Hook::Restore, &json!({"status": {"a": 1}})));
        for bad in [json!({"status": {"a": 1}, "spec": {"b": 1}}), json!({"statuses": {"a": 1}}), json!({})] {
            assert!(!fine(Hook::Restore, &bad), "{bad}");
        }
    }
}
