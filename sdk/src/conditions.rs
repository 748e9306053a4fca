//! Conditions of both contracts of Cluster API.
//!
//! Under v1beta1 a provider's conditions of that contract are in `status.conditions`; under v1beta2 they moved to
//! `status.deprecated.v1beta1.conditions` and the new ones took their place, while a v1beta1 object has the new ones in
//! `status.v1beta2.conditions`. A plugin wants to know whether a host is ready, not where that is stored.

use serde_json::Value;

use crate::Object;

/// JSON pointers of the conditions of each contract, the newest contract first.
const CONDITION_POINTERS: [&str; 3] =
    ["/status/v1beta2/conditions", "/status/conditions", "/status/deprecated/v1beta1/conditions"];

/// One condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition<'a> {
    value: &'a Value,
}

impl<'a> Condition<'a> {
    fn text_field(&self, field: &str) -> &'a str {
        self.value.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// `Ready`, `Paused`, …
    pub fn kind(&self) -> &'a str {
        self.text_field("type")
    }

    /// `True`, `False` or `Unknown`.
    pub fn status(&self) -> &'a str {
        self.text_field("status")
    }

    /// Returns true if the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status() == "True"
    }

    /// A code for programs.
    pub fn reason(&self) -> &'a str {
        self.text_field("reason")
    }

    /// A sentence for people.
    pub fn message(&self) -> &'a str {
        self.text_field("message")
    }

    /// The generation of the object that it refers to, if given.
    pub fn observed_generation(&self) -> Option<i64> {
        self.value.get("observedGeneration")?.as_i64()
    }
}

impl Object {
    /// Returns the object's conditions, the newest contract's first.
    pub fn conditions(&self) -> impl Iterator<Item = Condition<'_>> {
        CONDITION_POINTERS.into_iter().flat_map(|place| self.items(place)).map(|value| Condition { value })
    }

    /// Returns the condition of a type, from the newest contract that has it.
    pub fn condition(&self, kind: &str) -> Option<Condition<'_>> {
        self.conditions().find(|condition| condition.kind() == kind)
    }

    /// Returns true if the condition of a type is present and true.
    pub fn has_condition(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|condition| condition.is_true())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::Object;

    fn with(status: serde_json::Value) -> Object {
        Object::from(json!({"status": status}))
    }

    #[test]
    fn conditions_of_both_contracts_are_read() {
        let ready = json!([{"type": "Ready", "status": "True"}]);
        for status in [
            json!({"conditions": ready}),
            json!({"v1beta2": {"conditions": ready}}),
            json!({"deprecated": {"v1beta1": {"conditions": ready}}}),
        ] {
            assert!(with(status.clone()).has_condition("Ready"), "{status}");
        }
        assert!(!with(json!({})).has_condition("Ready"));
    }

    #[test]
    fn newest_contract_decides_a_condition() {
        let object = with(json!({
            "conditions": [{"type": "Ready", "status": "True"}],
            "v1beta2": {"conditions": [{"type": "Ready", "status": "False", "reason": "NotYet"}]},
        }));
        assert_eq!(object.condition("Ready").unwrap().reason(), "NotYet");
        assert!(!object.has_condition("Ready"));
    }
}
