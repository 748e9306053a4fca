//! An object with its parsed body. Fields that can't be parsed or have an unexpected type count as absent. Users look at the tree
//! to find problems, so one odd object must not hide the others.

use serde_json::Value;

use super::conditions::{Condition, parse_conditions};
use crate::Object;

pub(super) struct Body<'a> {
    pub(super) object: &'a Object,
    value: Value,
    conditions: Vec<Condition>,
}

impl<'a> Body<'a> {
    pub(super) fn new(object: &'a Object) -> Self {
        let value = object.value().unwrap_or_default();
        let conditions = parse_conditions(&value);
        Self { object, value, conditions }
    }

    pub(super) fn field(&self, path: &str) -> Option<&Value> {
        self.value.pointer(path)
    }

    pub(super) fn number(&self, path: &str) -> Option<i64> {
        self.field(path)?.as_i64()
    }

    /// Returns a text that is not empty.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.field(path)?.as_str().filter(|text| !text.is_empty())
    }

    pub(super) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    pub(super) fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    pub(super) fn is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(Condition::is_true)
    }

    /// Returns true if the object has an API version before v1beta2, and no v1beta2 fields in its status.
    pub(super) fn is_before_v1beta2(&self) -> bool {
        let version = &self.object.kind.version;
        (version == "v1beta1" || version.starts_with("v1alpha")) && self.field("/status/v1beta2").is_none()
    }
}
