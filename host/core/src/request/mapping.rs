//! Namespaces that have another name in the target.
//!
//! A move uses the source's names throughout. Names of the target are exchanged at its edge, in both directions, so that no
//! comparison, wait or rollback needs to know the difference. Each rule is in one place: this file decides which names are
//! exchanged, [`references`] finds them in objects, and `planner/mapping_check.rs` refuses names that can't be exchanged.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::request::validate::find_name_error;
use crate::{GroupKind, Key, Kind, Meta, Object};

pub(crate) mod references;

pub(crate) use references::names_credentials;

/// Names of the target's namespaces, by the source's names. All target names differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct NamespaceMap(BTreeMap<String, String>);

/// The reason why namespaces can't be mapped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// Invalid name.
    #[error("{0}")]
    Name(String),
    /// One namespace would become two.
    #[error("namespace {0} is mapped twice")]
    Twice(String),
    /// Two namespaces would become one.
    #[error("two namespaces are mapped to {0}")]
    Merged(String),
}

impl NamespaceMap {
    /// Creates a map from pairs of a name in the source and a name in the target.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, MapError> {
        let mut map = BTreeMap::new();
        for (from, to) in pairs {
            if let Some(odd) = find_name_error(&from).or_else(|| find_name_error(&to)) {
                return Err(MapError::Name(odd));
            }
            if map.values().any(|taken| *taken == to) {
                return Err(MapError::Merged(to));
            }
            if map.insert(from.clone(), to).is_some() {
                return Err(MapError::Twice(from));
            }
        }
        Ok(Self(map))
    }

    /// Returns true if every namespace keeps its name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns each name in the source with the name in the target.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(from, to)| (from.as_str(), to.as_str()))
    }

    /// Returns true if the map exchanges this name for another, in either direction.
    fn is_exchanged(&self, name: &str) -> bool {
        self.is_mapped(name) || self.is_taken(name)
    }

    /// Returns true if the source's namespace of this name gets another name.
    pub(crate) fn is_mapped(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns true if a namespace gets this name in the target.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.0.values().any(|to| to == name)
    }

    /// Returns the name in the target.
    ///
    /// If `a` becomes `b`, the target may have its own `a`. That namespace needs a name inside the move that differs from the
    /// source's `a`, and gets the free name `b`. Every name therefore has exactly one counterpart on the other side.
    pub fn in_target<'a>(&'a self, name: &'a str) -> &'a str {
        if let Some(to) = self.0.get(name) {
            return to;
        }
        let mut free = name;
        // Each turn goes one pair back along a chain. The chain has no cycle, because `name` is not mapped.
        while let Some((from, _)) = self.0.iter().find(|(_, to)| *to == free) {
            free = from;
        }
        free
    }

    /// Returns the name in the source.
    pub fn in_source<'a>(&'a self, name: &'a str) -> &'a str {
        if let Some((from, _)) = self.0.iter().find(|(_, to)| *to == name) {
            return from;
        }
        let mut free = name;
        while let Some(to) = self.0.get(free) {
            free = to;
        }
        free
    }

    /// Returns the renaming of objects that go into the target.
    pub fn into_target(&self) -> Renaming<'_> {
        Renaming { map: self, direction: Direction::IntoTarget }
    }

    /// Returns the renaming of objects that come out of the target.
    pub fn out_of_target(&self) -> Renaming<'_> {
        Renaming { map: self, direction: Direction::OutOfTarget }
    }
}

impl TryFrom<BTreeMap<String, String>> for NamespaceMap {
    type Error = MapError;

    fn try_from(pairs: BTreeMap<String, String>) -> Result<Self, MapError> {
        Self::new(pairs)
    }
}

impl From<NamespaceMap> for BTreeMap<String, String> {
    fn from(map: NamespaceMap) -> Self {
        map.0
    }
}

