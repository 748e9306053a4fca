//! The engine's commands. Most tests take the defaults of what only some commands take.

use std::collections::BTreeSet;

use pivot_core::scope::ClusterName;
pub(crate) use pivot_engine::run::{finish_alone, plan, rollback, start, status, status_of_one};
use pivot_engine::{Report, Resume, Setup, Stop};

/// A setup, and what only a resume takes.
#[derive(Clone)]
pub(crate) struct With {
    pub(crate) setup: Setup,
    pub(crate) imported: bool,
    pub(crate) pause: BTreeSet<ClusterName>,
}

impl From<Setup> for With {
    fn from(setup: Setup) -> Self {
        Self { setup, imported: false, pause: BTreeSet::new() }
    }
}

pub(crate) async fn resume(with: impl Into<With>) -> Result<Report, Stop> {
    let With { setup, imported, pause } = with.into();
    pivot_engine::run::resume(setup, Resume { imported, pause }).await
}
