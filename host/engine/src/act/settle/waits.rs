//! Reports the waits of all objects of a wave together.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pivot_core::Key;
use tokio::time::Instant;

use crate::base::events::{Awaited, Watcher};
use crate::base::requests::reports::Reports;

/// The current waits, with their deadlines.
pub(super) struct Waits {
    open: Mutex<BTreeMap<Key, (Awaited, Instant)>>,
    reports: Reports,
}

impl Waits {
    pub(super) fn new() -> Self {
        Self { open: Mutex::default(), reports: Reports::quiet_at_first() }
    }

    /// Adds a wait of an object.
    pub(super) fn begin_wait(
        &self,
        watcher: &dyn Watcher,
        object: &Key,
        awaited: Awaited,
        deadline: Instant,
    ) {
        let (all, deadline) = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.insert(object.clone(), (awaited, deadline));
            let first = open.values().map(|(_, deadline)| *deadline).min().unwrap_or(deadline);
            (open.values().map(|(awaited, _)| awaited.clone()).collect(), first)
        };
        self.reports.report(watcher, all, deadline);
    }

    /// Removes the wait of an object.
    pub(super) fn end_wait(&self, object: &Key) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(object);
    }
}
