//! Metadata rules for the places that store objects themselves.

use pivot_core::objects::merge;
use pivot_core::{Key, Kind, Uid};
use serde_json::{Value, json};

use crate::place::{PlaceError, Preconditions, Result, Subresource};

/// Returns the object's key.
pub(crate) fn key_of(kind: &Kind, body: &Value) -> Result<Key> {
    let name = metadata_text(body, "name").unwrap_or_default();
    let namespace =
        metadata_text(body, "namespace").filter(|namespace| kind.namespaced && !namespace.is_empty());
    if name.is_empty() {
        return Err(PlaceError::Invalid(format!("{} without a name", kind.group_kind)));
    }
    if kind.namespaced && namespace.is_none() {
        return Err(PlaceError::Invalid(format!("{} {name} without a namespace", kind.group_kind)));
    }
    Ok(Key::new(kind.group_kind.clone(), namespace, name))
}

/// Returns a string field of the metadata.
pub(crate) fn metadata_text<'a>(body: &'a Value, field: &str) -> Option<&'a str> {
    metadata_field(body, field)?.as_str()
}

/// Returns a field of the metadata.
pub(crate) fn metadata_field<'a>(body: &'a Value, field: &str) -> Option<&'a Value> {
    body.get("metadata")?.get(field)
}

/// Sets a field of the metadata; null removes it.
pub(crate) fn set_metadata(body: &mut Value, field: &str, value: Value) {
    merge::apply_patch(body, &json!({"metadata": {field: value}}));
}

/// Fails unless the object is in the state that a delete requires.
pub(crate) fn check_preconditions(key: &Key, body: &Value, must: &Preconditions) -> Result<()> {
    let Preconditions { uid, resource_version } = must;
    if uid.as_ref().is_some_and(|Uid(uid)| metadata_text(body, "uid") != Some(uid)) {
        return Err(PlaceError::Conflict(format!("{key}: another uid")));
    }
    if resource_version
        .as_deref()
        .is_some_and(|version| metadata_text(body, "resourceVersion") != Some(version))
    {
        return Err(PlaceError::Conflict(format!("{key}: another resourceVersion")));
    }
    Ok(())
}

/// Returns an object after a patch. Checks preconditions; `fixed` metadata and the status of the part that isn't patched stay
/// unchanged.
pub(crate) fn patch_body(
    kind: &Kind,
    key: &Key,
    old: &Value,
    patch: impl FnOnce(&mut Value),
    subresource: Subresource,
    fixed: &[&str],
) -> Result<Value> {
    let mut new = old.clone();
    patch(&mut new);
    for field in ["uid", "resourceVersion"] {
        if metadata_field(&new, field).is_some_and(|value| Some(value) != metadata_field(old, field)) {
            return Err(PlaceError::Conflict(format!("{key}: another {field}")));
        }
    }
    if key_of(kind, &new)? != *key {
        return Err(PlaceError::Invalid(format!("{key}: the name does not change")));
    }
    for field in fixed.iter().chain(&["uid", "resourceVersion"]) {
        set_metadata(&mut new, field, metadata_field(old, field).cloned().unwrap_or_default());
    }
    Ok(match subresource {
        Subresource::Status => with_status_of(old, &new),
        Subresource::None if kind.status_subresource => with_status_of(&new, old),
        Subresource::None => new,
    })
}

/// Returns `object` with the status of `other`.
fn with_status_of(object: &Value, other: &Value) -> Value {
    let mut object = object.clone();
    if let Some(map) = object.as_object_mut() {
        match other.get("status") {
            Some(status) => map.insert("status".to_owned(), status.clone()),
            None => map.remove("status"),
        };
    }
    object
}

/// Removes empty maps and lists of the metadata.
pub(crate) fn drop_empty(body: &mut Value) {
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let empty = match metadata_field(body, field) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            _ => false,
        };
        if empty {
            set_metadata(body, field, Value::Null);
        }
    }
}
