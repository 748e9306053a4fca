//! Exchanged names, their places in objects, and names that can't be exchanged.

use std::collections::BTreeMap;
use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::discovery::inventory::Inventory;
use crate::messages::refusal::Refusal;
use crate::messages::risk::Risk;
use crate::objects::memory_budget::Held;
use crate::planner::make_plan;
use crate::plugins::relations::Relations;
use crate::request::scope::{Namespaces, Scope};
use crate::testing::{kind, objects};

fn map(pairs: &[(&str, &str)]) -> NamespaceMap {
    let pairs = pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned()));
    NamespaceMap::new(pairs).unwrap()
}

#[test]
fn every_name_has_exactly_one_counterpart() {
    for map in [
        map(&[]),
        map(&[("a", "b")]),
        map(&[("a", "b"), ("b", "a")]),
        map(&[("a", "b"), ("b", "c"), ("x", "y")]),
        map(&[("a", "b"), ("b", "c"), ("c", "a")]),
    ] {
        let names = ["a", "b", "c", "d", "x", "y"];
        let mut there: Vec<&str> = names.iter().map(|name| map.in_target(name)).collect();
        for (name, other) in names.iter().zip(&there) {
            assert_eq!(map.in_source(other), *name, "{map}");
        }
        for (from, to) in map.pairs() {
            assert_eq!((map.in_target(from), map.in_source(to)), (to, from));
        }
        there.sort_unstable();
        assert_eq!(there, names, "{map}");
    }
}

#[test]
fn mapped_namespaces_differ() {
    let told = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned()));
        NamespaceMap::new(pairs).map_err(|error| error.to_string())
    };
    assert_eq!(told(&[("a", "b"), ("a", "c")]).unwrap_err(), "namespace a is mapped twice");
    assert_eq!(told(&[("a", "b"), ("c", "b")]).unwrap_err(), "two namespaces are mapped to b");
    assert_eq!(told(&[("a", "b/c")]).unwrap_err(), "\"b/c\" isn't a valid name");
    let written = json!({"a": "b", "c": "b"});
    assert!(serde_json::from_value::<NamespaceMap>(written).is_err(), "a record is checked as well");
}

fn renamed(kind: &str, body: &Value, map: &NamespaceMap) -> Value {
    let kind = crate::testing::kind(kind);
    let object = Object::from_value(kind.clone(), body).unwrap();
    let there = map.into_target().rename_object(object.clone());
    let back = map.out_of_target().rename_object(there.clone());
    assert_eq!(back.value().unwrap(), object.value().unwrap(), "there and back");
    let mut meta = object.meta.clone();
    map.into_target().rename_meta(&kind, &mut meta);
    assert_eq!(meta, there.meta, "metadata alone");
    assert_eq!(map.into_target().rename_key(&object.key()), there.key());
    there.value().unwrap()
}

#[test]
fn only_known_references_are_renamed() {
    let cluster = |namespace: &str| {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": "a", "namespace": namespace, "labels": {"a": "a"}},
            "spec": {
                "infrastructureRef": {"kind": "InfraCluster", "name": "a", "namespace": namespace},
                "topology": {
                    "classRef": {"name": "a", "namespace": "elsewhere"},
                    "workers": {"machineDeployments": [
                        {"machineHealthCheck": {"remediationTemplate": {"namespace": namespace}}},
                        {"name": "a"},
                    ]},
                },
            },
        })
    };
    assert_eq!(renamed("Cluster", &cluster("a"), &map(&[("a", "b")])), cluster("b"));
    assert_eq!(renamed("Cluster", &cluster("c"), &map(&[("a", "b")])), cluster("c"));
}

#[test]
fn annotations_that_name_objects_are_renamed() {
    let host = |namespace: &str| {
        let status = format!(
            r#"{{"goodCredentials":{{"credentials":{{"name":"bmc","namespace":"{namespace}"}}}},"x":"a","n":1.50}}"#
        );
        json!({
            "apiVersion": "metal3.io/v1beta2", "kind": "BareMetalHost",
            "metadata": {"name": "a", "namespace": namespace, "annotations": {
                "metal3.io/BareMetalHost": format!("{namespace}/a"),
                "baremetalhost.metal3.io/status": status,
                "other": "a/a",
            }},
        })
    };
    assert_eq!(renamed("BareMetalHost", &host("a"), &map(&[("a", "b")])), host("b"));
}

/// Otherwise the binding would grant its permissions to the service accounts of another namespace that has the old name there.
#[test]
fn service_accounts_permissions_follow_their_namespace() {
    let binding = |namespace: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1beta2", "kind": "RoleBinding",
            "metadata": {"name": "a", "namespace": namespace},
            "subjects": [
                {"kind": "ServiceAccount", "name": "a", "namespace": namespace},
                {"kind": "Group", "name": format!("system:serviceaccounts:{namespace}")},
                {"kind": "Group", "name": "system:serviceaccounts:ab"},
                {"kind": "Group", "name": "system:serviceaccounts"},
                {"kind": "User", "name": format!("system:serviceaccount:{namespace}:a")},
                {"kind": "User", "name": "a"},
            ],
        })
    };
    let kind = Arc::new(Kind {
        group_kind: GroupKind::new("rbac.authorization.k8s.io", "RoleBinding"),
        ..Kind::clone(&kind("Machine"))
    });
    let map = map(&[("a", "b")]);
    let there = map.into_target().rename_object(Object::from_value(kind, &binding("a")).unwrap());
    assert_eq!(there.value().unwrap(), binding("b"));
    assert_eq!(map.out_of_target().rename_object(there).value().unwrap(), binding("a"));
}

