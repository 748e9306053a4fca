use pivot_sdk::prelude::*;
use serde_json::{Value, json};

use super::{
    OWN_SECRET, Place, Reference, SECRET, SHARED_SECRET, Target, declare_table, is_name, relate_object,
};

const CLUSTER: Kind = Kind::new("example.io", "Cluster");
const IDENTITY: Kind = Kind::new("example.io", "Identity");
const TABLE: &[Reference] = &[
    Reference {
        from: &[CLUSTER],
        parent: "spec.ref",
        name: "name",
        decides: "spec.ref.kind",
        to: &[
            ("", OWN_SECRET),
            ("Shared", SHARED_SECRET),
            ("Identity", Target::share(IDENTITY, Place::Cluster)),
        ],
    },
    Reference {
        from: &[CLUSTER, IDENTITY],
        parent: "spec.files[].from",
        name: "secret",
        decides: "",
        to: &[("", Target::share(SECRET, Place::Namespace("example-system")))],
    },
];

fn related(kind: &str, namespace: Option<&str>, spec: Value) -> Vec<String> {
    let mut object =
        json!({"apiVersion": "example.io/v1", "kind": kind, "metadata": {"name": "o"}, "spec": spec});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    let words = relate_object(TABLE, &Object::from(object)).into_iter().map(|relation| match relation {
        Relation::Need(key) => format!("need {key}"),
        Relation::Share(key) => format!("share {key}"),
        other => panic!("{other:?}"),
    });
    words.collect()
}

#[test]
fn deciding_field_selects_the_target() {
    for (reference, expected) in [
        (json!({"name": "x"}), "need Secret n/x"),
        (json!({"name": "x", "namespace": "n"}), "need Secret n/x"),
        (json!({"name": "x", "namespace": ""}), "need Secret n/x"),
        (json!({"name": "x", "kind": "Shared"}), "share Secret n/x"),
        (json!({"name": "x", "kind": "Identity"}), "share Identity.example.io x"),
    ] {
        assert_eq!(related("Cluster", Some("n"), json!({"ref": reference})), [expected]);
    }
}

#[test]
fn other_namespaces_have_no_relation() {
    for reference in [
        json!({"name": "x", "namespace": "kube-system"}),
        json!({"name": "x", "kind": "Shared", "namespace": "kube-system"}),
        json!({"name": "x", "kind": "Identity", "namespace": "n"}),
        json!({"name": "x", "kind": "Unknown"}),
        json!({"name": "../x"}),
        json!({"name": ""}),
        json!({"name": 1}),
        json!("x"),
    ] {
        assert_eq!(related("Cluster", Some("n"), json!({"ref": reference})), [""; 0], "{reference}");
    }
}

#[test]
fn repeated_names_have_one_relation() {
    let files =
        |names: &[&str]| -> Value { names.iter().map(|name| json!({"from": {"secret": name}})).collect() };
    let expected = ["share Secret example-system/a", "share Secret example-system/b"];
    assert_eq!(related("Identity", None, json!({"files": files(&["a", "b", "a"])})), expected);
    assert_eq!(related("Cluster", Some("n"), json!({"files": files(&["a", "b"])})), expected);
    assert_eq!(related("Other", Some("n"), json!({"files": files(&["a"])})), [""; 0]);
}

#[test]
fn reach_is_one_namespace_per_target() {
    let about = declare_table(About::new("example", "0.1.0", "An example."), TABLE);
    assert_eq!(about.kinds, [CLUSTER, IDENTITY]);
    let reach = about.reach.iter().map(|reach| (&reach.kind, reach.namespace.as_str(), reach.delete));
    assert_eq!(reach.collect::<Vec<_>>(), [(&IDENTITY, "*", false), (&SECRET, "example-system", false)]);
}

#[test]
fn names_are_lower_case_words() {
    assert!(["a", "a-b.c", "0"].iter().all(|name| is_name(name)));
    assert!(
        ["", ".", "a.", "-a", "a-", "A", "a/b", "a b", &"a".repeat(254)].iter().all(|name| !is_name(name))
    );
}
