//! Objects to install in a cluster for the controller, for an agent, or for backups. Further permissions depend on the move: `pivot-host
//! generate rbac` prints them.

mod availability;
mod backup;
mod deployment;

use pivot_core::objects::names::RECORD_NAMESPACE;
use serde_json::{Value, json};

use crate::definition::pivot_definition;
use crate::resource::GROUP;
use availability::{deny_ingress, disruption_budget, pod_monitor};
pub use backup::{BackupInstallation, backup_manifests, backup_user};
pub use deployment::Mounts;
use deployment::{DeploymentSettings, TLS_PATH, deployment_manifest, set_field};

const CONTROLLER_NAME: &str = "pivot-host";
const AGENT_NAME: &str = "pivot-host-agent";
const CONFIG_MAPS: (&str, &str) = ("", "configmaps");
const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");
const RBAC: &str = "rbac.authorization.k8s.io";
/// Path of the plugins in the image, and of those that are mounted over them.
pub const PLUGINS_PATH: &str = "/plugins";
const HTTP_PORT: u16 = 8_080;
const AGENTS_PORT: u16 = 8_443;
/// The variable with the UID of the controller's pod.
const POD_UID: &str = "POD_UID";
/// Label of namespaces whose pods may read the metrics.
const READS_METRICS: &str = "pivot-host.io/reads-metrics";
/// The memory of an agent, and of a controller, which holds answers of clusters of others: a part of it is what they may take.
const AGENT_MEMORY_LIMIT: &str = "1Gi";
const CONTROLLER_MEMORY_LIMIT: &str = "4Gi";

/// Settings of an installation of the controller.
#[derive(Clone, Debug)]
pub struct ControllerInstallation {
    /// The image.
    pub image: String,
    /// The controller's namespace.
    pub namespace: String,
    /// Number of controllers; one works at a time.
    pub replicas: u32,
    /// Agents that the controller accepts.
    pub agents: AcceptedAgents,
    /// Objects that every move out of the controller's cluster also copies, as they are typed.
    pub also_copy: Vec<String>,
    /// Namespaces whose agents may have Pivots created. Only there, the controller may create any.
    pub accept_returns: Vec<String>,
    /// Files that replace plugins and trust file of the image.
    pub mounts: Mounts,
    /// Adds a PodMonitor, whose kind only clusters with Prometheus's operator have.
    pub pod_monitor: bool,
}

/// The agents that a controller accepts.
#[derive(Clone, Debug)]
pub enum AcceptedAgents {
    /// No agents.
    None,
    /// Invited agents, which call by these host names.
    Invitation(Vec<String>),
    /// Agents of the authority in this Secret of the controller's namespace, which also has the controller's certificate.
    Secret(String),
}

/// Returns all objects of a controller, in the order in which they are applied.
pub fn controller_manifests(installation: &ControllerInstallation) -> Vec<Value> {
    let namespace = &installation.namespace;
    let secrets: &[&str] = match installation.agents {
        // A watch notices agents that are removed.
        AcceptedAgents::Invitation(_) => &["get", "list", "watch", "create", "patch", "delete"],
        AcceptedAgents::None | AcceptedAgents::Secret(_) => &["get", "create", "patch", "delete"],
    };
    let objects = [
        namespace_manifest(namespace),
        pivot_definition(),
        service_account(CONTROLLER_NAME, namespace),
        role_manifest(
            None,
            &[
                policy_rule(GROUP, &["pivots"], &["get", "list", "watch", "patch"]),
                policy_rule(GROUP, &["pivots/status"], &["patch"]),
                policy_rule("", &["events"], &["create"]),
            ],
        ),
        role_binding(None, namespace),
        // For the Lease, the kept Secrets of targets, and the invited agents.
        role_manifest(
            Some(namespace),
            &[
                policy_rule("coordination.k8s.io", &["leases"], &["get", "create", "patch"]),
                policy_rule("", &["secrets"], secrets),
            ],
        ),
        role_binding(Some(namespace), namespace),
        controller_deployment(installation),
        disruption_budget(CONTROLLER_NAME, namespace),
        network_policy(installation),
    ];
    let records = record_access(
        &format!("{CONTROLLER_NAME}-controller"),
        CONTROLLER_NAME,
        namespace,
        &[CONFIG_MAPS, LEASES],
    );
    let returns = installation.accept_returns.iter().flat_map(|within| {
        let rule = policy_rule(GROUP, &["pivots"], &["create"]);
        namespaced_access(within, &format!("{CONTROLLER_NAME}-returns"), CONTROLLER_NAME, namespace, &[rule])
    });
    let objects = objects.into_iter().chain(records).chain(returns);
    let service = match installation.agents {
        AcceptedAgents::None => None,
        AcceptedAgents::Invitation(_) | AcceptedAgents::Secret(_) => Some(agents_service(namespace)),
    };
    let monitor = installation.pod_monitor.then(|| pod_monitor(CONTROLLER_NAME, namespace));
    objects.chain(service).chain(monitor).collect()
}

