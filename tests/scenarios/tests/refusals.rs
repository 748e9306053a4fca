//! Bad input: each with a clear error, the right exit code, and nothing changed.

use std::path::Path;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, PostParams};
use pivot_lab::{Crds, Dump, FaultProxy, Server, say};
use pivot_scenarios::host::{Ended, Host};
use pivot_scenarios::{shape, state};
use serde_json::{Value, json};

use crate::stage::{Stage, all};

const REFUSED: i32 = 3;
const UNREACHABLE: i32 = 9;
const EMPTY: i32 = 7;

/// All objects on both sides, byte for byte.
async fn picture(stage: &Stage) -> [Dump; 2] {
    let (source, target) = (all(&stage.pair.source, &[]), all(&stage.pair.target, &[]));
    let (source, target) = tokio::join!(source, target);
    [source, target]
}

/// Runs a command that must be refused: with that exit code, printing all of these texts, and without a trace.
async fn refused(stage: &Stage, host: &Host, words: &[&str], code: i32, says: &[&str]) -> Ended {
    let before = picture(stage).await;
    let namespaces = state::namespaces(&stage.pair.target).await.unwrap();
    let ended = host.run(words).await.unwrap().ends_with(code).unwrap();
    say(format_args!("`{}`:\n{}", ended.words, ended.stderr.trim_end()));
    let document = ended.document().unwrap();
    for text in says {
        // A dry run's refusals are part of its result.
        let told = ended.stderr.contains(text) || ended.stdout.contains(text);
        assert!(told, "no {text:?} in\n{}\n{}", ended.stderr, ended.stdout);
    }
    assert!(ended.stderr.contains("state: nothing is changed"), "{}", ended.stderr);
    if document["kind"] == "Error" {
        assert_eq!(document["exitCode"], code);
        assert!(document["state"].as_str().is_some_and(|state| state.contains("nothing is changed")));
    }
    for refusal in document["refusals"].as_array().into_iter().flatten() {
        assert!(refusal["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()), "no remedy: {refusal}");
    }
    let after = picture(stage).await;
    for (before, after) in before.iter().zip(&after) {
        assert!(before == after, "changed by `{}`:\n{}", ended.words, state::difference(before, after));
    }
    assert_eq!(state::namespaces(&stage.pair.target).await.unwrap(), namespaces);
    for server in [&stage.pair.source, &stage.pair.target] {
        assert_eq!(state::belongings(server).await.unwrap(), Vec::<String>::new(), "`{}`", ended.words);
    }
    ended
}

fn moving(namespace: &str) -> Vec<&str> {
    [&["move", "-n", namespace][..], &shape::WITHOUT_PLUGIN].concat()
}

// proves: D17, I9, T20, T116
#[tokio::test(flavor = "multi_thread")]
async fn wrong_names_and_wrong_keys() {
    let stage = Stage::start().await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    stage.fill("shop", 1).await;
    let (from, to) = (source.kubeconfig(), target.kubeconfig());
    let words = moving("shop");
    let refuse = async |host: &Host, words: &[&str], code, says: &[&str]| {
        refused(&stage, host, words, code, says).await
    };

    refuse(&stage.host, &moving("shoop"), EMPTY, &["namespace shoop"]).await;
    refuse(&stage.host, &["move", "-n", "shop"], REFUSED, &["--accept no-plugin=BareMetalHost.metal3.io"])
        .await;

    let missing = Path::new("/nonexistent/kubeconfig");
    refuse(&Host::between(missing, to), &words, REFUSED, &["source", "/nonexistent/kubeconfig"]).await;
    refuse(&Host::between(from, missing), &words, REFUSED, &["target", "/nonexistent/kubeconfig"]).await;
    let rubbish = source.dir().join("rubbish.kubeconfig");
    std::fs::write(&rubbish, "this is: [no kubeconfig").unwrap();
    refuse(&Host::between(&rubbish, to), &words, REFUSED, &["source", "rubbish.kubeconfig"]).await;

    let host = stage.host.clone().with(&["--kubeconfig-context", "elsewhere"]);
    refuse(&host, &words, REFUSED, &["source", "elsewhere"]).await;
    let host = stage.host.clone().with(&["--to-kubeconfig-context", "elsewhere"]);
    refuse(&host, &words, REFUSED, &["target", "elsewhere"]).await;

    let expired = target.kubeconfig_expired("late").unwrap();
    refuse(&Host::between(from, &expired), &words, REFUSED, &["target", "expired"]).await;

    // A server with a certificate of another authority.
    let (own, other) = (authority(from), authority(to));
    assert_ne!(own, other);
    let stranger = source.dir().join("stranger.kubeconfig");
    std::fs::write(&stranger, std::fs::read_to_string(to).unwrap().replace(&other, &own)).unwrap();
    refuse(&Host::between(from, &stranger), &words, REFUSED, &["target", "certificate is not trusted"]).await;

    // The same server, even under another address.
    refuse(&Host::between(from, from), &words, REFUSED, &["are the same", "--to-kubeconfig"]).await;
    let proxy = FaultProxy::start(source).await.unwrap();
    refuse(&Host::between(from, proxy.kubeconfig()), &words, REFUSED, &["are the same"]).await;

    // Nobody listens.
    let gone = source.dir().join("gone.kubeconfig");
    let text = std::fs::read_to_string(to).unwrap().replace(target.url(), "https://127.0.0.1:1");
    std::fs::write(&gone, text).unwrap();
    refuse(&Host::between(from, &gone), &words, UNREACHABLE, &["target", "127.0.0.1:1"]).await;

    refuse(&stage.host, &["resume"], EMPTY, &["no move is under way"]).await;
    refuse(&stage.host, &["rollback"], EMPTY, &["no move is under way"]).await;
}

/// The authority that a kubeconfig has for its server.
fn authority(kubeconfig: &Path) -> String {
    let text = std::fs::read_to_string(kubeconfig).unwrap();
    let (_, data) = text.split_once("certificate-authority-data").unwrap();
    data.trim_start_matches([':', '"', ' ']).split(['"', '\n', ',']).next().unwrap().to_owned()
}

fn thing_crd(kind: &str, spec: Value) -> String {
    let plural = format!("{}s", kind.to_lowercase());
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.infrastructure.cluster.x-k8s.io"),
            "labels": { "clusterctl.cluster.x-k8s.io": "", "clusterctl.cluster.x-k8s.io/move": "" },
        },
        "spec": {
            "group": "infrastructure.cluster.x-k8s.io", "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": spec },
                }}},
            }],
        },
    })
    .to_string()
}

