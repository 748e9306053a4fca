//! JSON merge patches (RFC 7386): apply one, invert one, derive one from two states.
//!
//! pivot-host sends no other patches: merge patches name the keys they change and leave the rest of a map alone. A JSON patch
//! that `add`s a whole map replaces it, and that can wipe out a pause.

pub use pivot_bounds::paths;
use serde_json::{Map, Value};

/// Applies a patch.
pub fn apply(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(map) = target else { return };
    for (key, change) in changes {
        if change.is_null() {
            map.remove(key);
        } else {
            apply(map.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

/// The patch that undoes what `patch` does to `before`.
pub(crate) fn inverse(before: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return before.clone() };
    let Value::Object(map) = before else { return before.clone() };
    let mut undo = Map::new();
    for (key, change) in changes {
        let back = match map.get(key) {
            // A parent that was not there stays behind empty, which API servers drop; naming only the leaf keeps what others
            // added beside it in the meantime.
            None => leaves_to_null(change),
            Some(was) if was.is_object() && change.is_object() => inverse(was, change),
            Some(was) => was.clone(),
        };
        undo.insert(key.clone(), back);
    }
    Value::Object(undo)
}

fn leaves_to_null(change: &Value) -> Value {
    match change {
        Value::Object(map) if !map.is_empty() => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), leaves_to_null(value))).collect())
        }
        _ => Value::Null,
    }
}

/// The patch that turns `from` into `to`; none if they are equal.
pub fn between(from: &Value, to: &Value) -> Option<Value> {
    if from == to {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (from, to) else { return Some(to.clone()) };
    let mut patch = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in new {
        match old.get(key) {
            None => patch.insert(key.clone(), value.clone()),
            Some(was) => match between(was, value) {
                None => continue,
                Some(change) => patch.insert(key.clone(), change),
            },
        };
    }
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // proves: I4
    #[test]
    fn an_inverse_undoes_the_patch() {
        let before = json!({"spec": {"paused": false, "x": 1}, "metadata": {"annotations": {"mine": "1"}}});
        let patch = json!({"spec": {"paused": true}, "metadata": {"annotations": {"p": "", "mine": "2"}}});
        let mut after = before.clone();
        apply(&mut after, &patch);
        assert_eq!(after["spec"]["paused"], true);
        apply(&mut after, &inverse(&before, &patch));
        assert_eq!(after, before);
    }

    #[test]
    fn an_inverse_names_only_the_leaf_it_added() {
        let before = json!({"metadata": {}});
        let patch = json!({"metadata": {"annotations": {"p": ""}}});
        assert_eq!(inverse(&before, &patch), json!({"metadata": {"annotations": {"p": null}}}));
    }

    #[test]
    fn a_patch_between_two_states_leads_from_one_to_the_other() {
        let from = json!({"a": 1, "b": {"c": [1, 2], "d": 3}, "gone": true});
        let to = json!({"a": 1, "b": {"c": [2], "d": 3}, "new": {"x": {}}});
        let mut state = from.clone();
        apply(&mut state, &between(&from, &to).unwrap());
        assert_eq!(state, to);
        assert_eq!(between(&to, &to), None);
    }
}