/// Returns permissions of an account in the namespace of leases and records of moves. Nothing else is in it, so that the role
/// needs no permission where credentials, workloads or the cluster's own settings are. The namespace is not printed, so that
/// deleting the printed objects keeps the records.
fn record_access(name: &str, account: &str, namespace: &str, resources: &[(&str, &str)]) -> [Value; 2] {
    let verbs = ["get", "list", "create", "patch", "delete"];
    let rules: Vec<Value> = resources.iter().map(|(group, of)| policy_rule(group, &[*of], &verbs)).collect();
    namespaced_access(RECORD_NAMESPACE, name, account, namespace, &rules)
}

/// Returns permissions of an account in a namespace other than its own.
fn namespaced_access(
    within: &str,
    name: &str,
    account: &str,
    namespace: &str,
    rules: &[Value],
) -> [Value; 2] {
    let metadata = json!({"name": name, "namespace": within});
    [
        json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata, "rules": rules}),
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        }),
    ]
}

/// Returns the network policy of the controller. Pods of labelled namespaces can reach its metrics, any client can reach the port
/// for agents, and only the node can reach its health. Egress depends on where the clusters are, and isn't limited.
fn network_policy(installation: &ControllerInstallation) -> Value {
    let port = |port: u16| json!([{"protocol": "TCP", "port": port}]);
    let labelled = json!([{"namespaceSelector": {"matchLabels": {READS_METRICS: "true"}}}]);
    let metrics = json!({"from": labelled, "ports": port(HTTP_PORT)});
    let agents = match installation.agents {
        AcceptedAgents::None => None,
        AcceptedAgents::Invitation(_) | AcceptedAgents::Secret(_) => {
            Some(json!({"ports": port(AGENTS_PORT)}))
        }
    };
    let ingress: Vec<Value> = [metrics].into_iter().chain(agents).collect();
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": CONTROLLER_NAME, "namespace": installation.namespace},
        "spec": {
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": CONTROLLER_NAME}}, "policyTypes": ["Ingress"],
            "ingress": ingress,
        },
    })
}

fn namespace_manifest(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    })
}

fn service_account(name: &str, namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}})
}

/// Returns the Service that agents call. The way to it from outside depends on the site, and must pass TLS through.
fn agents_service(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": format!("{CONTROLLER_NAME}-agents"), "namespace": namespace},
        "spec": {
            "selector": {"app.kubernetes.io/name": CONTROLLER_NAME},
            "ports": [{"name": "agents", "port": AGENTS_PORT, "targetPort": "agents"}],
        },
    })
}

fn policy_rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

fn controller_metadata(namespace: Option<&str>) -> Value {
    let name = format!("{CONTROLLER_NAME}-controller");
    match namespace {
        Some(namespace) => json!({"name": name, "namespace": namespace}),
        None => json!({ "name": name }),
    }
}

fn role_manifest(namespace: Option<&str>, rules: &[Value]) -> Value {
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    json!({"apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": controller_metadata(namespace), "rules": rules})
}

fn role_binding(within: Option<&str>, namespace: &str) -> Value {
    let (kind, role) = match within {
        Some(_) => ("RoleBinding", "Role"),
        None => ("ClusterRoleBinding", "ClusterRole"),
    };
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": controller_metadata(within),
        "roleRef": {"apiGroup": RBAC, "kind": role, "name": format!("{CONTROLLER_NAME}-controller")},
        "subjects": [{"kind": "ServiceAccount", "name": CONTROLLER_NAME, "namespace": namespace}],
    })
}

