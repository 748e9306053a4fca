//! Reading files that people wrote.

use super::*;

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.g.io
  labels: {clusterctl.cluster.x-k8s.io: '', clusterctl.cluster.x-k8s.io/move: ''}
spec:
  group: g.io
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - {name: v1alpha1, served: false, storage: false}
  - {name: v1beta1, served: true, storage: false}
  - {name: v1, served: true, storage: true, subresources: {status: {}}}
";

#[tokio::test]
async fn definitions_lists_and_subdirectories_are_read() {
    let dir = directory(&[
        ("crds/things.yaml", DEFINITION),
        (
            "a.yml",
            "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, \
                   metadata: {name: s, namespace: a}}]}",
        ),
        ("b.json", r#"{"apiVersion":"g.io/v1beta1","kind":"Thing","metadata":{"name":"t","namespace":"a"}}"#),
        ("notes.txt", "not looked at"),
        (".hidden.yaml", "not: [looked at"),
    ]);
    let place = DirectoryPlace::to_read(dir.path()).unwrap();
    let thing = find(&place, "Thing.g.io").await;
    // The version is the files' own: nothing here converts.
    assert_eq!((thing.version.as_str(), thing.plural.as_str()), ("v1beta1", "things"));
    assert_eq!(thing.served, ["v1", "v1beta1"]);
    assert!(thing.labels.discover && thing.labels.moves && !thing.labels.hierarchy);
    assert!(thing.namespaced && thing.status_subresource);
    assert_eq!(place.list(&thing, Some("a")).await.unwrap().objects.len(), 1);
    assert_eq!(place.list(&thing, Some("b")).await.unwrap().objects.len(), 0);
    let secret = find(&place, "Secret").await;
    let listed = place.list(&secret, None).await.unwrap().objects;
    assert!(!listed[0].meta.uid.0.is_empty());
    let again = DirectoryPlace::to_read(dir.path()).unwrap().list(&secret, None).await.unwrap().objects;
    assert_eq!(listed[0].meta.uid, again[0].meta.uid);
}

#[tokio::test]
async fn kind_without_definition_is_guessed() {
    let dir = directory(&[(
        "a.yaml",
        "{apiVersion: ipam.x.io/v1, kind: Policy, metadata: {name: p, namespace: a}, status: {}}",
    )]);
    let place = DirectoryPlace::to_read(dir.path()).unwrap();
    let policy = find(&place, "Policy.ipam.x.io").await;
    assert_eq!(policy.plural, "policies");
    assert!(policy.namespaced && policy.status_subresource && policy.labels.discover);
}

#[tokio::test]
async fn owners_without_a_uid_are_found_by_name() {
    let text = "
apiVersion: g.io/v1
kind: Owner
metadata: {name: o, namespace: a}
---
apiVersion: g.io/v1
kind: Owned
metadata:
  name: d
  namespace: a
  ownerReferences: [{apiVersion: g.io/v1beta1, kind: Owner, name: o}]
";
    let place = DirectoryPlace::to_read(directory(&[("a.yaml", text)]).path()).unwrap();
    let owner = find(&place, "Owner.g.io").await;
    let owned = find(&place, "Owned.g.io").await;
    let owner = place.list(&owner, None).await.unwrap().objects.remove(0);
    let owned = place.list(&owned, None).await.unwrap().objects.remove(0);
    assert_eq!(owned.meta.owner_references[0].uid, owner.meta.uid);
    assert_eq!(
        refused(&[("a.yaml", &text.replace("name: o}", "name: x}"))]),
        "a.yaml, document 2: Owned a/d refers to its owner Owner a/x without a uid, and there is no such object"
    );
}

#[test]
fn errors_name_file_and_document() {
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: a}}";
    assert_eq!(
        refused(&[("a.yaml", secret), ("b/c.yaml", &format!("x: 1\n---\n{secret}"))]),
        "b/c.yaml, document 1: no apiVersion and kind"
    );
    assert_eq!(
        refused(&[("a.yaml", secret), ("b/c.yaml", secret)]),
        "Secret a/s is both in a.yaml and in b/c.yaml"
    );
    assert_eq!(
        refused(&[("a.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: s}}")]),
        "a.yaml, document 1: refused: Secret s without a namespace"
    );
    assert_eq!(refused(&[("a.yaml", "- a")]), "a.yaml, document 1: not an object");
}

/// A document with one object.
fn document(kind: &str, metadata: &Value) -> String {
    json!({"apiVersion": "g.io/v1", "kind": kind, "metadata": metadata}).to_string()
}

fn named(name: &str) -> Value {
    json!({"name": name, "namespace": "a"})
}

/// One of the two would be dropped silently.
#[test]
fn two_documents_of_one_uid_are_refused() {
    let with =
        |name: &str, uid: &str| document("Thing", &json!({"name": name, "namespace": "a", "uid": uid}));
    let second = format!("{}\n---\n{}", with("x", "v"), with("other", "u"));
    let told = refused(&[("b.json", &with("one", "u")), ("c.yaml", &second)]);
    assert_eq!(told, "c.yaml, document 2: Thing a/other has the uid of Thing a/one (b.json, document 1)");
}

