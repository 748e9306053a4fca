//! Roles as manifests.

use std::collections::BTreeSet;

use pivot_engine::Permissions;
use pivot_places::Access;
use serde_json::{Value, json};

use super::*;

fn access(verb: &'static str, group: &str, resource: &str, namespace: Option<&str>) -> Access {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    Access {
        verb: verb.into(),
        group: group.into(),
        resource: resource.into(),
        subresource: subresource.to_owned().into(),
        namespace: namespace.map(str::to_owned),
    }
}

fn rights() -> Permissions {
    let capi = "cluster.x-k8s.io";
    let needed = [
        access("patch", capi, "clusters", Some("ns")),
        access("get", capi, "clusters", Some("ns")),
        access("get", capi, "machines", Some("ns")),
        access("patch", capi, "machines", Some("ns")),
        access("list", "", "secrets", Some("ns")),
        access("patch", "metal3.io", "baremetalhosts/status", Some("ns")),
        access("list", "apiextensions.k8s.io", "customresourcedefinitions", None),
    ];
    Permissions {
        needed: needed.into(),
        checks: [access("get", "", "namespaces", Some("kube-system"))].into(),
        namespaces: vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})],
    }
}

#[test]
fn roles_and_rules_are_minimal() {
    let roles = build_roles(&rights(), Side::Target, None);
    let text = role_manifests(&roles, ("namespace ns", "prod")).to_string();
    expect![[r##"
        # Permissions that a move of namespace ns needs in prod, as it is now.
        # Every authenticated user may discover the API and ask for their own permissions; that is not repeated here.
        ---
        # The move needs these namespaces. A role can be created only in a namespace that exists.
        apiVersion: v1
        kind: Namespace
        metadata:
          name: ns
        ---
        # Without any of these the move is refused. Some servers don't need permission to update finalizers.
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata:
          name: pivot-host-target
        rules:
        - apiGroups:
          - apiextensions.k8s.io
          resources:
          - customresourcedefinitions
          verbs:
          - list
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata:
          name: pivot-host-target
          namespace: ns
        rules:
        - apiGroups:
          - ""
          resources:
          - secrets
          verbs:
          - list
        - apiGroups:
          - cluster.x-k8s.io
          resources:
          - clusters
          - machines
          verbs:
          - get
          - patch
        - apiGroups:
          - metal3.io
          resources:
          - baremetalhosts/status
          verbs:
          - patch
        ---
        # Without these the move continues, and lists checks that it could not make. Reads of plugins are denied.
        apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata:
          name: pivot-host-target-checks
          namespace: kube-system
        rules:
        - apiGroups:
          - ""
          resources:
          - namespaces
          verbs:
          - get
    "##]].assert_eq(&text);
    // It is what kubectl reads, in the same order as the list.
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    assert_eq!(role_list(&roles)["items"], Value::from(documents));
}

#[test]
fn roles_are_bound_to_whoever_is_named() {
    let user = "system:serviceaccount:ops:mover";
    let list = role_list(&build_roles(&rights(), Side::Source, Some(user)));
    let items = list["items"].as_array().unwrap();
    let of = |kind: &str| items.iter().filter(|item| item["kind"] == kind).collect::<Vec<_>>();
    for (role, binding) in [("Role", "RoleBinding"), ("ClusterRole", "ClusterRoleBinding")] {
        let (roles, bindings) = (of(role), of(binding));
        assert_eq!(roles.len(), bindings.len());
        for (role, binding) in roles.into_iter().zip(bindings) {
            assert_eq!(role["metadata"], binding["metadata"]);
            assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
            assert_eq!(binding["roleRef"]["kind"], role["kind"]);
            assert_eq!(binding["subjects"][0]["name"], user);
        }
    }
    assert_eq!((of("Role").len(), of("ClusterRole").len()), (2, 1));
}

#[test]
fn roles_of_two_accounts_have_different_names() {
    let names = |user: Option<&str>| -> BTreeSet<String> {
        let list = role_list(&build_roles(&rights(), Side::Target, user));
        let items = list["items"].as_array().unwrap().iter().filter(|item| item["kind"] != "Namespace");
        items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let (unbound, one) = (names(None), names(Some("system:serviceaccount:ops:one")));
    let two = names(Some("system:serviceaccount:ops:two"));
    assert_eq!((unbound.len(), one.len(), two.len()), (2, 2, 2));
    assert!(
        unbound.is_disjoint(&one) && one.is_disjoint(&two) && unbound.is_disjoint(&two),
        "{one:?}, {two:?}"
    );
    assert_eq!(one, names(Some("system:serviceaccount:ops:one")), "applied again, they are the same");
    assert!(one.iter().all(|name| unbound.iter().any(|plain| name.starts_with(plain))), "{one:?}");
}
