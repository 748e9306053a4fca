//! Objects next to a Deployment: they keep a replica at work, let Prometheus find it, and keep other pods away.

use serde_json::{Value, json};

fn selector(name: &str) -> Value {
    json!({"matchLabels": {"app.kubernetes.io/name": name}})
}

/// Returns a budget with which draining nodes evicts one pod at a time. It never blocks a drain, also with one replica.
pub(super) fn disruption_budget(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"maxUnavailable": 1, "selector": selector(name)},
    })
}

/// Returns the PodMonitor by which Prometheus's operator finds the metrics.
pub(super) fn pod_monitor(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "monitoring.coreos.com/v1", "kind": "PodMonitor",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/name": name}},
        "spec": {"selector": selector(name), "podMetricsEndpoints": [{"port": "http", "path": "/metrics"}]},
    })
}

/// Returns a network policy with which no pod can reach these pods.
pub(super) fn deny_ingress(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"podSelector": selector(name), "policyTypes": ["Ingress"], "ingress": []},
    })
}
