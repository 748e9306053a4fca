//! The fields in which objects name a namespace: one table of the known kinds.
//!
//! The tables cover the definitions of Cluster API 1.8 to 1.14, Metal3, and the providers for AWS, Azure, Docker, GCP, OpenStack,
//! vSphere, Helm and in-cluster IPAM. Each of their fields whose name ends in `namespace` or `namespaces` is in a table, which
//! `tests/scenarios/tests/providers/namespaces.rs` checks. Fields in a status are listed only where a plugin restores it, because
//! copies start without a status.

use serde_json::Value;

use crate::GroupKind;
use crate::objects::names::LAST_APPLIED;

/// Label that API servers set on each namespace.
pub(crate) const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Annotations with `namespace/name`.
const NAMESPACED_NAMES: [&str; 3] = [
    "metal3.io/BareMetalHost",
    "runtime.cluster.x-k8s.io/inject-ca-from-secret",
    "cert-manager.io/inject-ca-from",
];
/// Annotations with a JSON text of references.
const JSON_TEXTS: [&str; 1] = ["baremetalhost.metal3.io/status"];

const CORE: &str = "cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const METAL3: &str = "metal3.io";
const METAL3_IPAM: &str = "ipam.metal3.io";
const RBAC: &str = "rbac.authorization.k8s.io";

