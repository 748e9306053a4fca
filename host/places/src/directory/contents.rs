//! What is in a directory, as far as a move sees it: objects, their kinds, and the version of the whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use pivot_core::{GroupKind, Key, Kind, Object};

/// An object and where it is kept.
pub(super) struct Entry {
    pub(super) file: String,
    pub(super) object: Object,
}

#[derive(Default)]
pub(super) struct Contents {
    pub(super) kinds: BTreeMap<GroupKind, Arc<Kind>>,
    pub(super) entries: BTreeMap<Key, Entry>,
    pub(super) version: u64,
}

impl Contents {
    pub(super) fn list(&self, kind: &Kind, namespace: Option<&str>) -> impl Iterator<Item = &Object> {
        let namespace = namespace.filter(|_| kind.namespaced).map(str::to_owned);
        let group_kind = kind.group_kind.clone();
        self.entries
            .iter()
            .filter(move |(key, _)| {
                key.group_kind == group_kind && (namespace.is_none() || key.namespace == namespace)
            })
            .map(|(_, entry)| &entry.object)
    }
}
