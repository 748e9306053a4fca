//! One row of the tree, with those below it.

use serde::Serialize;

use super::columns::Columns;
use super::conditions::Condition;
use crate::Key;

/// A row, and the rows below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// What it is about.
    #[serde(flatten)]
    pub what: Subject,
    /// What is said about it.
    #[serde(flatten)]
    pub columns: Columns,
    /// Its conditions, if they were asked for: then none of them sums it up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// What is below it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
}

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Subject {
    /// One object.
    Object(NamedObject),
    /// Several Machines that say the same; their names.
    Machines(Vec<String>),
    /// Nothing but what is below it.
    Heading(&'static str),
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedObject {
    /// Its key.
    #[serde(flatten)]
    pub key: Key,
    /// What it is to the object above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// The version of Kubernetes that it wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether it waits for its finalizers.
    #[serde(skip_serializing_if = "is_false")]
    pub deleting: bool,
    /// Why nothing is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// Why nothing is known of an object that another refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// In one word.
    pub reason: &'static str,
    /// In words.
    pub message: String,
}

impl Problem {
    /// There is no such object.
    pub(super) fn not_found() -> Self {
        Self { reason: "NotFound", message: "it is referenced, but doesn't exist".to_owned() }
    }

    /// The kind is not served.
    pub fn not_served() -> Self {
        Self { reason: "NotServed", message: "it is referenced, but its kind is not defined here".to_owned() }
    }

    /// The objects of the kind could not be read.
    pub fn not_read(why: String) -> Self {
        Self { reason: "NotRead", message: why }
    }
}

// serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Node {
    pub(super) fn new(what: Subject) -> Self {
        Self { what, columns: Columns::default(), conditions: None, children: Vec::new() }
    }

    /// The same with what is said about it: by all conditions that were asked for, or by the one that sums it up.
    pub(super) fn with_columns(self, columns: Columns, conditions: Option<Vec<Condition>>) -> Self {
        let condition = columns.condition.filter(|_| conditions.is_none());
        Self { columns: Columns { condition, ..columns }, conditions, ..self }
    }

    /// How it is called, in parts that may look different: a warning, the kind, the name, the version.
    pub fn title_parts(&self) -> [String; 4] {
        let none = String::new;
        match &self.what {
            Subject::Heading(name) => [none(), (*name).to_owned(), none(), none()],
            Subject::Machines(names) => [none(), none(), format!("{} Machines...", names.len()), none()],
            Subject::Object(NamedObject { key, version, deleting, .. }) => {
                let Key { group_kind, namespace, name } = key;
                let deleted = if *deleting { "!! DELETED !! ".to_owned() } else { none() };
                let name = namespace.as_ref().map_or(name.clone(), |namespace| format!("{namespace}/{name}"));
                let version = version.as_ref().map(|version| format!(", {version}")).unwrap_or_default();
                [deleted, format!("{} ", group_kind.kind), name, version]
            }
        }
    }

    /// The same in one.
    pub fn name(&self) -> String {
        self.title_parts().concat()
    }

    /// Adds rows below it, in their order: templates first, then by name, and Machines that share a row by the first of them.
    pub(super) fn with_children(mut self, mut children: Vec<Self>) -> Self {
        children.sort_by_cached_key(|child| match &child.what {
            Subject::Heading(TEMPLATES) => (0, child.name(), None),
            Subject::Machines(names) => (1, child.name(), names.first().cloned()),
            _ => (1, child.name(), None),
        });
        self.children = children;
        self
    }
}

/// What is above the templates of an object.
pub(super) const TEMPLATES: &str = "Templates";
