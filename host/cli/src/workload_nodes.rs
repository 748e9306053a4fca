//! Reads the nodes of workload clusters, by the kubeconfigs that Cluster API keeps for them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pivot_core::{GroupKind, Kind, KindLabels, Object};
use pivot_engine::WorkloadClusters;
use pivot_places::{Budget, ConnectOptions, KubePlace, Place};

/// Longest wait for the nodes of one workload cluster.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of answers of all workload clusters that are held at once. The authors of backups and of Clusters' kubeconfig Secrets choose these
/// servers: in a recovery, tenants of the source or the target.
const ANSWERS: usize = 256 << 20;
/// Bytes of one answer.
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

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use pivot_places::builtin_kinds;
    use serde_json::{Value, json};

    use super::*;

    async fn list_nodes_by(user: Value) -> String {
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "a", "user": user}],
        });
        let kind = builtin_kinds().into_iter().find(|kind| kind.group_kind.is_secret()).unwrap();
        let body = json!({"apiVersion": "v1", "kind": "Secret",
            "data": {"value": STANDARD.encode(kubeconfig.to_string())},
            "metadata": {"name": "c-kubeconfig", "namespace": "ns", "uid": "u", "resourceVersion": "1"}});
        let secret = Object::from_value(Arc::new(kind), &body).unwrap();
        WorkloadServers::default().list_nodes(secret).await.err().unwrap()
    }

    // proves: T186
    #[tokio::test]
    async fn compared_clusters_run_no_programs() {
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "hunter2"});
        for (field, value) in [("exec", exec), ("tokenFile", json!("/hunter2")), ("as", json!("hunter2"))] {
            let error = list_nodes_by(json!({field: value})).await;
            let expected = format!("kubeconfig in Secret ns/c-kubeconfig: refused: {field} (");
            assert!(error.starts_with(&expected) && !error.contains("hunter2"), "{error}");
        }
    }
}
