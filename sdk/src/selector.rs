//! Selects objects from a configuration.
//!
//! Operators choose objects in `plugins.toml` the same way for every plugin: by name, namespace and labels, with `*` for any run
//! of characters. An empty selector selects everything; the plugin decides whether that is allowed ([`Selector::is_empty`]).

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::Object;

/// A text in which `*` stands for any run of characters, including none.
///
/// ```
/// # use pivot_sdk::Glob;
/// assert!(Glob::from("*-webhook-*cert").matches("capi-webhook-service-cert"));
/// assert!(!Glob::from("edge").matches("edge-2"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Glob(String);

impl From<&str> for Glob {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Glob {
    /// Returns true if a text matches.
    pub fn matches(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = text.strip_prefix(first) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            match rest.split_once(part) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Objects that match all of its fields: `{ name = "edge-*", namespace = "metal3", labels = { team = "*" } }`.
///
/// ```
/// # use pivot_sdk::{Object, Selector};
/// # use serde_json::json;
/// let chosen: Selector = serde_json::from_value(json!({"name": "edge-*", "labels": {"team": "*"}}))?;
/// let object = json!({"metadata": {"name": "edge-ca", "namespace": "metal3", "labels": {"team": "blue"}}});
/// assert!(chosen.matches(&Object::from(object)));
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Selector {
    /// The name.
    pub name: Option<Glob>,
    /// The namespace; `*` excludes cluster-scoped objects.
    pub namespace: Option<Glob>,
    /// Labels that must be present, with matching values.
    pub labels: BTreeMap<String, Glob>,
}

impl Selector {
    /// Returns true if an object matches.
    pub fn matches(&self, object: &Object) -> bool {
        self.matches_name(object.namespace(), object.name())
            && self
                .labels
                .iter()
                .all(|(label, wanted)| object.label(label).is_some_and(|value| wanted.matches(value)))
    }

    /// Returns true if an object with this name can match. Ignores labels.
    pub fn matches_name(&self, namespace: Option<&str>, name: &str) -> bool {
        self.name.as_ref().is_none_or(|wanted| wanted.matches(name))
            && self
                .namespace
                .as_ref()
                .is_none_or(|wanted| namespace.is_some_and(|namespace| wanted.matches(namespace)))
    }

    /// Returns true for an empty selector, which selects every object.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn star_matches_any_run_of_characters() {
        for (glob, text, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("a*", "a", true),
            ("*a*", "bab", true),
            ("a*a", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*-ca", "edge-ca", true),
            ("a**b", "ab", true),
        ] {
            assert_eq!(Glob::from(glob).matches(text), fits, "{glob} {text}");
        }
    }

    #[test]
    fn every_criterion_must_match() {
        let object = Object::from(json!({"metadata": {"name": "a", "namespace": "n", "labels": {"x": "1"}}}));
        let fits = |selector| serde_json::from_value::<Selector>(selector).unwrap().matches(&object);
        assert!(fits(json!({})) && fits(json!({"name": "a", "namespace": "*", "labels": {"x": "*"}})));
        for other in [
            json!({"name": "b"}),
            json!({"namespace": "m"}),
            json!({"labels": {"y": "*"}}),
            json!({"name": "a", "labels": {"x": "2"}}),
        ] {
            assert!(!fits(other.clone()), "{other}");
        }
        let global = Object::from(json!({"metadata": {"name": "a"}}));
        let any: Selector = serde_json::from_value(json!({"namespace": "*"})).unwrap();
        assert!(!any.matches(&global));
    }

    #[test]
    fn misspelt_selector_field_is_reported() {
        let error = serde_json::from_value::<Selector>(json!({"nam": "a"})).unwrap_err().to_string();
        assert!(
            error.contains("unknown field `nam`, expected one of `name`, `namespace`, `labels`"),
            "{error}"
        );
    }
}
