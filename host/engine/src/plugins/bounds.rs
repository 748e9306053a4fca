//! What a plugin's patch may touch. Judged by paths: what a plugin means by a patch is not known, what it touches is.

use pivot_core::hooks::{Description, Hook};
use pivot_core::{merge, names, words};
use serde_json::Value;

/// The longest path that is told.
const PATH: usize = 300;

/// What is wrong with a patch; none where it stays within what its hook may touch.
pub fn violation(plugin: &Description, hook: Hook, patch: &Value) -> Option<String> {
    if let Some(name) = hidden(&plugin.name, patch) {
        let name = told(name, plugin.secret_data);
        return Some(format!("its patch touches {name} in a list, which it may not in {hook}"));
    }
    let leaves = merge::leaves(patch);
    let (path, _) = leaves.iter().find(|(path, value)| !allowed(&plugin.name, hook, path, value))?;
    let path = told(path, plugin.secret_data);
    Some(format!("its patch touches {path}, or writes there what it may not in {hook}"))
}

/// How a path that a plugin wrote is told. Its words are the plugin's own: one that sees the data of Secrets could say with
/// them what it saw.
pub(crate) fn told(path: &str, secret_data: bool) -> String {
    if secret_data {
        "a path that is withheld (the plugin sees the data of Secrets)".to_owned()
    } else {
        words::line(path, PATH)
    }
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

/// Whether a name of a label or annotation is ours, the memory of another plugin, or that of a copy of the whole object: the
/// inverse of a hold would carry it, secret data included, into an annotation that plugins read.
fn reserved(plugin: &str, name: &str) -> bool {
    if name == names::LAST_APPLIED {
        return true;
    }
    let ours = names::OURS.trim_end_matches('/');
    let Some((prefix, _)) = name.split_once('/') else { return false };
    let below = prefix.strip_suffix(ours).is_some_and(|rest| rest.ends_with('.'));
    prefix == ours || (below && prefix != names::memory_prefix(plugin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hosts() -> Description {
        Description { name: "hosts".into(), ..Description::default() }
    }

    fn fine(hook: Hook, patch: &Value) -> bool {
        violation(&hosts(), hook, patch).is_none()
    }

    /// A key is free text on its way to a terminal.
    #[test]
    fn a_path_that_is_told_is_one_bounded_line() {
        let key = format!("a\nerror: the source is lost {}", "x".repeat(10_000));
        for patch in [
            json!({ &key: 1 }),
            json!({"metadata": {"annotations": {&key: 1}}}),
            json!({"metadata": {"annotations": {"a": [{format!("pivot-host.io/{key}"): 1}]}}}),
        ] {
            let message = violation(&hosts(), Hook::Hold, &patch).unwrap();
            assert!(message.contains("error: the source is lost"), "{message}");
            assert!(!message.contains('\n') && message.len() < 400, "{message}");
        }
    }

    #[test]
    fn of_a_plugin_that_sees_the_data_of_secrets_no_path_is_told() {
        let secretive = Description { secret_data: true, ..hosts() };
        for patch in [json!({"hunter2": 1}), json!({"a": [{"pivot-host.io/hunter2": 1}]})] {
            let message = violation(&secretive, Hook::Hold, &patch).unwrap();
            assert!(!message.contains("hunter2") && message.contains("hold"), "{message}");
        }
    }

    #[test]
    fn no_hook_touches_the_annotation_that_holds_the_whole_object() {
        let applied = |value: Value| json!({names::LAST_APPLIED: value});
        for hook in Hook::ALL {
            for value in [json!(null), json!("{}")] {
                let annotations = json!({"annotations": applied(value.clone())});
                for patch in [
                    json!({"metadata": annotations}),
                    json!({"spec": {"template": {"metadata": annotations}}}),
                    json!({"spec": {"list": [{"metadata": annotations}]}}),
                ] {
                    assert!(!fine(hook, &patch), "{hook} {patch}");
                }
            }
        }
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
