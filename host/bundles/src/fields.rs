//! Objects of JSON, taken field by field rather than by derived code: serde takes a list for a struct, and `null` for what is
//! absent.

use pivot_core::words::shown;
use pivot_signatures::json::JsonError;
use serde_json::{Map, Value};

use crate::document::error::DocumentError;

/// How many characters of a name are printed.
pub(crate) const NAME: usize = 80;

/// An object whose fields are taken one after the other.
pub(crate) struct Fields {
    /// Where it is: `layers[0].`; empty for the outermost.
    path: String,
    map: Map<String, Value>,
}

impl Fields {
    /// The outermost object.
    pub(crate) fn of(value: Value) -> Result<Self, DocumentError> {
        Self::at("the whole", String::new(), value)
    }

    fn at(name: &str, path: String, value: Value) -> Result<Self, DocumentError> {
        match value {
            Value::Object(map) => Ok(Self { path, map }),
            _ => Err(JsonError::Type(name.to_owned(), "an object").into()),
        }
    }

    /// The path of a field: `layers[0].digest`.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("{}{}", self.path, shown(name, NAME))
    }

    /// Whether a field is there and not yet taken.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    fn take(&mut self, name: &str) -> Result<Value, DocumentError> {
        self.map.remove(name).ok_or_else(|| JsonError::Missing(self.path(name)).into())
    }

    fn wrong(&self, name: &str, what: &'static str) -> DocumentError {
        JsonError::Type(self.path(name), what).into()
    }

    /// Takes a string.
    pub(crate) fn text(&mut self, name: &str) -> Result<String, DocumentError> {
        match self.take(name)? {
            Value::String(text) => Ok(text),
            _ => Err(self.wrong(name, "a string")),
        }
    }

    /// Takes a string that may be absent.
    pub(crate) fn text_if(&mut self, name: &str) -> Result<Option<String>, DocumentError> {
        if self.has(name) { self.text(name).map(Some) } else { Ok(None) }
    }

    /// Takes a whole number.
    pub(crate) fn number(&mut self, name: &str) -> Result<u64, DocumentError> {
        self.take(name)?.as_u64().ok_or_else(|| self.wrong(name, "a whole number"))
    }

    /// Takes an object.
    pub(crate) fn object(&mut self, name: &str) -> Result<Self, DocumentError> {
        let path = self.path(name);
        Self::at(&path, format!("{path}."), self.take(name)?)
    }

    /// Takes a list of objects.
    pub(crate) fn objects(&mut self, name: &str) -> Result<Vec<Self>, DocumentError> {
        let path = self.path(name);
        let Value::Array(items) = self.take(name)? else { return Err(self.wrong(name, "a list")) };
        let items = items.into_iter().enumerate();
        items.map(|(n, item)| Self::at(&format!("{path}[{n}]"), format!("{path}[{n}]."), item)).collect()
    }

    /// Takes annotations, which are strings by any names and may be absent, and returns the one of them that is asked for.
    pub(crate) fn annotation(&mut self, name: &str) -> Result<Option<String>, DocumentError> {
        if !self.has("annotations") {
            return Ok(None);
        }
        let mut notes = self.object("annotations")?;
        if let Some((other, _)) = notes.map.iter().find(|(_, value)| !value.is_string()) {
            return Err(notes.wrong(other, "a string"));
        }
        notes.text_if(name)
    }

    /// Refuses what nobody took.
    pub(crate) fn end(self) -> Result<(), DocumentError> {
        match self.map.keys().min() {
            None => Ok(()),
            Some(name) => Err(JsonError::Unknown(self.path(name)).into()),
        }
    }
}
