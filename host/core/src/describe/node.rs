//! One row of the tree, with the rows below it.

use serde::Serialize;

use super::columns::Columns;
use super::conditions::Condition;
use crate::Key;

/// A row, and the rows below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Subject of the row.
    #[serde(flatten)]
    pub what: Subject,
    /// Columns of the row.
    #[serde(flatten)]
    pub columns: Columns,
    /// Conditions, if the user asked for them. Such a row has no summarising condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// Rows below this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
}

/// The subject of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Subject {
    /// One object.
    Object(NamedObject),
    /// Names of several Machines in the same state.
    Machines(Vec<String>),
    /// Heading for the rows below it.
    Heading(&'static str),
}

/// An object in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedObject {
    /// Key of the object.
    #[serde(flatten)]
    pub key: Key,
    /// Role for the object above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// Version of Kubernetes in its specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether the object waits for its finalizers.
    #[serde(skip_serializing_if = "is_false")]
    pub deleting: bool,
    /// Reason why the object is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// The reason why a referenced object is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Reason in one word.
    pub reason: &'static str,
    /// Reason in a sentence.
    pub message: String,
}

impl Problem {
    /// The object doesn't exist.
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

    /// Adds columns, and either all conditions that the user asked for or the summarising condition.
    pub(super) fn with_columns(self, columns: Columns, conditions: Option<Vec<Condition>>) -> Self {
        let condition = columns.condition.filter(|_| conditions.is_none());
        Self { columns: Columns { condition, ..columns }, conditions, ..self }
    }

    /// Returns the title in parts that may look different: a warning, the kind, the name, the version.
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

    /// Returns the title as one text.
    pub fn name(&self) -> String {
        self.title_parts().concat()
    }

    /// Adds rows below this one: templates first, then by name, and Machines that share a row by the first name.
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

/// Heading of an object's templates.
pub(super) const TEMPLATES: &str = "Templates";
