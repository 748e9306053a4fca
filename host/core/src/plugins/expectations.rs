//! Comparison of a hook's answer with the answer that a scene expects.

use serde_json::Value;

use crate::plugins::hooks::Hook;

/// A value of the answer that differs from the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// JSON pointer into the answer; empty for the whole answer.
    pub path: String,
    /// Expected value; none if no value is expected.
    pub expected: Option<Value>,
    /// Value of the answer; none if the answer has no such value.
    pub actual: Option<Value>,
}

/// The most differences of one answer that are returned.
const MAX_DIFFERENCES: usize = 100;

/// Returns the first 100 differences between an expected answer and the actual one. Findings and errors are compared only in the fields that
/// the expectation has: most scenes fix a code and a severity, and leave the wording open.
pub fn find_answer_differences(hook: Hook, expected: &Value, actual: &Value) -> Vec<Difference> {
    let mut actual = actual.clone();
    match hook {
        _ if expected.get("error").and(actual.get("error")).is_some() => retain_fields(expected, &mut actual),
        Hook::Check => {
            let expected = expected.as_array().into_iter().flatten();
            let findings = actual.as_array_mut().into_iter().flatten();
            expected.zip(findings).for_each(|(expected, finding)| retain_fields(expected, finding));
        }
        Hook::Settle => {
            for decision in ["wait", "stop"] {
                if let (Some(expected), Some(finding)) = (expected.get(decision), actual.get_mut(decision)) {
                    retain_fields(expected, finding);
                }
            }
        }
        Hook::Relate | Hook::Hold | Hook::Adapt | Hook::Restore => {}
    }
    let mut found = Vec::new();
    add_differences(String::new(), Some(expected), Some(&actual), &mut found);
    found
}

fn retain_fields(expected: &Value, actual: &mut Value) {
    if let (Some(expected), Some(actual)) = (expected.as_object(), actual.as_object_mut()) {
        actual.retain(|name, _| expected.contains_key(name));
    }
}

fn add_differences(
    path: String,
    expected: Option<&Value>,
    actual: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (expected, actual) {
        (Some(Value::Object(expected)), Some(Value::Object(actual))) => {
            let added = actual.keys().filter(|name| !expected.contains_key(*name));
            for name in expected.keys().chain(added) {
                if found.len() == MAX_DIFFERENCES {
                    return;
                }
                let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                add_differences(path, expected.get(name), actual.get(name), found);
            }
        }
        (Some(Value::Array(expected)), Some(Value::Array(actual))) => {
            for index in 0..expected.len().max(actual.len()) {
                if found.len() == MAX_DIFFERENCES {
                    return;
                }
                add_differences(format!("{path}/{index}"), expected.get(index), actual.get(index), found);
            }
        }
        _ if expected == actual => {}
        _ => found.push(Difference { path, expected: expected.cloned(), actual: actual.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compare(hook: Hook, expected: &Value, actual: &Value) -> Vec<String> {
        let text = |value: Option<Value>| value.map_or("-".to_owned(), |value| value.to_string());
        let all = find_answer_differences(hook, expected, actual).into_iter();
        all.map(|one| format!("{} {} {}", one.path, text(one.expected), text(one.actual))).collect()
    }

    #[test]
    fn patches_are_compared_as_a_whole() {
        let expected = json!({"metadata": {"annotations": {"a/b": "x"}}, "list": [1, 2]});
        assert!(compare(Hook::Hold, &expected, &expected).is_empty());
        assert_eq!(compare(Hook::Hold, &Value::Null, &json!({"a": 1})), [" null {\"a\":1}"]);
        let actual = json!({"metadata": {"annotations": {"a/b": "y"}, "labels": {}}, "list": [1]});
        assert_eq!(
            compare(Hook::Hold, &expected, &actual),
            ["/list/1 2 -", "/metadata/annotations/a~1b \"x\" \"y\"", "/metadata/labels - {}"]
        );
    }

    #[test]
    fn first_hundred_differences_are_returned() {
        let long = json!({"list": vec![0; 5_000], "map": {"a": 1}});
        let found = compare(Hook::Hold, &long, &json!({"list": vec![1; 6_000], "map": {}}));
        assert_eq!((found.len(), found.last().map(String::as_str)), (100, Some("/list/99 0 1")));
        let fields: Value = (0..5_000).map(|field| (format!("{field:04}"), Value::Null)).collect();
        let found = compare(Hook::Hold, &json!({"a": fields, "b": 1}), &json!({"a": {}, "b": 2}));
        assert_eq!((found.len(), found.last().map(String::as_str)), (100, Some("/a/0099 null -")));
    }

    #[test]
    fn missing_fields_of_findings_are_open() {
        let finding = json!({"severity": "stop", "code": "down", "message": "m", "remedy": "r"});
        let brief = json!({"severity": "stop", "code": "down"});
        assert!(compare(Hook::Check, &json!([brief]), &json!([finding])).is_empty());
        assert!(compare(Hook::Settle, &json!({"stop": brief}), &json!({"stop": finding})).is_empty());
        let error = json!({"error": "trap", "message": "m"});
        assert!(compare(Hook::Adapt, &json!({"error": "trap"}), &error).is_empty());
        let other = json!({"severity": "wait", "code": "down"});
        assert_eq!(
            compare(Hook::Check, &json!([other]), &json!([finding])),
            ["/0/severity \"wait\" \"stop\""]
        );
        assert_eq!(compare(Hook::Check, &json!([]), &json!([brief])).len(), 1);
        assert_eq!(compare(Hook::Adapt, &Value::Null, &error), [format!(" null {error}")]);
        assert_eq!(
            compare(Hook::Adapt, &json!({"metadata": 1}), &error),
            ["/metadata 1 -", "/error - \"trap\"", "/message - \"m\""]
        );
        assert_eq!(compare(Hook::Adapt, &json!({"error": "exit"}), &error), ["/error \"exit\" \"trap\""]);
    }
}
