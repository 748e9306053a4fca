//! Prints a policy for a cluster that manages itself: an admission policy that refuses the deletes which would take the cluster down.
//!
//! A finalizer can't do that. It keeps an object from disappearing, but Cluster API begins to tear down at the timestamp of the
//! delete. So the delete itself is refused, by the API server, whoever runs by then.
//!
//! It is against mistakes: whoever may annotate an object can say that it is meant to go. To ask an authorizer instead was rejected:
//! those who type `kubectl delete` are administrators, who may do everything.

use std::sync::Arc;

use pivot_core::objects::names::{DELETE_FOR_MOVE, LABEL_CLUSTER};
use serde_json::{Value, json};

use crate::args::Protection;
use crate::exit;
use crate::output::{self, Output};

/// The annotation by which a user says that an object is meant to go.
const ALLOW: &str = "pivot-host.io/allow-delete";
/// Cluster API's core manager: it rotates templates, deletes objects that are no longer in a topology, and takes a Cluster apart that
/// was allowed to go. Other managers delete none of these kinds.
const CLUSTER_API: &str = "system:serviceaccount:capi-system:capi-manager";
/// The namespace controller. It acts once a namespace is being deleted, and the policy refuses that deletion earlier. Keeping
/// an object then would only leave the namespace half deleted.
const NAMESPACES: &str = "system:serviceaccount:kube-system:namespace-controller";
/// The garbage collector. It removes the dependents of a deleted Cluster.
const GARBAGE: &str = "system:serviceaccount:kube-system:generic-garbage-collector";
/// The definitions of these groups take all their objects with them, without asking admission about any of them.
const GROUPS: [&str; 4] = [
    "cluster.x-k8s.io",
    "controlplane.cluster.x-k8s.io",
    "bootstrap.cluster.x-k8s.io",
    "infrastructure.cluster.x-k8s.io",
];

/// Prints it, and returns the exit code.
pub(crate) fn run(protection: &Protection, output: &Arc<Output>) -> u8 {
    let objects = protection_manifests(protection);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    output.result(&list, || output::manifests_text(&objects));
    exit::DONE
}

/// The policy, and the binding that puts it into effect.
fn protection_manifests(protection: &Protection) -> [Value; 2] {
    let Protection { namespace, cluster, allow_user } = protection;
    let name = format!("pivot-host-protect-{namespace}");
    let of = |kind: &str, spec: Value| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec,
        })
    };
    let [core, control_planes, bootstrap, infrastructure] = GROUPS;
    let rules: Vec<Value> = [
        (core, &["clusters", "clusterclasses", "machinedeployments", "machinepools"][..]),
        (control_planes, &["*"]),
        (bootstrap, &["*"]),
        (infrastructure, &["*"]),
        ("", &["namespaces"]),
        ("apiextensions.k8s.io", &["customresourcedefinitions"]),
    ]
    .into_iter()
    .map(|(group, resources)| {
        json!({"apiGroups": [group], "apiVersions": ["*"], "operations": ["DELETE"], "resources": resources})
    })
    .collect();
    let conditions: Vec<Value> =
        [("by-others", by_others(allow_user)), ("of-a-protected-kind", protected_kinds())]
            .into_iter()
            .chain((!cluster.is_empty()).then(|| ("not-of-another-cluster", of_no_other(cluster))))
            .map(|(name, expression)| json!({"name": name, "expression": expression}))
            .collect();
    let policy = json!({
        "failurePolicy": "Fail",
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "resourceRules": rules,
        },
        "matchConditions": conditions,
        "validations": [{
            "expression": deletion_is_meant(),
            "reason": "Forbidden",
            "message": format!("it belongs to a cluster that manages itself; to delete it, set the annotation {ALLOW}=true first"),
            "messageExpression": refusal_message(),
        }],
    });
    let binding = json!({"policyName": name, "validationActions": ["Deny"]});
    [of("ValidatingAdmissionPolicy", policy), of("ValidatingAdmissionPolicyBinding", binding)]
}

/// Not by those whose deletes follow from one that was allowed. No controller of the cluster itself deletes a Cluster: the garbage
/// collector comes for one whose owner is gone, such as a tenant's object that made it, and that is no reason to go with it.
fn by_others(users: &[String]) -> String {
    let always: Vec<&str> =
        [CLUSTER_API, NAMESPACES].into_iter().chain(users.iter().map(String::as_str)).collect();
    format!(
        "!(request.userInfo.username in {} || request.userInfo.username == {} && request.resource.resource != 'clusters')",
        json!(always),
        json!(GARBAGE)
    )
}

/// Kinds are known by the end of their names, as Cluster API's contract for providers has them. Of definitions, which are in no
/// namespace, those of Cluster API's groups.
fn protected_kinds() -> String {
    let [_, control_planes, ..] = GROUPS;
    format!(
        "request.resource.resource == 'customresourcedefinitions' ? dyn(oldObject).spec.group in {} : \
         request.resource.group == {} || request.resource.resource in ['namespaces', 'clusterclasses', 'machinedeployments'] || \
         ['clusters', 'controlplanes', 'machinepools', 'templates'].exists(end, request.resource.resource.endsWith(end))",
        json!(GROUPS),
        json!(control_planes)
    )
}

/// Matches objects that name no other Cluster than these. Objects that name none, such as a class and its templates, may belong
/// to these.
fn of_no_other(clusters: &[String]) -> String {
    format!(
        "[(request.resource.resource == 'clusters' ? [oldObject.metadata.name] : []) + \
         (has(oldObject.metadata.labels) && '{LABEL_CLUSTER}' in oldObject.metadata.labels ? \
         [oldObject.metadata.labels['{LABEL_CLUSTER}']] : []) + \
         (has(oldObject.metadata.ownerReferences) ? oldObject.metadata.ownerReferences\
         .filter(owner, owner.kind == 'Cluster' && owner.apiVersion.startsWith('cluster.x-k8s.io/')).map(owner, owner.name) : [])]\
         .all(names, names.size() == 0 || names.exists(name, name in {}))",
        json!(clusters)
    )
}

