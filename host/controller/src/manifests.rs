//! What is installed in a cluster for the controller, or for an agent. What a move needs beyond that depends on the move: `pivot-host rbac` prints
//! it.

use serde_json::{Value, json};

use crate::definition::definition;
use crate::resource::GROUP;

const NAME: &str = "pivot-host";
const AGENT: &str = "pivot-host-agent";
const RBAC: &str = "rbac.authorization.k8s.io";
/// The user and group that the image runs as.
const NOBODY: u32 = 65_532;
const PORT: u16 = 8_080;
const AGENTS: u16 = 8_443;
/// Where the certificate is mounted.
const TLS: &str = "/tls";

/// What differs between installations.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The image.
    pub image: String,
    /// The controller's namespace.
    pub namespace: String,
    /// How many of it; one works at a time.
    pub replicas: u32,
    /// The Secret there with the certificate that it shows to agents, if it takes any.
    pub agents_secret: Option<String>,
}

/// Everything, in the order in which it is applied.
pub fn manifests(installation: &Installation) -> Vec<Value> {
    let namespace = &installation.namespace;
    let objects = [
        own_namespace(namespace),
        definition(),
        account(NAME, namespace),
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
        controller(installation),
    ];
    let service = installation.agents_secret.iter().map(|_| service(namespace));
    objects.into_iter().chain(service).collect()
}

fn own_namespace(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    })
}

fn account(name: &str, namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}})
}

/// Where agents call. How that is reached from outside is the site's; it has to pass TLS through.
fn service(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": format!("{NAME}-agents"), "namespace": namespace},
        "spec": {
            "selector": {"app.kubernetes.io/name": NAME},
            "ports": [{"name": "agents", "port": AGENTS, "targetPort": "agents"}],
        },
    })
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

/// Whom a Deployment runs, and how.
struct Running<'a> {
    name: &'a str,
    namespace: &'a str,
    image: &'a str,
    replicas: u32,
    /// Two of an agent would be called one after the other's back.
    strategy: &'a str,
    args: Vec<String>,
    ports: Vec<Value>,
    probes: Vec<(&'a str, Value)>,
    /// The Secret with its certificate.
    tls: Option<&'a str>,
}

fn deployment(running: &Running<'_>) -> Value {
    let labels = json!({"app.kubernetes.io/name": running.name});
    let mut container = json!({
        "name": running.name, "image": running.image, "args": running.args, "ports": running.ports,
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
        },
    });
    let mut pod = json!({
        "serviceAccountName": running.name,
        // A move that stops midway undoes what it can.
        "terminationGracePeriodSeconds": 90,
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": NOBODY, "runAsGroup": NOBODY, "fsGroup": NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    });
    for (probe, how) in &running.probes {
        set(&mut container, probe, how.clone());
    }
    if let Some(secret) = running.tls {
        set(&mut container, "volumeMounts", json!([{"name": "tls", "mountPath": TLS, "readOnly": true}]));
        set(
            &mut pod,
            "volumes",
            json!([{"name": "tls", "secret": {"secretName": secret, "defaultMode": 0o440}}]),
        );
    }
    set(&mut pod, "containers", json!([container]));
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

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

fn controller(installation: &Installation) -> Value {
    let Installation { image, namespace, replicas, agents_secret } = installation;
    let own =
        ["controller", "--namespace", namespace, "--plugins", "/plugins", "--listen"].map(str::to_owned);
    let agents = ["--agents".to_owned(), format!("[::]:{AGENTS}"), "--agents-tls".to_owned(), TLS.to_owned()];
    let agents = agents.into_iter().filter(|_| agents_secret.is_some());
    let port = |name: &str, port: u16| json!({"name": name, "containerPort": port});
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "http"}});
    deployment(&Running {
        name: NAME,
        namespace,
        image,
        replicas: *replicas,
        strategy: "RollingUpdate",
        args: own.into_iter().chain([format!("[::]:{PORT}")]).chain(agents).collect(),
        ports: [port("http", PORT)]
            .into_iter()
            .chain(agents_secret.iter().map(|_| port("agents", AGENTS)))
            .collect(),
        probes: vec![("livenessProbe", probe("/healthz")), ("readinessProbe", probe("/readyz"))],
        tls: agents_secret.as_deref(),
    })
}

/// What differs between installations of an agent.
#[derive(Clone, Debug)]
pub struct AgentInstallation {
    /// The image.
    pub image: String,
    /// The agent's namespace.
    pub namespace: String,
    /// The Secret there that has its certificate.
    pub secret: String,
    /// Whom it calls, and what it may be asked.
    pub arguments: Vec<String>,
}

/// Everything for an agent, in the order in which it is applied, but for its permissions: they depend on the move.
pub fn agent_manifests(installation: &AgentInstallation) -> Vec<Value> {
    let AgentInstallation { image, namespace, secret, arguments } = installation;
    let args =
        ["agent", "--tls", TLS].map(str::to_owned).into_iter().chain(arguments.iter().cloned()).collect();
    vec![
        own_namespace(namespace),
        account(AGENT, namespace),
        deployment(&Running {
            name: AGENT,
            namespace,
            image,
            replicas: 1,
            strategy: "Recreate",
            args,
            ports: Vec::new(),
            probes: Vec::new(),
            tls: Some(secret),
        }),
    ]
}
