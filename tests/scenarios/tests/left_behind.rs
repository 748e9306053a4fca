//! Objects of Cluster API itself that stay, although Clusters that move depend on them.

use pivot_lab::assets::CLUSTER_API;
use pivot_lab::{Crds, Pair, Server};
use pivot_scenarios::host::Host;
use serde_json::{Value, json};

use crate::stage::all;

const CAPI: &str = "cluster.x-k8s.io/v1beta2";

fn object(api: &str, kind: &str, name: &str, content: Value) -> Value {
    let mut object = content;
    object["apiVersion"] = json!(api);
    object["kind"] = json!(kind);
    object["metadata"]["name"] = json!(name);
    if kind != "ExtensionConfig" {
        object["metadata"]["namespace"] = json!("shop");
    }
    object
}

/// A Cluster with a Machine. Its class names a runtime extension, and a rule says how its Machines are drained.
fn cluster() -> Vec<Value> {
    let template = |kind: &str| {
        let api = "controlplane.cluster.x-k8s.io/v1beta2";
        json!({ "templateRef": { "apiVersion": api, "kind": kind, "name": "quick" } })
    };
    let patches = json!([{ "name": "p", "external": { "generatePatchesExtension": "generate.site" } }]);
    let class = json!({ "spec": { "infrastructure": template("KubeadmControlPlaneTemplate"),
        "controlPlane": template("KubeadmControlPlaneTemplate"), "patches": patches } });
    let topology = json!({ "classRef": { "name": "quick" }, "version": "v1.35.2" });
    let initialised = json!({ "type": "ControlPlaneInitialized", "status": "True", "reason": "Initialized", "message": "",
        "lastTransitionTime": "2026-08-03T10:58:41Z" });
    let provisioned = json!({ "conditions": [initialised],
        "initialization": { "infrastructureProvisioned": true, "controlPlaneInitialized": true } });
    let owners = json!([{ "apiVersion": CAPI, "kind": "Cluster", "name": "c" }]);
    let infrastructure =
        json!({ "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Machine", "name": "m" });
    vec![
        object(CAPI, "ClusterClass", "quick", class),
        object(CAPI, "Cluster", "c", json!({ "spec": { "topology": topology }, "status": provisioned })),
        object(
            CAPI,
            "Machine",
            "m",
            json!({ "metadata": { "ownerReferences": owners },
            "spec": { "clusterName": "c", "bootstrap": { "dataSecretName": "m" }, "infrastructureRef": infrastructure },
            "status": { "nodeRef": { "name": "m" } } }),
        ),
        object(CAPI, "MachineDrainRule", "keep", json!({ "spec": { "drain": { "behavior": "Skip" } } })),
        extension(),
    ]
}

fn extension() -> Value {
    let api = "runtime.cluster.x-k8s.io/v1beta2";
    let hook = json!({ "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "GeneratePatches" });
    object(
        api,
        "ExtensionConfig",
        "site",
        json!({
            "spec": { "clientConfig": { "url": "https://extension.example.com" },
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "shop" } } },
            "status": { "handlers": [{ "name": "generate.site", "requestHook": hook, "timeoutSeconds": 10, "failurePolicy": "Fail" }] },
        }),
    )
}

async fn start() -> (Pair, Host) {
    let pair = Pair::start_with(&Crds::cluster_api(CLUSTER_API).await.unwrap()).await.unwrap();
    pair.source.apply_values(cluster()).await.unwrap();
    let host = Host::between(pair.source.kubeconfig(), pair.target.kubeconfig());
    (pair, host)
}

/// Names of the namespace's objects.
async fn names(server: &Server) -> Vec<String> {
    let dump = all(server, &["shop"]).await;
    let keys = dump.keys().filter(|key| key.namespace == "shop" && key.name != "kube-root-ca.crt");
    keys.map(|key| format!("{} {}", key.kind.split('.').next().unwrap(), key.name)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn extensions_of_classes_are_required() {
    let (pair, host) = start().await;
    let refused = host.run(&["move", "-n", "shop"]).await.unwrap().ends_with(3).unwrap().document().unwrap();
    let codes: Vec<&Value> = refused["refusals"].as_array().unwrap().iter().map(|one| &one["code"]).collect();
    assert_eq!(codes, ["extension-missing"], "{refused}");
    assert!(names(&pair.target).await.is_empty());
    pair.target.apply_values(vec![extension()]).await.unwrap();
    host.run(&["move", "-n", "shop"]).await.unwrap().done().unwrap();
    assert_eq!(names(&pair.target).await, ["Cluster c", "ClusterClass quick", "Machine m"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn offered_option_copies_drain_rules() {
    let (pair, host) = start().await;
    pair.target.apply_values(vec![extension()]).await.unwrap();
    let plan = host.run_as_text(&["plan", "-n", "shop"]).await.unwrap().ends_with(0).unwrap().stdout;
    let line = plan.lines().find(|line| line.contains("MachineDrainRules that stay (1: shop/keep)")).unwrap();
    let (_, option) = line.split_once("copy them, too: ").unwrap();
    let option: Vec<&str> = option.split(' ').collect();
    host.run(&[&["move", "-n", "shop"][..], &option].concat()).await.unwrap().done().unwrap();
    assert!(names(&pair.target).await.contains(&"MachineDrainRule keep".to_owned()));
    assert_eq!(names(&pair.source).await, ["MachineDrainRule keep"]);
}