fn controller_deployment(installation: &ControllerInstallation) -> Value {
    let ControllerInstallation {
        image,
        namespace,
        replicas,
        agents,
        also_copy,
        accept_returns,
        mounts,
        pod_monitor: _,
    } = installation;
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
        PLUGINS_PATH,
        "--listen",
    ]
    .map(str::to_owned);
    let pair = |flag: &str, value: &str| [flag.to_owned(), value.to_owned()];
    let (known, tls) = match agents {
        AcceptedAgents::None => (Vec::new(), None),
        AcceptedAgents::Invitation(names) => {
            (names.iter().flat_map(|name| pair("--agents-host", name)).collect(), None)
        }
        AcceptedAgents::Secret(secret) => (pair("--agents-tls", TLS_PATH).to_vec(), Some(secret.as_str())),
    };
    let listens = (!known.is_empty()).then(|| pair("--agents", &format!("[::]:{AGENTS_PORT}")));
    let port = |name: &str, port: u16| json!({"name": name, "containerPort": port});
    deployment_manifest(&DeploymentSettings {
        name: CONTROLLER_NAME,
        namespace,
        image,
        replicas: *replicas,
        memory: CONTROLLER_MEMORY_LIMIT,
        strategy: "RollingUpdate",
        ports: [port("http", HTTP_PORT)]
            .into_iter()
            .chain(listens.iter().map(|_| port("agents", AGENTS_PORT)))
            .collect(),
        args: own
            .into_iter()
            .chain([format!("[::]:{HTTP_PORT}")])
            .chain(listens.into_iter().flatten())
            .chain(known)
            .chain(also_copy.iter().flat_map(|part| pair("--also-copy", part)))
            .chain(accept_returns.iter().flat_map(|namespace| pair("--accept-returns", namespace)))
            .collect(),
        env: vec![json!({"name": POD_UID, "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}})],
        tls,
        mounts,
    })
}

/// Settings of an installation of an agent.
#[derive(Clone, Debug)]
pub struct AgentInstallation {
    /// The image.
    pub image: String,
    /// The agent's namespace.
    pub namespace: String,
    /// Credentials of the agent.
    pub credentials: AgentCredentials,
    /// Arguments with the controller's address, and with the requests that the agent allows.
    pub arguments: Vec<String>,
    /// Whether runs take leases in the agent's cluster. Moves out of the cluster do, and so does an agent that finishes moves
    /// alone.
    pub takes_leases: bool,
    /// Files that replace plugins and trust file of the image.
    pub mounts: Mounts,
}

/// The credentials with which an agent calls its controller.
#[derive(Clone, Debug)]
pub enum AgentCredentials {
    /// A Secret that another program writes.
    Mounted(String),
    /// Credentials from an invitation, in a Secret that the agent writes itself.
    Invited {
        /// Name of the Secret.
        secret: String,
        /// Data of the Secret. None if the cluster has the Secret already.
        data: Option<Value>,
    },
}

/// Returns the objects of an agent, in the order in which they are applied. Its permissions are left out, because they depend on
/// the move.
pub fn agent_manifests(installation: &AgentInstallation) -> Vec<Value> {
    let AgentInstallation { image, namespace, credentials, arguments, takes_leases, mounts } = installation;
    let (shown, own, tls) = match credentials {
        AgentCredentials::Mounted(secret) => {
            (["--tls".to_owned(), TLS_PATH.to_owned()], Vec::new(), Some(&**secret))
        }
        AgentCredentials::Invited { secret, data } => (
            ["--credentials".to_owned(), format!("{namespace}/{secret}")],
            credential_manifests(namespace, secret, data.as_ref()),
            None,
        ),
    };
    let args = ["agent", "run"]
        .map(str::to_owned)
        .into_iter()
        .chain(shown)
        .chain(arguments.iter().cloned())
        .collect();
    let agent = deployment_manifest(&DeploymentSettings {
        name: AGENT_NAME,
        namespace,
        image,
        replicas: 1,
        memory: AGENT_MEMORY_LIMIT,
        strategy: "Recreate",
        args,
        env: Vec::new(),
        ports: Vec::new(),
        tls,
        mounts,
    });
    let locks = (*takes_leases).then_some(LEASES);
    let resources: Vec<_> = [CONFIG_MAPS].into_iter().chain(locks).collect();
    let records = record_access(AGENT_NAME, AGENT_NAME, namespace, &resources);
    let objects =
        [namespace_manifest(namespace), service_account(AGENT_NAME, namespace)].into_iter().chain(own);
    objects.chain(records).chain([agent, deny_ingress(AGENT_NAME, namespace)]).collect()
}

/// Returns the Secret of an invited agent, with permission to update it.
fn credential_manifests(namespace: &str, secret: &str, data: Option<&Value>) -> Vec<Value> {
    let metadata = |name: &str| json!({"name": name, "namespace": namespace});
    let mut rule = policy_rule("", &["secrets"], &["get", "patch"]);
    set_field(&mut rule, "resourceNames", json!([secret]));
    let stored = data.map(
        |data| json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata(secret), "data": data}),
    );
    let access = [
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata(secret), "rules": [rule],
        }),
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata(secret),
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": secret},
            "subjects": [{"kind": "ServiceAccount", "name": AGENT_NAME, "namespace": namespace}],
        }),
    ];
    stored.into_iter().chain(access).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(takes_leases: bool) -> Vec<Value> {
        agent_manifests(&AgentInstallation {
            image: "i".to_owned(),
            namespace: "own".to_owned(),
            credentials: AgentCredentials::Mounted("tls".to_owned()),
            arguments: Vec::new(),
            takes_leases,
            mounts: Mounts::default(),
        })
    }

    // proves: T149
    #[test]
    fn printed_roles_leave_kube_system_alone() {
        let controller = controller_manifests(&ControllerInstallation {
            image: "i".to_owned(),
            namespace: "own".to_owned(),
            replicas: 1,
            agents: AcceptedAgents::None,
            also_copy: Vec::new(),
            accept_returns: Vec::new(),
            mounts: Mounts::default(),
            pod_monitor: false,
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

    #[test]
    fn mounted_files_are_required_and_read_only() {
        let mounts = Mounts {
            plugins: Some(("claim".to_owned(), PLUGINS_PATH.to_owned())),
            trust: Some("trusted".to_owned()),
        };
        let objects = agent_manifests(&AgentInstallation {
            image: "i".to_owned(),
            namespace: "own".to_owned(),
            credentials: AgentCredentials::Invited { secret: "invited".to_owned(), data: None },
            arguments: Vec::new(),
            takes_leases: true,
            mounts,
        });
        assert!(objects.iter().all(|object| object["kind"] != "Secret"));
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let pod = &deployment["spec"]["template"]["spec"];
        let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path, "readOnly": true});
        let expected = json!([mount("plugins", "/plugins"), mount("trust", "/etc/pivot-host")]);
        assert_eq!(pod["containers"][0]["volumeMounts"], expected);
        let expected = json!([
            {"name": "plugins", "persistentVolumeClaim": {"claimName": "claim", "readOnly": true}},
            {"name": "trust", "configMap": {"name": "trusted"}},
        ]);
        assert_eq!(pod["volumes"], expected);
    }

    // proves: T183
    #[test]
    fn controller_creates_pivots_in_accepted_namespaces_only() {
        let installed = |accept_returns: &[&str]| {
            controller_manifests(&ControllerInstallation {
                image: "i".to_owned(),
                namespace: "own".to_owned(),
                replicas: 1,
                agents: AcceptedAgents::Secret("tls".to_owned()),
                also_copy: Vec::new(),
                accept_returns: accept_returns.iter().map(|name| (*name).to_owned()).collect(),
                mounts: Mounts::default(),
                pod_monitor: false,
            })
        };
        let creators = |objects: &[Value]| {
            let creates = |rule: &Value| {
                rule["resources"] == json!(["pivots"]) && rule["verbs"].to_string().contains("create")
            };
            let roles = objects
                .iter()
                .filter(|object| object["rules"].as_array().is_some_and(|rules| rules.iter().any(creates)));
            roles.map(|role| role["metadata"]["namespace"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(creators(&installed(&[])), Vec::<Value>::new());
        let objects = installed(&["shop"]);
        assert_eq!(creators(&objects), ["shop"]);
        let args = |object: &Value| object["spec"]["template"]["spec"]["containers"][0]["args"].clone();
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        assert!(args(deployment).to_string().contains(r#""--accept-returns","shop""#), "{deployment:#}");
    }
}
