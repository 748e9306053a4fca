//! What the objects of a wave wait for, reported together.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pivot_core::Key;
use tokio::time::Instant;

use crate::events::{Awaited, Watcher};
use crate::requests::reports::Reports;

/// What is waited for now, and until when.
pub(super) struct Waits {
    open: Mutex<BTreeMap<Key, (Awaited, Instant)>>,
    reports: Reports,
}

impl Waits {
    pub(super) fn new() -> Self {
        Self { open: Mutex::default(), reports: Reports::later() }
    }

    /// An object waits.
    pub(super) fn begin(&self, watcher: &dyn Watcher, object: &Key, awaited: Awaited, deadline: Instant) {
        let (all, deadline) = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.insert(object.clone(), (awaited, deadline));
            let first = open.values().map(|(_, deadline)| *deadline).min().unwrap_or(deadline);
            (open.values().map(|(awaited, _)| awaited.clone()).collect(), first)
        };
        self.reports.tell(watcher, all, deadline);
    }

    /// It waits no more.
    pub(super) fn end(&self, object: &Key) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(object);
    }
}
