//! Objects to install in a cluster for the controller, or for an agent. What a move needs beyond that depends on the move: `pivot-host generate
//! rbac` prints it.

use pivot_core::names::RECORD_NAMESPACE;
use serde_json::{Value, json};

use crate::definition::definition;
use crate::resource::GROUP;

const NAME: &str = "pivot-host";
const AGENT: &str = "pivot-host-agent";
const CONFIG_MAPS: (&str, &str) = ("", "configmaps");
const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");
const RBAC: &str = "rbac.authorization.k8s.io";
/// The user and group that the image runs as.
const NOBODY: u32 = 65_532;
const PORT: u16 = 8_080;
/// For probes alone: other pods can't reach it, where network policies are enforced.
const HEALTH: u16 = 8_081;
const AGENTS: u16 = 8_443;
/// The variable with the UID of the controller's pod.
const POD_UID: &str = "POD_UID";
/// Label of namespaces whose pods may read the metrics.
const READS_METRICS: &str = "pivot-host.io/reads-metrics";
/// The memory of an agent, and of a controller, which holds answers of clusters of others: a part of it is what they may take.
const MEMORY: &str = "1Gi";
const CONTROLLERS_MEMORY: &str = "4Gi";
/// Where the certificate is mounted.
const TLS: &str = "/tls";

/// What differs between installations.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The image.
    pub image: String,
    /// The controller's namespace.
    pub namespace: String,
    /// Number of controllers; one works at a time.
    pub replicas: u32,
    /// Whose agents it takes.
    pub agents: AgentsOf,
    /// What every move out of its cluster carries along, as it is typed.
    pub carry: Vec<String>,
}

/// Whose agents a controller takes.
#[derive(Clone, Debug)]
pub enum AgentsOf {
    /// It takes none.
    Nobody,
    /// Those that are invited, which call by these names.
    Invitation(Vec<String>),
    /// Those of the authority in this Secret of its namespace, with the certificate that it shows to them.
    Secret(String),
}

/// Everything, in the order in which it is applied.
pub fn manifests(installation: &Installation) -> Vec<Value> {
    let namespace = &installation.namespace;
    let secrets: &[&str] = match installation.agents {
        // Who is removed is noticed.
        AgentsOf::Invitation(_) => &["get", "list", "watch", "create", "patch", "delete"],
        AgentsOf::Nobody | AgentsOf::Secret(_) => &["get", "create", "patch", "delete"],
    };
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
        // Its Lease, the ways to targets that it keeps, and the agents that are invited.
        role(
            Some(namespace),
            &[
                rule("coordination.k8s.io", &["leases"], &["get", "create", "patch"]),
                rule("", &["secrets"], secrets),
            ],
        ),
        binding(Some(namespace), namespace),
        controller(installation),
        network_policy(installation),
    ];
    let records = record_access(&format!("{NAME}-controller"), NAME, namespace, &[CONFIG_MAPS, LEASES]);
    let objects = objects.into_iter().chain(records);
    let service = match installation.agents {
        AgentsOf::Nobody => None,
        AgentsOf::Invitation(_) | AgentsOf::Secret(_) => Some(service(namespace)),
    };
    objects.chain(service).collect()
}

/// Permissions of an account in the namespace of leases and records of moves. Nothing else is in it, so that the role needs no permission where
/// credentials, workloads or the cluster's own settings are. The namespace is not printed: who deletes what was printed keeps the records.
fn record_access(name: &str, account: &str, namespace: &str, resources: &[(&str, &str)]) -> [Value; 2] {
    let metadata = json!({"name": name, "namespace": RECORD_NAMESPACE});
    let verbs = ["get", "list", "create", "patch", "delete"];
    let rules: Vec<Value> = resources.iter().map(|(group, of)| rule(group, &[*of], &verbs)).collect();
    [
        json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata, "rules": rules}),
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        }),
    ]
}

