//! Directories that somebody filled: objects that no server would store, and names of files that are something else.
//!
//! Objects are moved, not only planned: what is wrong with one is found before anything is changed, or not at all.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::{Value, json};

use crate::case::{Case, write};
use crate::judge::WORDS;
use crate::texts;

pub(crate) const MOVE: &str = "move --from-directory from --to-directory to -A --accept unprovisioned";
pub(crate) const PLAN: &str = "plan --from-directory from -A";
/// Refused before anything is changed.
pub(crate) const REFUSED: [i32; 1] = [3];
/// Whether it matters is the server's business; it is not found out half-way. Where nothing is left of it, nothing is moved.
pub(crate) const EITHER: [i32; 3] = [0, 3, 7];

pub(crate) fn cases() -> Vec<Case> {
    [fields(), owners(), texts::cases(), definitions(), on_disk()].concat()
}

/// What serves Clusters and Machines.
pub(crate) fn served(folder: &Path) {
    let of = |kind: &str, plural: &str| {
        definition(
            json!({"group": "cluster.x-k8s.io", "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}}}]}),
        )
    };
    let all = [of("Cluster", "clusters"), of("Machine", "machines")];
    write(folder, "from/definitions.json", all.map(|one| one.to_string()).join("\n").as_bytes());
}

fn definition(spec: Value) -> Value {
    let name = format!(
        "{}.{}",
        spec["names"]["plural"].as_str().unwrap_or("x"),
        spec["group"].as_str().unwrap_or("x")
    );
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "uid": name, "labels": {"clusterctl.cluster.x-k8s.io": ""}}, "spec": spec})
}

pub(crate) fn cluster() -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster",
           "metadata": {"name": "a", "namespace": "ns", "uid": "u"},
           "status": {"infrastructureReady": true, "controlPlaneReady": true,
                      "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]}})
}

fn machine() -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
           "metadata": {"name": "m", "namespace": "ns", "uid": "m",
                        "labels": {"cluster.x-k8s.io/cluster-name": "a"},
                        "ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "a",
                                             "uid": "u"}]},
           "spec": {"clusterName": "a"}, "status": {"nodeRef": {"name": "n"}}})
}

/// Of these objects, as JSON; each in a file of its own.
fn objects(name: impl std::fmt::Display, codes: &[i32], objects: Vec<Value>) -> Case {
    Case::new(name.to_string(), MOVE, codes).fed(served).fed(move |folder| {
        for (n, object) in objects.iter().enumerate() {
            write(folder, &format!("from/object-{n}.json"), object.to_string().as_bytes());
        }
    })
}

/// With something else at a path.
pub(crate) fn with(mut object: Value, path: &str, value: Value) -> Value {
    let (parent, last) = path.rsplit_once('/').unwrap();
    let parent = object.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
        other => other[last] = value,
    }
    object
}

/// One of each sort; `places: fields_of_any_type_are_read_or_refused` and its neighbours have the others.
fn fields() -> Vec<Case> {
    let odd = |name: &str, codes: &[i32], path: &str, value: Value| {
        objects(name, codes, vec![with(cluster(), path, value)])
    };
    vec![
        odd("a name of 2 megabytes", &REFUSED, "/metadata/name", "x".repeat(2_000_000).into()),
        odd("a kind that forges", &REFUSED, "/kind", WORDS.into()),
        odd("metadata that are a list", &REFUSED, "/metadata", json!([])),
        // Words anywhere else are somebody's data, and moved.
        odd("annotations that forge", &EITHER, "/metadata/annotations", json!({WORDS: WORDS})),
        odd(
            "a reference that leads elsewhere",
            &EITHER,
            "/spec",
            json!({"infrastructureRef": {"kind": WORDS, "name": "../n", "apiVersion": "a.b/v1"}}),
        ),
        objects("one object twice", &REFUSED, vec![cluster(), cluster()]),
    ]
}

fn owners() -> Vec<Case> {
    let owner = |kind: &str, name: &str, uid: &str| json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": kind, "name": name, "uid": uid});
    let owned = |owners: Value| vec![cluster(), with(machine(), "/metadata/ownerReferences", owners)];
    let many: Value = (0..10_000).map(|n| owner("Cluster", &format!("c{n}"), &format!("u{n}"))).collect();
    let mut cases = vec![
        objects("its own owner", &EITHER, owned(json!([owner("Machine", "m", "m")]))),
        objects(
            "an owner whose kind leads elsewhere",
            &REFUSED,
            owned(json!([owner("../Secret", "a", "u")])),
        ),
        objects("ten thousand owners", &EITHER, owned(many)).words(25_000),
    ];
    let chain = |count: usize, closed: bool| -> Vec<Value> {
        let of = |n: usize| {
            let up = if n == 0 && closed { Some(count - 1) } else { n.checked_sub(1) };
            let mut one = with(
                with(machine(), "/metadata/name", format!("m{n}").into()),
                "/metadata/uid",
                format!("m{n}").into(),
            );
            let owner = up.map_or_else(
                || owner("Cluster", "a", "u"),
                |up| owner("Machine", &format!("m{up}"), &format!("m{up}")),
            );
            one["metadata"]["ownerReferences"] = json!([owner]);
            one
        };
        [vec![cluster()], (0..count).map(of).collect()].concat()
    };
    cases.push(objects("300 that own each other in a circle", &EITHER, chain(300, true)).words(25_000));
    cases.push(objects("a chain of 600 owners", &[0], chain(600, false)).within(30, 192).words(200_000));
    cases
}

