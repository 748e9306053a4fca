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
use crate::texts;
use crate::words::WORDS;

pub(crate) const MOVE: &str = "move --from-directory from --to-directory to -A --accept-unprovisioned";
pub(crate) const PLAN: &str = "plan --from-directory from -A";
/// Refused before anything is changed.
pub(crate) const REFUSED: [i32; 1] = [3];
/// Whether it matters is the server's business; it is not found out half-way. Where nothing is left of it, nothing is moved.
pub(crate) const EITHER: [i32; 3] = [0, 3, 7];

pub(crate) fn cases() -> Vec<Case> {
    let families = [names(), types(), same(), owners(), texts::cases(), definitions(), on_disk()];
    families.concat()
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

fn names() -> Vec<Case> {
    let long = "x".repeat(254);
    let longer = "x".repeat(2_000_000);
    let paths =
        [".", "..", "../x", "a/b", "/a", "a\0b", "a b", "a\nb", "a%2fb", "a\u{2028}b", &long, &longer];
    let fields: [(&str, &[&str]); 5] = [
        ("/kind", &["", "1a", "a b", "Ä", "a:b"]),
        ("/apiVersion", &["", "v1/v1/v1", "/v1", "g/", "a b/v1", "a..b/v1", "\u{202e}/v1", "v1\nv2"]),
        ("/metadata/name", &[""]),
        ("/metadata/namespace", &[]),
        ("/metadata/uid", &["ä", "a\u{ad}"]),
    ];
    let mut cases = Vec::new();
    for (field, more) in fields {
        let all = paths
            .iter()
            .chain(more)
            .map(|name| (name.chars().take(30).collect::<String>(), (*name).to_owned()));
        for (n, (shown, name)) in all.enumerate() {
            // A uid is a word, not a part of a path; a group of one letter is a group, if not a Cluster's.
            let word = !name.contains(['\0', ' ', '\n', '\u{2028}', 'ä', '\u{ad}']) && name.len() < 254;
            let group = ["a/b", "/a", "/v1"].contains(&name.as_str());
            let fine = (field == "/metadata/uid" && word) || (field == "/apiVersion" && group);
            let codes = if fine { EITHER.to_vec() } else { REFUSED.to_vec() };
            let object = with(cluster(), field, name.into());
            cases.push(objects(format!("{field} {n} is {shown:?}"), &codes, vec![object]));
        }
    }
    // Of words anywhere else: they are somebody's data, and moved.
    for field in [
        "/metadata/labels",
        "/metadata/annotations",
        "/spec",
        "/metadata/finalizers",
        "/metadata/resourceVersion",
    ] {
        for (sort, words) in WORDS {
            let value = match field {
                "/metadata/finalizers" => json!([words]),
                "/metadata/resourceVersion" => json!(words),
                _ => json!({words: words}),
            };
            cases.push(objects(format!("{field} is {sort}"), &EITHER, vec![with(cluster(), field, value)]));
        }
    }
    for field in ["paused", "kind", "name"] {
        for (sort, words) in WORDS {
            let reference = with(
                json!({"infrastructureRef": {"kind": "K", "name": "n", "apiVersion": "a.b/v1"}, "paused": false}),
                if field == "paused" {
                    "/paused"
                } else if field == "kind" {
                    "/infrastructureRef/kind"
                } else {
                    "/infrastructureRef/name"
                },
                words.into(),
            );
            cases.push(objects(
                format!("a reference's {field} is {sort}"),
                &EITHER,
                vec![with(cluster(), "/spec", reference)],
            ));
        }
    }
    cases
}

/// Each field with a value of each type.
fn types() -> Vec<Case> {
    let values = [
        ("nothing", json!(null)),
        ("a number", json!(-1)),
        ("a large number", json!(1e300)),
        ("words", json!("FORGED")),
        ("yes", json!(true)),
        ("a list", json!([])),
        ("a list of nothing", json!([null])),
        ("a list of lists", json!([[[]]])),
        ("a map", json!({})),
        ("a map of nothing", json!({"": null})),
        ("a map of maps", json!({"a": {"b": {}}})),
    ];
    let fields = [
        "/apiVersion",
        "/kind",
        "/metadata",
        "/metadata/name",
        "/metadata/namespace",
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/metadata/generation",
        "/metadata/labels",
        "/metadata/labels/cluster.x-k8s.io~1cluster-name",
        "/metadata/annotations",
        "/metadata/finalizers",
        "/metadata/ownerReferences",
        "/metadata/ownerReferences/0",
        "/metadata/ownerReferences/0/uid",
        "/metadata/ownerReferences/0/kind",
        "/metadata/ownerReferences/0/apiVersion",
        "/metadata/ownerReferences/0/controller",
        "/metadata/managedFields",
        "/metadata/creationTimestamp",
        "/metadata/deletionTimestamp",
        "/spec",
        "/spec/clusterName",
        "/spec/paused",
        "/status",
        "/status/conditions",
        "/status/nodeRef",
    ];
    let mut cases = Vec::new();
    for field in fields {
        let name = field.replace("cluster.x-k8s.io~1cluster-name", "cluster-name");
        for (sort, value) in &values {
            let odd = match field {
                "/metadata/labels/cluster.x-k8s.io~1cluster-name" => {
                    with(machine(), "/metadata/labels", json!({"cluster.x-k8s.io/cluster-name": value}))
                }
                _ => with(machine(), field, value.clone()),
            };
            cases.push(objects(format!("{name} is {sort}"), &EITHER, vec![cluster(), odd]));
        }
    }
    for (sort, value) in &values {
        for field in [
            "/status/conditions",
            "/status/conditions/0",
            "/status/conditions/0/type",
            "/status/infrastructureReady",
            "/spec",
        ] {
            let odd = with(cluster(), field, value.clone());
            cases.push(objects(format!("a Cluster's {field} is {sort}"), &EITHER, vec![odd]));
        }
    }
    cases
}

/// Two that would be one.
fn same() -> Vec<Case> {
    let other =
        |path: &str, value: &str| with(with(cluster(), "/metadata/name", "b".into()), path, value.into());
    let twice = vec![cluster(), cluster()];
    vec![
        objects("one object twice", &REFUSED, twice.clone()),
        objects("one uid twice", &REFUSED, vec![cluster(), other("/metadata/uid", "u")]),
        objects(
            "one uid twice, of two kinds",
            &REFUSED,
            vec![cluster(), with(machine(), "/metadata/uid", "u".into())],
        ),
        objects(
            "one object in two versions",
            &REFUSED,
            vec![cluster(), with(cluster(), "/apiVersion", "cluster.x-k8s.io/v1beta2".into())],
        ),
        objects("kinds that differ in case", &REFUSED, vec![cluster(), other("/kind", "CLUSTER")]),
        objects(
            "groups that differ in case",
            &REFUSED,
            vec![cluster(), other("/apiVersion", "Cluster.x-k8s.io/v1beta1")],
        ),
        objects(
            "names that differ in case",
            &[0],
            vec![cluster(), with(other("/metadata/uid", "v"), "/metadata/name", "A".into())],
        ),
        objects(
            "names that differ in invisible characters",
            &EITHER,
            vec![cluster(), with(other("/metadata/uid", "v"), "/metadata/name", "a\u{ad}".into())],
        ),
        objects(
            "a Cluster without a uid beside one whose uid is its",
            &EITHER,
            vec![with(cluster(), "/metadata/uid", "".into()), other("/metadata/uid", "v")],
        ),
    ]
}

fn owners() -> Vec<Case> {
    let owner = |kind: &str, name: &str, uid: &str| json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": kind, "name": name, "uid": uid});
    let owned = |owners: Value| vec![cluster(), with(machine(), "/metadata/ownerReferences", owners)];
    let mut cases = vec![
        objects("its own owner", &EITHER, owned(json!([owner("Machine", "m", "m")]))),
        objects(
            "an owner whose uid is known and whose kind is not",
            &REFUSED,
            owned(json!([owner("Nothing", "a", "u")])),
        ),
        objects(
            "an owner whose uid is known and whose group is not",
            &REFUSED,
            owned(json!([
            {"apiVersion": "x.y/v1", "kind": "Cluster", "name": "a", "uid": "u"}])),
        ),
        objects(
            "an owner whose kind leads elsewhere",
            &REFUSED,
            owned(json!([owner("../Secret", "a", "u")])),
        ),
        objects("an owner whose name is another's", &EITHER, owned(json!([owner("Cluster", "b", "u")]))),
        objects("an owner that is not there", &EITHER, owned(json!([owner("Cluster", "a", "gone")]))),
        objects(
            "an owner without a uid that is not there",
            &REFUSED,
            owned(json!([owner("Cluster", "gone", "")])),
        ),
        objects(
            "one owner twice",
            &EITHER,
            owned(json!([owner("Cluster", "a", "u"), owner("Cluster", "a", "u")])),
        ),
        objects(
            "two controllers",
            &EITHER,
            owned(json!([
            {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "a", "uid": "u", "controller": true},
            {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "a", "uid": "u", "controller": true}])),
        ),
        objects(
            "ten thousand owners",
            &EITHER,
            owned((0..10_000).map(|n| owner("Cluster", &format!("c{n}"), &format!("u{n}"))).collect()),
        )
        .words(25_000),
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
    for count in [2, 3, 300] {
        cases.push(
            objects(format!("{count} that own each other in a circle"), &EITHER, chain(count, true))
                .words(25_000),
        );
    }
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
    let mut cases = Vec::new();
    for field in ["/group", "/names/kind", "/names/plural", "/versions/0/name"] {
        for (sort, words) in WORDS {
            cases.push(of(format!("{field} is {sort}"), with(good(), field, words.into()), &REFUSED));
        }
    }
    let values = [
        ("nothing", json!(null)),
        ("a number", json!(1)),
        ("a list", json!([])),
        ("a map", json!({})),
        ("nothing in words", json!("")),
    ];
    for field in [
        "/group",
        "/scope",
        "/names",
        "/names/kind",
        "/names/plural",
        "/versions",
        "/versions/0",
        "/versions/0/name",
        "/versions/0/served",
    ] {
        for (sort, value) in &values {
            cases.push(of(format!("{field} is {sort}"), with(good(), field, value.clone()), &EITHER));
        }
    }
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
    let sorts: [(&str, &[i32], Make); 15] = [
        ("a link to nothing", &REFUSED, |dir| symlink("gone", dir.join("a.yaml")).unwrap()),
        ("a link to itself", &REFUSED, |dir| symlink("a.yaml", dir.join("a.yaml")).unwrap()),
        ("a link out of it", &REFUSED, |dir| symlink("/etc/passwd", dir.join("a.yaml")).unwrap()),
        ("a link up", &REFUSED, |dir| symlink("../../../../../../etc/passwd", dir.join("a.yaml")).unwrap()),
        ("a link to zeros without end", &REFUSED, |dir| symlink("/dev/zero", dir.join("a.yaml")).unwrap()),
        ("a link to the whole machine", &REFUSED, |dir| symlink("/", dir.join("a")).unwrap()),
        ("a link to itself as a folder", &REFUSED, |dir| symlink(".", dir.join("a")).unwrap()),
        ("a folder called a.yaml", &[0], |dir| fs::create_dir(dir.join("a.yaml")).unwrap()),
        ("a name that is not UTF-8", &REFUSED, |dir| {
            fs::write(dir.join(OsString::from_vec(b"a\xff.yaml".into())), "{}").unwrap()
        }),
        ("twenty folders in each other", &REFUSED, |dir| {
            fs::create_dir_all(dir.join(["a"; 20].join("/"))).unwrap()
        }),
        ("a file that is too large", &REFUSED, |dir| {
            fs::File::create(dir.join("a.yaml")).unwrap().set_len((64 << 20) + 1).unwrap()
        }),
        ("a terabyte", &REFUSED, |dir| {
            fs::File::create(dir.join("a.json")).unwrap().set_len(1 << 40).unwrap()
        }),
        ("an encrypted file among plain ones", &REFUSED, |dir| {
            fs::write(dir.join("a.yaml.age"), "age-encryption.org/v1\n").unwrap()
        }),
        ("a device called an encrypted file", &REFUSED, |dir| {
            symlink("/dev/zero", dir.join("a.age.json.age")).unwrap()
        }),
        ("five thousand files of nothing", &[0], |dir| {
            (0..5_000).for_each(|n| fs::write(dir.join(format!("{n}.yaml")), "").unwrap())
        }),
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
    cases.push(beside("a socket".into(), &REFUSED, |dir| {
        drop(UnixListener::bind(dir.join("a.yaml")).unwrap())
    }));
    for (sort, words) in WORDS {
        let file = words.replace(['/', '\0'], "-");
        let feed =
            move |folder: &Path| fs::write(folder.join("from").join(format!("f{file}.yaml")), "{").unwrap();
        cases.push(Case::new(format!("on disk: a file called {sort}"), PLAN, &REFUSED).fed(served).fed(feed));
    }
    for place in ["/dev/null", "/etc/passwd", "/proc/self/environ", "gone", "config/../config", ""] {
        let line = format!(
            "plan -A --from-directory {}",
            if place.is_empty() { "from/definitions.json" } else { place }
        );
        cases.push(Case::new(format!("a directory that is {place:?}"), &line, &[2, 3]).fed(served));
    }
    cases
}
