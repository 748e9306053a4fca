//! A part of what a side has, as people name it: all objects of a kind, or one object.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{GroupKind, Key};

/// All objects of a kind, or one of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Part {
    /// The kind.
    pub kind: GroupKind,
    /// The object; none: all of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectName>,
}

/// The name of an object of a known kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectName {
    /// Its namespace; none if it is cluster-scoped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Part {
    /// All objects of a kind.
    pub fn all(kind: GroupKind) -> Self {
        Self { kind, object: None }
    }

    /// One object.
    pub fn one(key: &Key) -> Self {
        let object = ObjectName { namespace: key.namespace.clone(), name: key.name.clone() };
        Self { kind: key.group_kind.clone(), object: Some(object) }
    }

    /// Whether an object is part of it.
    pub fn covers(&self, key: &Key) -> bool {
        let named = |name: &ObjectName| name.name == key.name && name.namespace == key.namespace;
        self.kind == key.group_kind && self.object.as_ref().is_none_or(named)
    }
}

/// Whether an object belongs to any of these.
pub(crate) fn covered(parts: &BTreeSet<Part>, key: &Key) -> bool {
    !parts.is_empty()
        && (parts.contains(&Part::all(key.group_kind.clone())) || parts.contains(&Part::one(key)))
}

/// As people write it: `Machine.cluster.x-k8s.io`, `Secret/ns/name`, `Identity.example.com/name`.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        let Some(ObjectName { namespace, name }) = &self.object else { return Ok(()) };
        namespace.iter().try_for_each(|namespace| write!(f, "/{namespace}"))?;
        write!(f, "/{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::key;

    #[test]
    fn a_part_is_a_kind_or_exactly_one_object() {
        let (secret, other, global) = (key("Secret ns/a"), key("Secret ns/b"), key("Identity a"));
        let kind = Part::all(secret.group_kind.clone());
        assert_eq!((kind.covers(&secret), kind.covers(&other), kind.covers(&global)), (true, true, false));
        let one = Part::one(&secret);
        assert_eq!((one.covers(&secret), one.covers(&other)), (true, false));
        // A name without a namespace is that of a cluster-scoped object.
        let mut unscoped = one.clone();
        unscoped.object.as_mut().unwrap().namespace = None;
        assert!(!unscoped.covers(&secret));
        for parts in [BTreeSet::from([kind.clone()]), BTreeSet::from([one.clone()])] {
            assert_eq!(covered(&parts, &secret), parts.iter().any(|part| part.covers(&secret)));
            assert_eq!(covered(&parts, &other), parts.iter().any(|part| part.covers(&other)));
        }
        let written = [kind, one, Part::one(&global)].map(|part| part.to_string());
        assert_eq!(written, ["Secret", "Secret/ns/a", "Identity.infrastructure.cluster.x-k8s.io/a"]);
    }
}
