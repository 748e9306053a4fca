//! The options that a component declares for its configuration: listed for people, and checked before the plugin is called.

use pivot_bounds::options::{Form, OptionRow, Schema, Table};
use pivot_core::messages::safe_text::did_you_mean;
use serde_json::Value;

use crate::text::to_line;

/// Longest text of a refusal, of an option's description, and of its default.
const MAX_REFUSAL: usize = 500;
const MAX_DESCRIPTION: usize = 300;
const MAX_DEFAULT: usize = 1_000;

/// An option of a plugin. All words are the vendor's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginOption {
    /// Path of the option: `patch[].kind`; a star stands for any name.
    pub name: String,
    /// Type, or the allowed values.
    pub form: String,
    /// Value that counts if the option isn't set.
    pub default: Option<Value>,
    /// Whether it must be set.
    pub required: bool,
    /// A sentence about it.
    pub description: String,
}

/// Returns all options.
pub(crate) fn list_options(schema: &Schema) -> Vec<PluginOption> {
    let options = schema.rows().into_iter().map(|OptionRow { name, schema, required }| PluginOption {
        name,
        form: to_line(&schema.type_text(), MAX_DESCRIPTION),
        default: schema.default.clone(),
        required,
        description: to_line(&schema.description, MAX_DESCRIPTION),
    });
    options.collect()
}

/// Fails if the schema refuses a configuration.
pub(crate) fn check_config(schema: &Schema, config: &str) -> Result<(), String> {
    let config = serde_json::from_str(config).map_err(|_| "it is no JSON".to_owned())?;
    schema.check(&config, did_you_mean).map_err(|why| {
        format!("{}; `pivot-host plugin inspect` lists its options", to_line(&why, MAX_REFUSAL))
    })
}

/// Returns the options as comments, to be added to a plugin's section of `plugins.toml`. Without the first `# `, a line is TOML; options
/// without a default stay comments.
pub(crate) fn commented_example(plugin: &str, schema: &Schema) -> String {
    let Form::Table(Table { options, required, .. }) = &schema.form else { return String::new() };
    if options.is_empty() {
        return String::new();
    }
    let mut lines = vec![
        "Its options. To set one, remove the first # of its line and of the next line.".to_owned(),
        format!("[plugins.{plugin}.config]"),
    ];
    for (name, schema) in options {
        let choices =
            if schema.choices.is_empty() { String::new() } else { format!(" ({})", schema.type_text()) };
        let description = format!("{}{choices}", to_line(&schema.description, MAX_DESCRIPTION));
        lines.extend(Some(format!("# {description}")).filter(|_| !description.is_empty()));
        let is_safe = schema.default.is_some() || required.contains(name);
        let value = to_toml(&schema.default.clone().unwrap_or_else(|| placeholder(schema)));
        lines.push(format!("{}{name} = {value}", if is_safe { "" } else { "# " }));
    }
    lines.iter().map(|line| format!("# {}\n", to_line(line, MAX_DEFAULT))).collect()
}

/// A value of the schema's type.
fn placeholder(schema: &Schema) -> Value {
    match (schema.choices.first(), &schema.form) {
        (Some(choice), _) => choice.clone(),
        (None, Form::Any | Form::Text) => Value::from(""),
        (None, Form::Boolean) => Value::from(false),
        (None, Form::Integer | Form::Number) => Value::from(0),
        (None, Form::List(_)) => Value::Array(Vec::new()),
        (None, Form::Table(_)) => Value::Object(serde_json::Map::new()),
    }
}

/// JSON and TOML differ in tables, and TOML has no null.
fn to_toml(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(to_toml).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| format!("{} = {}", Value::from(key.as_str()), to_toml(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
