//! The accepted risks that a run used. At its end, the others are reported, so that users stop accepting them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pivot_core::GroupKind;
use pivot_core::messages::risk::{AcceptedRisks, Risk};

use crate::base::events::Event;

/// Collects used risks while a run is at work.
#[derive(Debug, Default)]
pub(crate) struct UsedRisks(Mutex<AcceptedRisks>);

impl UsedRisks {
    /// Adds a risk that takes no kinds.
    pub(crate) fn insert(&self, risk: Risk) {
        self.lock().insert(risk);
    }

    /// Adds a risk for kinds.
    pub(crate) fn insert_kinds(&self, risk: Risk, kinds: impl IntoIterator<Item = GroupKind>) {
        self.lock().insert_kinds(risk, kinds);
    }

    /// Returns true if the run has used a risk for a kind.
    pub(crate) fn contains_kind(&self, risk: Risk, kind: &GroupKind) -> bool {
        self.lock().contains_kind(risk, kind)
    }

    /// Returns the accepted risks that were not used.
    pub(crate) fn find_unused(&self, accepted: &AcceptedRisks) -> AcceptedRisks {
        accepted.difference(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, AcceptedRisks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Warns of accepted risks that nothing needs; none if there are none.
pub(crate) fn warn_of_unneeded(unneeded: &AcceptedRisks) -> Option<Event> {
    let codes = unneeded.iter().flat_map(|(risk, kinds)| match kinds.is_empty() {
        true => vec![risk.to_string()],
        false => kinds.iter().map(|kind| format!("{risk}={kind}")).collect(),
    });
    let codes: Vec<String> = codes.collect();
    (!codes.is_empty())
        .then(|| Event::warning("risk-not-needed", format!("not needed: {}", codes.join(", "))))
}
