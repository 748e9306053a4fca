//! Files become real objects, and the state of a server becomes a value.

use std::time::Instant;

use kube::api::DynamicObject;
use pivot_lab::assets::CLUSTER_API;
use pivot_lab::{Crds, ObjectKey, Pair, Server, normalise};
use serde_json::{Value, json};

const OBJECTS: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata:
  name: m
  namespace: shop
  uid: u-machine
  finalizers: [example.com/stay]
  deletionTimestamp: '2026-01-01T00:00:00Z'
  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: c, uid: u-cluster}]
spec:
  clusterName: c
  bootstrap: {dataSecretName: s}
  infrastructureRef: {apiGroup: example.com, kind: Thing, name: t}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: shop, uid: u-cluster, resourceVersion: '12', creationTimestamp: '2026-01-01T00:00:00Z'}
spec:
  infrastructureRef: {apiGroup: example.com, kind: Thing, name: t}
status:
  phase: Provisioned
---
apiVersion: v1
kind: Secret
metadata:
  name: c-kubeconfig
  namespace: shop
  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: c, uid: u-cluster}]
stringData: {value: 'yes'}
";

#[tokio::test]
async fn a_file_becomes_the_same_state_on_two_servers() {
    let start = Instant::now();
    let pair = Pair::start_with(&Crds::cluster_api(CLUSTER_API).await.unwrap()).await.unwrap();
    pivot_lab::say(format_args!(
        "Cluster API's CRDs were served after {:.1} s",
        start.elapsed().as_secs_f64()
    ));
    let applied = pair.source.apply(OBJECTS).await.unwrap();
    pair.target.apply(OBJECTS).await.unwrap();

    let cluster = &applied[&ObjectKey::new("Cluster.cluster.x-k8s.io", "shop", "c")];
    assert_eq!(cluster.data["status"]["phase"], "Provisioned");
    let source = pair.source.dump(&["shop"]).await.unwrap();
    let machine = &source[&ObjectKey::new("Machine.cluster.x-k8s.io", "shop", "m")];
    assert_eq!(machine["metadata"]["ownerReferences"][0]["uid"], json!(cluster.metadata.uid));
    assert!(machine["metadata"]["deletionTimestamp"].is_string());

    let target = pair.target.dump(&["shop"]).await.unwrap();
    assert_ne!(source, target);
    let undated = |dump| {
        let mut dump = normalise(dump);
        for object in dump.values_mut() {
            object["metadata"].as_object_mut().unwrap().remove("deletionTimestamp");
        }
        dump
    };
    assert_eq!(undated(source), undated(target));
}

#[tokio::test]
async fn garbage_is_gone_after_the_barrier() {
    let server = Server::start("barrier").await.unwrap();
    let maps = |owner: Option<&str>, names: std::ops::Range<u32>| -> Vec<Value> {
        let owners: Value = owner
            .map(|uid| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": uid }))
            .into_iter()
            .collect();
        let map = |name| {
            json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": format!("map-{name}"), "namespace": "shop", "ownerReferences": owners } })
        };
        names.map(map).collect()
    };
    let keep = server.apply_values(maps(None, 0..1)).await.unwrap();
    let kept = server.dump(&["shop"]).await.unwrap();
    assert_eq!((keep.len(), kept.len()), (1, 1));
    server.apply_values(maps(Some("33333333-3333-4333-8333-333333333333"), 1..200)).await.unwrap();
    let start = Instant::now();
    server.collect_garbage(&kept).await.unwrap();
    pivot_lab::say(format_args!("199 orphans were collected after {:.2} s", start.elapsed().as_secs_f64()));
    assert_eq!(server.dump(&["shop"]).await.unwrap(), kept);

    let error = server.collect_garbage(&kept.clone().into_iter().take(0).collect()).await.unwrap_err();
    assert!(error.to_string().contains("no kind of garbage"), "{error}");
    server.stop_controllers().await;
    let error = server.collect_garbage(&kept).await.unwrap_err();
    assert!(error.to_string().contains("no garbage collector runs"), "{error}");
}

/// Moves deal with kinds that come and go with their CRD: the collector must know them without delay.
#[tokio::test]
async fn objects_of_new_kinds_are_collected_and_missing_owners_can_be_made() {
    let server = Server::start("collector").await.unwrap();
    server.install_crds(&Crds::cluster_api(CLUSTER_API).await.unwrap()).await.unwrap();
    let orphan = |name: &str, uid: &str| -> Value {
        json!({
            "apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddressClaim",
            "metadata": { "name": name, "namespace": "shop", "ownerReferences": [
                { "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "gone", "uid": uid }
            ]},
            "spec": { "clusterName": "gone", "poolRef": { "apiGroup": "example.com", "kind": "Pool", "name": "p" } }
        })
    };
    server.apply_values(vec![orphan("a", "22222222-2222-4222-8222-222222222222")]).await.unwrap();
    let kinds = server.kinds().await.unwrap();
    let claims =
        kinds.iter().find(|kind| kind.resource.kind == "IPAddressClaim").unwrap().api(server.client());
    let claims: kube::Api<DynamicObject> = claims.constrain("shop");
    let start = Instant::now();
    while claims.get_opt("a").await.unwrap().is_some() {
        assert!(start.elapsed().as_secs() < 10, "the orphan still exists");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
