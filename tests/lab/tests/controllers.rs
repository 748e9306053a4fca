//! Cluster API's real managers work on a lab server.

use std::time::{Duration, Instant};

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use pivot_lab::assets::CLUSTER_API;
use pivot_lab::managers::kubeconfig_secret;
use pivot_lab::{Crds, Manager, ManagerOptions, Managers, Server};
use serde_json::json;

pub(crate) const CLUSTER: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: shop}
spec:
  controlPlaneEndpoint: {host: 127.0.0.1, port: 6443}
  infrastructureRef: {apiGroup: example.com, kind: Thing, name: t}
";

#[tokio::test]
async fn managers_adopt_a_cluster_and_say_that_it_is_paused() {
    let crds = Crds::cluster_api(CLUSTER_API).await.unwrap();
    let server = Server::start_with("managed", &crds).await.unwrap();
    let start = Instant::now();
    let mut managers = Managers::start(&server, &ManagerOptions::of(&Manager::ALL)).await.unwrap();
    pivot_lab::say(format_args!("three managers were ready after {:.1} s", start.elapsed().as_secs_f64()));
    server.apply(CLUSTER).await.unwrap();
    server.apply_values(vec![kubeconfig_secret(&server, "shop", "c").unwrap()]).await.unwrap();

    let kinds = server.kinds().await.unwrap();
    let kind = kinds.iter().find(|kind| kind.name() == "Cluster.cluster.x-k8s.io").unwrap();
    let clusters = kind.api(server.client()).constrain("shop");
    until(&mut managers, &clusters, "a finalizer", |cluster| cluster.metadata.finalizers.is_some()).await;
    until(&mut managers, &clusters, "Paused=False", |cluster| paused(cluster) == Some("False")).await;
    let pause = Patch::Merge(json!({ "spec": { "paused": true } }));
    clusters.patch("c", &PatchParams::default(), &pause).await.unwrap();
    until(&mut managers, &clusters, "Paused=True", |cluster| paused(cluster) == Some("True")).await;

    managers.stop(Manager::Bootstrap);
    managers.still_run().unwrap();
    assert!(std::fs::read_to_string(managers.log(Manager::Core)).unwrap().contains("v1.13.5"));
}

pub(crate) fn paused(cluster: &DynamicObject) -> Option<&str> {
    let conditions = cluster.data["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == "Paused")?["status"].as_str()
}

pub(crate) async fn until(
    managers: &mut Managers,
    clusters: &Api<DynamicObject>,
    what: &str,
    done: impl Fn(&DynamicObject) -> bool,
) {
    let start = Instant::now();
    loop {
        let cluster = clusters.get("c").await.unwrap();
        if done(&cluster) {
            return pivot_lab::say(format_args!("{what} after {:.1} s", start.elapsed().as_secs_f64()));
        }
        managers.still_run().unwrap();
        assert!(start.elapsed() < Duration::from_secs(60), "no {what}: {cluster:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
