//! The relations between objects that plugins returned.
//!
//! Plain data: core knows no plugin. Links and needs of all plugins are applied before the selection, leaves and keeps after it.

use std::collections::BTreeMap;

use crate::plan::Note;
use crate::plugins::reach::Reach;
use crate::{Key, Uid};

/// An object belongs to another, as if the other owned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The dependent.
    pub object: Uid,
    /// The object that it belongs to.
    pub to: Key,
    /// The plugin that says so.
    pub plugin: String,
}

/// An object can't work without another: where it goes, the other goes too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The object that has the need.
    pub object: Uid,
    /// The object that is needed.
    pub what: Key,
    /// The plugin that says so.
    pub plugin: String,
}

impl Need {
    /// Returns the note for the user if the needed object was not read.
    pub(crate) fn missing_note(&self, object: Option<&Key>) -> Note {
        let message = format!("plugin {} says that it needs {}, which was not read", self.plugin, self.what);
        Note::new("need-missing", object, message)
    }
}

/// A plugin's statement about one object, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The plugin.
    pub plugin: String,
    /// The reason, in the plugin's words.
    pub reason: String,
}

/// Everything that all plugins returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relations {
    /// Links.
    pub links: Vec<Link>,
    /// Needs.
    pub needs: Vec<Need>,
    /// Objects that stay in the source, by UID.
    pub leaves: BTreeMap<Uid, Said>,
    /// Objects that are copied but not deleted, by UID.
    pub keeps: BTreeMap<Uid, Said>,
    /// Reaches of each plugin beyond the namespaces that move, by the plugin's name.
    pub reaches: BTreeMap<String, Vec<Reach>>,
}

impl Relations {
    /// Returns the reason why a plugin leaves an object, if one does. Objects without a UID can't be told apart.
    pub(crate) fn find_leave(&self, uid: &Uid) -> Option<&Said> {
        if uid.0.is_empty() { None } else { self.leaves.get(uid) }
    }
}
