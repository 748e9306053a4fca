//! Objects of JSON, taken field by field rather than by derived code: serde takes a list for a struct, and `null` for what is
//! absent. What nobody took is refused by its name.

use pivot_core::words::shown;
use serde_json::{Map, Value};

use crate::json::{JsonError, NAME};

/// An object whose fields are taken one after the other.
pub struct Fields {
    /// Where it is: `predicate.`; empty for the outermost.
    path: String,
    map: Map<String, Value>,
}

impl Fields {
    /// The outermost object.
    pub fn of(value: Value) -> Result<Self, JsonError> {
        Self::at("the whole", String::new(), value)
    }

    fn at(name: &str, path: String, value: Value) -> Result<Self, JsonError> {
        match value {
            Value::Object(map) => Ok(Self { path, map }),
            _ => Err(JsonError::Type(name.to_owned(), "an object")),
        }
    }

    /// Whether a field is there and not yet taken.
    pub fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// The path of a field: `predicate.claim`.
    pub fn path(&self, name: &str) -> String {
        format!("{}{}", self.path, shown(name, NAME))
    }

    /// An error about a field's value.
    pub(crate) fn wrong(&self, name: &str, why: impl Into<String>) -> JsonError {
        JsonError::Value(self.path(name), why.into())
    }

    /// Takes a field, whatever it is.
    pub(crate) fn take(&mut self, name: &str) -> Result<Value, JsonError> {
        self.map.remove(name).ok_or_else(|| JsonError::Missing(self.path(name)))
    }

    /// Takes a string.
    pub fn text(&mut self, name: &str) -> Result<String, JsonError> {
        match self.take(name)? {
            Value::String(text) => Ok(text),
            _ => Err(JsonError::Type(self.path(name), "a string")),
        }
    }

    /// Takes a string that may be absent.
    pub fn text_if(&mut self, name: &str) -> Result<Option<String>, JsonError> {
        if self.has(name) { self.text(name).map(Some) } else { Ok(None) }
    }

    /// Takes a whole number.
    pub fn number(&mut self, name: &str) -> Result<u64, JsonError> {
        self.take(name)?.as_u64().ok_or_else(|| JsonError::Type(self.path(name), "a whole number"))
    }

    /// Takes `true` or `false`, which may be absent.
    pub(crate) fn flag_if(&mut self, name: &str) -> Result<Option<bool>, JsonError> {
        match self.map.remove(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(_) => Err(JsonError::Type(self.path(name), "true or false")),
        }
    }

    /// Takes a list.
    pub(crate) fn list(&mut self, name: &str) -> Result<Vec<Value>, JsonError> {
        match self.take(name)? {
            Value::Array(items) => Ok(items),
            _ => Err(JsonError::Type(self.path(name), "a list")),
        }
    }

    /// Takes a list of strings.
    pub(crate) fn texts(&mut self, name: &str) -> Result<Vec<String>, JsonError> {
        let items = self.list(name)?.into_iter().map(|item| match item {
            Value::String(text) => Ok(text),
            _ => Err(JsonError::Type(self.path(name), "a list of strings")),
        });
        items.collect()
    }

    /// Takes an object.
    pub fn object(&mut self, name: &str) -> Result<Self, JsonError> {
        let path = self.path(name);
        Self::at(&path, format!("{path}."), self.take(name)?)
    }

    /// Takes a list of objects.
    pub fn objects(&mut self, name: &str) -> Result<Vec<Self>, JsonError> {
        let path = self.path(name);
        let items = self.list(name)?.into_iter().enumerate();
        items.map(|(n, item)| Self::at(&format!("{path}[{n}]"), format!("{path}[{n}]."), item)).collect()
    }

    /// Takes annotations, which are strings by any names and may be absent, and returns the one of them that is asked for.
    pub fn annotation(&mut self, name: &str) -> Result<Option<String>, JsonError> {
        if !self.has("annotations") {
            return Ok(None);
        }
        let mut notes = self.object("annotations")?;
        if let Some((other, _)) = notes.map.iter().find(|(_, value)| !value.is_string()) {
            return Err(JsonError::Type(notes.path(other), "a string"));
        }
        notes.text_if(name)
    }

    /// The names that are left.
    pub(crate) fn names(&self) -> Vec<String> {
        self.map.keys().cloned().collect()
    }

    /// Refuses what nobody took.
    pub fn end(self) -> Result<(), JsonError> {
        match self.map.keys().min() {
            None => Ok(()),
            Some(name) => Err(JsonError::Unknown(self.path(name))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn absent_is_not_null_and_a_list_is_not_an_object() {
        let mut fields = Fields::of(parse(r#"{"a":null,"b":[],"c":{"x":1}}"#).unwrap()).unwrap();
        assert_eq!(fields.text_if("a"), Err(JsonError::Type("a".into(), "a string")));
        assert!(fields.object("b").is_err_and(|e| e == JsonError::Type("b".into(), "an object")));
        assert_eq!(fields.object("c").unwrap().end(), Err(JsonError::Unknown("c.x".into())));
        assert_eq!(fields.text("d"), Err(JsonError::Missing("d".into())));
        assert!(Fields::of(parse("[]").unwrap()).is_err());
    }
}
