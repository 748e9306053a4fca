//! docs/guides/bootstrap-to-workload.md: with a kubeconfig of the cluster, and with the one in the source.

use std::fs;

use k8s_openapi::ByteString;
use pivot_lab::managers::workload_kubeconfig;
use pivot_lab::{Observer, Rules, Server};
use pivot_scenarios::shape;
use serde_json::{Value, json};

use super::page::Guide;
use super::{cluster_without_hosts, without_controllers};
use crate::stage::{Stage, all, clean, same};

const PAGE: &str = "bootstrap-to-workload.md";
/// The namespace on the page.
const NAMESPACE: &str = "metal3";
/// The namespace of a Cluster that a pipeline moves.
const PIPELINE: &str = "pipeline";
const NAMESPACES: [&str; 2] = [NAMESPACE, PIPELINE];
const CLUSTER: &str = "prod";

const PLAN: &str = "Plan";

/// Returns the server's kubeconfig with the name that its context has on the page.
fn named_kubeconfig(server: &Server, name: &str) -> String {
    let text = String::from_utf8(workload_kubeconfig(server).unwrap()).unwrap();
    text.replace(&format!("\"{}\"", server.name()), &format!("\"{name}\""))
}

/// Returns the objects of a cluster whose API server is the target.
fn cluster(stage: &Stage, namespace: &str) -> Vec<Value> {
    let kubeconfig = ByteString(named_kubeconfig(&stage.pair.target, CLUSTER).into_bytes());
    let mut objects = cluster_without_hosts(namespace, CLUSTER);
    let secret = objects.iter_mut().find(|object| object["metadata"]["name"] == "prod-kubeconfig").unwrap();
    secret["data"] = json!({ "value": kubeconfig });
    objects
}

fn waits(line: &str) -> bool {
    line.contains(" --wait-for-provisioning")
}

#[tokio::test(flavor = "multi_thread")]
async fn guide_from_bootstrap_works_as_written() {
    let stage = Stage::start().await;
    let mut guide = Guide::open(PAGE, without_controllers).await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    fs::write(guide.file("boot.kubeconfig"), named_kubeconfig(source, "kind-boot")).unwrap();
    for server in [source, target] {
        for file in ["namespaces.yaml", "providers.yaml"] {
            server.apply(&shape::example_file(file).unwrap()).await.unwrap();
        }
    }
    let objects = NAMESPACES.iter().flat_map(|namespace| cluster(&stage, namespace)).collect();
    source.apply_values(objects).await.unwrap();
    let before = all(source, &NAMESPACES).await;
    let observer = Observer::start(source, target, &NAMESPACES).await.unwrap();

    guide.type_section("Before you begin");
    guide.type_chosen(PLAN, |line| !waits(line));
    guide.replace(NAMESPACE, PIPELINE);
    guide.type_chosen(PLAN, waits);
    guide.replace(NAMESPACE, NAMESPACE);
    guide.type_section("Move");
    let result = guide.type_section("How to tell that it worked");
    let is_promised = |line: &str| line.starts_with("The source, ") && line.contains(", may be deleted");
    assert!(result.lines().any(is_promised), "{result}");
    guide.type_section("If it stops");

    guide.ensure_all_typed();
    same(before, all(target, &NAMESPACES).await);
    assert!(all(source, &NAMESPACES).await.is_empty());
    stage.tidy(&NAMESPACES).await;
    clean(observer, &Rules::new()).await;
}
