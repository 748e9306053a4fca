//! What is written for programs, held against the schemas in `docs/schemas`.
//!
//! A schema is open, so that readers get along with fields that are new. Here it is closed: a field that it doesn't name fails.

use std::path::Path;

use serde_json::{Value, json};

/// Fails where a document, or an event, is not what its schema says.
pub(crate) fn check(document: &Value) {
    let name = match document["kind"].as_str() {
        Some(kind) if document.get("event").is_none() => dashed(kind),
        _ => "event".to_owned(),
    };
    let root = read(&name);
    if let Err(why) = (Schema { root: &root }).allows(&root, document, &name) {
        panic!("{why}\n{document:#}");
    }
}

/// As much of JSON Schema as ours need. A keyword that isn't known here fails: it would be taken for kept.
struct Schema<'a> {
    root: &'a Value,
}

impl Schema<'_> {
    fn allows(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        for (keyword, says) in schema.as_object().unwrap() {
            let good = match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" => true,
                "$ref" => {
                    let (file, place) =
                        says.as_str().unwrap().split_once('#').unwrap_or((says.as_str().unwrap(), ""));
                    match file.strip_suffix(".json") {
                        Some(other) => {
                            let root = read(other);
                            let other = Schema { root: &root };
                            other.allows(root.pointer(place).unwrap(), value, at)?;
                        }
                        None => self.allows(self.root.pointer(place).unwrap(), value, at)?,
                    }
                    true
                }
                "const" => value == says,
                "enum" => says.as_array().unwrap().contains(value),
                "type" => match says {
                    Value::Array(types) => types.iter().any(|says| is(value, says)),
                    one => is(value, one),
                },
                "minimum" => value.as_f64() >= says.as_f64(),
                "pattern" => {
                    let text = value.as_str().unwrap_or_default();
                    let text = match says.as_str().unwrap() {
                        "^[0-9a-f]{64}$" => text,
                        "^sha256:[0-9a-f]{64}$" => text.strip_prefix("sha256:").unwrap_or_default(),
                        other => panic!("{other} is not known here"),
                    };
                    text.len() == 64 && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
                }
                "required" => {
                    let mut names = says.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                    names.all(|name| value.get(name).is_some())
                }
                "properties" => {
                    for (name, says) in says.as_object().unwrap() {
                        if let Some(field) = value.get(name) {
                            self.allows(says, field, &format!("{at}.{name}"))?;
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    let named = |name: &String| schema["properties"].get(name).is_some();
                    let fields = value.as_object().into_iter().flatten();
                    for (name, field) in fields.filter(|(name, _)| !named(name)) {
                        let at = format!("{at}.{name}");
                        match says {
                            Value::Bool(true) => {}
                            Value::Bool(false) => return Err(format!("{at} is in no schema")),
                            says => self.allows(says, field, &at)?,
                        }
                    }
                    true
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.allows(says, item, &format!("{at}[{index}]"))?;
                    }
                    true
                }
                "oneOf" | "anyOf" => {
                    let answers = says.as_array().unwrap().iter().map(|says| self.allows(says, value, at));
                    let (good, bad): (Vec<_>, Vec<_>) = answers.partition(Result::is_ok);
                    if good.is_empty() {
                        return Err(format!("{at}: {value} is none of {keyword}: {bad:#?}"));
                    }
                    good.len() == 1 || keyword == "anyOf"
                }
                unknown => panic!("{at}: the keyword {unknown} is not known here"),
            };
            if !good {
                return Err(format!("{at}: {value} is not as {keyword} says: {says}"));
            }
        }
        Ok(())
    }
}

fn is(value: &Value, says: &Value) -> bool {
    match says.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        unknown => panic!("the type {unknown} is not known here"),
    }
}

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schemas/{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut schema = serde_json::from_str(&text).unwrap();
    close(&mut schema);
    schema
}

/// `PluginList`: `plugin-list`.
fn dashed(kind: &str) -> String {
    let mut name = String::new();
    for (index, letter) in kind.chars().enumerate() {
        if letter.is_ascii_uppercase() && index > 0 {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Whatever names its fields has no others, and all of them are in one style.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(properties) = fields.get("properties").and_then(Value::as_object) {
                for name in properties.keys() {
                    let camel = name.starts_with(|c: char| c.is_ascii_lowercase())
                        && name.chars().all(|c| c.is_ascii_alphanumeric());
                    assert!(camel, "{name} is not written as the others are");
                }
                fields.entry("additionalProperties").or_insert(json!(false));
            }
            fields.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}
