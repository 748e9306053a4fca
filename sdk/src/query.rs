//! A question for objects.

use crate::{Key, Kind, Side};

/// A question for objects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Query {
    /// Where.
    pub side: Side,
    /// Of which kind.
    pub kind: Kind,
    /// In which namespace; none: in all that move; `*`: in all there are. For a cluster-scoped kind none, for the
    /// objects that move, or `*`.
    pub namespace: Option<String>,
    /// Which; none: all of the kind.
    pub name: Option<String>,
}

impl Query {
    /// All objects of a kind in the namespaces that move.
    pub fn all(side: Side, kind: &Kind) -> Self {
        Self { side, kind: kind.clone(), namespace: None, name: None }
    }

    /// One object.
    pub fn one(side: Side, key: &Key) -> Self {
        let Key { kind, namespace, name } = key.clone();
        Self { side, kind, namespace, name: Some(name) }
    }

    /// Only those of a namespace.
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// In all namespaces, or all there are of a cluster-scoped kind.
    pub fn everywhere(self) -> Self {
        self.in_namespace("*")
    }
}
