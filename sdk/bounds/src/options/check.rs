//! Compares a configuration with its schema. Messages have paths and types, and no values: a value may be confidential.

use serde_json::Value;

use super::{Form, Schema, Table, join, list_choices};

/// Returns the end of a message about an unknown name: a known name that is like it.
pub type Suggest = fn(&str, &[&str]) -> String;

impl Schema {
    /// Fails if the schema refuses a configuration.
    ///
    /// # Errors
    /// Name the path and the type of the value.
    pub fn check(&self, config: &Value, suggest: Suggest) -> Result<(), String> {
        self.check_at(config, "", suggest)
    }

    fn check_at(&self, value: &Value, path: &str, suggest: Suggest) -> Result<(), String> {
        let name = || if path.is_empty() { "the configuration".to_owned() } else { format!("`{path}`") };
        if !self.form.contains(value) {
            return Err(format!(
                "{} is {}, and must be {}",
                name(),
                type_of(value),
                self.form.with_article()
            ));
        }
        if !self.choices.is_empty() && !self.choices.contains(value) {
            return Err(format!("{} must be one of: {}", name(), list_choices(&self.choices, ", ")));
        }
        match (&self.form, value) {
            (Form::List(items), Value::Array(values)) => values
                .iter()
                .enumerate()
                .try_for_each(|(index, value)| items.check_at(value, &format!("{path}[{index}]"), suggest)),
            (Form::Table(table), Value::Object(fields)) => {
                for (key, value) in fields {
                    let below = join(path, key);
                    match table.options.get(key).or(table.others.as_deref()) {
                        Some(schema) => schema.check_at(value, &below, suggest)?,
                        None => {
                            let known: Vec<&str> = table.options.keys().map(String::as_str).collect();
                            return Err(format!("`{below}` is no option{}", suggest(key, &known)));
                        }
                    }
                }
                match table.required.iter().find(|name| !fields.contains_key(*name)) {
                    Some(missing) => Err(format!("`{}` is missing", join(path, missing))),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

impl Form {
    /// Returns true for a value of the type, whatever is in a list or table.
    pub(super) fn contains(&self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Text => value.is_string(),
            Self::List(_) => value.is_array(),
            Self::Table(Table { .. }) => value.is_object(),
        }
    }

    fn with_article(&self) -> String {
        match self {
            Self::Any => self.name().to_owned(),
            Self::Integer => format!("an {}", self.name()),
            _ => format!("a {}", self.name()),
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a floating-point number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}