fn thing(kind: &str, namespace: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": kind,
        "metadata": { "name": "thing", "namespace": namespace }, "spec": spec,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn targets_that_are_not_ready() {
    let stage = Stage::start().await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    stage.fill("shop", 1).await;
    let refuse =
        async |words: &[&str], says: &[&str]| refused(&stage, &stage.host, words, REFUSED, says).await;

    let bare = Server::start("bare").await.unwrap();
    let host = Host::between(source.kubeconfig(), bare.kubeconfig());
    let before = all(&bare, &[]).await;
    let says = ["of cluster.x-k8s.io\n    install the provider", "clusterctl init"];
    refused(&stage, &host, &moving("shop"), REFUSED, &says).await;
    assert_eq!(before, all(&bare, &[]).await);

    let any = json!({ "type": "string" });
    let few = json!({ "type": "string", "enum": ["small"] });
    let spec = json!({ "size": any, "colour": any });
    let crds = |things: [String; 2]| Crds::parse(&things).unwrap();
    let loose = crds([thing_crd("Strict", spec.clone()), thing_crd("Lossy", spec)]);
    source.install_crds(&loose).await.unwrap();
    let strict = thing_crd("Strict", json!({ "size": few, "colour": any }));
    let strict = crds([strict, thing_crd("Lossy", json!({ "size": any }))]);
    target.install_crds(&strict).await.unwrap();
    let large = json!({ "size": "large", "colour": "red" });
    let things = vec![thing("Strict", "strict", large.clone()), thing("Lossy", "lossy", large)];
    source.apply_values(things).await.unwrap();
    // Whether or not the namespace exists already.
    for _ in 0..2 {
        refuse(&moving("strict"), &["Strict strict/thing", "spec.size", "provider"]).await;
        refuse(&moving("lossy"), &["spec.colour", "Lossy lossy/thing", "provider"]).await;
        let namespaces: Api<Namespace> = Api::all(target.client());
        for name in ["strict", "lossy"] {
            let namespace = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
            // The second time it exists.
            let _ = namespaces.create(&PostParams::default(), &namespace).await;
        }
    }
    let dry = [&moving("strict")[..], &["--dry-run=server"]].concat();
    refuse(&dry, &["spec.size"]).await;

    let provider = |namespace: &str, version: &str| {
        json!({
            "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Provider",
            "metadata": { "name": "infrastructure-metal3", "namespace": namespace },
            "providerName": "metal3", "type": "InfrastructureProvider", "version": version,
        })
    };
    source.apply_values(vec![provider("capm3-system", "v1.14.0")]).await.unwrap();
    refuse(
        &moving("shop"),
        &["not installed in the target", "clusterctl init --infrastructure metal3:v1.14.0"],
    )
    .await;
    target.apply_values(vec![provider("capm3-system", "v1.13.0")]).await.unwrap();
    refuse(&moving("shop"), &["v1.13.0", "v1.14.0", "clusterctl upgrade"]).await;
}