/// A group, kinds of it, and paths in their bodies. `[]` stands for each item of a list.
type Row = (&'static str, &'static [&'static str], &'static [&'static str]);

const MACHINE_TEMPLATE: [&str; 3] = [
    "spec.template.metadata.namespace",
    "spec.template.spec.bootstrap.configRef.namespace",
    "spec.template.spec.infrastructureRef.namespace",
];

/// Paths of namespaces of the management cluster that holds the object.
const REFERENCES: &[Row] = &[
    (
        CORE,
        &["Cluster"],
        &[
            "spec.controlPlaneRef.namespace",
            "spec.infrastructureRef.namespace",
            "spec.topology.classNamespace",
            "spec.topology.classRef.namespace",
            "spec.topology.controlPlane.machineHealthCheck.remediationTemplate.namespace",
            "spec.topology.workers.machineDeployments[].machineHealthCheck.remediationTemplate.namespace",
        ],
    ),
    (
        CORE,
        &["ClusterClass"],
        &[
            "spec.controlPlane.machineHealthCheck.remediationTemplate.namespace",
            "spec.controlPlane.machineInfrastructure.ref.namespace",
            "spec.controlPlane.ref.namespace",
            "spec.infrastructure.ref.namespace",
            "spec.workers.machineDeployments[].machineHealthCheck.remediationTemplate.namespace",
            "spec.workers.machineDeployments[].template.bootstrap.ref.namespace",
            "spec.workers.machineDeployments[].template.infrastructure.ref.namespace",
            "spec.workers.machinePools[].template.bootstrap.ref.namespace",
            "spec.workers.machinePools[].template.infrastructure.ref.namespace",
        ],
    ),
    (CORE, &["Machine"], &["spec.bootstrap.configRef.namespace", "spec.infrastructureRef.namespace"]),
    (CORE, &["MachineDeployment", "MachinePool", "MachineSet"], &MACHINE_TEMPLATE),
    (CORE, &["MachineHealthCheck"], &["spec.remediationTemplate.namespace"]),
    (
        CONTROL_PLANE,
        &["KubeadmControlPlane"],
        &["spec.infrastructureTemplate.namespace", "spec.machineTemplate.infrastructureRef.namespace"],
    ),
    (
        CONTROL_PLANE,
        &["KubeadmControlPlaneTemplate"],
        &["spec.template.spec.machineTemplate.infrastructureRef.namespace"],
    ),
    ("runtime.cluster.x-k8s.io", &["ExtensionConfig"], &["spec.clientConfig.service.namespace"]),
    (
        "addons.cluster.x-k8s.io",
        &["HelmChartProxy", "HelmReleaseProxy"],
        &[
            "spec.clusterRef.namespace",
            "spec.credentials.secret.namespace",
            "spec.tlsConfig.caSecret.namespace",
        ],
    ),
    (
        INFRASTRUCTURE,
        &["AWSClusterControllerIdentity", "AWSClusterRoleIdentity", "AWSClusterStaticIdentity"],
        &["spec.allowedNamespaces.list[]"],
    ),
    (
        INFRASTRUCTURE,
        &["AzureClusterIdentity"],
        &["spec.allowedNamespaces.list[]", "spec.clientSecret.namespace"],
    ),
    (INFRASTRUCTURE, &["AzureCluster", "AzureManagedControlPlane"], &["spec.identityRef.namespace"]),
    (
        INFRASTRUCTURE,
        &["AzureClusterTemplate", "AzureManagedControlPlaneTemplate"],
        &["spec.template.spec.identityRef.namespace"],
    ),
    (INFRASTRUCTURE, &["GCPCluster", "GCPManagedCluster"], &["spec.credentialsRef.namespace"]),
    (
        INFRASTRUCTURE,
        &["GCPClusterTemplate", "GCPManagedClusterTemplate"],
        &["spec.template.spec.credentialsRef.namespace"],
    ),
    (INFRASTRUCTURE, &["OpenStackClusterIdentity"], &["spec.secretRef.namespace"]),
    (INFRASTRUCTURE, &["ROSAOCMRoleConfig"], &["spec.credentialsSecretRef.namespace"]),
    (INFRASTRUCTURE, &["VSphereVM"], &["spec.bootstrapRef.namespace"]),
    (
        INFRASTRUCTURE,
        &["Metal3Machine"],
        &[
            "spec.dataTemplate.namespace",
            "spec.metaData.namespace",
            "spec.networkData.namespace",
            "spec.userData.namespace",
        ],
    ),
    (
        INFRASTRUCTURE,
        &["Metal3MachineTemplate"],
        &[
            "spec.template.spec.dataTemplate.namespace",
            "spec.template.spec.metaData.namespace",
            "spec.template.spec.networkData.namespace",
            "spec.template.spec.userData.namespace",
        ],
    ),
    (
        INFRASTRUCTURE,
        &["Metal3Data"],
        &[
            "spec.claim.namespace",
            "spec.metaData.namespace",
            "spec.networkData.namespace",
            "spec.template.namespace",
        ],
    ),
    (INFRASTRUCTURE, &["Metal3DataClaim"], &["spec.template.namespace"]),
    (
        METAL3,
        &["BareMetalHost"],
        &[
            "spec.consumerRef.namespace",
            "spec.metaData.namespace",
            "spec.networkData.namespace",
            "spec.networkInterfaces[].hostNetworkAttachment.namespace",
            "spec.userData.namespace",
            "status.goodCredentials.credentials.namespace",
            "status.triedCredentials.credentials.namespace",
        ],
    ),
    (METAL3, &["BMCEventSubscription"], &["spec.httpHeadersRef.namespace"]),
    (METAL3, &["BareMetalSwitch"], &["spec.credentials.namespace"]),
    (
        METAL3,
        &["HostClaim"],
        &[
            "spec.consumerRef.namespace",
            "spec.hostSelector.inNamespace",
            "spec.metaData.namespace",
            "spec.networkData.namespace",
            "spec.userData.namespace",
        ],
    ),
    (METAL3, &["HostDeployPolicy"], &["spec.hostClaimNamespaces.names[]"]),
    (METAL3_IPAM, &["IPAddress"], &["spec.claim.namespace", "spec.pool.namespace"]),
    (METAL3_IPAM, &["IPClaim"], &["spec.pool.namespace"]),
    // The namespace that a provider's controllers watch.
    ("clusterctl.cluster.x-k8s.io", &["Provider"], &["watchedNamespace"]),
    (RBAC, &["ClusterRoleBinding", "RoleBinding"], &["subjects[].namespace"]),
];

/// Paths of users and groups, which may be the service accounts of a namespace.
const USERS: &[Row] = &[(RBAC, &["ClusterRoleBinding", "RoleBinding"], &["subjects[].name"])];

/// Prefixes of the names of a namespace's service accounts, as a group and as users.
const USERS_OF: [&str; 2] = ["system:serviceaccounts:", "system:serviceaccount:"];

/// Paths of namespaces of other clusters, mostly of the workload cluster. They keep their names.
const OF_OTHER_CLUSTERS: &[Row] = &[
    ("addons.cluster.x-k8s.io", &["HelmChartProxy", "HelmReleaseProxy"], &["spec.namespace"]),
    (INFRASTRUCTURE, &["AWSFargateProfile"], &["spec.selectors[].namespace"]),
    (
        INFRASTRUCTURE,
        &["AzureManagedControlPlane"],
        &["spec.extensions[].scope.releaseNamespace", "spec.extensions[].scope.targetNamespace"],
    ),
    (
        INFRASTRUCTURE,
        &["AzureManagedControlPlaneTemplate"],
        &[
            "spec.template.spec.extensions[].scope.releaseNamespace",
            "spec.template.spec.extensions[].scope.targetNamespace",
        ],
    ),
    (
        CONTROL_PLANE,
        &["AWSManagedControlPlane"],
        &["spec.accessEntries[].accessPolicies[].accessScope.namespaces[]"],
    ),
    (
        CONTROL_PLANE,
        &["AWSManagedControlPlaneTemplate"],
        &["spec.template.spec.accessEntries[].accessPolicies[].accessScope.namespaces[]"],
    ),
    (
        CONTROL_PLANE,
        &["ROSAControlPlane"],
        &["spec.externalAuthProviders[].oidcClients[].componentNamespace"],
    ),
    // Keys under which the machine finds its namespace.
    (INFRASTRUCTURE, &["Metal3DataTemplate"], &["spec.metaData.namespaces[].key"]),
];

/// Kinds whose controllers name things outside Kubernetes after the namespace, and find them again by that name.
const NAMED_AFTER_NAMESPACE: &[(&str, &str, &str)] =
    &[(INFRASTRUCTURE, "OpenStackCluster", "networks, routers and security groups")];

/// Returns another name for a namespace, if it has one.
type Replace<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// Replaces every name of a namespace of this management cluster in a body, or in a merge patch of one. The body's own name and
/// namespace are no references.
pub(crate) fn replace_namespaces(kind: &GroupKind, body: &mut Value, with: &mut Replace<'_>) {
    if let Some(annotations) = body.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        for (annotation, value) in annotations {
            if let Value::String(value) = value {
                replace_in_annotation(annotation, value, with);
            }
        }
    }
    for path in paths_of_kind(REFERENCES, kind) {
        visit_path(body, path, &mut |value| replace_name(value, with));
    }
    for path in paths_of_kind(USERS, kind) {
        visit_path(body, path, &mut |value| replace_in_user(value, with));
    }
}

fn replace_name(value: &mut Value, with: &mut Replace<'_>) {
    if let Value::String(name) = value
        && let Some(other) = with(name)
    {
        *name = other;
    }
}

/// Replaces the namespace in the user or group name of service accounts.
fn replace_in_user(value: &mut Value, with: &mut Replace<'_>) {
    let Value::String(user) = value else { return };
    for prefix in USERS_OF {
        let Some(rest) = user.strip_prefix(prefix) else { continue };
        let namespace = rest.split(':').next().unwrap_or(rest);
        if let Some(other) = with(namespace) {
            *user = format!("{prefix}{other}{}", rest.strip_prefix(namespace).unwrap_or_default());
        }
        return;
    }
}

/// Replaces the names in the value of a known annotation.
pub(crate) fn replace_in_annotation(annotation: &str, value: &mut String, with: &mut Replace<'_>) {
    if NAMESPACED_NAMES.contains(&annotation) {
        replace_before_slash(value, with);
    } else if JSON_TEXTS.contains(&annotation) {
        replace_in_json_text(value, with);
    }
}

/// Replaces the namespace in `namespace/name`.
fn replace_before_slash(value: &mut String, with: &mut Replace<'_>) {
    if let Some((namespace, name)) = value.split_once('/')
        && let Some(other) = with(namespace)
    {
        *value = format!("{other}/{name}");
    }
}

/// Replaces every `"namespace":"…"` in a text of JSON. Parsing and printing could change more than the name, and the text would
/// then differ from the other side's.
fn replace_in_json_text(value: &mut String, with: &mut Replace<'_>) {
    const FIELD: &str = r#""namespace":""#;
    let mut renamed = String::with_capacity(value.len());
    let mut rest = value.as_str();
    while let Some((before, after)) = rest.split_once(FIELD) {
        let Some((name, after)) = after.split_once('"') else { break };
        let other = with(name);
        renamed.extend([before, FIELD, other.as_deref().unwrap_or(name), "\""]);
        rest = after;
    }
    renamed.push_str(rest);
    *value = renamed;
}

/// Returns true if a text of unknown meaning names users of a namespace.
pub(crate) fn contains_users_of(text: &str, namespace: &str) -> bool {
    let [group, user] = USERS_OF;
    let ends = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '-');
    let mut groups = text.match_indices(group).filter_map(|(at, _)| text.get(at + group.len()..));
    groups.any(|rest| rest.strip_prefix(namespace).is_some_and(ends))
        || text.contains(&format!("{user}{namespace}:"))
}

/// Calls a function with every value in a body, or in a merge patch of one, that names a namespace of another cluster.
pub(crate) fn visit_other_cluster_namespaces(
    kind: &GroupKind,
    body: &mut Value,
    with: &mut dyn FnMut(&mut Value),
) {
    paths_of_kind(OF_OTHER_CLUSTERS, kind).for_each(|path| visit_path(body, path, with));
}

/// Returns true if the namespaces in an annotation are known.
pub(crate) fn is_known_annotation(annotation: &str) -> bool {
    // `kubectl apply` uses the last configuration only to find removed fields: the old name does no harm.
    annotation == LAST_APPLIED || NAMESPACED_NAMES.contains(&annotation) || JSON_TEXTS.contains(&annotation)
}

/// Returns the resources that a kind's controllers name after the namespace.
pub(crate) fn resources_named_after(kind: &GroupKind) -> Option<&'static str> {
    NAMED_AFTER_NAMESPACE.iter().find(|(group, name, _)| kind.is(group, name)).map(|(_, _, what)| *what)
}

