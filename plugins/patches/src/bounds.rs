//! What a patch may not touch: the host's own bounds for `adapt`, told of the configuration instead of an object.
//!
//! The host holds every answer against them anyway. What is refused here is refused before any object is looked at, and in
//! words that say why.

use pivot_sdk::Kind;
use serde_json::{Map, Value};

/// The pause that the move gives and takes, as it stands in a path.
const PAUSED: &str = "cluster.x-k8s.io~1paused";

/// The paths that a merge touches: down to values, lists and nulls.
pub(crate) fn paths(merge: &Map<String, Value>) -> Vec<String> {
    fn walk(map: &Map<String, Value>, path: &str, out: &mut Vec<String>) {
        for (key, value) in map {
            let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
            match value {
                Value::Object(map) if !map.is_empty() => walk(map, &path, out),
                _ => out.push(path),
            }
        }
    }
    let mut out = Vec::new();
    walk(merge, "", &mut out);
    out
}

/// Why a path may not be patched; none where it may.
pub(crate) fn refusal(kind: &Kind, path: &str) -> Option<&'static str> {
    let mut parts = path.split('/').skip(1);
    let (top, second) = (parts.next().unwrap_or_default(), parts.next());
    let entry = parts.next().unwrap_or_default();
    let last = path.rsplit('/').next().unwrap_or_default();
    // As strict as the host: also where a template holds them.
    if path.contains(PAUSED) || path == "/spec/paused" {
        return Some("the pause is the move's to give and to take");
    }
    if last.starts_with("pivot-host.io~1") || last.contains(".pivot-host.io~1") {
        return Some("it is this tool's own mark");
    }
    match (top, second) {
        ("apiVersion" | "kind", _) => Some("it says what the object is"),
        ("status", _) => Some("the status belongs to the controllers"),
        ("metadata", Some("labels" | "annotations")) if entry.is_empty() => {
            Some("labels and annotations are changed one by one, so that others keep theirs")
        }
        ("metadata", Some("labels" | "annotations")) => None,
        ("metadata", _) => Some("of the metadata only labels and annotations can be changed"),
        ("spec", None) => Some("that is all there is of it; name the fields"),
        ("data" | "stringData", _) if *kind == Kind::core("Secret") => {
            Some("this plugin does not see the data of Secrets, and a configuration is no place for them")
        }
        _ => None,
    }
}
