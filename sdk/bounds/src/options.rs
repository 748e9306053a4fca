//! The options that a plugin declares for its configuration, as a JSON Schema in a custom section of the component.
//!
//! The host reads the schema without running the plugin. Few keywords are known, and others are refused: a keyword that the host
//! ignored would promise a check that never happens.

mod check;
mod parse;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub use check::Suggest;

/// Name of the custom section.
pub const SECTION: &str = "pivot-host:configuration-schema";

/// The schema of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Type of the value.
    pub form: Form,
    /// A sentence for operators.
    pub description: String,
    /// Value that counts if the option isn't set.
    pub default: Option<Value>,
    /// The allowed values; all of the type if empty.
    pub choices: Vec<Value>,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Any value.
    Any,
    /// `true` or `false`.
    Boolean,
    /// An integer.
    Integer,
    /// An integer or a floating-point number.
    Number,
    /// A string.
    Text,
    /// A list of values with one schema.
    List(Box<Schema>),
    /// A table.
    Table(Table),
}

/// The type of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Named options.
    pub options: BTreeMap<String, Schema>,
    /// Names of the options that must be set.
    pub required: BTreeSet<String>,
    /// Schema of the values under other names; none: other names are refused.
    pub others: Option<Box<Schema>>,
}

/// An option, or an option of its items, as people look it up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionRow<'s> {
    /// Path of the option: `patch[].kind`; a star stands for any name.
    pub name: String,
    /// Schema of the option.
    pub schema: &'s Schema,
    /// Whether it must be set.
    pub required: bool,
}

impl Schema {
    /// Returns all options, sorted by name; the options of tables follow the table.
    pub fn rows(&self) -> Vec<OptionRow<'_>> {
        let mut rows = Vec::new();
        self.add_rows("", &mut rows);
        rows
    }

    fn add_rows<'s>(&'s self, path: &str, rows: &mut Vec<OptionRow<'s>>) {
        match &self.form {
            Form::Table(Table { options, required, others }) => {
                let named = options.iter().map(|(name, schema)| (name.as_str(), schema));
                for (name, schema) in named.chain(others.as_deref().map(|schema| ("*", schema))) {
                    let row = OptionRow { name: join(path, name), schema, required: required.contains(name) };
                    let below = row.name.clone();
                    rows.push(row);
                    schema.add_rows(&below, rows);
                }
            }
            Form::List(items) => items.add_rows(&format!("{path}[]"), rows),
            _ => {}
        }
    }

    /// Describes the type: `list of string`, or the allowed values.
    pub fn type_text(&self) -> String {
        if !self.choices.is_empty() {
            return list_choices(&self.choices, " | ");
        }
        match &self.form {
            Form::List(items) if items.form != Form::Any => format!("list of {}", items.type_text()),
            form => form.name().to_owned(),
        }
    }
}

impl Form {
    fn name(&self) -> &'static str {
        match self {
            Self::Any => "any value",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Text => "string",
            Self::List(_) => "list",
            Self::Table(_) => "table",
        }
    }
}

/// Adds a schema to a component, or to a core module that becomes one.
///
/// # Errors
/// If the host would refuse the schema.
pub fn append_section(binary: &[u8], schema: &[u8]) -> Result<Vec<u8>, String> {
    Schema::parse(schema)?;
    let mut content = leb128(SECTION.len());
    content.extend_from_slice(SECTION.as_bytes());
    content.extend_from_slice(schema);
    Ok([binary, &[0], &leb128(content.len()), &content].concat())
}

/// The encoding of lengths in WebAssembly.
fn leb128(mut length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (length & 0x7f) as u8;
        length >>= 7;
        bytes.push(if length == 0 { low } else { low | 0x80 });
        if length == 0 {
            return bytes;
        }
    }
}

fn list_choices(choices: &[Value], between: &str) -> String {
    let words =
        choices.iter().map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned));
    words.collect::<Vec<_>>().join(between)
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
