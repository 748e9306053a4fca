//! What is installed in a cluster for the controller. What a move needs beyond that depends on the move: `pivot-host rbac` prints
//! it.

use serde_json::{Value, json};

use crate::definition::definition;
use crate::resource::GROUP;

const NAME: &str = "pivot-host";
const RBAC: &str = "rbac.authorization.k8s.io";
/// The user and group that the image runs as.
const NOBODY: u32 = 65_532;
const PORT: u16 = 8_080;

/// What differs between installations.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The image.
    pub image: String,
    /// The controller's namespace.
    pub namespace: String,
    /// How many of it; one works at a time.
    pub replicas: u32,
}

/// Everything, in the order in which it is applied.
pub fn manifests(installation: &Installation) -> Vec<Value> {
    let namespace = &installation.namespace;
    vec![
        json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
        }),
        definition(),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": namespace}}),
        role(
            None,
            &[
                rule(GROUP, &["pivots"], &["get", "list", "watch", "patch"]),
                rule(GROUP, &["pivots/status"], &["patch"]),
                rule("", &["events"], &["create"]),
            ],
        ),
        binding(None, namespace),
        // Its Lease, and the ways to targets that it keeps.
        role(
            Some(namespace),
            &[
                rule("coordination.k8s.io", &["leases"], &["get", "create", "patch"]),
                rule("", &["secrets"], &["get", "create", "patch", "delete"]),
            ],
        ),
        binding(Some(namespace), namespace),
        deployment(installation),
    ]
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

fn metadata(namespace: Option<&str>) -> Value {
    let name = format!("{NAME}-controller");
    match namespace {
        Some(namespace) => json!({"name": name, "namespace": namespace}),
        None => json!({ "name": name }),
    }
}

fn role(namespace: Option<&str>, rules: &[Value]) -> Value {
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    json!({"apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": metadata(namespace), "rules": rules})
}

fn binding(within: Option<&str>, namespace: &str) -> Value {
    let (kind, role) = match within {
        Some(_) => ("RoleBinding", "Role"),
        None => ("ClusterRoleBinding", "ClusterRole"),
    };
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": metadata(within),
        "roleRef": {"apiGroup": RBAC, "kind": role, "name": format!("{NAME}-controller")},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": namespace}],
    })
}

fn deployment(installation: &Installation) -> Value {
    let Installation { image, namespace, replicas } = installation;
    let labels = json!({"app.kubernetes.io/name": NAME});
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "http"}});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": NAME,
                    // A move that stops midway undoes what it can.
                    "terminationGracePeriodSeconds": 90,
                    "securityContext": {
                        "runAsNonRoot": true, "runAsUser": NOBODY, "runAsGroup": NOBODY,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [{
                        "name": "controller", "image": image,
                        "args": [
                            "controller", "--namespace", namespace, "--plugins", "/plugins",
                            "--listen", format!("[::]:{PORT}"),
                        ],
                        "ports": [{"name": "http", "containerPort": PORT}],
                        "livenessProbe": probe("/healthz"), "readinessProbe": probe("/readyz"),
                        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
                        "securityContext": {
                            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                            "capabilities": {"drop": ["ALL"]},
                        },
                    }],
                },
            },
        },
    })
}
