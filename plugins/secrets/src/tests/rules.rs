//! Secrets that stay, and Secrets that the plugin does not mention.

use crate::Secrets;
use pivot_sdk::test::Harness;
use pivot_sdk::{Object, Relation};
use serde_json::{Value, json};

fn secret(name: &str, of_type: &str, meta: Value) -> Object {
    let mut object = json!({
        "apiVersion": "v1", "kind": "Secret", "type": of_type, "data": {"key": "aHVzaA=="},
        "metadata": {"name": name, "namespace": "metal3"},
    });
    let fields = meta.as_object().unwrap().clone();
    object["metadata"].as_object_mut().unwrap().extend(fields);
    Object::from(object)
}

fn said(secret: &Object) -> Option<String> {
    let relations = Harness::<Secrets>::new().relate(secret).unwrap();
    match relations.as_slice() {
        [] => None,
        [Relation::Leave(reason)] => Some(reason.clone()),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn left(name: &str, of_type: &str, meta: Value, why: &str) {
    let reason = said(&secret(name, of_type, meta)).expect("it is left");
    assert!(reason.starts_with("not linked with any Cluster: ") && reason.contains(why), "{reason}");
}

#[test]
fn tokens_of_service_accounts_stay() {
    left(
        "default-token-x7k2p",
        "kubernetes.io/service-account-token",
        json!({}),
        "a service account's token",
    );
}

#[test]
fn bootstrap_tokens_stay() {
    left("bootstrap-token-abcdef", "bootstrap.kubernetes.io/token", json!({}), "a bootstrap token");
}

#[test]
fn records_of_helm_releases_stay() {
    left("sh.helm.release.v1.ironic.v3", "helm.sh/release.v1", json!({}), "Helm's record");
    left("sh.helm.release.v1.ironic.v3", "Opaque", json!({}), "Helm's record");
}

#[test]
fn certificates_of_webhooks_stay() {
    for name in ["capm3-webhook-service-cert", "baremetal-operator-webhook-server-cert"] {
        left(name, "kubernetes.io/tls", json!({}), "a webhook's certificate");
    }
}

#[test]
fn cert_manager_certificates_stay() {
    let issued = json!({"annotations": {"cert-manager.io/certificate-name": "ironic-cacert"}});
    left("ironic-cacert", "kubernetes.io/tls", issued, "issued by this cluster's cert-manager");
}

#[test]
fn provider_components_stay() {
    let labels = json!({"labels": {"cluster.x-k8s.io/provider": "infrastructure-metal3"}});
    left("manager-credentials", "Opaque", labels, "installation of provider infrastructure-metal3");
}

#[test]
fn pull_secrets_stay() {
    left("registry-pull", "kubernetes.io/dockerconfigjson", json!({}), "credentials for pulling images");
    left("registry-old", "kubernetes.io/dockercfg", json!({}), "credentials for pulling images");
}

/// The host already reports these as "not linked with any Cluster"; a "leave" would outweigh what other plugins know, such as
/// credentials that only a host's spec refers to.
#[test]
fn secrets_of_unknown_purpose_are_not_reported() {
    for (name, of_type) in
        [("node-0-bmc", "Opaque"), ("site", "kubernetes.io/basic-auth"), ("x", "kubernetes.io/tls")]
    {
        assert_eq!(said(&secret(name, of_type, json!({}))), None, "{name}");
    }
}

#[test]
fn owned_secrets_are_not_left() {
    let owner = json!({"ownerReferences": [{
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "name": "node-0", "uid": "1",
    }]});
    assert_eq!(said(&secret("images", "kubernetes.io/dockerconfigjson", owner)), None);
}

#[test]
fn secrets_named_after_clusters_are_not_left() {
    let issued = json!({"annotations": {"cert-manager.io/certificate-name": "edge-ca"}});
    assert_eq!(said(&secret("edge-ca", "kubernetes.io/tls", issued.clone())), None);
    assert_eq!(said(&secret("edge-apiserver-etcd-client", "kubernetes.io/tls", issued.clone())), None);
    assert!(said(&secret("-ca", "kubernetes.io/tls", issued)).is_some(), "named after nothing");
}

#[test]
fn signs_of_use_prevent_leaving() {
    for meta in [
        json!({"labels": {"environment.metal3.io": "baremetal"}}),
        json!({"labels": {"cluster.x-k8s.io/cluster-name": "edge"}}),
        json!({"labels": {"clusterctl.cluster.x-k8s.io/move": ""}}),
        json!({"labels": {"clusterctl.cluster.x-k8s.io/move-hierarchy": ""}}),
        json!({"finalizers": ["baremetalhost.metal3.io/secret"]}),
    ] {
        assert_eq!(said(&secret("oci-auth", "kubernetes.io/dockerconfigjson", meta.clone())), None, "{meta}");
    }
}
