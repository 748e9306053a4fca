//! A plan in numbers.

use pivot_core::plan::Plan;
use serde::{Deserialize, Serialize};

/// The size of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Objects that are copied.
    pub objects: usize,
    /// How many of these are deleted from the source.
    pub moved: usize,
    /// How many of these stay in the source too.
    pub kept: usize,
    /// How many of these the user adds.
    #[serde(default)]
    pub from_manifests: usize,
    /// How many of these are Clusters.
    pub clusters: usize,
    /// How many of these are ClusterClasses.
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
            from_manifests: plan.added().count(),
            clusters: plan.clusters(),
            cluster_classes: plan.cluster_classes(),
            stay: plan.stays.len(),
        }
    }
}
