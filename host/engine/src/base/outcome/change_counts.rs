//! The changes to objects so far, for a run that stops before its end.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pivot_core::GroupKind;

use crate::base::events::{Event, Verb};

/// Number of changed objects, by verb and kind.
pub type Counts = BTreeMap<Verb, BTreeMap<GroupKind, usize>>;

/// Counts while a run is at work.
#[derive(Debug, Default)]
pub(crate) struct ChangeCounts(Mutex<Counts>);

impl ChangeCounts {
    /// Counts an event that reports a change to an object.
    pub(crate) fn count_event(&self, event: &Event) {
        if let Event::Object { verb, object, .. } = event {
            let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *counts.entry(*verb).or_default().entry(object.group_kind.clone()).or_default() += 1;
        }
    }

    /// The counts so far.
    pub(crate) fn so_far(&self) -> Counts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
