//! Parts of a namespace that the user leaves where they are, and what nobody but the user knows to belong to it.

use pivot_lab::proxy::{Fault, Rule, Seen, Times};
use pivot_lab::{Crds, Dump};
use pivot_scenarios::secrets::ENCODED;
use pivot_scenarios::shape::{self, WITHOUT_PLUGIN};
use pivot_scenarios::state;
use serde_json::{Value, json};

use crate::stage::{Stage, all, same};

const NAMESPACE: &str = "shop";
const POOL: &str = "IPPool.ipam.metal3.io/shop/spare";
const TEMPLATE: &str = "Metal3DataTemplate.infrastructure.cluster.x-k8s.io/shop/spare";

/// Templates, credentials and a pool that move by themselves, and belong to no Cluster.
fn spare() -> [Value; 3] {
    let metadata = json!({ "name": "spare", "namespace": NAMESPACE,
        "labels": { "clusterctl.cluster.x-k8s.io/move": "" } });
    let pool = json!({ "apiGroup": "ipam.metal3.io", "kind": "IPPool", "name": "spare" });
    [
        json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3DataTemplate", "metadata": metadata,
            "spec": { "clusterName": "c", "networkData": { "networks": { "ipv4": [{ "id": "a", "fromPoolRef": pool }] } },
                "metaData": { "strings": [{ "key": "registry", "value": "spare" }] } } }),
        json!({ "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "metadata": metadata,
            "spec": { "clusterName": "c", "namePrefix": "spare" } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": { "value": ENCODED } }),
    ]
}

/// What no label speaks of.
const POLICIES: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: policies.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Policy, listKind: PolicyList, plural: policies, singular: policy}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
"#;

/// A policy with one below it, what an installer wrote down, and credentials of another namespace.
fn unknown() -> [Value; 4] {
    let policy = |name: &str, owners: Value| {
        json!({ "apiVersion": "example.org/v1", "kind": "Policy",
            "metadata": { "name": name, "namespace": NAMESPACE, "finalizers": ["example.org/stay"], "ownerReferences": owners },
            "spec": { "allow": [] } })
    };
    let owner = json!([{ "apiVersion": "example.org/v1", "kind": "Policy", "name": "strict" }]);
    [
        policy("strict", json!([])),
        policy("below", owner),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "bom", "namespace": NAMESPACE },
            "data": { "images": "all" } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "credentials", "namespace": "vault" },
            "data": { "value": ENCODED } }),
    ]
}

fn of(dump: &Dump, test: impl Fn(&str, &str) -> bool) -> Dump {
    dump.iter()
        .filter(|(key, _)| test(&key.kind, &key.name))
        .map(|(key, object)| (key.clone(), object.clone()))
        .collect()
}

// proves: D8
#[tokio::test(flavor = "multi_thread")]
async fn what_is_excluded_stays_with_what_it_uses() {
    let stage = Stage::start().await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    let objects = shape::cluster(NAMESPACE, 1).into_iter().chain(spare());
    source.apply_values(objects.collect()).await.unwrap();
    let before = all(source, &[NAMESPACE]).await;

    // Neither what others depend on, nor without what it uses, nor what is not there; and nothing changes.
    for (excluded, expected) in [
        (&["Machine.cluster.x-k8s.io"][..], "excluded-but-needed"),
        (&[TEMPLATE], "pool-shared"),
        (&[TEMPLATE, POOL, "Secret/shop/sparse"], "excluded-missing"),
    ] {
        let flags: Vec<&str> = excluded.iter().flat_map(|part| ["--exclude", *part]).collect();
        let command = [&["move", "-n", NAMESPACE][..], &flags, &WITHOUT_PLUGIN].concat();
        let refused = stage.host.run(&command).await.unwrap().ends_with(3).unwrap().document().unwrap();
        let refusals = refused["refusals"].as_array().unwrap();
        assert_eq!((refusals.len(), &refusals[0]["code"]), (1, &json!(expected)), "{refusals:?}");
        same(before.clone(), all(source, &[NAMESPACE]).await);
        assert!(all(target, &[NAMESPACE]).await.is_empty());
    }

    let flags = ["move", "-n", NAMESPACE, "--exclude", TEMPLATE, "--exclude", POOL];
    let report = stage.host.run(&[&flags[..], &WITHOUT_PLUGIN].concat()).await.unwrap().done().unwrap();
    assert_eq!(report["outcome"], "Moved");
    stage.tidy(&[NAMESPACE]).await;
    same(of(&before, |_, name| name == "spare"), all(source, &[NAMESPACE]).await);
    let moved = of(&before, |kind, name| name != "spare" || kind == "Secret");
    same(moved.clone(), all(target, &[NAMESPACE]).await);

    // What stayed follows without the flag, and finds the Secret that it shares.
    stage.host.run(&["move", "-n", NAMESPACE]).await.unwrap().done().unwrap();
    stage.tidy(&[NAMESPACE]).await;
    assert!(all(source, &[NAMESPACE]).await.is_empty());
    same(before.clone(), all(target, &[NAMESPACE]).await);
}

