//! A plugin's card: one JSON object that describes the plugin and its requests. Reviewers sign a card, and the host computes
//! another one from the plugin's binary and description. A signed card that differs from the computed one is worthless, whoever
//! signed it.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::messages::safe_text::is_hidden;
use serde_json::{Map, Value};

use crate::json::sort_keys;
use crate::signatures::plain_text::check_sentence;

/// The fields that every card has.
pub const FIELDS: [&str; 12] = [
    "name",
    "version",
    "contract",
    "hooks",
    "imports",
    "kinds",
    "reach",
    "changes",
    "reads",
    "probes",
    "secretData",
    "extra",
];
/// The most characters of a name or version.
const NAME: usize = 64;

/// A card. Its fields beyond name and version are the host's affair; here they are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card(BTreeMap<String, Value>);

impl Card {
    /// Creates a card from fields. The error names the wrong field and the reason.
    pub fn new(fields: Map<String, Value>) -> Result<Self, String> {
        if let Some(missing) = FIELDS.into_iter().find(|name| !fields.contains_key(*name)) {
            return Err(format!("`{missing}` is missing"));
        }
        for name in ["name", "version"] {
            let text = fields.get(name).and_then(Value::as_str);
            let text = text.ok_or_else(|| format!("`{name}` is not a string"))?;
            check_sentence(text, NAME).map_err(|why| format!("`{name}`: {why}"))?;
        }
        // People read a card to decide, so it shows all that it has.
        if !fields.iter().all(|(name, value)| is_visible(name) && is_fully_visible(value)) {
            return Err(
                "it has a control character, one that can't be seen, or a number that isn't an integer"
                    .into(),
            );
        }
        Ok(Self(fields.into_iter().map(|(name, value)| (name, sort_keys(&value))).collect()))
    }

    /// The plugin's name.
    pub fn name(&self) -> &str {
        self.0.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the plugin's version.
    pub fn version(&self) -> &str {
        self.0.get("version").and_then(Value::as_str).unwrap_or_default()
    }

    /// All fields, by name.
    pub fn fields(&self) -> &BTreeMap<String, Value> {
        &self.0
    }

    /// The card as a value, its keys in order.
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.clone().into_iter().collect())
    }

    /// Returns the fields of this signed card that differ from the computed card, or that this program doesn't compute and so
    /// can't check. A program may compute more fields than were signed.
    pub fn differing_fields(&self, computed: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(computed.0.keys()).collect();
        let differing = names.into_iter().filter(|name| match (self.0.get(*name), computed.0.get(*name)) {
            (Some(signed), Some(computed)) => signed != computed,
            // `new` has refused a signed card without a required field.
            (None, _) => false,
            (Some(_), None) => true,
        });
        differing.cloned().collect()
    }
}

fn is_visible(text: &str) -> bool {
    !text.chars().any(is_hidden)
}

/// Returns true if a value hides nothing from a reader. Numbers must be integers: two large floating-point numbers may be equal
/// and look different.
fn is_fully_visible(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => number.is_i64() || number.is_u64(),
        Value::String(text) => is_visible(text),
        Value::Array(items) => items.iter().all(is_fully_visible),
        Value::Object(map) => map.iter().all(|(name, value)| is_visible(name) && is_fully_visible(value)),
    }
}

/// A card with a name and empty fields; for tests.
#[cfg(test)]
pub(crate) fn sample_card(name: &str) -> Card {
    let mut fields: Map<String, Value> =
        FIELDS.iter().map(|name| ((*name).into(), Value::Array(vec![]))).collect();
    fields.insert("name".into(), name.into());
    fields.insert("version".into(), "0.1.0".into());
    fields.insert("secretData".into(), false.into());
    Card::new(fields).unwrap()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(name: &str, value: Value) -> Result<Card, String> {
        let mut fields: Map<String, Value> = sample_card("hosts").0.into_iter().collect();
        fields.insert(name.into(), value);
        Card::new(fields)
    }

    #[test]
    fn a_card_differs_where_its_fields_do() {
        let card = sample_card("hosts");
        assert_eq!(card.differing_fields(&card), [""; 0]);
        let other = with("imports", json!(["pivot:provider/http"])).unwrap();
        assert_eq!(card.differing_fields(&other), ["imports"]);
        assert_eq!(other.differing_fields(&card), ["imports"]);
    }

    #[test]
    fn signed_unknown_fields_differ_unsigned_ones_dont() {
        let (card, more) = (sample_card("hosts"), with("sockets", json!(false)).unwrap());
        assert_eq!(more.differing_fields(&card), ["sockets"]);
        assert_eq!(card.differing_fields(&more), [""; 0]);
    }

    #[test]
    fn order_matters_for_items_not_keys() {
        let one = with("reads", json!([{"kind": "A", "side": "source"}, 1])).unwrap();
        let same = with("reads", json!([{"side": "source", "kind": "A"}, 1])).unwrap();
        let other = with("reads", json!([1, {"side": "source", "kind": "A"}])).unwrap();
        assert_eq!(one.differing_fields(&same), [""; 0]);
        assert_eq!(one.to_value().to_string(), same.to_value().to_string());
        assert_eq!(one.differing_fields(&other), ["reads"]);
    }

    #[test]
    fn incomplete_or_hidden_card_fields_are_refused() {
        for field in FIELDS {
            let mut fields: Map<String, Value> = sample_card("hosts").0.into_iter().collect();
            fields.remove(field);
            assert_eq!(Card::new(fields), Err(format!("`{field}` is missing")));
        }
        for (field, value) in [
            ("name", json!(1)),
            ("name", json!("")),
            ("version", json!("1\n2")),
            ("hooks", json!([{"a\u{202e}": 1}])),
            ("hooks", json!(["a\u{200b}"])),
            ("b\u{0}", json!(1)),
            ("hooks", json!([1.5])),
        ] {
            assert!(with(field, value.clone()).is_err(), "{field} {value}");
        }
    }
}
