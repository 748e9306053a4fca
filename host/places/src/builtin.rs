//! The built-in kinds that moves deal with. A directory doesn't have to define them.

use pivot_core::{GroupKind, Kind, KindLabels};

/// Group, kind, plural, namespaced, with a status subresource.
const KINDS: &[(&str, &str, &str, bool, bool)] = &[
    ("", "ConfigMap", "configmaps", true, false),
    ("", "Namespace", "namespaces", false, true),
    ("", "Secret", "secrets", true, false),
    ("", "Service", "services", true, true),
    ("", "ServiceAccount", "serviceaccounts", true, false),
    ("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", false, true),
    ("apps", "Deployment", "deployments", true, true),
    ("coordination.k8s.io", "Lease", "leases", true, false),
    ("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", false, false),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", false, false),
    ("rbac.authorization.k8s.io", "Role", "roles", true, false),
    ("rbac.authorization.k8s.io", "RoleBinding", "rolebindings", true, false),
];

/// Returns the kinds, all at v1.
pub fn builtin_kinds() -> Vec<Kind> {
    KINDS
        .iter()
        .map(|&(group, kind, plural, namespaced, status_subresource)| Kind {
            group_kind: GroupKind::new(group, kind),
            version: "v1".to_owned(),
            plural: plural.to_owned(),
            namespaced,
            status_subresource,
            served: vec!["v1".to_owned()],
            labels: KindLabels::default(),
        })
        .collect()
}
