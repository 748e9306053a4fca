//! A plan in numbers.

use pivot_core::plan::Plan;
use serde::{Deserialize, Serialize};

/// The size of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Objects that are copied.
    pub objects: usize,
    /// Copied objects that are deleted from the source.
    pub moved: usize,
    /// Copied objects that also stay in the source.
    pub kept: usize,
    /// Copied objects that are created from a manifest.
    #[serde(default)]
    pub from_manifests: usize,
    /// Copied Clusters.
    pub clusters: usize,
    /// Copied ClusterClasses.
    pub cluster_classes: usize,
    /// Objects that were read and stay.
    pub stay: usize,
}

impl From<&Plan> for Summary {
    fn from(plan: &Plan) -> Self {
        Self {
            objects: plan.steps.len(),
            moved: plan.moved_steps().count(),
            kept: plan.kept_steps().count(),
            from_manifests: plan.added_steps().count(),
            clusters: plan.count_clusters(),
            cluster_classes: plan.count_cluster_classes(),
            stay: plan.stays.len(),
        }
    }
}