/// Who may reach the controller: for its metrics pods of labelled namespaces, for its agents anybody, for its health nobody but the
/// node. What it may reach itself depends on where the clusters are.
fn network_policy(installation: &Installation) -> Value {
    let port = |port: u16| json!([{"protocol": "TCP", "port": port}]);
    let labelled = json!([{"namespaceSelector": {"matchLabels": {READS_METRICS: "true"}}}]);
    let metrics = json!({"from": labelled, "ports": port(PORT)});
    let agents = match installation.agents {
        AgentsOf::Nobody => None,
        AgentsOf::Invitation(_) | AgentsOf::Secret(_) => Some(json!({"ports": port(AGENTS)})),
    };
    let ingress: Vec<Value> = [metrics].into_iter().chain(agents).collect();
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": NAME, "namespace": installation.namespace},
        "spec": {
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": NAME}}, "policyTypes": ["Ingress"],
            "ingress": ingress,
        },
    })
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
    memory: &'a str,
    /// Two of an agent would be called one after the other's back.
    strategy: &'a str,
    args: Vec<String>,
    env: Vec<Value>,
    ports: Vec<Value>,
    probes: Vec<(&'a str, Value)>,
    /// The Secret with its certificate.
    tls: Option<&'a str>,
}

fn deployment(running: &Running<'_>) -> Value {
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
    let Installation { image, namespace, replicas, agents, carry } = installation;
    // A container that is started again is the only one of its pod, and leads at once if the one before it did.
    let identity = format!("$({POD_UID})");
    let own = [
        "controller",
        "run",
        "--namespace",
        namespace,
        "--lease-identity",
        &identity,
        "--plugins",
        "/plugins",
        "--listen",
    ]
    .map(str::to_owned);
    let pair = |flag: &str, value: &str| [flag.to_owned(), value.to_owned()];
    let (known, tls) = match agents {
        AgentsOf::Nobody => (Vec::new(), None),
        AgentsOf::Invitation(names) => {
            (names.iter().flat_map(|name| pair("--agents-host", name)).collect(), None)
        }
        AgentsOf::Secret(secret) => (pair("--agents-tls", TLS).to_vec(), Some(secret.as_str())),
    };
    let listens = (!known.is_empty()).then(|| pair("--agents", &format!("[::]:{AGENTS}")));
    let port = |name: &str, port: u16| json!({"name": name, "containerPort": port});
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "health"}});
    deployment(&Running {
        name: NAME,
        namespace,
        image,
        replicas: *replicas,
        memory: CONTROLLERS_MEMORY,
        strategy: "RollingUpdate",
        ports: [port("http", PORT), port("health", HEALTH)]
            .into_iter()
            .chain(listens.iter().map(|_| port("agents", AGENTS)))
            .collect(),
        args: own
            .into_iter()
            .chain([format!("[::]:{PORT}"), "--health".to_owned(), format!("[::]:{HEALTH}")])
            .chain(listens.into_iter().flatten())
            .chain(known)
            .chain(carry.iter().flat_map(|part| pair("--also-copy", part)))
            .collect(),
        env: vec![json!({"name": POD_UID, "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}})],
        probes: vec![("livenessProbe", probe("/healthz")), ("readinessProbe", probe("/readyz"))],
        tls,
    })
}

/// What differs between installations of an agent.
#[derive(Clone, Debug)]
pub struct AgentInstallation {
    /// The image.
    pub image: String,
    /// The agent's namespace.
    pub namespace: String,
    /// What it shows to the controller.
    pub shows: AgentShows,
    /// Whom it calls, and what it may be asked.
    pub arguments: Vec<String>,
    /// Returns true if runs take leases in its cluster: moves out of it do, and so does an agent that finishes moves alone.
    pub takes_leases: bool,
}

/// What an agent shows to its controller.
#[derive(Clone, Debug)]
pub enum AgentShows {
    /// What is in a Secret that somebody else writes.
    Mounted(String),
    /// What it gets by an invitation, in a Secret that it writes itself.
    Invited {
        /// Its name.
        secret: String,
        /// What is in it.
        data: Value,
    },
}

/// Everything for an agent, in the order in which it is applied, but for its permissions: they depend on the move.
pub fn agent_manifests(installation: &AgentInstallation) -> Vec<Value> {
    let AgentInstallation { image, namespace, shows, arguments, takes_leases } = installation;
    let (shown, own, tls) = match shows {
        AgentShows::Mounted(secret) => (["--tls".to_owned(), TLS.to_owned()], Vec::new(), Some(&**secret)),
        AgentShows::Invited { secret, data } => (
            ["--credentials".to_owned(), format!("{namespace}/{secret}")],
            credentials(namespace, secret, data).to_vec(),
            None,
        ),
    };
    let args = ["agent", "run"]
        .map(str::to_owned)
        .into_iter()
        .chain(shown)
        .chain(arguments.iter().cloned())
        .collect();
    let agent = deployment(&Running {
        name: AGENT,
        namespace,
        image,
        replicas: 1,
        memory: MEMORY,
        strategy: "Recreate",
        args,
        env: Vec::new(),
        ports: Vec::new(),
        probes: Vec::new(),
        tls,
    });
    let locks = (*takes_leases).then_some(LEASES);
    let resources: Vec<_> = [CONFIG_MAPS].into_iter().chain(locks).collect();
    let records = record_access(AGENT, AGENT, namespace, &resources);
    let objects = [own_namespace(namespace), account(AGENT, namespace)].into_iter().chain(own);
    objects.chain(records).chain([agent]).collect()
}

/// The Secret of an invited agent, which is the only thing that it may do of its own.
fn credentials(namespace: &str, secret: &str, data: &Value) -> [Value; 3] {
    let metadata = |name: &str| json!({"name": name, "namespace": namespace});
    let mut rule = rule("", &["secrets"], &["get", "patch"]);
    set(&mut rule, "resourceNames", json!([secret]));
    [
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata(secret), "data": data}),
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata(secret), "rules": [rule],
        }),
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata(secret),
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": secret},
            "subjects": [{"kind": "ServiceAccount", "name": AGENT, "namespace": namespace}],
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(takes_leases: bool) -> Vec<Value> {
        agent_manifests(&AgentInstallation {
            image: "i".to_owned(),
            namespace: "own".to_owned(),
            shows: AgentShows::Mounted("tls".to_owned()),
            arguments: Vec::new(),
            takes_leases,
        })
    }

    // proves: T149
    #[test]
    fn printed_roles_leave_kube_system_alone() {
        let controller = manifests(&Installation {
            image: "i".to_owned(),
            namespace: "own".to_owned(),
            replicas: 1,
            agents: AgentsOf::Nobody,
            carry: Vec::new(),
        });
        let both = ["configmaps", "leases"];
        for (objects, expected) in [(controller, &both[..]), (agent(true), &both), (agent(false), &both[..1])]
        {
            // `kubectl delete -f` would delete the records of moves with it.
            let namespaces: Vec<&Value> = objects
                .iter()
                .filter(|object| object["kind"] == "Namespace")
                .map(|object| &object["metadata"]["name"])
                .collect();
            assert_eq!(namespaces, ["own"]);
            assert!(objects.iter().all(|object| object["metadata"]["namespace"] != "kube-system"));
            let within = |object: &&Value| object["metadata"]["namespace"] == RECORD_NAMESPACE;
            let kinds: Vec<&Value> = objects.iter().filter(within).map(|object| &object["kind"]).collect();
            assert_eq!(kinds, ["Role", "RoleBinding"]);
            let role = objects.iter().filter(within).find(|object| object["kind"] == "Role").unwrap();
            let rules = role["rules"].as_array().unwrap().iter();
            let resources: Vec<&Value> =
                rules.flat_map(|rule| rule["resources"].as_array().unwrap()).collect();
            assert_eq!(resources, expected);
        }
    }
}