/// If the target's controllers watch one namespace, objects move into that namespace.
#[test]
fn watched_namespace_gets_the_source_name() {
    let provider = |watched: &str| json!({"metadata": {"name": "infra", "namespace": "system"}, "watchedNamespace": watched});
    let kind = Kind {
        group_kind: GroupKind::new("clusterctl.cluster.x-k8s.io", "Provider"),
        ..Kind::clone(&kind("Machine"))
    };
    let object = Object::from_value(Arc::new(kind), &provider("b")).unwrap();
    let seen = map(&[("a", "b")]).out_of_target().rename_object(object).value().unwrap();
    assert_eq!(seen["watchedNamespace"], "a");
}

/// The annotation may contain any text.
#[test]
fn text_without_json_is_restored_exactly() {
    let map = map(&[("a", "b")]);
    for text in
        [r#"{"namespace":"a"#, r#"{"namespace":"#, r#""namespace":"a" "namespace":"c" "namespace":"b""#, ""]
    {
        let mut meta = Meta::default();
        meta.annotations.insert("baremetalhost.metal3.io/status".into(), text.into());
        let before = meta.clone();
        map.into_target().rename_meta(&kind("BareMetalHost"), &mut meta);
        let there = meta.annotations.values().next().unwrap();
        assert_eq!(there.contains(r#""namespace":"b" "#), text.contains(r#""namespace":"a" "#));
        map.out_of_target().rename_meta(&kind("BareMetalHost"), &mut meta);
        assert_eq!(meta, before);
    }
}

#[test]
fn namespace_is_renamed_with_its_label() {
    let namespace = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name, "team": "a"}},
        })
    };
    let kind = Arc::new(Kind { namespaced: false, ..Kind::clone(&kind("Secret")) });
    let kind = Arc::new(Kind { group_kind: GroupKind::new("", "Namespace"), ..Kind::clone(&kind) });
    let object = Object::from_value(kind, &namespace("a")).unwrap();
    let map = map(&[("a", "b")]);
    let there = map.into_target().rename_object(object);
    assert_eq!((there.value().unwrap(), there.key().name), (namespace("b"), "b".to_owned()));
}

// proves: T147
#[test]
fn renamed_objects_hold_their_share() {
    let share = Arc::new(());
    let body = json!({"metadata": {"name": "s", "namespace": "a"}});
    let mut object = Object::from_value(kind("Secret"), &body).unwrap();
    object.meta.held = Held::from_owner(share.clone());
    let there = map(&[("a", "b")]).into_target().rename_object(object);
    assert_eq!(there.key().namespace.as_deref(), Some("b"));
    assert_eq!(Arc::strong_count(&share), 2);
}