/// Returns true if objects of a kind name the namespace of credentials or certificates that they use.
pub(crate) fn names_credentials(kind: &GroupKind) -> bool {
    let is_of_secret =
        |path: &str| !path.starts_with("status.") && (path.contains("ecret") || path.contains("redential"));
    paths_of_kind(REFERENCES, kind).any(is_of_secret)
}

fn paths_of_kind(rows: &'static [Row], kind: &GroupKind) -> impl Iterator<Item = &'static str> {
    let of_kind = rows.iter().filter(|(group, kinds, _)| kinds.iter().any(|name| kind.is(group, name)));
    of_kind.flat_map(|(_, _, paths)| paths.iter().copied())
}

/// Calls a function with each value at a path. `[]` stands for each item of a list.
pub(crate) fn visit_path(value: &mut Value, path: &str, with: &mut dyn FnMut(&mut Value)) {
    let (step, rest) = match path.split_once('.') {
        Some((step, rest)) => (step, Some(rest)),
        None => (path, None),
    };
    let mut onward = |value: &mut Value| match rest {
        Some(rest) => visit_path(value, rest, with),
        None => with(value),
    };
    match step.strip_suffix("[]") {
        Some(list) => {
            value.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().for_each(onward);
        }
        None => {
            if let Some(value) = value.get_mut(step) {
                onward(value);
            }
        }
    }
}

#[cfg(test)]
pub(crate) fn known_paths(kind: &GroupKind) -> Vec<&'static str> {
    paths_of_kind(REFERENCES, kind).chain(paths_of_kind(OF_OTHER_CLUSTERS, kind)).collect()
}
