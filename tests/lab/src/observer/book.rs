//! The shared store of all watches.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::log::{Event, Side};
use crate::kinds::ObjectKey;

/// Clones share the store.
#[derive(Debug, Clone, Default)]
pub(super) struct Book(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) events: Vec<Event>,
    /// The resource versions of existing objects, as far as observed.
    pub(super) versions: BTreeMap<(Side, ObjectKey), String>,
}

impl Book {
    pub(super) fn read<T>(&self, read: impl FnOnce(&mut Entries) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn write(&self, event: Event, version: String) {
        self.read(|entries| {
            let place = (event.side, event.key.clone());
            if event.gone {
                entries.versions.remove(&place);
            } else {
                entries.versions.insert(place, version);
            }
            entries.events.push(event);
        });
    }
}
