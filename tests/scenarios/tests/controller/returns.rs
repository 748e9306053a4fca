//! A Cluster that moves back because a user of its cluster annotates it.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use pivot_lab::Server;
use pivot_scenarios::host::Run;
use pivot_scenarios::link::Link;
use pivot_scenarios::pivots::condition;
use serde_json::json;
use tokio::time::sleep;

use crate::agents::{AGENT_ACCOUNT, ended, grant, installed_with, options, roles};
use crate::stage::{ACCOUNT, Stage, same};

const CONTROLLER_FLAGS: [&str; 2] = ["--accept-returns", "shop"];
const RETURN: &str = "pivot-host.io/return";

fn clusters(server: &Server) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "Cluster");
    Api::namespaced_with(server.client(), "shop", &ApiResource::from_gvk(&kind))
}

/// Waits until the Pivot of the offered Cluster shows this reason, and returns the Pivot's message.
async fn until_reason(stage: &Stage, reason: &str, running: &mut Run) -> String {
    for _ in 0..600 {
        let pivot = stage.pivots().in_namespace("shop").get_opt("return-edge.c").await.unwrap();
        let status = pivot.map(|pivot| pivot.data["status"].clone()).unwrap_or_default();
        if condition(&status, "Succeeded").is_some_and(|one| one["reason"] == reason) {
            return status["message"].as_str().unwrap_or_default().to_owned();
        }
        assert!(running.still_runs().unwrap());
        sleep(Duration::from_millis(200)).await;
    }
    panic!("never {reason}: {}", running.said());
}

/// Grants both accounts what the move back needs, by the objects of the move there.
async fn grant_return((home, child): (&Server, &Server)) {
    for (server, side, account) in [(child, "source", AGENT_ACCOUNT), (home, "target", ACCOUNT)] {
        let printed = roles((home, child), &["--side", side, "--bind-to", account]).await;
        server.apply_values(printed).await.unwrap();
    }
}

// proves: T181, T183
#[tokio::test(flavor = "multi_thread")]
async fn annotated_cluster_returns_after_approval() {
    let flags = [&["--agents-secret", "tls"], &CONTROLLER_FLAGS[..]].concat();
    let stage = Stage::start_with(&["shop"], &flags).await;
    let (home, child) = (&stage.pair.source, &stage.pair.target);
    let edge = installed_with(child, &["--allow-return"]).await;
    // All roles are given at the invitation.
    grant((home, ACCOUNT), (child, AGENT_ACCOUNT)).await;
    grant_return((home, child)).await;
    let before = stage.moved(home, "shop").await;
    let link = Link::new().unwrap();
    let mut running = link.controller_with(&stage.account(), &CONTROLLER_FLAGS).await.unwrap();
    let agent = link.agent_with(&edge, &["--allow-return", "--keep-answering"]).await.unwrap();
    let spec = json!({"to": {"agent": "edge"}, "options": options()});
    stage.ask_for("shop", spec.clone()).await;
    stage.until("shop", "Succeeded", &mut running).await;
    same(before.clone(), stage.moved(child, "shop").await);

    let offer = Patch::Merge(json!({"metadata": {"annotations": {RETURN: "requested"}}}));
    clusters(child).patch("c", &PatchParams::default(), &offer).await.unwrap();
    let message = until_reason(&stage, "Suspended", &mut running).await;
    assert!(message.contains("kubectl patch -n shop pivots.pivot-host.io return-edge.c "), "{message}");
    sleep(Duration::from_secs(5)).await;
    assert!(stage.moved(home, "shop").await.is_empty());
    assert_eq!(stage.moved(child, "shop").await.len(), before.len());
    // No controllers run here, so that a move has to accept more than one of the documentation.
    let approval = Patch::Merge(json!({"spec": {"suspend": false, "options": options()}}));
    let pivots = stage.pivots().in_namespace("shop");
    pivots.patch("return-edge.c", &PatchParams::default(), &approval).await.unwrap();
    until_reason(&stage, "Succeeded", &mut running).await;
    same(before.clone(), stage.moved(home, "shop").await);
    assert!(stage.moved(child, "shop").await.is_empty());

    // The agent is a target again, and offers nothing.
    let maps: Api<ConfigMap> = Api::namespaced(child.client(), "pivot-host-records");
    while maps.get_opt("agent-return").await.unwrap().is_some() {
        assert!(running.still_runs().unwrap());
        sleep(Duration::from_millis(200)).await;
    }
    sleep(Duration::from_secs(2)).await;

    // The next move into the child is not undone by the old offer.
    pivots.delete("return-edge.c", &Default::default()).await.unwrap();
    stage.delete("shop").await;
    stage.until_gone("shop", &mut running).await;
    stage.ask_for("shop", spec).await;
    stage.until("shop", "Succeeded", &mut running).await;
    same(before, stage.moved(child, "shop").await);
    let copy = clusters(child).get("c").await.unwrap();
    assert!(!copy.metadata.annotations.unwrap_or_default().contains_key(RETURN));
    sleep(Duration::from_secs(30)).await;
    assert!(pivots.get_opt("return-edge.c").await.unwrap().is_none());
    assert!(maps.get_opt("agent-return").await.unwrap().is_none());
    stage.tidy().await;
    ended(running).await;
    ended(agent).await;
}
