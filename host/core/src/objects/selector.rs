//! A part of a side's objects, as users name it: all objects of a kind, those of a namespace or with a label, or one object.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{GroupKind, Key, Meta, Object};

/// Objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Part {
    /// The kind.
    pub kind: GroupKind,
    /// The object; none: more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectName>,
    /// Only in this namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Only with this label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
}

/// The name of an object of a known kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectName {
    /// Namespace of the object; none if it is cluster-scoped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: String,
}

/// A label that objects have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Label {
    /// Key of the label.
    pub key: String,
    /// Value of the label; none matches any value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl Label {
    fn is_on(&self, labels: &BTreeMap<String, String>) -> bool {
        let there = labels.get(&self.key);
        there.is_some_and(|there| self.value.as_ref().is_none_or(|value| value == there))
    }
}

impl Part {
    /// Returns the part of all objects of a kind.
    pub fn of_kind(kind: GroupKind) -> Self {
        Self { kind, object: None, within: None, label: None }
    }

    /// Returns the part of one object.
    pub fn of_object(key: &Key) -> Self {
        let object = ObjectName { namespace: key.namespace.clone(), name: key.name.clone() };
        Self { object: Some(object), ..Self::of_kind(key.group_kind.clone()) }
    }

    /// Returns true if the part selects objects by a name or a label, rather than all objects that exist.
    pub(crate) fn is_deliberate(&self) -> bool {
        self.object.is_some() || self.label.is_some()
    }

    /// Returns true if an object belongs to the part.
    pub fn covers(&self, object: &Object) -> bool {
        let Meta { namespace, name, labels, .. } = &object.meta;
        self.kind == object.kind.group_kind
            && self.matches_name(namespace.as_ref(), name)
            && self.label.as_ref().is_none_or(|label| label.is_on(labels))
    }

    /// Returns true if an object with this key could belong to the part. The object's label isn't checked.
    pub fn may_cover(&self, key: &Key) -> bool {
        self.kind == key.group_kind && self.matches_name(key.namespace.as_ref(), &key.name)
    }

    fn matches_name(&self, namespace: Option<&String>, name: &str) -> bool {
        let named = |object: &ObjectName| object.name == name && object.namespace.as_ref() == namespace;
        self.object.as_ref().is_none_or(named)
            && self.within.as_ref().is_none_or(|within| namespace == Some(within))
    }
}

/// Returns true if an object belongs to any of the parts.
pub fn contains_object(parts: &BTreeSet<Part>, object: &Object) -> bool {
    let of_kind = parts.range(Part::of_kind(object.kind.group_kind.clone())..);
    of_kind.take_while(|part| part.kind == object.kind.group_kind).any(|part| part.covers(object))
}

/// As users write a part: `Machine.cluster.x-k8s.io`, `Secret/ns/name`, `Identity.example.com/name`, `Secret/ns/*`,
/// `Secret:label=value`, `Secret/ns/*:label`.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, object, within, label } = self;
        write!(f, "{kind}")?;
        if let Some(ObjectName { namespace, name }) = object {
            namespace.iter().try_for_each(|namespace| write!(f, "/{namespace}"))?;
            write!(f, "/{name}")?;
        }
        within.iter().try_for_each(|within| write!(f, "/{within}/*"))?;
        let Some(Label { key, value }) = label else { return Ok(()) };
        write!(f, ":{key}")?;
        value.iter().try_for_each(|value| write!(f, "={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::selector_syntax;
    use crate::testing::objects;

    const THERE: &str = "
        Secret ns/a ! label=carry:yes
        Secret ns/b ! label=carry:no
        Secret other/a ! label=carry:yes
        Secret other/b
        Identity a ! label=carry:yes";

    fn covered_by(part: &str) -> Vec<String> {
        let part = selector_syntax::parse_part(part).unwrap();
        let objects = objects(THERE);
        let parts = BTreeSet::from([part.clone(), Part::of_kind(GroupKind::new("", "A"))]);
        let found = objects.iter().filter(|object| part.covers(object));
        let found: Vec<String> = found.map(|object| object.key().to_string()).collect();
        let as_set = objects.iter().filter(|object| contains_object(&parts, object));
        assert_eq!(as_set.map(|object| object.key().to_string()).collect::<Vec<_>>(), found);
        found
    }

    #[test]
    fn parts_select_kinds_namespaces_labels_and_objects() {
        let identity = "Identity.infrastructure.cluster.x-k8s.io";
        assert_eq!(covered_by("Secret").len(), 4);
        assert_eq!(covered_by("Secret/ns/a"), ["Secret ns/a"]);
        assert_eq!(covered_by("Secret/ns/*"), ["Secret ns/a", "Secret ns/b"]);
        assert_eq!(covered_by("Secret:carry"), ["Secret ns/a", "Secret ns/b", "Secret other/a"]);
        assert_eq!(covered_by("Secret:carry=yes"), ["Secret ns/a", "Secret other/a"]);
        assert_eq!(covered_by("Secret/ns/*:carry=yes"), ["Secret ns/a"]);
        assert_eq!(covered_by(&format!("{identity}:carry=yes")), ["Identity a"]);
        assert_eq!(covered_by(&format!("{identity}/a")), ["Identity a"]);
        // A name without a namespace is that of a cluster-scoped object, and what is in a namespace is not cluster-scoped.
        for none in ["Secret/a", "Secret:carry=", "Secret:other", "Secret/ns/c", &format!("{identity}/ns/*")]
        {
            assert_eq!(covered_by(none), Vec::<String>::new(), "{none}");
        }
    }

    #[test]
    fn parts_print_as_typed() {
        for typed in [
            "Secret",
            "Secret/ns/a",
            "Identity.infrastructure.cluster.x-k8s.io/a",
            "Secret/ns/*",
            "Secret:example.com/carry",
            "Secret:example.com/carry=yes",
            "Secret:carry=",
            "Secret/ns/*:example.com/carry=yes",
        ] {
            assert_eq!(selector_syntax::parse_part(typed).unwrap().to_string(), typed);
        }
    }
}
