//! What was seen, in the order in which it was seen.

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
    /// Where.
    pub side: Side,
    /// Of what.
    pub key: ObjectKey,
    /// The state; of an object that is gone, its last.
    pub object: Value,
    /// The object does not exist any more.
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
    /// In the order of receipt. Within a side and kind that is the server's order; across watches it is ours.
    pub events: Vec<Event>,
    /// How many of them describe what was there before anything happened.
    pub started: usize,
}
