//! The Deployment of a controller or an agent.

use serde_json::{Value, json};

/// The user and group that the image runs as.
const IMAGE_USER: u32 = 65_532;
/// Path at which the certificate is mounted.
pub(super) const TLS_PATH: &str = "/tls";
/// For probes alone: other pods can't reach it, where network policies are enforced.
const HEALTH_PORT: u16 = 8_081;
/// Seconds between two probes, and the most that fail until the program has opened its port: it first checks its plugins.
const STARTING: (u32, u32) = (5, 60);
/// Folder in which the program looks for the trust file of its site.
const TRUST_PATH: &str = "/etc/pivot-host";

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
    /// The Secret with its certificate.
    pub(super) tls: Option<&'a str>,
    pub(super) mounts: &'a Mounts,
}

/// Files that pods read from the cluster instead of their image.
#[derive(Clone, Debug, Default)]
pub struct Mounts {
    /// PersistentVolumeClaim with a directory of plugins, and the path at which pods read it.
    pub plugins: Option<(String, String)>,
    /// ConfigMap with `trust.toml` and the keys that it names.
    pub trust: Option<String>,
}

impl Mounts {
    /// Returns the arguments that require the mounted files. Without a trust file in its ConfigMap, a pod would accept more than it
    /// should.
    fn args(&self) -> Vec<String> {
        let file = self.trust.as_ref().map(|_| format!("{TRUST_PATH}/trust.toml"));
        file.into_iter().flat_map(|file| ["--trust".to_owned(), file]).collect()
    }

    /// Returns the volumes and their mounts. None is optional.
    fn volumes(&self, tls: Option<&str>) -> (Vec<Value>, Vec<Value>) {
        let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path, "readOnly": true});
        let tls = tls.map(|secret| {
            let volume = json!({"name": "tls", "secret": {"secretName": secret, "defaultMode": 0o440}});
            (volume, mount("tls", TLS_PATH))
        });
        let plugins = self.plugins.as_ref().map(|(claim, path)| {
            let claim = json!({"claimName": claim, "readOnly": true});
            (json!({"name": "plugins", "persistentVolumeClaim": claim}), mount("plugins", path))
        });
        let trust = self
            .trust
            .as_ref()
            .map(|name| (json!({"name": "trust", "configMap": {"name": name}}), mount("trust", TRUST_PATH)));
        tls.into_iter().chain(plugins).chain(trust).unzip()
    }
}

pub(super) fn deployment_manifest(running: &DeploymentSettings<'_>) -> Value {
    let labels = json!({"app.kubernetes.io/name": running.name});
    let health = ["--health".to_owned(), format!("[::]:{HEALTH_PORT}")];
    let args = [&running.args[..], &running.mounts.args(), &health].concat();
    let health_port = json!({"name": "health", "containerPort": HEALTH_PORT});
    let ports: Vec<_> = running.ports.iter().cloned().chain([health_port]).collect();
    let mut container = json!({
        "name": running.name, "image": running.image, "args": args, "env": running.env,
        "ports": ports,
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": running.memory}},
    });
    restrict_container(&mut container);
    let mut pod = json!({
        "serviceAccountName": running.name,
        // A move that stops partway rolls back if it can.
        "terminationGracePeriodSeconds": 90,
    });
    restrict_pod(&mut pod);
    for (probe, how) in probes() {
        set_field(&mut container, probe, how);
    }
    let (volumes, mounts) = running.mounts.volumes(running.tls);
    if !volumes.is_empty() {
        set_field(&mut container, "volumeMounts", mounts.into());
        set_field(&mut pod, "volumes", volumes.into());
    }
    if running.replicas > 1 {
        set_field(&mut pod, "affinity", separate_nodes(&labels));
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

/// Returns the probes of a container. One that isn't ready isn't started again: it waits for a link, or for a permission.
fn probes() -> [(&'static str, Value); 3] {
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "health"}});
    let (mut starting, (period, failures)) = (probe("/healthz"), STARTING);
    set_field(&mut starting, "periodSeconds", period.into());
    set_field(&mut starting, "failureThreshold", failures.into());
    [("startupProbe", starting), ("livenessProbe", probe("/healthz")), ("readinessProbe", probe("/readyz"))]
}

/// Lets a pod run only as the user of the image.
pub(super) fn restrict_pod(pod: &mut Value) {
    let context = json!({
        "runAsNonRoot": true, "runAsUser": IMAGE_USER, "runAsGroup": IMAGE_USER, "fsGroup": IMAGE_USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    set_field(pod, "securityContext", context);
}

/// Lets a container write only to its volumes, and have no more privileges than it starts with.
pub(super) fn restrict_container(container: &mut Value) {
    let context = json!({
        "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
    });
    set_field(container, "securityContext", context);
}

/// Prefers nodes without another pod of the Deployment. A cluster with one node runs all of them there.
fn separate_nodes(labels: &Value) -> Value {
    let term = json!({"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"});
    let preferred = json!([{"weight": 100, "podAffinityTerm": term}]);
    json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}})
}

pub(super) fn set_field(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}