/// Anyone can write one, and it would be in a list with all others.
#[test]
fn unparsable_body_keeps_its_bytes() {
    let deep = format!(
        r#"{{"metadata":{{"name":"x","namespace":"a"}},"spec":{}1{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let object = Object::parse(kind("Machine"), deep.clone().into()).unwrap();
    let there = map(&[("a", "b")]).into_target().rename_object(object);
    assert_eq!((there.key().namespace.as_deref(), there.raw().as_ref()), (Some("b"), deep.as_bytes()));
}

/// Definitions of providers change: a path that is written twice, or as a field that isn't one, would never be noticed.
#[test]
fn every_path_of_the_tables_works() {
    for name in ["Cluster", "ClusterClass", "Machine", "MachineSet", "BareMetalHost"] {
        let kind = kind(name);
        for path in references::known_paths(&kind.group_kind) {
            let body = path.rsplit('.').fold(json!("a"), |value, step| match step.strip_suffix("[]") {
                Some(list) => json!({list: [value.clone(), value]}),
                None => json!({step: value}),
            });
            let mut renamed = body.clone();
            map(&[("a", "b")]).into_target().rename_body(&kind, &mut renamed);
            assert_eq!(renamed.to_string(), body.to_string().replace("\"a\"", "\"b\""), "{name} {path}");
        }
    }
}

fn refused(text: &str, bodies: &[(&str, Value)], pairs: &[(&str, &str)], accepted: &[&str]) -> Vec<Refusal> {
    let bodies: BTreeMap<&str, &Value> = bodies.iter().map(|(name, body)| (*name, body)).collect();
    let with = |object: Object| match bodies.get(object.key().to_string().as_str()) {
        Some(patch) => {
            let mut body = object.value().unwrap();
            crate::objects::merge::apply_patch(&mut body, patch);
            Object::from_value(object.kind, &body).unwrap()
        }
        None => object,
    };
    let inventory = Inventory::new(objects(text).into_iter().map(with).collect());
    let mut scope = Scope::new(Namespaces::All);
    scope.namespace_map = map(pairs);
    scope.accept.insert_kinds(Risk::OldNamespace, accepted.iter().map(|name| kind(name).group_kind.clone()));
    let plan = make_plan(&inventory, &scope, &Relations::default(), &[]);
    plan.refusals.into_iter().filter(|refusal| refusal.code.starts_with("name")).collect()
}

fn check(refusals: &[Refusal], expected: Expect) {
    let text: String =
        refusals.iter().map(|refusal| format!("{}: {}\n", refusal.code, refusal.message)).collect();
    expected.assert_eq(&text);
}

const ONE: &str = "Cluster a/c
                   InfraCluster a/c < Cluster a/c
                   Secret a/c-ca";

#[test]
fn map_of_separate_namespaces_is_accepted() {
    check(&refused(ONE, &[], &[("a", "b")], &[]), expect![[""]]);
}

#[test]
fn taken_and_unused_names_are_refused() {
    let two = format!("{ONE}\nCluster b/d");
    check(
        &refused(&two, &[], &[("a", "b"), ("x", "y")], &[]),
        expect![[r#"
        namespace-taken: namespace a is to become b, and b is copied too
        namespace-unused: namespace x is to become y, and nothing in x is copied
    "#]],
    );
    check(&refused(&two, &[], &[("a", "b"), ("b", "a")], &[]), expect![""]);
    let refers = json!({"spec": {"topology": {"classRef": {"name": "q", "namespace": "b"}}}});
    check(
        &refused(ONE, &[("Cluster a/c", refers.clone())], &[("a", "b")], &[]),
        expect![[r#"
        namespace-taken: Cluster a/c refers to namespace b, and a is to become b
    "#]],
    );
    // The reference gets the other new name.
    check(&refused(&two, &[("Cluster a/c", refers)], &[("a", "b"), ("b", "a")], &[]), expect![""]);
    let annotated = json!({"metadata": {"annotations": {"cert-manager.io/inject-ca-from": "b/c-ca"}}});
    check(
        &refused(ONE, &[("Cluster a/c", annotated)], &[("a", "b")], &[]),
        expect![[r#"
        namespace-taken: Cluster a/c refers to namespace b, and a is to become b
    "#]],
    );
}

/// An identity provider may trust a service account by its name.
#[test]
fn names_of_service_accounts_are_mentions() {
    let trust = |subject: &str| vec![("InfraCluster a/c", json!({"spec": {"trust": [{"sub": subject}]}}))];
    let told = |subject: &str| refused(ONE, &trust(subject), &[("a", "b")], &[]).len();
    for subject in
        ["system:serviceaccount:a:manager", "x system:serviceaccounts:a, y", "system:serviceaccounts:a"]
    {
        assert_eq!(told(subject), 1, "{subject}");
    }
    for subject in
        ["system:serviceaccount:ab:a", "system:serviceaccounts:a-b", "system:serviceaccounts", "a:a"]
    {
        assert_eq!(told(subject), 0, "{subject}");
    }
}

#[test]
fn unknown_mentions_are_refused_unless_accepted() {
    let infra = json!({
        "metadata": {
            "labels": {"owner-namespace": "a"},
            "annotations": {"x": "a/c-ca", "y": "a/nothing", "kubectl.kubernetes.io/last-applied-configuration": "a/c-ca"},
        },
        "spec": {
            "identityRef": {"namespace": "a"}, "image": "a", "list": ["http://ironic.a.svc:6385", "a"],
            "namespaceSelector": {"matchLabels": {"x": "a"}},
        },
        "status": {"namespace": "a"},
    });
    // Secrets' data may have anything in it, and is not looked at.
    let secret = json!({"data": {"namespace": "a"}, "metadata": {"annotations": {"namespace": "a"}}});
    let bodies = [("InfraCluster a/c", infra), ("Secret a/c-ca", secret)];
    let told = refused(ONE, &bodies, &[("a", "b")], &[]);
    check(
        &told,
        expect![[r#"
        namespace-mentioned: Secret a/c-ca mentions a namespace that gets another name in metadata.annotations.namespace, and whether that is a reference is not known
        namespace-mentioned: InfraCluster a/c mentions a namespace that gets another name in metadata.annotations.x, metadata.labels.owner-namespace, spec.identityRef.namespace and 2 more, and whether that is a reference is not known
    "#]],
    );
    assert!(refused(ONE, &bodies, &[("a", "b")], &["InfraCluster", "Secret"]).is_empty());
}

#[test]
fn resources_named_after_namespaces_are_refused() {
    let text = ONE.replace("InfraCluster", "OpenStackCluster");
    let told = refused(&text, &[], &[("a", "b")], &[]);
    check(
        &told,
        expect![[r#"
        named-after-namespace: the controller of OpenStackCluster a/c names networks, routers and security groups after the namespace, and would not find them again
    "#]],
    );
    assert!(refused(&text, &[], &[("a", "b")], &["OpenStackCluster"]).is_empty());
    assert!(refused(&format!("{text}\nCluster x/d"), &[], &[("x", "y")], &[]).is_empty());
}
