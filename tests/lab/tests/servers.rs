//! Two servers start, independent of each other, with a working garbage collector, and admit the right users.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ListParams, PostParams};
use pivot_lab::assets::CLUSTER_API;
use pivot_lab::{Crds, Pair, Server, kubeconfig};
use serde_json::json;

#[tokio::test]
async fn a_pair_starts_and_is_two_different_clusters() {
    let start = Instant::now();
    let pair = Pair::start().await.unwrap();
    pivot_lab::say(format_args!("a pair started in {:.1} s", start.elapsed().as_secs_f64()));
    let uid = async |server: &Server| {
        Api::<Namespace>::all(server.client()).get("kube-system").await.unwrap().metadata.uid.unwrap()
    };
    assert_ne!(uid(&pair.source).await, uid(&pair.target).await);
    assert_eq!(pair.source.client().apiserver_version().await.unwrap().git_version, "v1.36.3");
}

#[tokio::test]
async fn the_garbage_collector_removes_what_lost_its_owner() {
    let server = Server::start("alone").await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(server.client(), "default");
    let orphan = serde_json::from_value(json!({
        "metadata": { "name": "orphan", "ownerReferences": [
            { "apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "11111111-1111-4111-8111-111111111111" }
        ]}
    }));
    maps.create(&PostParams::default(), &orphan.unwrap()).await.unwrap();
    let start = Instant::now();
    while maps.get_opt("orphan").await.unwrap().is_some() {
        assert!(start.elapsed() < Duration::from_secs(20), "the orphan still exists");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    pivot_lab::say(format_args!("the orphan was collected after {:.1} s", start.elapsed().as_secs_f64()));
}

#[tokio::test]
async fn users_have_the_rights_they_were_given_and_no_others() {
    let server = Server::start("guarded").await.unwrap();
    let list = async |path: &std::path::Path| {
        let client = kubeconfig::client(path).await.unwrap();
        Api::<ConfigMap>::all(client).list(&ListParams::default()).await
    };
    let code = |error: kube::Error| match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    };
    assert_eq!(code(list(&server.kubeconfig_as("nobody", &[]).unwrap()).await.unwrap_err()), 403);
    list(&server.kubeconfig_as("boss", &["staff", "system:masters"]).unwrap()).await.unwrap();
    assert_eq!(code(list(&server.kubeconfig_expired("late").unwrap()).await.unwrap_err()), 401);
    assert!(server.kubeconfig_as("joiner", &["a", "b", "c"]).is_err());
}

/// CRDs that etcd has before the API server starts are those that it would have made of them.
#[tokio::test]
async fn crds_from_the_start_are_as_installed_ones() {
    let crds = Crds::cluster_api(CLUSTER_API).await.unwrap();
    let (early, late) = tokio::try_join!(Server::start_with("early", &crds), Server::start("late")).unwrap();
    late.install_crds(&crds).await.unwrap();
    let list = async |server: &Server| {
        let api: Api<CustomResourceDefinition> = Api::all(server.client());
        let listed = api.list(&ListParams::default()).await.unwrap().items;
        let comparable = |crd: CustomResourceDefinition| {
            let status = crd.status.unwrap();
            let conditions = status.conditions.unwrap_or_default().into_iter();
            let conditions: Vec<_> =
                conditions.map(|condition| (condition.type_, condition.status)).collect();
            let (name, labels) = (crd.metadata.name, crd.metadata.labels);
            (name, labels, crd.spec, status.accepted_names, status.stored_versions, conditions)
        };
        listed.into_iter().map(comparable).collect::<Vec<_>>()
    };
    let (early, late) = tokio::join!(list(&early), list(&late));
    assert!(early.len() > 10);
    assert_eq!(early, late);
}
