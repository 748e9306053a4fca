//! What plugins are told of the move.

use std::collections::BTreeSet;

use pivot_core::Key;
use pivot_core::release::ReleaseList;

use crate::plugins::hooks::{Hooks, MoveContext};

/// What plugins' checks are told of the move.
pub(crate) struct Scene {
    pub(crate) namespaces: BTreeSet<String>,
    pub(crate) keys: Vec<Key>,
}

impl Scene {
    pub(crate) fn of_list(list: &ReleaseList) -> Self {
        let keys: Vec<Key> = list.entries.iter().rev().map(|entry| entry.key.clone()).collect();
        Self { namespaces: keys.iter().filter_map(|key| key.namespace.clone()).collect(), keys }
    }

    pub(crate) fn for_plugin(&self, move_id: &str, plugin: &dyn Hooks) -> MoveContext {
        let description = plugin.describe();
        MoveContext {
            move_id: move_id.to_owned(),
            namespaces: self.namespaces.iter().cloned().collect(),
            objects: self.keys.iter().filter(|key| description.sees(&key.group_kind)).cloned().collect(),
        }
    }
}