/// Annotated by a user who means it, or by a move that has copied it: movers say so on each object before they delete it.
fn deletion_is_meant() -> String {
    format!(
        "has(oldObject.metadata.annotations) && ('{DELETE_FOR_MOVE}' in oldObject.metadata.annotations || \
         '{ALLOW}' in oldObject.metadata.annotations && oldObject.metadata.annotations['{ALLOW}'] == 'true')"
    )
}

fn refusal_message() -> String {
    format!(
        "request.kind.kind + ' ' + oldObject.metadata.name + ' belongs to a cluster that manages itself, and may take it down; if that is meant: \
         kubectl annotate ' + (has(request.namespace) && request.resource.resource != 'namespaces' ? '-n ' + request.namespace + ' ' : '') + request.resource.resource + \
         (request.resource.group == '' ? '' : '.' + request.resource.group) + ' ' + oldObject.metadata.name + ' {ALLOW}=true'"
    )
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn protection(clusters: &[&str]) -> Protection {
        Protection {
            namespace: "shop".to_owned(),
            cluster: clusters.iter().map(ToString::to_string).collect(),
            allow_user: vec!["it's".to_owned()],
        }
    }

    #[test]
    fn policy_and_binding_can_be_applied() {
        expect![[r#"
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata:
              name: pivot-host-protect-shop
            spec:
              failurePolicy: Fail
              matchConditions:
              - expression: "!(request.userInfo.username in [\"system:serviceaccount:capi-system:capi-manager\",\"system:serviceaccount:kube-system:namespace-controller\",\"it's\"] || request.userInfo.username == \"system:serviceaccount:kube-system:generic-garbage-collector\" && request.resource.resource != 'clusters')"
                name: by-others
              - expression: "request.resource.resource == 'customresourcedefinitions' ? dyn(oldObject).spec.group in [\"cluster.x-k8s.io\",\"controlplane.cluster.x-k8s.io\",\"bootstrap.cluster.x-k8s.io\",\"infrastructure.cluster.x-k8s.io\"] : request.resource.group == \"controlplane.cluster.x-k8s.io\" || request.resource.resource in ['namespaces', 'clusterclasses', 'machinedeployments'] || ['clusters', 'controlplanes', 'machinepools', 'templates'].exists(end, request.resource.resource.endsWith(end))"
                name: of-a-protected-kind
              matchConstraints:
                namespaceSelector:
                  matchLabels:
                    kubernetes.io/metadata.name: shop
                resourceRules:
                - apiGroups:
                  - cluster.x-k8s.io
                  apiVersions:
                  - "*"
                  operations:
                  - DELETE
                  resources:
                  - clusters
                  - clusterclasses
                  - machinedeployments
                  - machinepools
                - apiGroups:
                  - controlplane.cluster.x-k8s.io
                  apiVersions:
                  - "*"
                  operations:
                  - DELETE
                  resources:
                  - "*"
                - apiGroups:
                  - bootstrap.cluster.x-k8s.io
                  apiVersions:
                  - "*"
                  operations:
                  - DELETE
                  resources:
                  - "*"
                - apiGroups:
                  - infrastructure.cluster.x-k8s.io
                  apiVersions:
                  - "*"
                  operations:
                  - DELETE
                  resources:
                  - "*"
                - apiGroups:
                  - ""
                  apiVersions:
                  - "*"
                  operations:
                  - DELETE
                  resources:
                  - namespaces
                - apiGroups:
                  - apiextensions.k8s.io
                  apiVersions:
                  - "*"
                  operations:
                  - DELETE
                  resources:
                  - customresourcedefinitions
              validations:
              - expression: has(oldObject.metadata.annotations) && ('clusterctl.cluster.x-k8s.io/delete-for-move' in oldObject.metadata.annotations || 'pivot-host.io/allow-delete' in oldObject.metadata.annotations && oldObject.metadata.annotations['pivot-host.io/allow-delete'] == 'true')
                message: it belongs to a cluster that manages itself; to delete it, set the annotation pivot-host.io/allow-delete=true first
                messageExpression: "request.kind.kind + ' ' + oldObject.metadata.name + ' belongs to a cluster that manages itself, and may take it down; if that is meant: kubectl annotate ' + (has(request.namespace) && request.resource.resource != 'namespaces' ? '-n ' + request.namespace + ' ' : '') + request.resource.resource + (request.resource.group == '' ? '' : '.' + request.resource.group) + ' ' + oldObject.metadata.name + ' pivot-host.io/allow-delete=true'"
                reason: Forbidden
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicyBinding
            metadata:
              name: pivot-host-protect-shop
            spec:
              policyName: pivot-host-protect-shop
              validationActions:
              - Deny
        "#]].assert_eq(&output::manifests_text(&protection_manifests(&protection(&[]))).to_string());
    }

    #[test]
    fn named_clusters_exclude_others_objects() {
        let conditions = |clusters: &[&str]| {
            let [policy, _] = protection_manifests(&protection(clusters));
            policy["spec"]["matchConditions"].as_array().unwrap().clone()
        };
        let (all, named) = (conditions(&[]), conditions(&["prod", "edge"]));
        assert_eq!(named[..2], all[..]);
        assert!(named[2]["expression"].as_str().unwrap().ends_with(r#"name in ["prod","edge"]))"#));
    }
}
