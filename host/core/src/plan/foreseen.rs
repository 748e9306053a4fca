//! A plan's forecast for one object: the object of the target with that name, and the changes by plugins.

use serde::{Deserialize, Serialize};

/// An object of the target that is used as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum InTarget {
    /// The target's object has the content of the source's.
    Same,
    /// The target's object differs, and the user accepted that.
    Differs {
        /// The fields that differ; empty for Secrets.
        fields: Vec<String>,
    },
}

/// The hooks by which plugins change what is foreseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangingHook {
    /// The object is held in the source.
    Hold,
    /// The copy is adapted before it is created.
    Adapt,
}

/// Changes of an object by plugins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginChange {
    /// When.
    pub hook: ChangingHook,
    /// The plugins.
    pub by: String,
    /// The fields; not named if a plugin sees the data of Secrets.
    pub fields: Vec<String>,
}

/// Identity of an object's content, without data that a file must not reveal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Content {
    /// A digest of it.
    Digest(String),
    /// Of a Secret, the version that the server gave it.
    Version(String),
}
