//! Permissions as the roles that give them: manifests for `kubectl apply`.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::Side;
use pivot_engine::Permissions;
use pivot_places::Access;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::text::{self, Text};

const RBAC: &str = "rbac.authorization.k8s.io";
/// Verbs in the order in which people write them.
const VERBS: [&str; 8] = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// Manifests, with a sentence about their purpose.
pub(crate) struct Manifests {
    about: &'static str,
    objects: Vec<Value>,
}

/// The roles that give these permissions, and their bindings to a user, if one is named.
pub(crate) fn build_roles(rights: &Permissions, side: Side, user: Option<&str>) -> Vec<Manifests> {
    let Permissions { needed, checks, namespaces } = rights;
    let account = user.map(|user| format!("-{}", account_digest(user))).unwrap_or_default();
    let (needed_name, checks_name) =
        (format!("pivot-host-{side}{account}"), format!("pivot-host-{side}-checks{account}"));
    let of = |accesses: &BTreeSet<Access>, name: &str| -> Vec<Value> {
        let mut places: BTreeMap<Option<&str>, Vec<&Access>> = BTreeMap::new();
        for access in accesses {
            places.entry(access.namespace.as_deref()).or_default().push(access);
        }
        places
            .iter()
            .flat_map(|(namespace, accesses)| {
                let role = build_role(name, *namespace, accesses);
                std::iter::once(role).chain(user.map(|user| role_binding(name, *namespace, user)))
            })
            .collect()
    };
    let all = [
        Manifests {
            about: "The move needs these namespaces. A role can be created only in a namespace that exists.",
            objects: namespaces.clone(),
        },
        Manifests {
            about: "Without any of these the move is refused. Some servers don't need permission to update finalizers.",
            objects: of(needed, &needed_name),
        },
        Manifests {
            about: "Without these the move continues, and lists checks that it could not make. Reads of plugins are denied.",
            objects: of(checks, &checks_name),
        },
    ];
    all.into_iter().filter(|manifests| !manifests.objects.is_empty()).collect()
}

/// Returns the objects of the manifests.
pub(crate) fn role_objects(all: Vec<Manifests>) -> impl Iterator<Item = Value> {
    all.into_iter().flat_map(|manifests| manifests.objects)
}

/// Returns the manifests as one document for `kubectl apply`.
pub(crate) fn role_list(all: &[Manifests]) -> Value {
    let items: Vec<&Value> = all.iter().flat_map(|manifests| &manifests.objects).collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

/// Returns the manifests with comments.
pub(crate) fn role_manifests(all: &[Manifests], (scope, side): (&str, &str)) -> Text {
    let mut out = Text::default();
    out.add_line(format!("# Permissions that a move of {scope} needs in {side}, as it is now."));
    out.add_line("# Every authenticated user may discover the API and ask for their own permissions; that is not repeated here.");
    for Manifests { about, objects } in all {
        for (at, object) in objects.iter().enumerate() {
            out.add_line("---");
            if at == 0 {
                out.add_line(format!("# {about}"));
            }
            // Strings, lists and maps with strings as keys: that can't fail.
            text::to_yaml(object).unwrap_or_default().lines().for_each(|line| out.add_line(line.to_owned()));
        }
    }
    out.verbatim()
}

/// Manifests for `kubectl apply`, without comments.
pub(crate) fn manifests_text(objects: &[Value]) -> Text {
    let mut out = Text::default();
    for object in objects {
        out.add_line("---");
        text::to_yaml(object).unwrap_or_default().lines().for_each(|line| out.add_line(line.to_owned()));
    }
    out.verbatim()
}

/// Returns the digest of an account that is part of its roles' names: under the same name, the roles of one account would replace
/// those of another.
fn account_digest(user: &str) -> String {
    format!("{:x}", Sha256::digest(user)).chars().take(10).collect()
}

fn build_role(name: &str, namespace: Option<&str>, accesses: &[&Access]) -> Value {
    let mut verbs: BTreeMap<(&str, String), BTreeSet<usize>> = BTreeMap::new();
    for access in accesses {
        let slash = if access.subresource.is_empty() { "" } else { "/" };
        let resource = format!("{}{slash}{}", access.resource, access.subresource);
        let verb = VERBS.iter().position(|verb| *verb == access.verb);
        verbs.entry((&access.group, resource)).or_default().extend(verb);
    }
    let mut rules: BTreeMap<(&str, BTreeSet<usize>), Vec<String>> = BTreeMap::new();
    for ((group, resource), verbs) in verbs {
        rules.entry((group, verbs)).or_default().push(resource);
    }
    let rules: Vec<Value> = rules
        .into_iter()
        .map(|((group, verbs), resources)| {
            let verbs: Vec<&str> = verbs.into_iter().filter_map(|verb| VERBS.get(verb).copied()).collect();
            json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
        })
        .collect();
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    json!({ "apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": role_metadata(name, namespace), "rules": rules })
}

fn role_binding(name: &str, namespace: Option<&str>, user: &str) -> Value {
    let (kind, role) = match namespace {
        Some(_) => ("RoleBinding", "Role"),
        None => ("ClusterRoleBinding", "ClusterRole"),
    };
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": role_metadata(name, namespace),
        "roleRef": { "apiGroup": RBAC, "kind": role, "name": name },
        "subjects": [{ "apiGroup": RBAC, "kind": "User", "name": user }],
    })
}

fn role_metadata(name: &str, namespace: Option<&str>) -> Value {
    match namespace {
        Some(namespace) => json!({ "name": name, "namespace": namespace }),
        None => json!({ "name": name }),
    }
}
