//! The view that plugins have of a move.

use std::collections::BTreeSet;

use pivot_core::Key;
use pivot_core::records::release::ReleaseList;
use pivot_core::request::mapping::NamespaceMap;

use crate::base::plugins::hooks::{Hooks, MoveContext};

/// The namespaces and objects of a move that plugins' checks see.
pub(crate) struct PluginView {
    /// The namespaces that move ([`pivot_core::plan::Plan::moving`]).
    pub(crate) namespaces: BTreeSet<String>,
    pub(crate) keys: Vec<Key>,
}

impl PluginView {
    /// The view of these objects; the flag says that an object makes no namespace move.
    pub(crate) fn from_keys<'a>(objects: impl Iterator<Item = (&'a Key, bool)> + Clone) -> Self {
        let moving = objects.clone().filter(|(_, elsewhere)| !elsewhere);
        Self {
            namespaces: moving.filter_map(|(key, _)| key.namespace.clone()).collect(),
            keys: objects.map(|(key, _)| key.clone()).collect(),
        }
    }

    pub(crate) fn from_list(list: &ReleaseList) -> Self {
        Self::from_keys(list.entries.iter().rev().map(|entry| (&entry.key, entry.elsewhere)))
    }

    pub(crate) fn for_plugin(&self, map: &NamespaceMap, plugin: &dyn Hooks) -> MoveContext {
        let description = plugin.describe();
        let namespaces = self.namespaces.iter();
        MoveContext {
            namespaces: namespaces.map(|name| (name.clone(), map.in_target(name).to_owned())).collect(),
            objects: self.keys.iter().filter(|key| description.can_see(&key.group_kind)).cloned().collect(),
        }
    }
}
