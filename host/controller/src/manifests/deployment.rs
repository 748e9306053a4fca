//! The Deployment of a controller or an agent.

use serde_json::{Value, json};

/// The user and group that the image runs as.
const IMAGE_USER: u32 = 65_532;
/// Path at which the certificate is mounted.
pub(super) const TLS_PATH: &str = "/tls";

/// Settings of a Deployment.
pub(super) struct DeploymentSettings<'a> {
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
    pub(super) image: &'a str,
    pub(super) replicas: u32,
    pub(super) memory: &'a str,
    /// Update strategy. Two pods of an agent would compete for its link.
    pub(super) strategy: &'a str,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<Value>,
    pub(super) ports: Vec<Value>,
    pub(super) probes: Vec<(&'a str, Value)>,
    /// The Secret with its certificate.
    pub(super) tls: Option<&'a str>,
}

pub(super) fn deployment_manifest(running: &DeploymentSettings<'_>) -> Value {
    let labels = json!({"app.kubernetes.io/name": running.name});
    let mut container = json!({
        "name": running.name, "image": running.image, "args": running.args, "env": running.env,
        "ports": running.ports,
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": running.memory}},
        "securityContext": {
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
        },
    });
    let mut pod = json!({
        "serviceAccountName": running.name,
        // A move that stops partway rolls back if it can.
        "terminationGracePeriodSeconds": 90,
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": IMAGE_USER, "runAsGroup": IMAGE_USER, "fsGroup": IMAGE_USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    });
    for (probe, how) in &running.probes {
        set_field(&mut container, probe, how.clone());
    }
    if let Some(secret) = running.tls {
        set_field(
            &mut container,
            "volumeMounts",
            json!([{"name": "tls", "mountPath": TLS_PATH, "readOnly": true}]),
        );
        set_field(
            &mut pod,
            "volumes",
            json!([{"name": "tls", "secret": {"secretName": secret, "defaultMode": 0o440}}]),
        );
    }
    set_field(&mut pod, "containers", json!([container]));
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": running.name, "namespace": running.namespace, "labels": labels},
        "spec": {
            "replicas": running.replicas, "selector": {"matchLabels": labels},
            "strategy": {"type": running.strategy},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    })
}

pub(super) fn set_field(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}