// proves: D9
#[tokio::test(flavor = "multi_thread")]
async fn what_is_carried_along_is_on_both_sides_there_and_back() {
    let stage = Stage::start().await;
    stage.pair.install_crds(&Crds::parse(&[POLICIES]).unwrap()).await.unwrap();
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    let both = [NAMESPACE, "vault"];
    let objects = shape::cluster(NAMESPACE, 1).into_iter().chain(unknown()).chain(spare());
    source.apply_values(objects.collect()).await.unwrap();
    let before = all(source, &both).await;
    let flags = [
        "--also-copy",
        "Policy.example.org/shop/strict",
        "--also-copy",
        "ConfigMap",
        "--also-copy",
        "Secret/vault/credentials",
    ];
    let command =
        |more: &[&'static str]| [&["move", "-n", NAMESPACE][..], &flags, more, &WITHOUT_PLUGIN].concat();

    for (more, expected) in [
        ("Policy.example.org/shop/strikt", "also-copied-missing"),
        ("Machine.cluster.x-k8s.io/vault/c-0", "also-copied-missing"),
        ("Policy.example.org/shop/below", "owner-outside"),
    ] {
        let more = if expected == "owner-outside" {
            vec!["--also-copy", more, "--exclude", "Policy.example.org/shop/strict"]
        } else {
            vec!["--also-copy", more]
        };
        let refused =
            stage.host.run(&command(&more)).await.unwrap().ends_with(3).unwrap().document().unwrap();
        let codes: Vec<_> =
            refused["refusals"].as_array().unwrap().iter().map(|one| one["code"].clone()).collect();
        assert!(codes.contains(&json!(expected)), "{codes:?}");
        same(before.clone(), all(source, &both).await);
        assert!(all(target, &both).await.is_empty());
    }

    let report = stage.host.run(&command(&[])).await.unwrap().done().unwrap();
    assert_eq!(report["outcome"], "Moved");
    stage.tidy(&both).await;
    let carried = |name: &str| ["strict", "bom", "credentials"].contains(&name);
    same(of(&before, |_, name| carried(name) || name == "below"), all(source, &both).await);
    let copied = of(&before, |_, name| name != "below");
    same(copied.clone(), all(target, &both).await);

    // On the way back they are found, and used.
    state::restore_status(target, &copied).await.unwrap();
    let back = stage.back().run(&command(&[])).await.unwrap().done().unwrap();
    assert_eq!(back["outcome"], "Moved");
    stage.tidy(&both).await;
    same(before.clone(), all(source, &both).await);
    same(of(&before, |_, name| carried(name)), all(target, &both).await);
}

/// What an installer wants beside the cluster: as people write it, with what they paste.
fn installed() -> String {
    let policy = json!({ "apiVersion": "example.org/v1", "kind": "Policy",
        "metadata": { "name": "added", "namespace": NAMESPACE, "uid": "u", "resourceVersion": "1", "managedFields": [] },
        "spec": { "allow": ["a"] }, "status": { "ready": true } });
    format!(
        "# What the installer wrote down.\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: added, namespace: {NAMESPACE}}}\ndata: {{images: all}}\n---\n\
         {policy}\n---\n\
         apiVersion: v1\nkind: Namespace\nmetadata: {{name: extra, labels: {{whose: installer}}}}\n---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {{name: added, namespace: extra}}\nstringData: {{password: hush}}\n"
    )
}

fn creates_machines(seen: &Seen) -> bool {
    seen.is_mutating() && seen.method.as_str() == "POST" && seen.path.contains("/machines?")
}

// proves: D10
#[tokio::test(flavor = "multi_thread")]
async fn what_is_added_is_in_the_target_and_a_rollback_removes_it() {
    let stage = Stage::start().await;
    stage.pair.install_crds(&Crds::parse(&[POLICIES]).unwrap()).await.unwrap();
    let wired = stage.wired().await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    let both = [NAMESPACE, "extra"];
    source.apply_values(shape::cluster(NAMESPACE, 1)).await.unwrap();
    let before = all(source, &both).await;
    let known = state::namespaces(target).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (good, other) =
        (file("good.yaml", &installed()), file("other.yaml", &installed().replace("all", "none")));
    let command = |file: &str| {
        let words = [&["move", "-n", NAMESPACE, "--with-manifest", file][..], &WITHOUT_PLUGIN].concat();
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let run = async |words: &[String]| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        wired.host.run(&words).await.unwrap()
    };

    // What the server would not take is known before anything is paused.
    let odd = file("odd.yaml", &installed().replace("data: {images: all}", "data: {images: [all]}"));
    let unserved = file("unserved.yaml", &installed().replace("example.org/v1", "example.org/v9"));
    let mistyped = file("mistyped.yaml", &installed().replace("name: extra", "name: exrta"));
    for (file, expected) in
        [(odd, "create-refused"), (unserved, "manifest-kind-missing"), (mistyped, "manifest-namespace")]
    {
        let refused = run(&command(&file)).await.ends_with(3).unwrap().document().unwrap();
        let refusals = refused["refusals"].as_array().unwrap();
        assert_eq!((refusals.len(), &refusals[0]["code"]), (1, &json!(expected)), "{refusals:?}");
        same(before.clone(), all(source, &both).await);
        assert_eq!(state::namespaces(target).await.unwrap(), known);
    }

    let refuses =
        Rule::new(Times::Always, Fault::Answer { status: 403, retry_after: None }, creates_machines);
    let rule = wired.target.faults().add(refuses);
    let stopped = run(&command(&good)).await.ends_with(4).unwrap().document().unwrap();
    let resume = stopped["next"][0].as_str().unwrap();
    assert!(resume.contains(" resume ") && resume.contains(&format!(" --with-manifest {good} ")), "{resume}");
    let added = |dump: &Dump| of(dump, |_, name| name == "added").len();
    assert_eq!((added(&all(source, &both).await), added(&all(target, &both).await)), (0, 3));
    for flags in [&[][..], &["--with-manifest", &other]] {
        let words = [&["resume"][..], flags].concat();
        let refused = wired.host.run(&words).await.unwrap().ends_with(3).unwrap();
        assert!(refused.stderr.contains("(--with-manifest, --plan)"), "{}", refused.stderr);
    }
    wired.host.run(&["rollback"]).await.unwrap().done().unwrap();
    state::until_gone(target, "extra").await.unwrap();
    state::until_gone(target, NAMESPACE).await.unwrap();
    assert_eq!(state::namespaces(target).await.unwrap(), known);
    same(before.clone(), all(source, &both).await);
    stage.tidy(&both).await;

    wired.target.faults().remove(rule);
    let report = run(&command(&good)).await.done().unwrap();
    assert_eq!((&report["outcome"], &report["fromManifests"]["Secret"]), (&json!("Moved"), &json!(1)));
    stage.tidy(&both).await;
    assert!(all(source, &both).await.is_empty());
    let there = all(target, &both).await;
    same(before, of(&there, |_, name| name != "added"));
    assert_eq!(added(&there), 3);
    let secret = there.iter().find(|(key, _)| key.kind == "Secret" && key.name == "added").unwrap().1;
    assert_eq!(secret["data"], json!({ "password": "aHVzaA==" }));
}