/// `a as b, c as d`.
impl fmt::Display for NamespaceMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pairs().enumerate().try_for_each(|(index, (from, to))| {
            write!(f, "{}{from} as {to}", if index > 0 { ", " } else { "" })
        })
    }
}

#[derive(Clone, Copy)]
enum Direction {
    IntoTarget,
    OutOfTarget,
}

/// A renaming of namespaces in objects for the other side.
#[derive(Clone, Copy)]
pub struct Renaming<'a> {
    map: &'a NamespaceMap,
    direction: Direction,
}

impl Renaming<'_> {
    /// Returns the other name of a namespace.
    fn rename_namespace<'n>(&'n self, name: &'n str) -> &'n str {
        match self.direction {
            Direction::IntoTarget => self.map.in_target(name),
            Direction::OutOfTarget => self.map.in_source(name),
        }
    }

    /// Renames the key of an object or of a namespace.
    pub fn rename_key(&self, key: &Key) -> Key {
        let mut key = key.clone();
        if let Some(namespace) = &mut key.namespace {
            self.replace_name(namespace);
        } else if is_namespace(&key.group_kind) {
            self.replace_name(&mut key.name);
        }
        key
    }

    /// Renames the namespaces in metadata.
    pub fn rename_meta(&self, kind: &Kind, meta: &mut Meta) {
        if let Some(namespace) = meta.namespace.as_mut().filter(|_| kind.namespaced) {
            self.replace_name(namespace);
        }
        if is_namespace(&kind.group_kind) {
            self.replace_name(&mut meta.name);
            if let Some(name) = meta.labels.get_mut(references::NAME_LABEL) {
                self.replace_name(name);
            }
        }
        for (annotation, value) in &mut meta.annotations {
            references::replace_in_annotation(annotation, value, &mut |name| self.find_counterpart(name));
        }
    }

    /// Renames the namespaces in a body, or in a merge patch of one.
    pub fn rename_body(&self, kind: &Kind, body: &mut Value) {
        if is_namespace(&kind.group_kind) {
            for path in ["/metadata/name", "/metadata/labels/kubernetes.io~1metadata.name"] {
                self.replace_value(body.pointer_mut(path));
            }
        } else if kind.namespaced {
            self.replace_value(body.pointer_mut("/metadata/namespace"));
        }
        references::replace_namespaces(&kind.group_kind, body, &mut |name| self.find_counterpart(name));
    }

    /// Renames the namespaces in an object. If no exchanged name occurs in its bytes, they stay as they are. An object whose body
    /// can't be parsed keeps its body, because nothing can use it and it must not block a list of other objects.
    pub fn rename_object(&self, mut object: Object) -> Object {
        let text = String::from_utf8_lossy(object.raw());
        if !self.map.pairs().any(|(from, to)| text.contains(from) || text.contains(to)) {
            return object;
        }
        let renamed = object.value().ok().and_then(|mut body| {
            self.rename_body(&object.kind, &mut body);
            let mut renamed = Object::from_value(object.kind.clone(), &body).ok()?;
            // The new body takes as much memory as the bytes that were read.
            renamed.meta.held = object.meta.held.clone();
            Some(renamed)
        });
        renamed.unwrap_or_else(|| {
            self.rename_meta(&object.kind.clone(), &mut object.meta);
            object
        })
    }

    /// Returns the other name, if the name is exchanged.
    fn find_counterpart(&self, name: &str) -> Option<String> {
        self.map.is_exchanged(name).then(|| self.rename_namespace(name).to_owned())
    }

    fn replace_name(&self, name: &mut String) {
        if let Some(other) = self.find_counterpart(name) {
            *name = other;
        }
    }

    fn replace_value(&self, value: Option<&mut Value>) {
        if let Some(Value::String(name)) = value {
            self.replace_name(name);
        }
    }
}

fn is_namespace(kind: &GroupKind) -> bool {
    kind.is("", "Namespace")
}

#[cfg(test)]
mod tests;
