//! The paths of a merge patch (RFC 7386), as JSON pointers.

use serde_json::Value;

/// Returns the paths that a patch touches, as `/a/b`: down to values, lists, nulls and empty maps.
pub fn paths(patch: &Value) -> Vec<String> {
    patch_leaves(patch).into_iter().map(|(path, _)| path).collect()
}

/// Returns the paths that a patch touches, with the values that it writes there.
pub fn patch_leaves(patch: &Value) -> Vec<(String, &Value)> {
    fn collect_leaves<'a>(value: &'a Value, path: &mut String, out: &mut Vec<(String, &'a Value)>) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (key, value) in map {
                    let length = path.len();
                    path.push('/');
                    path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    collect_leaves(value, path, out);
                    path.truncate(length);
                }
            }
            _ => out.push((path.clone(), value)),
        }
    }
    let mut out = Vec::new();
    collect_leaves(patch, &mut String::new(), &mut out);
    out
}

pub(crate) fn unescape_segment(word: &str) -> String {
    word.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_leaves_and_escape_slashes() {
        let patch = serde_json::json!({"metadata": {"annotations": {"a/b": null}}});
        assert_eq!(paths(&patch), ["/metadata/annotations/a~1b"]);
    }
}
