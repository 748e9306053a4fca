//! JSON objects that are read field by field. Derived code would accept a list for a struct, and `null` for a missing field. An
//! unread field is refused by name.

use pivot_core::messages::safe_text::escape_line;
use serde_json::{Map, Value};

use crate::json::{JsonError, NAME};

/// An object whose fields are taken one after the other.
pub struct Fields {
    /// Path of the object, such as `predicate.`; empty for the outermost object.
    path: String,
    map: Map<String, Value>,
}

impl Fields {
    /// The outermost object.
    pub fn from_value(value: Value) -> Result<Self, JsonError> {
        Self::from_value_at("the whole", String::new(), value)
    }

    fn from_value_at(name: &str, path: String, value: Value) -> Result<Self, JsonError> {
        match value {
            Value::Object(map) => Ok(Self { path, map }),
            _ => Err(JsonError::Type(name.to_owned(), "an object")),
        }
    }

    /// Returns true if a field is present and was not taken yet.
    pub fn contains(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// The path of a field: `predicate.claim`.
    pub fn field_path(&self, name: &str) -> String {
        format!("{}{}", self.path, escape_line(name, NAME))
    }

    /// An error about a field's value.
    pub(crate) fn invalid_value(&self, name: &str, why: impl Into<String>) -> JsonError {
        JsonError::Value(self.field_path(name), why.into())
    }

    /// Takes a field, whatever it is.
    pub(crate) fn take_value(&mut self, name: &str) -> Result<Value, JsonError> {
        self.map.remove(name).ok_or_else(|| JsonError::Missing(self.field_path(name)))
    }

    /// Takes a string.
    pub fn take_text(&mut self, name: &str) -> Result<String, JsonError> {
        match self.take_value(name)? {
            Value::String(text) => Ok(text),
            _ => Err(JsonError::Type(self.field_path(name), "a string")),
        }
    }

    /// Takes a string that may be absent.
    pub fn take_text_if_present(&mut self, name: &str) -> Result<Option<String>, JsonError> {
        if self.contains(name) { self.take_text(name).map(Some) } else { Ok(None) }
    }

    /// Takes a whole number.
    pub fn take_number(&mut self, name: &str) -> Result<u64, JsonError> {
        self.take_value(name)?
            .as_u64()
            .ok_or_else(|| JsonError::Type(self.field_path(name), "a whole number"))
    }

    /// Takes `true` or `false`, which may be absent.
    pub(crate) fn take_flag_if_present(&mut self, name: &str) -> Result<Option<bool>, JsonError> {
        match self.map.remove(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(_) => Err(JsonError::Type(self.field_path(name), "true or false")),
        }
    }

    /// Takes a list.
    pub(crate) fn take_list(&mut self, name: &str) -> Result<Vec<Value>, JsonError> {
        match self.take_value(name)? {
            Value::Array(items) => Ok(items),
            _ => Err(JsonError::Type(self.field_path(name), "a list")),
        }
    }

    /// Takes a list of strings.
    pub(crate) fn take_texts(&mut self, name: &str) -> Result<Vec<String>, JsonError> {
        let items = self.take_list(name)?.into_iter().map(|item| match item {
            Value::String(text) => Ok(text),
            _ => Err(JsonError::Type(self.field_path(name), "a list of strings")),
        });
        items.collect()
    }

    /// Takes an object.
    pub fn take_object(&mut self, name: &str) -> Result<Self, JsonError> {
        let path = self.field_path(name);
        Self::from_value_at(&path, format!("{path}."), self.take_value(name)?)
    }

    /// Takes a list of objects.
    pub fn take_objects(&mut self, name: &str) -> Result<Vec<Self>, JsonError> {
        let path = self.field_path(name);
        let items = self.take_list(name)?.into_iter().enumerate();
        items
            .map(|(n, item)| Self::from_value_at(&format!("{path}[{n}]"), format!("{path}[{n}]."), item))
            .collect()
    }

    /// Takes annotations, which are strings by any names and may be absent, and returns the one of them that is asked for.
    pub fn take_annotation(&mut self, name: &str) -> Result<Option<String>, JsonError> {
        if !self.contains("annotations") {
            return Ok(None);
        }
        let mut notes = self.take_object("annotations")?;
        if let Some((other, _)) = notes.map.iter().find(|(_, value)| !value.is_string()) {
            return Err(JsonError::Type(notes.field_path(other), "a string"));
        }
        notes.take_text_if_present(name)
    }

    /// The names that are left.
    pub(crate) fn remaining_names(&self) -> Vec<String> {
        self.map.keys().cloned().collect()
    }

    /// Refuses the first field that was not taken.
    pub fn refuse_remaining(self) -> Result<(), JsonError> {
        match self.map.keys().min() {
            None => Ok(()),
            Some(name) => Err(JsonError::Unknown(self.field_path(name))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::json::parse;

    #[test]
    fn null_and_list_are_wrong_types() {
        let mut fields = Fields::from_value(parse(r#"{"a":null,"b":[],"c":{"x":1}}"#).unwrap()).unwrap();
        assert_eq!(fields.take_text_if_present("a"), Err(JsonError::Type("a".into(), "a string")));
        assert!(fields.take_object("b").is_err_and(|e| e == JsonError::Type("b".into(), "an object")));
        assert_eq!(
            fields.take_object("c").unwrap().refuse_remaining(),
            Err(JsonError::Unknown("c.x".into()))
        );
        assert_eq!(fields.take_text("d"), Err(JsonError::Missing("d".into())));
        assert!(Fields::from_value(parse("[]").unwrap()).is_err());
    }
}
