//! Reads the nodes of workload clusters, by the kubeconfigs that Cluster API keeps for them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pivot_core::{GroupKind, Kind, KindLabels, Object};
use pivot_engine::WorkloadClusters;
use pivot_places::{Budget, ConnectOptions, KubePlace, Place};

/// Longest wait for the nodes of one workload cluster.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of answers of all workload clusters that are held at once, and of one of them. The files choose these servers.
const ANSWERS: usize = 256 << 20;
const ANSWER: usize = 64 << 20;

/// The API servers of workload clusters.
pub(crate) struct WorkloadServers {
    answers: Budget,
}

impl Default for WorkloadServers {
    fn default() -> Self {
        Self { answers: Budget::new(ANSWERS) }
    }
}

#[async_trait]
impl WorkloadClusters for WorkloadServers {
    async fn list_nodes(&self, kubeconfig: Object) -> Result<Vec<Object>, String> {
        let listed = tokio::time::timeout(PATIENCE, list_nodes(kubeconfig, self.answers.allot(ANSWER))).await;
        listed.unwrap_or_else(|_| Err(format!("no answer within {} seconds", PATIENCE.as_secs())))
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }
}

async fn list_nodes(kubeconfig: Object, answers: Budget) -> Result<Vec<Object>, String> {
    let options = ConnectOptions { budget: Some(answers), ..Default::default() };
    let place = KubePlace::connect_by_secret(kubeconfig, crate::workload::ENTRY, options).await;
    let place = place.map_err(|error| error.to_string())?;
    let listed = place.list(&Arc::new(nodes()), None).await;
    Ok(listed.map_err(|error| error.to_string())?.objects)
}

fn nodes() -> Kind {
    Kind {
        group_kind: GroupKind::new("", "Node"),
        version: "v1".to_owned(),
        plural: "nodes".to_owned(),
        namespaced: false,
        status_subresource: true,
        served: vec!["v1".to_owned()],
        labels: KindLabels::default(),
    }
}
