//! The work that is measured: an object is parsed completely, inspected and patched. The benchmark also compiles this
//! file natively, for the same work without a sandbox.

use serde_json::{Map, Value, json};

/// A patch that notes what an object's status says; the error says why its text can't be parsed.
pub(crate) fn patch(object: &str) -> Result<String, String> {
    let object: Value = serde_json::from_str(object).map_err(|error| error.to_string())?;
    let status = object.get("status").and_then(Value::as_object);
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let mut annotations = Map::new();
    for condition in conditions.into_iter().flatten().take(4) {
        let word = |field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default();
        annotations.insert(format!("measured.test.io/{}", word("type")), json!(word("status")));
    }
    let fields = status.map_or(0, Map::len);
    annotations.insert("measured.test.io/fields".to_owned(), json!(fields.to_string()));
    Ok(json!({"metadata": {"annotations": annotations}}).to_string())
}
