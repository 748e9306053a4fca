//! The status that a copy gets: fields of the source's status by their JSON pointers, and a merge patch on top.

use serde_json::{Map, Value};

use crate::paths::unescape_segment;

/// A pointer that is not to a field of the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotStatus;

/// Copies a field of the source's status into a copy; a missing field copies nothing.
///
/// Generations in it are the source's, and the copy counts its own from 1: an `observedGeneration` that is the source's generation
/// becomes the copy's, and others are left out, also where the pointer is to one. A controller waits forever for a condition about a generation that the copy never
/// has. Null fields are left out, since a merge patch can't write them.
///
/// # Errors
/// If the pointer is not to a field of the status, or leads through a list.
pub fn copy_field(source: &Value, copy: &mut Value, pointer: &str) -> Result<(), NotStatus> {
    let rest = pointer.strip_prefix("/status").ok_or(NotStatus)?;
    if !(rest.is_empty() || rest.starts_with('/')) {
        return Err(NotStatus);
    }
    let Some(value) = source.pointer(pointer).filter(|value| !value.is_null()) else { return Ok(()) };
    // With the name of its last part, so that a generation is recognised.
    let (above, last) = pointer.rsplit_once('/').ok_or(NotStatus)?;
    let mut field = Value::Object(Map::from_iter([(unescape_segment(last), value.clone())]));
    drop_nulls(&mut field);
    let generation = |object: &Value| object.pointer("/metadata/generation").cloned();
    if let (Some(before), Some(now)) = (generation(source), generation(copy)) {
        replace_generations(&mut field, &before, &now);
    }
    let mut parts = above.split('/').skip(1);
    if parts
        .clone()
        .scan(source, |at, part| {
            *at = at.get(unescape_segment(part))?;
            Some(*at)
        })
        .any(Value::is_array)
    {
        return Err(NotStatus);
    }
    let Value::Object(field) = field else { return Err(NotStatus) };
    if field.is_empty() {
        return Ok(());
    }
    let map = parts.try_fold(copy, |at, part| {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Value::Object(map) = at else { return Err(NotStatus) };
        Ok(map.entry(unescape_segment(part)).or_insert(Value::Null))
    })?;
    if !map.is_object() {
        *map = Value::Object(Map::new());
    }
    let Value::Object(map) = map else { return Err(NotStatus) };
    map.extend(field);
    Ok(())
}

fn drop_nulls(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, value| !value.is_null());
        map.values_mut().for_each(drop_nulls);
    }
}

/// Replaces the generations that a status was observed for.
fn replace_generations(value: &mut Value, before: &Value, now: &Value) {
    match value {
        Value::Object(map) => {
            map.retain(|name, value| name != "observedGeneration" || value == before);
            for (name, value) in map {
                match name.as_str() {
                    "observedGeneration" => value.clone_from(now),
                    _ => replace_generations(value, before, now),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_generations(item, before, now)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn copied_fields_keep_digits_and_get_new_generations() {
        let source = json!({"metadata": {"generation": 7}, "status": {
            "sizeBytes": 9_007_199_254_740_993_u64, "observedGeneration": 7, "gone": null, "old": {"observedGeneration": 3},
            "conditions": [{"type": "Ready", "observedGeneration": 7}, {"type": "Old", "observedGeneration": 3}],
        }});
        let created = json!({"metadata": {"generation": 1}, "status": {"left": true}});
        let copied = |pointer: &str| {
            let mut copy = created.clone();
            copy_field(&source, &mut copy, pointer).map(|()| copy["status"].clone())
        };
        assert_eq!(
            copied("/status"),
            Ok(json!({
                "sizeBytes": 9_007_199_254_740_993_u64, "observedGeneration": 1, "old": {},
                "conditions": [{"type": "Ready", "observedGeneration": 1}, {"type": "Old"}],
            }))
        );
        let one = json!({"left": true, "sizeBytes": 9_007_199_254_740_993_u64});
        assert_eq!(copied("/status/sizeBytes"), Ok(one));
        assert_eq!(copied("/status/missing"), Ok(json!({"left": true})));
        assert_eq!(copied("/status/observedGeneration"), Ok(json!({"left": true, "observedGeneration": 1})));
        assert_eq!(copied("/status/old/observedGeneration"), Ok(json!({"left": true})));
        for bad in ["/spec", "/statuses", "status", "", "/status/conditions/0", "/status/conditions/0/type"] {
            assert_eq!(copied(bad), Err(NotStatus), "{bad}");
        }
    }
}
