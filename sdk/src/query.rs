//! A question for objects.

use crate::{Key, Kind, Side};

/// A question for objects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Query {
    /// The side.
    pub side: Side,
    /// The kind.
    pub kind: Kind,
    /// The namespace; none: all that move; `*`: all of them. For a cluster-scoped kind, none asks for the objects that move and
    /// `*` for all.
    pub namespace: Option<String>,
    /// The name; none: all of the kind.
    pub name: Option<String>,
}

impl Query {
    /// All objects of a kind in the namespaces that move.
    pub fn for_kind(side: Side, kind: &Kind) -> Self {
        Self { side, kind: kind.clone(), namespace: None, name: None }
    }

    /// One object.
    pub fn for_object(side: Side, key: &Key) -> Self {
        let Key { kind, namespace, name } = key.clone();
        Self { side, kind, namespace, name: Some(name) }
    }

    /// Only those in a namespace.
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// In all namespaces, or all objects of a cluster-scoped kind.
    pub fn in_all_namespaces(self) -> Self {
        self.in_namespace("*")
    }
}
