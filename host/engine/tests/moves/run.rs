//! The engine's commands. Most tests take the defaults of what only some commands take.

use std::collections::BTreeSet;

use pivot_core::request::scope::ClusterName;
use pivot_core::{Key, Side};
pub(crate) use pivot_engine::run::{finish_alone, plan, start, status, status_of_one};
use pivot_engine::{Report, Resume, Rollback, RolledBack, Setup, Stop};

/// A setup, and what only commands take that continue a move or undo one.
#[derive(Clone)]
pub(crate) struct With {
    pub(crate) setup: Setup,
    pub(crate) move_id: Option<String>,
    pub(crate) absent: Option<Side>,
    pub(crate) unpause: BTreeSet<ClusterName>,
    pub(crate) imported: bool,
    pub(crate) pause: BTreeSet<ClusterName>,
    pub(crate) drop: BTreeSet<ClusterName>,
}

impl From<Setup> for With {
    fn from(setup: Setup) -> Self {
        let (unpause, pause, drop) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self { setup, move_id: None, absent: None, unpause, imported: false, pause, drop }
    }
}

impl With {
    /// The same command without a side.
    pub(crate) fn absent(side: Side, setup: Setup) -> Self {
        Self { absent: Some(side), ..setup.into() }
    }

    /// The same command, which may unpause the Clusters.
    pub(crate) fn unpause(setup: Setup, clusters: &[&Key]) -> Self {
        Self { unpause: names(clusters), ..setup.into() }
    }

    /// A command that may drop the lost workers of the Clusters.
    pub(crate) fn drop_workers(setup: Setup, clusters: &[&Key]) -> Self {
        Self { drop: names(clusters), ..setup.into() }
    }
}

fn names(clusters: &[&Key]) -> BTreeSet<ClusterName> {
    let name = |key: &&Key| ClusterName::new(key.namespace.as_deref().unwrap(), &key.name);
    clusters.iter().map(name).collect()
}

pub(crate) async fn resume(with: impl Into<With>) -> Result<Report, Stop> {
    let With { setup, move_id, absent, unpause, imported, pause, drop } = with.into();
    assert_ne!(absent, Some(Side::Target), "no resume goes without its target");
    let without_source = absent.is_some();
    let resume = Resume { move_id, without_source, imported, unpause, drop, pause };
    pivot_engine::run::resume(setup, resume).await
}

pub(crate) async fn rollback(with: impl Into<With>) -> Result<RolledBack, Stop> {
    let With { setup, move_id, absent, unpause, .. } = with.into();
    pivot_engine::run::rollback(setup, Rollback { move_id, absent, unpause }).await
}
