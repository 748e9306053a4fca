//! What a plan foresees for one object beside its way: what the target has under its name already, and what plugins change.

use serde::{Deserialize, Serialize};

/// An object of the target that is used as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum InTarget {
    /// It has what the source's has.
    Same,
    /// It differs, and the user accepted that.
    Differs {
        /// The fields in which it does; of a Secret they are not named.
        fields: Vec<String>,
    },
}

/// The hooks by which plugins change what is foreseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangingHook {
    /// The object is held in the source.
    Hold,
    /// Its copy is adapted before it is created.
    Adapt,
}

/// What plugins change of an object.
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

/// What identifies the content of an object, as far as a file may tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Content {
    /// A digest of it.
    Digest(String),
    /// Of a Secret, the version that the server gave it.
    Version(String),
}
