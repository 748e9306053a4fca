//! Merge patches, made by describing the desired object.
//!
//! A patch stores the object it starts from and the desired object; the difference (RFC 7386) is sent. So a patch can't replace a
//! map to which it only meant to add, and once applied it is empty when computed again, which the host requires of every hook
//! that changes something.

use std::rc::Rc;

use serde_json::{Map, Value};

use crate::Object;

/// A change to an object, or none.
///
/// ```
/// # use pivot_sdk::Object;
/// # use serde_json::json;
/// let object = Object::from(json!({"metadata": {"annotations": {"a": "1", "b": "2"}}, "spec": {"online": true}}));
/// let patch = object.patch().set_annotation("a", "1").remove_annotation("b").set("/spec/online", false);
/// assert_eq!(patch.to_value(), Some(json!({"metadata": {"annotations": {"b": null}}, "spec": {"online": false}})));
/// assert!(object.patch().set_annotation("a", "1").is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Patch {
    from: Rc<Value>,
    /// None until something is changed.
    to: Option<Value>,
}

impl Patch {
    /// No change.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Sets an annotation.
    pub fn set_annotation(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set_entry("annotations", name.into(), Value::String(value.into()))
    }

    /// Removes an annotation.
    pub fn remove_annotation(self, name: impl Into<String>) -> Self {
        self.set_entry("annotations", name.into(), Value::Null)
    }

    /// Sets a label.
    pub fn set_label(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set_entry("labels", name.into(), Value::String(value.into()))
    }

    /// Removes a label.
    pub fn remove_label(self, name: impl Into<String>) -> Self {
        self.set_entry("labels", name.into(), Value::Null)
    }

    /// Sets the value at a JSON pointer (`/spec/online`, `/status`), replacing everything below it. Missing maps on the way are
    /// created; a pointer through a missing list item changes nothing.
    pub fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let value = without_nulls(value.into());
        if let Some(place) = value_at(self.desired_value(), pointer) {
            *place = value;
        }
        self
    }

    /// Merges a value (RFC 7386: nulls remove) into the value at a JSON pointer; `""` is the whole object.
    pub fn merge_at(mut self, pointer: &str, value: &Value) -> Self {
        if let Some(place) = value_at(self.desired_value(), pointer) {
            apply_merge_patch(place, value);
        }
        self
    }

    /// Removes the value at a JSON pointer.
    pub fn remove(mut self, pointer: &str) -> Self {
        let Some((parent, last)) = pointer.rsplit_once('/') else { return self };
        match self.desired_value().pointer_mut(parent) {
            Some(Value::Object(map)) => drop(map.remove(&unescape_segment(last))),
            Some(Value::Array(list)) => {
                if let Some(index) = last.parse().ok().filter(|index: &usize| *index < list.len()) {
                    list.remove(index);
                }
            }
            _ => {}
        }
        self
    }

    /// Changes the object in place, if the other methods don't fit.
    pub fn edit_value(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(self.desired_value());
        self
    }

    /// Returns true if nothing would change.
    pub fn is_empty(&self) -> bool {
        self.to_value().is_none()
    }

    /// Returns the merge patch; none if nothing would change.
    pub fn to_value(&self) -> Option<Value> {
        merge_patch_between(&self.from, self.to.as_ref()?)
    }

    /// Returns the object with the patch applied.
    pub fn patched_object(&self) -> Object {
        Object::from(self.to.clone().unwrap_or_else(|| Value::clone(&self.from)))
    }

    fn desired_value(&mut self) -> &mut Value {
        self.to.get_or_insert_with(|| Value::clone(&self.from))
    }

    fn set_entry(mut self, map: &str, name: String, value: Value) -> Self {
        let remove = value.is_null();
        let wanted = self.desired_value();
        if remove {
            if let Some(Value::Object(entries)) =
                wanted.get_mut("metadata").and_then(|meta| meta.get_mut(map))
            {
                entries.remove(&name);
            }
        } else {
            map_entry(map_entry(map_entry(wanted, "metadata"), map), &name).clone_from(&value);
        }
        self
    }
}

impl Object {
    /// Returns a patch that starts from this object and contains only differences from it: once applied and computed again, it is
    /// empty.
    pub fn patch(&self) -> Patch {
        Patch { from: Rc::clone(&self.value), to: None }
    }
}

/// Returns the value at a pointer. Missing maps on the way are created.
fn value_at<'a>(value: &'a mut Value, pointer: &str) -> Option<&'a mut Value> {
    let mut at = value;
    for part in pointer.split('/').skip(1) {
        let part = unescape_segment(part);
        at = match at {
            Value::Array(list) => list.get_mut(part.parse::<usize>().ok()?)?,
            _ => map_entry(at, &part),
        };
    }
    Some(at)
}

/// Sets the value at a pointer; missing maps on the way are created.
pub(crate) fn set_at(object: &mut Value, pointer: &str, value: Value) {
    if let Some(place) = value_at(object, pointer) {
        *place = value;
    }
}

/// Returns the entry of a map. Any other value is replaced by a map.
fn map_entry<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map.entry(name).or_insert(Value::Null),
        other => other,
    }
}

fn unescape_segment(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// Leaves out nulls: in a merge patch they mean "remove".
fn without_nulls(mut value: Value) -> Value {
    remove_nulls(&mut value);
    value
}

fn remove_nulls(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, value| !value.is_null());
        map.values_mut().for_each(remove_nulls);
    }
}

/// Applies a merge patch.
pub(crate) fn apply_merge_patch(target: &mut Value, patch: &Value) {
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
            apply_merge_patch(map.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

/// Returns the merge patch from one state to another; none if they are equal. Null and absent are equal.
pub(crate) fn merge_patch_between(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (from, to) else {
        return (from != to).then(|| without_nulls(to.clone()));
    };
    let mut patch = Map::new();
    let there = |map: &Map<String, Value>, key: &str| map.get(key).is_some_and(|value| !value.is_null());
    for key in old.keys().filter(|key| there(old, key) && !there(new, key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in new.iter().filter(|(_, value)| !value.is_null()) {
        if let Some(change) = merge_patch_between(old.get(key).unwrap_or(&Value::Null), value) {
            patch.insert(key.clone(), change);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
