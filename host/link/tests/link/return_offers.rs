//! Clusters that users of an agent's cluster offer, and the role of the agent while they do.

use std::sync::Arc;
use std::time::Duration;

use pivot_core::objects::names::{GROUP_CLUSTER, RETURN};
use pivot_core::{GroupKind, Key, Kind, KindLabels};
use pivot_link::{Agent, Agents, OfferedCluster};
use pivot_memory::MemoryPlace;
use pivot_places::{Place, PlaceError};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::called::{SOON, called, cluster, create, edge, guard, kind};
use crate::tls_files::Authority;

fn clusters() -> Kind {
    Kind {
        group_kind: GroupKind::new(GROUP_CLUSTER, "Cluster"),
        version: "v1beta2".to_owned(),
        plural: "clusters".to_owned(),
        namespaced: true,
        status_subresource: true,
        served: vec!["v1beta2".to_owned()],
        labels: KindLabels::default(),
    }
}

/// A cluster with an offered Cluster in `shop`.
fn offering() -> (MemoryPlace, Key) {
    let place = cluster("far");
    for namespace in ["lab", "pivot-host-records"] {
        place.add_namespace(namespace);
    }
    place.add_kind(clusters());
    let metadata = json!({"name": "prod", "namespace": "shop", "annotations": {RETURN: "requested"}});
    let api_version = format!("{GROUP_CLUSTER}/v1beta2");
    place.insert(json!({"apiVersion": api_version, "kind": "Cluster", "metadata": metadata})).unwrap();
    (place, Key::new(GroupKind::new(GROUP_CLUSTER, "Cluster"), Some("shop"), "prod"))
}

/// An agent for two namespaces.
fn agent(authority: &Authority, address: &str, place: &MemoryPlace) -> Agent {
    let papers = authority.agent(&["spiffe://site.example.com/agent/shop/edge"]);
    let mut guard = guard();
    guard.namespaces = Some(["shop", "lab"].map(str::to_owned).into());
    Agent::new(address.to_owned(), papers, Arc::new(place.clone()), guard).unwrap()
}

// proves: T181
#[tokio::test(flavor = "multi_thread")]
async fn agent_is_a_source_while_users_offer() {
    let authority = Authority::new();
    let agents = Arc::new(Agents::new(authority.controller("localhost")).unwrap());
    let (address, _listens) = called(&agents, "127.0.0.1:0").await;
    let (place, prod) = offering();
    let agent = agent(&authority, &address, &place).allow_return();
    let task = tokio::spawn(async move { match agent.keep(|_| {}).await {} });
    let link = agents.wait_for_place(&edge(), SOON).await.unwrap();
    let offer = OfferedCluster { namespace: "shop".to_owned(), name: "prod".to_owned() };
    assert_eq!(agents.list_offers(), [(edge(), [offer].into())]);
    link.list(&kind("Secret"), Some("shop")).await.unwrap();
    let elsewhere = link.list(&kind("Secret"), Some("lab")).await.map(drop).unwrap_err();
    assert!(
        matches!(&elsewhere, PlaceError::Forbidden(why) if why.contains("--allow-namespace")),
        "{elsewhere}"
    );
    let created = create(&*link, "shop", "c").await.unwrap_err();
    assert!(matches!(&created, PlaceError::Forbidden(why) if why.contains("is source")), "{created}");

    // The user has changed their mind.
    place.edit(&prod, |body| body["metadata"]["annotations"] = json!({})).unwrap();
    let again = async {
        while create(&*link, "shop", "c").await.is_err() {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(SOON, again).await.unwrap();
    assert_eq!(agents.list_offers(), []);
    link.list(&kind("Secret"), Some("lab")).await.unwrap();
    task.abort();
}

// proves: T181
#[tokio::test(flavor = "multi_thread")]
async fn offers_need_the_administrators_permission() {
    let authority = Authority::new();
    let agents = Arc::new(Agents::new(authority.controller("localhost")).unwrap());
    let (address, _listens) = called(&agents, "127.0.0.1:0").await;
    let (place, _) = offering();
    // From a time when the administrator allowed that.
    let metadata = json!({"name": "agent-return", "namespace": "pivot-host-records"});
    let kept = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"namespaces": "shop"}});
    let kept = place.insert(kept).unwrap().key();
    let agent = agent(&authority, &address, &place);
    let task = tokio::spawn(async move { match agent.keep(|_| {}).await {} });
    let link = agents.wait_for_place(&edge(), SOON).await.unwrap();
    assert_eq!(agents.list_offers(), []);
    create(&*link, "shop", "c").await.unwrap();
    assert_eq!(place.body(&kept), None);
    task.abort();
}
