//! The items that a run waits for.

use std::fmt;

use pivot_core::messages::grouping::{Group, MAX_LISTED_NAMES, group_items};
use pivot_core::plugins::hooks::Finding;
use pivot_core::{Key, Side};
use serde::{Deserialize, Serialize};

/// One item that a run waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Awaited {
    /// The object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Key>,
    /// The side it is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// The plugin that waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The missing state, in words.
    pub what: String,
    /// Remedy, if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

impl Awaited {
    /// Waits for an object's state.
    pub(crate) fn for_object(key: &Key, side: Side, what: &str) -> Self {
        Self {
            object: Some(key.clone()),
            side: Some(side),
            plugin: None,
            what: what.to_owned(),
            remedy: String::new(),
        }
    }

    /// Waits for a plugin's finding to clear.
    pub(crate) fn for_plugin(plugin: &str, finding: &Finding) -> Self {
        Self {
            object: finding.object.clone(),
            side: None,
            plugin: Some(plugin.to_owned()),
            what: finding.message.clone(),
            remedy: finding.remedy.clone(),
        }
    }

    /// A wait for neither an object nor a plugin.
    pub(crate) fn from_text(what: String) -> Self {
        Self { object: None, side: None, plugin: None, what, remedy: String::new() }
    }

    /// One line for all waits that say the same, with the first `most` names of each kind.
    pub fn lines(awaited: &[Self], most: usize) -> Vec<String> {
        group_similar(awaited).iter().map(|group| describe_group(group, most)).collect()
    }
}

fn group_similar<'a>(awaited: impl IntoIterator<Item = &'a Awaited>) -> Vec<Group<'a, Awaited>> {
    group_items(awaited, |one| {
        let Awaited { object, side, plugin, what, remedy } = one;
        let side = side.map(|side| side.to_string()).unwrap_or_default();
        let plugin = plugin.clone().unwrap_or_default();
        (object.as_ref(), vec![plugin, side, what.clone(), remedy.clone()])
    })
}

fn describe_group(group: &Group<'_, Awaited>, most: usize) -> String {
    let Awaited { object, side, plugin, what, remedy } = group.first;
    let text = match (plugin, object, side) {
        (Some(plugin), _, _) => format!("plugin {plugin}: {}", group.line(what, most)),
        (None, Some(object), Some(side)) if group.objects.len() == 1 => {
            format!("{object} in the {side}: {what}")
        }
        (None, Some(_), Some(side)) => format!("in the {side}: {}", group.line(what, most)),
        (None, _, _) => group.line(what, most),
    };
    if remedy.is_empty() { text } else { format!("{text}; {remedy}") }
}

/// In the form that users see: `Machine ns/m in the source: not paused yet`.
impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        group_similar([self])
            .iter()
            .try_for_each(|group| f.write_str(&describe_group(group, MAX_LISTED_NAMES)))
    }
}
