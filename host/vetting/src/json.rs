//! JSON as signed data has to be read: an object has each key once, at any depth, or two programs read two different things.

use std::fmt;

use pivot_core::messages::safe_text::escape_line;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Deepest nesting of values.
pub const DEPTH: usize = 64;
/// Most characters of a name that are printed.
pub const NAME: usize = 80;

/// Reasons to refuse JSON. The texts quote names of fields, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// No JSON.
    #[error("it is not JSON: {0}")]
    Syntax(String),
    /// A key that an object has twice.
    #[error("it has the key `{0}` twice in one object")]
    Duplicate(String),
    /// Nested too deep.
    #[error("it is nested more than {DEPTH} deep")]
    Depth,
    /// A field that isn't there.
    #[error("`{0}` is missing")]
    Missing(String),
    /// An unknown field.
    #[error("`{0}` is unknown")]
    Unknown(String),
    /// A field with a value of another type.
    #[error("`{0}` is not {1}")]
    Type(String, &'static str),
    /// A field with a value that it can't have.
    #[error("`{0}`: {1}")]
    Value(String, String),
}

impl JsonError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax(_) => "not-json",
            Self::Duplicate(_) => "duplicate-key",
            Self::Depth => "too-deep",
            Self::Missing(_) => "missing-field",
            Self::Unknown(_) => "unknown-field",
            Self::Type(..) => "wrong-type",
            Self::Value(..) => "wrong-value",
        }
    }
}

/// Parses a text.
pub fn parse(text: &str) -> Result<Value, JsonError> {
    let mut trouble = None;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict { depth: 0, trouble: &mut trouble }.deserialize(&mut reader);
    value.and_then(|value| reader.end().map(|()| value)).map_err(|error| {
        // serde_json's own limit is at 128, beyond ours.
        trouble.unwrap_or_else(|| JsonError::Syntax(describe_syntax_error(&error)))
    })
}

/// Describes a syntax error and its position without quoting the text.
fn describe_syntax_error(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        serde_json::error::Category::Eof => "it ends too early",
        _ if error.to_string().starts_with("number out of range") => "a number is out of range",
        _ if error.to_string().starts_with("trailing characters") => "something follows it",
        _ => "it can't be understood",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

struct Strict<'t> {
    depth: usize,
    /// The error to report instead of serde's, which can't express it.
    trouble: &'t mut Option<JsonError>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl Strict<'_> {
    fn enter_level<E: serde::de::Error>(&mut self) -> Result<usize, E> {
        if self.depth < DEPTH {
            return Ok(self.depth + 1);
        }
        *self.trouble = Some(JsonError::Depth);
        Err(E::custom("too deep"))
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.enter_level()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict { depth, trouble: &mut *self.trouble })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Value, A::Error> {
        let depth = self.enter_level()?;
        let mut map = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            if map.contains_key(&key) {
                *self.trouble = Some(JsonError::Duplicate(escape_line(&key, NAME)));
                return Err(A::Error::custom("duplicate key"));
            }
            let value = fields.next_value_seed(Strict { depth, trouble: &mut *self.trouble })?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// Returns the value with the keys of all objects sorted, independent of the order of serde_json's maps.
pub fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sort_keys).collect(),
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().map(|(key, value)| (key.clone(), sort_keys(value))).collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(fields.into_iter().collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_occurs_once_at_any_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"{"b":[{"c":{"a":1,"a":2}}]}"#, r#"[[{"a":{},"b":1,"\u0061":3}]]"#]
        {
            assert_eq!(parse(text), Err(JsonError::Duplicate("a".into())), "{text}");
        }
        assert_eq!(parse(r#"{"b":{"a":1},"a":1}"#).unwrap()["b"]["a"], 1);
    }

    #[test]
    fn nesting_beyond_sixty_four_levels_is_refused() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(&nested(DEPTH)).is_ok());
        assert_eq!(parse(&nested(DEPTH + 1)), Err(JsonError::Depth));
        assert_eq!(parse(&nested(100_000)), Err(JsonError::Depth));
        let objects = format!("{}1{}", r#"{"a":"#.repeat(DEPTH + 1), "}".repeat(DEPTH + 1));
        assert_eq!(parse(&objects), Err(JsonError::Depth));
    }

    #[test]
    fn an_error_quotes_nothing_of_the_text() {
        let error = parse("{\"a\": hunter2}").unwrap_err().to_string();
        assert_eq!(error, "it is not JSON: it can't be understood (line 1, column 7)");
        assert!(parse("1e999").unwrap_err().to_string().contains("out of range"));
        assert!(parse("{} {}").unwrap_err().to_string().contains("something follows it"));
        assert!(parse("{").unwrap_err().to_string().contains("ends too early"));
    }

    #[test]
    fn keys_are_written_in_order() {
        let value = parse(r#"{"b":{"d":1,"c":[{"f":1,"e":2}]},"a":1}"#).unwrap();
        assert_eq!(sort_keys(&value).to_string(), r#"{"a":1,"b":{"c":[{"e":2,"f":1}],"d":1}}"#);
    }
}
