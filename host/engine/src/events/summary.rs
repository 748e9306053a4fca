//! A plan in numbers.

use pivot_core::plan::Plan;
use serde::{Deserialize, Serialize};

/// How much a plan is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Objects that are copied.
    pub objects: usize,
    /// Of them, those that are deleted from the source.
    pub moved: usize,
    /// Of them, those that stay in the source too.
    pub kept: usize,
    /// Clusters among them.
    pub clusters: usize,
    /// ClusterClasses among them.
    pub cluster_classes: usize,
    /// Objects that were read and stay.
    pub stay: usize,
}

impl From<&Plan> for Summary {
    fn from(plan: &Plan) -> Self {
        Self {
            objects: plan.steps.len(),
            moved: plan.moved().count(),
            kept: plan.kept().count(),
            clusters: plan.clusters(),
            cluster_classes: plan.cluster_classes(),
            stay: plan.stays.len(),
        }
    }
}
