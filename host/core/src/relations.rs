//! What plugins said of objects when they were asked how those relate to others.
//!
//! Plain data: core knows no plugin. Links and needs of all plugins count before the selection is made, leaves and
//! keeps after it.

use std::collections::BTreeMap;

use crate::plan::Note;
use crate::reach::Reach;
use crate::{Key, Uid};

/// An object belongs to another, as if that owned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The dependent.
    pub object: Uid,
    /// What it belongs to.
    pub to: Key,
    /// Who says so.
    pub plugin: String,
}

/// An object can't do without another: where it goes, that one goes too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The object that needs something.
    pub object: Uid,
    /// What it needs.
    pub what: Key,
    /// Who says so.
    pub plugin: String,
}

impl Need {
    /// What a user should know where what is needed was not read.
    pub(crate) fn missing(&self, object: Option<&Key>) -> Note {
        Note {
            code: "need-missing",
            object: object.cloned(),
            message: format!("plugin {} says that it needs {}, which was not read", self.plugin, self.what),
        }
    }
}

/// A plugin's wish for one object, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Who says so.
    pub plugin: String,
    /// Why, in the plugin's words.
    pub reason: String,
}

/// What all plugins said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relations {
    /// Belongings.
    pub links: Vec<Link>,
    /// Needs.
    pub needs: Vec<Need>,
    /// Objects that stay in the source, by id.
    pub leaves: BTreeMap<Uid, Said>,
    /// Objects that are copied but not deleted, by id.
    pub keeps: BTreeMap<Uid, Said>,
    /// How far each plugin reaches beyond the namespaces that move, by its name.
    pub reaches: BTreeMap<String, Vec<Reach>>,
}

impl Relations {
    /// Why an object is left, if a plugin leaves it. Without an id it can't be told from others.
    pub fn left(&self, uid: &Uid) -> Option<&Said> {
        if uid.0.is_empty() { None } else { self.leaves.get(uid) }
    }
}