// proves: T77
#[test]
fn names_that_lead_elsewhere_are_refused() {
    let second = |text: &str| {
        let told = refused(&[("a.json", &document("Thing", &named("t"))), ("b.json", text)]);
        assert!(told.starts_with("b.json, document 1: "), "{text}: {told}");
        assert!(told.len() < 700 && !told.contains(['\n', '\0']), "{told}");
        told
    };
    for kind in ["../x", "a/b", "a\0b", "..", "Thing\nerror: x", &"x".repeat(10_000), "Ä"] {
        let told = second(&document(kind, &named("t")));
        assert!(told.ends_with("isn't a valid kind"), "{told}");
    }
    for api_version in ["../v1", "g.io/../x", "g.io/v1/x", "g io/v1", "g.io/", "/v1/", "g.io/v\0"] {
        second(&json!({"apiVersion": api_version, "kind": "Thing", "metadata": named("u")}).to_string());
    }
    for metadata in [
        named(".."),
        named("a/b"),
        named("a b"),
        named("a\0"),
        named(&"x".repeat(300)),
        json!({"name": "u", "namespace": "../b"}),
        json!({"name": "u", "namespace": "a", "uid": "u 1 d"}),
        json!({"name": "u", "namespace": "a", "resourceVersion": "1\n2"}),
    ] {
        let told = second(&document("Thing", &metadata));
        assert!(told.contains("isn't a valid"), "{told}");
    }
    for (from, to) in [
        ("plural: things", "plural: ../secrets"),
        ("kind: Thing", "kind: a/b"),
        ("group: g.io", "group: ../g"),
    ] {
        let told = refused(&[("crd.yaml", &DEFINITION.replace(from, to))]);
        assert!(told.starts_with("crd.yaml, document 1: ") && told.contains("isn't a valid"), "{told}");
    }
}

/// The files of such kinds would collide on a case-insensitive file system.
// proves: T77
#[test]
fn kinds_that_differ_only_in_case_are_refused() {
    let (one, other) = (document("Thing", &named("t")), document("THING", &named("t")));
    assert_eq!(
        refused(&[("a.json", &one), ("b.json", &other)]),
        "b.json, document 1: THING.g.io differs from Thing.g.io only in case"
    );
    let secret = json!({"apiVersion": "v1", "kind": "secret", "metadata": named("s")}).to_string();
    assert_eq!(
        refused(&[("a.json", &secret)]),
        "a.json, document 1: secret differs from Secret only in case"
    );
    assert!(refused(&[("crd.yaml", DEFINITION), ("b.json", &other)]).starts_with("b.json, document 1: "));
}

// proves: T76
#[test]
fn too_deep_nesting_is_refused() {
    let nested = |levels: usize| {
        let deep = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        document("Thing", &named("t")).replacen('{', &format!("{{\"spec\":{deep},"), 1)
    };
    let good = directory(&[("a.json", &nested(100)), ("crd.yaml", DEFINITION)]);
    assert!(DirectoryPlace::to_read(good.path()).is_ok());
    for levels in [120, 126, 130, 250, 300, 100_000] {
        for file in ["b.json", "b.yaml"] {
            let told = refused(&[("a.json", &document("Thing", &named("good"))), (file, &nested(levels))]);
            assert!(told.starts_with(&format!("{file}, document 1: n")), "{levels}: {told}");
        }
    }
    // Only YAML is written like this.
    for levels in [150, 300] {
        let block: String = (0..levels).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
        let told = refused(&[("b.yaml", &block)]);
        assert!(told.starts_with("b.yaml, document 1: n"), "{told}");
    }
}

#[cfg(unix)]
// proves: T75
#[test]
fn links_never_lead_out() {
    let outside = directory(&[("s.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: n}}")]);
    let dir = directory(&[("real/n.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: m}}")]);
    std::os::unix::fs::symlink("real/n.yaml", dir.path().join("inside")).unwrap();
    assert!(DirectoryPlace::to_read(dir.path()).is_ok());
    std::os::unix::fs::symlink(outside.path().join("s.yaml"), dir.path().join("link.yaml")).unwrap();
    assert!(DirectoryPlace::to_read(dir.path()).err().unwrap().to_string().contains("link.yaml"));
}

/// Sixteen directories in each other, each with nine links to the next, are 10^16 paths to one file.
#[cfg(unix)]
// proves: T76
#[test]
fn endless_paths_through_links_are_refused() {
    let file = format!("{}n.yaml", "n/".repeat(14));
    let dir = directory(&[(&file, "{apiVersion: v1, kind: Namespace, metadata: {name: m}}")]);
    let mut at = dir.path().to_owned();
    for _ in 0..14 {
        for link in 0..9 {
            std::os::unix::fs::symlink("n", at.join(format!("l{link}"))).unwrap();
        }
        at.push("n");
    }
    let told = DirectoryPlace::to_read(dir.path()).err().unwrap().to_string();
    assert!(told.contains("more than 100000 files and directories"), "{told}");
}
