//! A move that has to wait: too long, until somebody interrupts it, while another one runs.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{Patch, PatchParams};
use pivot_lab::{Dump, Observer, Rules, normalise};
use pivot_scenarios::{shape, state};
use serde_json::json;

use crate::stage::{Stage, all, clean, same};

const BLOCK: &str = "clusterctl.cluster.x-k8s.io/block-move";

/// A cluster with a host that its provider is not ready to release.
async fn fill_blocked(stage: &Stage, namespace: &str) -> Dump {
    let mut objects = shape::cluster(namespace, 1);
    for host in objects.iter_mut().filter(|object| object["kind"] == "BareMetalHost") {
        host["metadata"]["annotations"][BLOCK] = json!("");
    }
    stage.pair.source.apply_values(objects).await.unwrap();
    all(&stage.pair.source, &[namespace]).await
}

async fn lift(stage: &Stage, namespace: &str) {
    let kinds = stage.pair.source.kinds().await.unwrap();
    let hosts = kinds.iter().find(|kind| kind.name() == "BareMetalHost.metal3.io").unwrap();
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { BLOCK: null } } }));
    let api = hosts.api(stage.pair.source.client()).constrain(namespace);
    api.patch("host-0", &PatchParams::default(), &patch).await.unwrap();
}

fn moving(namespace: &str) -> Vec<&str> {
    [&["move", "-n", namespace][..], &shape::WITHOUT_PLUGIN].concat()
}

/// The source as before, including status; no objects in the target.
async fn as_before(stage: &Stage, namespace: &str, before: Dump) {
    let (before, after) = (normalise(before), normalise(all(&stage.pair.source, &[namespace]).await));
    assert!(before == after, "{}", state::difference(&before, &after));
    assert!(all(&stage.pair.target, &[namespace]).await.is_empty());
}

/// As before, and no namespace in the target.
async fn put_back(stage: &Stage, namespace: &str, before: Dump) {
    as_before(stage, namespace, before).await;
    assert!(!state::namespaces(&stage.pair.target).await.unwrap().contains(namespace));
    stage.tidy(&[namespace]).await;
}

/// Returns the objects as they are once nothing blocks the move.
fn without_block(mut objects: Dump) -> Dump {
    for host in objects.values_mut().filter(|object| object["kind"] == "BareMetalHost") {
        host["metadata"]["annotations"].as_object_mut().unwrap().remove(BLOCK);
    }
    objects
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_end_when_they_should() {
    let stage = Stage::start().await;
    let wired = stage.wired().await;
    let before = fill_blocked(&stage, "shop").await;
    let observer = Observer::of(&stage.pair, &["shop"]).await.unwrap();

    // Too long.
    let late = [&moving("shop")[..], &["--pause-timeout", "2s"]].concat();
    let ended = wired.host.run(&late).await.unwrap().ends_with(8).unwrap();
    let document = ended.document().unwrap();
    assert!(document["message"].as_str().unwrap().contains("BareMetalHost shop/host-0"), "{document}");
    assert!(document["state"].as_str().unwrap().contains("unpaused again"), "{document}");
    put_back(&stage, "shop", before.clone()).await;

    // Interrupted.
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut run = wired.host.start(&moving("shop")).await.unwrap();
        run.until_it_says("waiting,").await.unwrap();
        run.signal(signal).unwrap();
        let ended = run.end().await.unwrap().ends_with(code).unwrap();
        assert!(ended.stderr.contains("unpaused again"), "{}", ended.stderr);
        put_back(&stage, "shop", before.clone()).await;
    }

    // Another one runs, and watches break while it waits.
    let mut first = wired.host.start(&moving("shop")).await.unwrap();
    first.until_it_says("waiting,").await.unwrap();
    let second = wired.host.run(&moving("shop")).await.unwrap().ends_with(3).unwrap();
    assert!(second.stderr.contains("another run is working"), "{}", second.stderr);
    assert!(second.stderr.contains("pivot-host status"), "{}", second.stderr);
    let status = wired.host.run(&["status"]).await.unwrap().done().unwrap();
    assert_eq!(status["moves"][0]["record"]["phase"], "Paused");
    let lock = &status["leases"][0];
    assert_eq!(lock["name"], "pivot-host.ns.shop");
    assert!(lock["holder"].as_str().is_some_and(|holder| !holder.is_empty()), "{status}");
    assert_eq!(lock["moveId"], status["moves"][0]["record"]["moveId"]);
    for _ in 0..3 {
        wired.source.faults().cut_open_watches();
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    assert!(first.still_runs().unwrap(), "{}", first.said());
    lift(&stage, "shop").await;
    first.end().await.unwrap().done().unwrap();
    let moved = all(&stage.pair.target, &["shop"]).await;
    same(without_block(before), moved);
    stage.tidy(&["shop"]).await;
    clean(observer, &Rules::new()).await;
}

/// An available Deployment of a provider whose controllers give no sign on paused copies.
fn deployment() -> serde_json::Value {
    let labels = json!({ "cluster.x-k8s.io/provider": "ipam-metal3" });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "ipam", "namespace": "ipam-system", "labels": labels },
        "spec": {
            "replicas": 1, "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "manager", "image": "ipam" }] },
            },
        },
        "status": { "observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "availableReplicas": 1 },
    })
}

// proves: I11
#[tokio::test(flavor = "multi_thread")]
async fn provider_scaled_down_stops_before_commit() {
    let stage = Stage::start().await;
    let target = &stage.pair.target;
    target.apply_values(vec![deployment()]).await.unwrap();
    let before = fill_blocked(&stage, "shop").await;
    let host = stage.host.clone().with_controllers();
    let seconds = ["--takeover-timeout", "2s"];

    let mut run = host.start(&[&moving("shop")[..], &seconds].concat()).await.unwrap();
    run.until_it_says("waiting,").await.unwrap();
    // The server counts a new generation, and no controller has observed it.
    let replicas = Patch::Merge(json!({ "spec": { "replicas": 0 } }));
    let deployments = Api::<Deployment>::namespaced(target.client(), "ipam-system");
    deployments.patch("ipam", &PatchParams::default(), &replicas).await.unwrap();
    lift(&stage, "shop").await;
    let told = "IPPool shop/c in the target: not all Deployments of ipam-metal3 are available";
    let ended = run.end().await.unwrap().ends_with(4).unwrap();
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert!(ended.stderr.contains("--accept unseen=IPPool.ipam.metal3.io"), "{}", ended.stderr);
    let ended = host.run(&[&["resume"][..], &seconds].concat()).await.unwrap().ends_with(4).unwrap();
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    host.run(&["rollback"]).await.unwrap().done().unwrap();
    as_before(&stage, "shop", without_block(before)).await;
}
