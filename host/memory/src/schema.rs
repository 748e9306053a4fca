//! The fields of a kind: enough for tests to see a field refused, or silently dropped.

use pivot_places::{PlaceError, Result};
use serde_json::Value;

/// The treatment of a field that is not in the schema.
#[derive(Clone, Debug)]
enum Unknown {
    Refuse,
    Drop,
}

/// The fields of a kind as a skeleton: an object lists its fields, an array's only element is the schema of all elements, any
/// other value allows anything. `apiVersion`, `kind` and `metadata` are always known.
#[derive(Clone, Debug)]
pub struct Schema {
    skeleton: Value,
    unknown: Unknown,
}

impl Schema {
    /// Creates a schema that refuses unknown fields, as a structural schema does under strict validation.
    pub fn strict(skeleton: Value) -> Self {
        Self { skeleton, unknown: Unknown::Refuse }
    }

    /// Creates a schema that silently drops unknown fields, as a conversion or a webhook may.
    pub fn lossy(skeleton: Value) -> Self {
        Self { skeleton, unknown: Unknown::Drop }
    }

    /// Applies the schema to an object that is written.
    pub(super) fn apply_to(&self, object: &mut Value) -> Result<()> {
        let (Value::Object(fields), Value::Object(known)) = (&mut *object, &self.skeleton) else {
            return Ok(());
        };
        let mut lost = Vec::new();
        fields.retain(|name, value| {
            if matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                return true;
            }
            match known.get(name) {
                Some(skeleton) => {
                    prune_fields(value, skeleton, name, &mut lost);
                    true
                }
                None => {
                    lost.push(name.clone());
                    false
                }
            }
        });
        match self.unknown {
            Unknown::Refuse if !lost.is_empty() => {
                let fields: Vec<String> = lost.iter().map(|path| format!("unknown field {path:?}")).collect();
                Err(PlaceError::Invalid(format!("strict decoding error: {}", fields.join(", "))))
            }
            _ => Ok(()),
        }
    }
}

fn prune_fields(value: &mut Value, skeleton: &Value, path: &str, lost: &mut Vec<String>) {
    match (value, skeleton) {
        (Value::Object(fields), Value::Object(known)) if !known.is_empty() => {
            fields.retain(|name, value| {
                let path = format!("{path}.{name}");
                match known.get(name) {
                    Some(skeleton) => {
                        prune_fields(value, skeleton, &path, lost);
                        true
                    }
                    None => {
                        lost.push(path);
                        false
                    }
                }
            });
        }
        (Value::Array(items), Value::Array(known)) => {
            if let Some(skeleton) = known.first() {
                for (index, item) in items.iter_mut().enumerate() {
                    prune_fields(item, skeleton, &format!("{path}[{index}]"), lost);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_fields_are_refused_or_dropped() {
        let skeleton = json!({"spec": {"a": true, "list": [{"x": 1}], "any": {}}});
        let object = json!({"metadata": {"odd": 1},
            "spec": {"a": 1, "b": 2, "list": [{"x": 1, "y": 2}], "any": {"z": 1}}});
        let error = Schema::strict(skeleton.clone()).apply_to(&mut object.clone()).unwrap_err().to_string();
        assert_eq!(
            error,
            r#"refused: strict decoding error: unknown field "spec.b", unknown field "spec.list[0].y""#
        );
        let mut pruned = object;
        Schema::lossy(skeleton).apply_to(&mut pruned).unwrap();
        assert_eq!(
            pruned,
            json!({"metadata": {"odd": 1}, "spec": {"a": 1, "list": [{"x": 1}], "any": {"z": 1}}})
        );
    }
}
