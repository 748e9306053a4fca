//! Clusters that users of an agent's cluster want to move back.

use std::time::Duration;

use pivot_controller::GROUP;
use pivot_core::{GroupKind, Key};
use pivot_link::{AgentName, OfferedCluster};
use serde_json::{Value, json};

use crate::stage::{Stage, add_cluster};

/// A child with a Cluster that it offers, and the namespaces whose agents may offer.
fn offering(accepted: &[&str]) -> Stage {
    let mut stage = Stage::new(&[]);
    stage.home.add_namespace("shop");
    add_cluster(&stage.target, "shop");
    let agent = AgentName { namespace: "shop".to_owned(), name: "edge".to_owned() };
    let cluster = OfferedCluster { namespace: "shop".to_owned(), name: "c".to_owned() };
    stage.offers = vec![(agent, [cluster].into())];
    stage.accept_returns = accepted.iter().map(|namespace| (*namespace).to_owned()).collect();
    stage
}

fn key() -> Key {
    Key::new(GroupKind::new(GROUP, "Pivot"), Some("shop"), "return-edge.c")
}

fn reason(stage: &Stage) -> Value {
    let pivot = stage.home.body(&key()).unwrap_or_default();
    let conditions = pivot["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let succeeded = conditions.into_iter().find(|condition| condition["type"] == "Succeeded");
    succeeded.unwrap_or_default()["reason"].clone()
}

// proves: T183
#[tokio::test(start_paused = true)]
async fn offered_cluster_returns_after_approval() {
    let stage = offering(&["shop"]);
    let running = stage.start();
    stage.until("suspended", |stage| reason(stage) == "Suspended").await;
    let message = stage.home.body(&key()).unwrap()["status"]["message"].to_string();
    assert!(message.contains("namespace shop of agent edge"), "{message}");
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    stage.is_only_in(&stage.target, "shop");
    let approve = |body: &mut Value| {
        body["spec"]["suspend"] = json!(false);
        body["spec"]["options"] = json!({"accept": [{"code": "takeover-unchecked"}]});
        body["metadata"]["generation"] = json!(2);
    };
    stage.home.edit(&key(), approve).unwrap();
    stage.until("done", |stage| reason(stage) == "Succeeded").await;
    stage.is_only_in(&stage.home, "shop");
    running.stop().await;
}

// proves: T183
#[tokio::test(start_paused = true)]
async fn offers_of_other_namespaces_are_ignored() {
    for accepted in [&[][..], &["bank"]] {
        let stage = offering(accepted);
        let running = stage.start();
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        assert_eq!(stage.home.body(&key()), None);
        stage.is_only_in(&stage.target, "shop");
        running.stop().await;
    }
}
