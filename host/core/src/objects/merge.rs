//! JSON merge patches (RFC 7386): apply one, invert one, derive one from two states.
//!
//! pivot-host sends no other patches. Merge patches name the keys they change and leave the rest of a map alone. A JSON patch
//! that `add`s a whole map replaces it, and can remove a pause.

pub use pivot_bounds::{paths, restoration};
use serde_json::{Map, Value};

/// Applies a patch.
pub fn apply_patch(target: &mut Value, patch: &Value) {
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
            apply_patch(map.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

/// Returns the patch that undoes the effect of `patch` on `before`.
pub(crate) fn invert_patch(before: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return before.clone() };
    let Value::Object(map) = before else { return before.clone() };
    let mut undo = Map::new();
    for (key, change) in changes {
        let back = match map.get(key) {
            // A parent that was absent stays behind empty, and API servers drop it. Naming only the leaf keeps fields that others
            // have since added next to it.
            None => leaves_to_null(change),
            Some(was) if was.is_object() && change.is_object() => invert_patch(was, change),
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

/// Returns the patch that turns `from` into `to`. None if they are equal.
pub fn derive_patch(from: &Value, to: &Value) -> Option<Value> {
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
            Some(was) => match derive_patch(was, value) {
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
    use pivot_worlds::Dice;
    use serde_json::json;

    // proves: I4
    #[test]
    fn inverse_undoes_the_patch() {
        let before = json!({"spec": {"paused": false, "x": 1}, "metadata": {"annotations": {"mine": "1"}}});
        let patch = json!({"spec": {"paused": true}, "metadata": {"annotations": {"p": "", "mine": "2"}}});
        let mut after = before.clone();
        apply_patch(&mut after, &patch);
        assert_eq!(after["spec"]["paused"], true);
        apply_patch(&mut after, &invert_patch(&before, &patch));
        assert_eq!(after, before);
    }

    #[test]
    fn inverse_names_only_the_added_leaf() {
        let before = json!({"metadata": {}});
        let patch = json!({"metadata": {"annotations": {"p": ""}}});
        assert_eq!(invert_patch(&before, &patch), json!({"metadata": {"annotations": {"p": null}}}));
    }

    #[test]
    fn derived_patch_turns_one_state_into_another() {
        let from = json!({"a": 1, "b": {"c": [1, 2], "d": 3}, "gone": true});
        let to = json!({"a": 1, "b": {"c": [2], "d": 3}, "new": {"x": {}}});
        let mut state = from.clone();
        apply_patch(&mut state, &derive_patch(&from, &to).unwrap());
        assert_eq!(state, to);
        assert_eq!(derive_patch(&to, &to), None);
    }

    /// Any JSON: the dice say which.
    fn value(dice: Dice, depth: u64) -> Value {
        let pair = |index: u64| {
            let dice = dice.about(&format!("value {index}"));
            (dice.about("key").pick(&["a", "b", "c", "d/e", ""]).to_owned(), value(dice, depth - 1))
        };
        match dice.about("type").below(if depth == 0 { 4 } else { 8 }) {
            0 => json!(dice.about("number").below(3)),
            1 => json!(dice.about("truth").percent(50)),
            2 => json!(dice.about("text").pick(&["", "x", "null"])),
            3 => json!([dice.about("item").below(2), null, {}]),
            _ => (0..dice.about("size").below(5)).map(pair).collect(),
        }
    }

    /// Removes the fields that a server drops: maps that are empty or become empty.
    fn without_empty(value: &Value) -> Value {
        let Value::Object(map) = value else { return value.clone() };
        let kept = map.iter().map(|(key, value)| (key.clone(), without_empty(value)));
        kept.filter(|(_, value)| !value.as_object().is_some_and(Map::is_empty)).collect()
    }

    /// A patch, which is a map and removes some keys.
    fn patch(dice: Dice) -> Value {
        let nulls = |index: u64| {
            let key = dice.about(&format!("null {index}")).pick(&["a", "b", "c", "d/e", ""]);
            (key.to_owned(), Value::Null)
        };
        let Value::Object(mut map) = value(dice.about("changes"), 3) else { return json!({}) };
        map.extend((0..dice.about("nulls").below(3)).map(nulls));
        Value::Object(map)
    }

    #[test]
    fn any_inverse_undoes_its_patch() {
        let mut changed = 0;
        for seed in 0..20_000 {
            let dice = Dice::new(seed);
            let Value::Object(before) = value(dice.about("before"), 3) else { continue };
            let before = Value::Object(before);
            let patch = patch(dice);
            let mut after = before.clone();
            apply_patch(&mut after, &patch);
            changed += usize::from(after != before);
            let undo = invert_patch(&before, &patch);
            // Twice is as good as once.
            for _ in 0..2 {
                apply_patch(&mut after, &undo);
                assert_eq!(
                    without_empty(&after),
                    without_empty(&before),
                    "seed {seed}: {before} and {patch}"
                );
            }
        }
        assert!(changed > 3_000, "{changed}");
    }

    #[test]
    fn any_two_states_have_a_patch() {
        for seed in 0..20_000 {
            let dice = Dice::new(seed);
            let (from, to) = (value(dice.about("from"), 3), value(dice.about("to"), 3));
            let mut state = from.clone();
            match derive_patch(&from, &to) {
                Some(patch) => apply_patch(&mut state, &patch),
                None => assert_eq!(from, to, "seed {seed}"),
            }
            assert_eq!(state, to, "seed {seed}: from {from}");
        }
    }
}
