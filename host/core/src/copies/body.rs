//! The body that creates a copy in the target, and the check that the answer matches the request.

use serde_json::{Map, Value};

use crate::messages::safe_text;
use crate::objects::names;
use crate::objects::object::OwnerReference;

/// Maximum length of a printed path. Authors of objects choose keys and their length.
const MAX_PATH_LENGTH: usize = 300;

/// Returns the body that creates the copy of `source` (a whole object). Metadata set by the server is dropped, the owners carry
/// the target's UIDs, and the annotations of the move's mark are added.
pub fn build_copy_body(
    mut source: Value,
    owners: &[OwnerReference],
    status_subresource: bool,
    mark: Vec<(&'static str, String)>,
) -> Value {
    let Some(map) = source.as_object_mut() else { return source };
    if status_subresource {
        map.remove("status");
    }
    if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in names::SERVER_GIVEN {
            metadata.remove(key);
        }
        // The name is set, and servers ignore this field next to a name.
        metadata.remove("generateName");
        if !owners.is_empty() {
            metadata.insert("ownerReferences".into(), serde_json::to_value(owners).unwrap_or_default());
        }
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
        if let Some(annotations) = annotations.as_object_mut() {
            // These annotations come from an earlier move that created the source object, or request this one.
            for name in [names::ADDED, names::COPY_OF, names::RETURN] {
                annotations.remove(name);
            }
            annotations.extend(mark.into_iter().map(|(name, value)| (name.to_owned(), value.into())));
        }
    }
    source
}

/// Returns the paths, never the values, where an answer lacks a sent value or has a different one.
///
/// Values that the server added are accepted: defaults, and changes by the target's webhooks.
pub fn find_lost_fields(sent: &Value, answer: &Value) -> Vec<String> {
    let mut out = Vec::new();
    compare_values(sent, Some(answer), &mut String::new(), &mut out);
    out
}

fn compare_values(sent: &Value, answer: Option<&Value>, path: &mut String, out: &mut Vec<String>) {
    match (sent, answer) {
        (Value::Object(sent), Some(Value::Object(answer))) => {
            for (key, value) in sent {
                let length = path.len();
                path.push('.');
                path.push_str(key);
                compare_values(value, answer.get(key), path, out);
                path.truncate(length);
            }
        }
        (Value::Array(sent), Some(Value::Array(answer))) if sent.len() == answer.len() => {
            for (index, (sent, answer)) in sent.iter().zip(answer).enumerate() {
                let length = path.len();
                path.push_str(&format!("[{index}]"));
                compare_values(sent, Some(answer), path, out);
                path.truncate(length);
            }
        }
        // Built-in kinds omit empty fields.
        (Value::Null, _) => {}
        (Value::Object(sent), None) if sent.is_empty() => {}
        (Value::Array(sent), None) if sent.is_empty() => {}
        (sent, Some(answer)) if sent == answer => {}
        _ => out.push(safe_text::to_line(path.strip_prefix('.').unwrap_or(path), MAX_PATH_LENGTH)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn copy_has_the_mark_without_server_metadata() {
        let source = json!({
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 2,
                "creationTimestamp": "t", "managedFields": [], "generateName": "a-",
                "finalizers": ["f"], "labels": {"l": ""},
                "annotations": {
                    "x": "1", "pivot-host.io/move": "m0", "pivot-host.io/copy-of": "u0 p0", "pivot-host.io/return": "requested",
                },
                "ownerReferences": [{"uid": "old"}],
            },
            "spec": {"paused": true},
            "status": {"phase": "Ready"},
        });
        let mark = || vec![(names::MARK, "m1".to_owned())];
        let body = build_copy_body(source.clone(), &[], true, mark());
        assert_eq!(
            body,
            json!({
                "metadata": {
                    "name": "a", "namespace": "n", "finalizers": ["f"], "labels": {"l": ""},
                    "annotations": {"x": "1", "pivot-host.io/move": "m1"},
                },
                "spec": {"paused": true},
            })
        );
        assert_eq!(build_copy_body(source, &[], false, mark())["status"]["phase"], "Ready");
    }

    // proves: I8, T109
    #[test]
    fn lost_fields_are_reported_without_values() {
        let sent = json!({"spec": {"a": 1, "gone": "secret", "list": [{"x": 1}, {"y": 2}], "none": null, "empty": {}}});
        let answer =
            json!({"spec": {"a": 2, "list": [{"x": 1, "defaulted": true}, {}], "added": 1}, "status": {}});
        assert_eq!(find_lost_fields(&sent, &answer), ["spec.a", "spec.gone", "spec.list[1].y"]);
        assert!(find_lost_fields(&sent, &sent).is_empty());
    }

    #[test]
    fn lost_field_is_one_bounded_line() {
        let sent = json!({"a\nerror: all is lost": 1, "b".repeat(1_000): 1});
        let named = find_lost_fields(&sent, &json!({}));
        assert_eq!(named[0], "a error: all is lost");
        assert!(named[1].len() < 310, "{named:?}");
    }

    #[test]
    fn shorter_list_is_a_lost_field() {
        assert_eq!(find_lost_fields(&json!({"f": ["a", "b"]}), &json!({"f": ["a"]})), ["f"]);
    }
}
