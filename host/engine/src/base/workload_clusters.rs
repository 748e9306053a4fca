//! Reads the nodes of workload clusters.

use std::time::Duration;

use async_trait::async_trait;
use pivot_core::Object;

/// Connects to workload clusters.
#[async_trait]
pub trait WorkloadClusters: Send + Sync {
    /// Lists the nodes of a workload cluster. `kubeconfig` is the Secret in which Cluster API keeps its kubeconfig.
    ///
    /// # Errors
    ///
    /// The reason, for people.
    async fn list_nodes(&self, kubeconfig: Object) -> Result<Vec<Object>, String>;

    /// Returns the longest time until a workload cluster has answered or failed.
    fn patience(&self) -> Duration;
}