fn definitions() -> Vec<Case> {
    let good = || {
        json!({"group": "a.b", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true, "storage": true}]})
    };
    let of = |name: String, spec: Value, codes: &[i32]| {
        objects(format!("a definition whose {name}"), codes, vec![cluster(), definition(spec)])
    };
    let mut cases = vec![
        of("kind forges".into(), with(good(), "/names/kind", WORDS.into()), &REFUSED),
        of("versions are a map".into(), with(good(), "/versions", json!({})), &EITHER),
    ];
    let versions: Vec<Value> = (0..5_000).map(|n| json!({"name": format!("v{n}"), "served": true})).collect();
    cases.push(of("versions are 5000".into(), with(good(), "/versions", versions.into()), &EITHER));
    let huge = json!([{"name": "v99999999999999999999", "served": true}, {"name": "v1beta99999999999999999999", "served": true}]);
    cases.push(of("versions are beyond counting".into(), with(good(), "/versions", huge), &EITHER));
    let cluster_wide = with(with(good(), "/group", "cluster.x-k8s.io".into()), "/scope", "Cluster".into());
    let of_clusters = with(cluster_wide, "/names", json!({"kind": "Cluster", "plural": "secrets"}));
    cases.push(of("kind is served already".into(), of_clusters, &EITHER));
    let of_secrets = json!({"group": "", "scope": "Cluster", "names": {"kind": "Secret", "plural": "namespaces"}, "versions": [{"name": "v1", "served": true}]});
    cases.push(of("kind is a Secret".into(), of_secrets, &EITHER));
    cases
}

fn on_disk() -> Vec<Case> {
    type Make = fn(&Path);
    let sorts: [(&str, &[i32], Make); 9] = [
        ("a link up", &REFUSED, |dir| symlink("../../../../../../etc/passwd", dir.join("a.yaml")).unwrap()),
        ("a link to zeros without end", &REFUSED, |dir| symlink("/dev/zero", dir.join("a.yaml")).unwrap()),
        ("a link to the whole machine", &REFUSED, |dir| symlink("/", dir.join("a")).unwrap()),
        ("a link to itself as a folder", &REFUSED, |dir| symlink(".", dir.join("a")).unwrap()),
        ("a name that is not UTF-8", &REFUSED, |dir| {
            fs::write(dir.join(OsString::from_vec(b"a\xff.yaml".into())), "{}").unwrap()
        }),
        ("a terabyte", &REFUSED, |dir| {
            fs::File::create(dir.join("a.json")).unwrap().set_len(1 << 40).unwrap()
        }),
        ("a device called an encrypted file", &REFUSED, |dir| {
            symlink("/dev/zero", dir.join("a.age.json.age")).unwrap()
        }),
        ("five thousand files of nothing", &[0], |dir| {
            (0..5_000).for_each(|n| fs::write(dir.join(format!("{n}.yaml")), "").unwrap())
        }),
        ("a socket", &REFUSED, |dir| drop(UnixListener::bind(dir.join("a.yaml")).unwrap())),
    ];
    let beside = |name: String, codes: &[i32], make: Make| {
        let object = |folder: &Path| write(folder, "from/object.json", cluster().to_string().as_bytes());
        Case::new(format!("on disk: {name}"), PLAN, codes)
            .fed(served)
            .fed(object)
            .fed(move |folder| make(&folder.join("from")))
    };
    let mut cases: Vec<Case> =
        sorts.into_iter().map(|(name, codes, make)| beside(name.to_owned(), codes, make)).collect();
    let file = format!("f{}.yaml", WORDS.replace('/', "-"));
    let feed = move |folder: &Path| fs::write(folder.join("from").join(&file), "{").unwrap();
    cases.push(Case::new("on disk: a file whose name forges", PLAN, &REFUSED).fed(served).fed(feed));
    let line = "plan -A --from-directory /proc/self/environ";
    cases.push(Case::new("a directory that is the environment", line, &REFUSED));
    cases
}
