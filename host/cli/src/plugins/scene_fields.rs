//! The fields of an object in a scene. Errors have the path of the field.

use pivot_core::messages::safe_text::did_you_mean;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Fields that were not taken yet.
pub(super) struct SceneFields {
    path: String,
    left: Map<String, Value>,
    known: Vec<&'static str>,
}

impl SceneFields {
    /// The fields of the object at a path. The path of a whole document is empty.
    pub(super) fn new(path: &str, value: Value) -> Result<Self, String> {
        match value {
            Value::Object(left) => Ok(Self { path: path.to_owned(), left, known: Vec::new() }),
            _ if path.is_empty() => Err("the document is not an object".to_owned()),
            _ => Err(format!("{path}: not an object")),
        }
    }

    /// Takes a field as it is. A null differs from a missing field.
    pub(super) fn take_value(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.left.remove(name)
    }

    /// Takes an optional field.
    pub(super) fn take<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, String> {
        let Some(value) = self.take_value(name) else { return Ok(None) };
        let path = self.path_of(name);
        serde_json::from_value(value).map_err(|error| format!("{path}: {error}"))
    }

    /// Refuses fields that were not taken.
    pub(super) fn refuse_others(self) -> Result<(), String> {
        let Some(name) = self.left.keys().next() else { return Ok(()) };
        let similar = did_you_mean(name, &self.known);
        let known = self.known.join(", ");
        Err(format!("{}: there is no such field{similar}; the fields are {known}", self.path_of(name)))
    }

    /// Returns the path of a field.
    pub(super) fn path_of(&self, name: &str) -> String {
        let dot = if self.path.is_empty() { "" } else { "." };
        format!("{}{dot}{name}", self.path)
    }
}
