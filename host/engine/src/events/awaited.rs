//! What a run waits for.

use std::fmt;

use pivot_core::hooks::Finding;
use pivot_core::{Key, Side};
use serde::{Deserialize, Serialize};

/// One thing that is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Awaited {
    /// The object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Key>,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// The plugin that waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// What is missing.
    pub what: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

impl Awaited {
    /// An object's state.
    pub(crate) fn object(key: &Key, side: Side, what: &str) -> Self {
        Self {
            object: Some(key.clone()),
            side: Some(side),
            plugin: None,
            what: what.to_owned(),
            remedy: String::new(),
        }
    }

    /// What a plugin waits for.
    pub(crate) fn plugin(plugin: &str, finding: &Finding) -> Self {
        Self {
            object: finding.object.clone(),
            side: None,
            plugin: Some(plugin.to_owned()),
            what: finding.message.clone(),
            remedy: finding.remedy.clone(),
        }
    }
}

/// As people read it: `Machine ns/m in the source: not paused yet`.
impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.plugin, &self.object, &self.side) {
            (Some(plugin), _, _) => write!(f, "{plugin}: ")?,
            (None, Some(object), Some(side)) => write!(f, "{object} in the {side}: ")?,
            (None, Some(object), None) => write!(f, "{object}: ")?,
            (None, None, _) => {}
        }
        f.write_str(&self.what)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "; {}", self.remedy) }
    }
}
