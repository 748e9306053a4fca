//! The observed events, in order.

use serde_json::Value;

use crate::kinds::{ObjectKey, text};

/// Which of the two servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// What is moved from.
    Source,
    /// What is moved to.
    Target,
}

impl Side {
    /// The side across.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Source => Self::Target,
            Self::Target => Self::Source,
        }
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Source => "source",
            Self::Target => "target",
        })
    }
}

/// A state of an object that a watch has shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The side.
    pub side: Side,
    /// The object's key.
    pub key: ObjectKey,
    /// The state; for a deleted object, its last.
    pub object: Value,
    /// The object no longer exists.
    pub gone: bool,
}

impl Event {
    /// The object's annotation keys.
    pub(super) fn annotations(object: &Value) -> impl Iterator<Item = &str> {
        let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
        annotations.into_iter().flatten().map(|(key, _)| key.as_str())
    }

    /// Deletion has begun, or is over.
    pub(super) fn is_ending(&self) -> bool {
        self.gone || !text(&self.object, "/metadata/deletionTimestamp").is_empty()
    }
}

/// Everything that was seen.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// In the order of receipt. Within a side and kind that is the server's order; across watches it is the lab's.
    pub events: Vec<Event>,
    /// How many of them describe the initial state.
    pub started: usize,
}
