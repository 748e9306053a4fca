//! What a hook's patch may touch: the host's own rules.

use serde_json::Value;

use crate::Hook;

/// Annotations and labels that are the host's own.
const OURS: &str = "pivot-host.io~1";
/// The pause that is the host's to give and take.
const PAUSED: &str = "cluster.x-k8s.io~1paused";

/// The first path of a patch that the hook may not touch.
pub(super) fn violation(hook: Hook, patch: &Value) -> Option<String> {
    let mut paths = Vec::new();
    walk(patch, &mut String::new(), &mut paths);
    paths.into_iter().find(|path| !allowed(hook, path))
}

/// What a hook may touch, for the message.
pub(super) fn rule(hook: Hook) -> &'static str {
    match hook {
        Hook::Hold | Hook::Settle => "labels and annotations, one by one, that are not pivot-host.io/",
        Hook::Adapt => {
            "neither identity, owners, status nor pause, and of metadata only labels and annotations"
        }
        Hook::Restore => "/status",
        Hook::Relate | Hook::Check => "nothing",
    }
}

fn allowed(hook: Hook, path: &str) -> bool {
    let ours = path.rsplit('/').next().unwrap_or_default().starts_with(OURS);
    let in_maps = |rest: &str| rest.starts_with("/annotations/") || rest.starts_with("/labels/");
    let below = |top: &str| path == top || path.strip_prefix(top).is_some_and(|rest| rest.starts_with('/'));
    match hook {
        Hook::Hold | Hook::Settle => path.strip_prefix("/metadata").is_some_and(in_maps) && !ours,
        Hook::Adapt => {
            let whole = path.is_empty() || path == "/spec";
            let identity = below("/apiVersion") || below("/kind") || below("/status");
            let pause = path == "/spec/paused" || path.contains(PAUSED);
            let metadata = below("/metadata") && !path.strip_prefix("/metadata").is_some_and(in_maps);
            !whole && !identity && !pause && !metadata && !ours
        }
        Hook::Restore => below("/status"),
        Hook::Relate | Hook::Check => false,
    }
}

fn walk(value: &Value, path: &mut String, out: &mut Vec<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                let length = path.len();
                path.push('/');
                path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                walk(value, path, out);
                path.truncate(length);
            }
        }
        _ => out.push(path.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_hook_has_its_bounds() {
        let note = |key: &str| json!({"metadata": {"annotations": {key: "x"}}});
        for (hook, fine) in [
            (Hook::Hold, note("metal3.io/paused")),
            (Hook::Settle, note("mine.pivot-host.io/memory")),
            (Hook::Adapt, json!({"spec": {"image": {"url": "x"}}, "metadata": {"labels": {"a": null}}})),
            (Hook::Adapt, json!({"data": {"a": "b"}})),
            (Hook::Restore, json!({"status": {"a": 1}})),
        ] {
            assert_eq!(violation(hook, &fine), None, "{fine}");
        }
        for (hook, bad) in [
            (Hook::Hold, note("pivot-host.io/undo")),
            (Hook::Hold, json!({"spec": {"x": 1}})),
            (Hook::Hold, json!({"metadata": {"annotations": null}})),
            (Hook::Settle, json!({"metadata": {"finalizers": []}})),
            (Hook::Adapt, note("cluster.x-k8s.io/paused")),
            (Hook::Adapt, json!({"spec": {"paused": true}})),
            (Hook::Adapt, json!({"spec": null})),
            (Hook::Adapt, json!({"metadata": {"ownerReferences": []}})),
            (Hook::Adapt, json!({"metadata": null})),
            (Hook::Adapt, json!({"status": {"a": 1}})),
            (Hook::Restore, json!({"statusx": 1})),
            (Hook::Restore, json!({"status": {"a": 1}, "spec": {"b": 1}})),
        ] {
            assert!(violation(hook, &bad).is_some(), "{bad}");
        }
    }
}
