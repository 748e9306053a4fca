//! Reads a schema. Everything in it is the vendor's.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Form, Schema, Table, join};

/// Largest schema, in bytes.
const MAX_BYTES: usize = 64 << 10;
/// Deepest nesting of schemas.
const MAX_DEPTH: usize = 16;
/// Longest name of an option.
const MAX_NAME: usize = 64;
/// The keywords that every type may have.
const COMMON: [&str; 6] = ["$schema", "title", "type", "description", "default", "enum"];

impl Schema {
    /// Parses a schema.
    ///
    /// # Errors
    /// Name the place and the fault.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("it has more than {MAX_BYTES} bytes"));
        }
        let value: Value = serde_json::from_slice(text).map_err(|error| format!("it is no JSON: {error}"))?;
        let schema = parse_schema(&value, "", 0)?;
        match &schema.form {
            Form::Table(Table { others: None, .. }) => Ok(schema),
            _ => Err("its type must be object, with \"additionalProperties\": false".to_owned()),
        }
    }
}

fn parse_schema(value: &Value, path: &str, depth: usize) -> Result<Schema, String> {
    let refuse = |why: &str| Err(if path.is_empty() { why.to_owned() } else { format!("{path}: {why}") });
    let Some(fields) = value.as_object() else { return refuse("a schema must be an object") };
    if depth > MAX_DEPTH {
        return refuse("it is nested too deep");
    }
    let (form, more): (Form, &[&str]) = match fields.get("type").map(Value::as_str) {
        None => (Form::Any, &[]),
        Some(Some("boolean")) => (Form::Boolean, &[]),
        Some(Some("integer")) => (Form::Integer, &[]),
        Some(Some("number")) => (Form::Number, &[]),
        Some(Some("string")) => (Form::Text, &[]),
        Some(Some("array")) => {
            let items = fields.get("items").unwrap_or(&Value::Bool(true));
            (Form::List(Box::new(parse_others(items, &format!("{path}[]"), depth)?)), &["items"])
        }
        Some(Some("object")) => (
            Form::Table(parse_table(fields, path, depth)?),
            &["properties", "required", "additionalProperties"],
        ),
        Some(_) => return refuse("its type must be object, array, string, integer, number or boolean"),
    };
    if let Some(other) =
        fields.keys().find(|key| !COMMON.contains(&key.as_str()) && !more.contains(&key.as_str()))
    {
        return refuse(&format!("`{other}` is no keyword for its type"));
    }
    let description = match fields.get("description") {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(_) => return refuse("its description must be a string"),
    };
    let choices = match fields.get("enum") {
        None => Vec::new(),
        Some(Value::Array(choices)) if !choices.is_empty() => choices.clone(),
        Some(_) => return refuse("its enum must be a list with values"),
    };
    let schema = Schema { form, description, default: None, choices };
    if schema
        .choices
        .iter()
        .any(|choice| choice.is_object() || choice.is_array() || !schema.form.contains(choice))
    {
        return refuse("its enum has a value of another type, or a list or table");
    }
    let default = fields.get("default").cloned();
    if let Some(Err(why)) = default.as_ref().map(|default| schema.check(default, |_, _| String::new())) {
        return refuse(&format!("its default doesn't fit: {why}"));
    }
    Ok(Schema { default, ..schema })
}

fn parse_table(fields: &Map<String, Value>, path: &str, depth: usize) -> Result<Table, String> {
    let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
    let empty = Map::new();
    let properties = match fields.get("properties") {
        None => &empty,
        Some(Value::Object(properties)) => properties,
        Some(_) => return Err(format!("{place}its properties must be an object")),
    };
    let mut options = BTreeMap::new();
    for (name, schema) in properties {
        if !is_name(name) {
            return Err(format!(
                "{place}names of options have letters, digits, dashes and underscores, {MAX_NAME} at most"
            ));
        }
        options.insert(name.clone(), parse_schema(schema, &join(path, name), depth + 1)?);
    }
    let mut required = BTreeSet::new();
    for name in fields
        .get("required")
        .map_or(Ok(&[][..]), |names| names.as_array().map(Vec::as_slice).ok_or(()))
        .map_err(|()| format!("{place}its required must be a list"))?
    {
        match name.as_str().filter(|name| options.contains_key(*name)) {
            Some(name) => required.insert(name.to_owned()),
            None => return Err(format!("{place}its required names an option that it doesn't have")),
        };
    }
    let others = match fields.get("additionalProperties") {
        Some(Value::Bool(false)) => None,
        others => {
            Some(Box::new(parse_others(others.unwrap_or(&Value::Bool(true)), &join(path, "*"), depth)?))
        }
    };
    Ok(Table { options, required, others })
}

/// `true` is the schema of any value.
fn parse_others(value: &Value, path: &str, depth: usize) -> Result<Schema, String> {
    match value {
        Value::Bool(true) => {
            Ok(Schema { form: Form::Any, description: String::new(), default: None, choices: Vec::new() })
        }
        other => parse_schema(other, path, depth + 1),
    }
}

/// Returns true for a name that needs no quotes in TOML.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(fits)
}
