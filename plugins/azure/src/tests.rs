//! Compares the table with the fields that pivot-host checks, checks the provider's own examples of identities, and records
//! answers for the component.

use pivot_sdk::Side;
use pivot_sdk::prelude::Point;
use pivot_sdk::test::Harness;
use serde_json::{Value, json};

use crate::Azure;

#[path = "../../rows.rs"]
mod rows;
#[path = "../../scene.rs"]
mod scene;

#[test]
fn relations_match_the_checked_fields() {
    rows::assert_rows_related::<Azure>(&[]);
}

#[test]
fn recorded_answers_match_the_native_code() {
    scene::answers_as_recorded::<Azure>(concat!(env!("CARGO_MANIFEST_DIR"), "/scene.json"));
}

/// Checks an identity with a specification of cluster-api-provider-azure, docs/book/src/topics/identities.md, and returns the codes.
fn check_identity(mut spec: Value, target_is_cluster: bool) -> Vec<String> {
    spec["tenantID"] = json!("tenant");
    spec["clientID"] = json!("client");
    spec["allowedNamespaces"] = json!({"list": ["azure"]});
    let mut host = Harness::<Azure>::new();
    if !target_is_cluster {
        host.make_directory(Side::Target);
    }
    host.add_to_source(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "AzureClusterIdentity",
        "metadata": {"name": "cluster-identity", "namespace": "azure"},
        "spec": spec,
    }));
    let findings = host.check(Point::BeforePause).unwrap();
    assert!(findings.iter().all(|finding| finding.objects.len() == 1), "{findings:?}");
    // The target may be prepared.
    assert!(
        findings.iter().all(|finding| finding.message.contains("pivot-host can't see whether")),
        "{findings:?}"
    );
    findings.iter().map(|finding| finding.code.to_string()).collect()
}

#[test]
fn credentials_bound_to_a_cluster_are_reported() {
    let secret = json!({"name": "password", "namespace": "default"});
    for (spec, expected) in [
        (json!({"type": "WorkloadIdentity"}), &["workload-identity"][..]),
        (json!({"type": "UserAssignedMSI"}), &["managed-identity"]),
        (json!({"type": "ServicePrincipalCertificate", "certPath": "/cert"}), &["credential-file"]),
        (
            json!({
                "type": "UserAssignedIdentityCredential",
                "userAssignedIdentityCredentialsPath": "/identity.json",
                "userAssignedIdentityCredentialsCloudType": "public",
            }),
            &["credential-file"],
        ),
        (json!({"type": "ServicePrincipal", "clientSecret": secret}), &[]),
        (json!({"type": "ServicePrincipalCertificate", "clientSecret": secret}), &[]),
    ] {
        assert_eq!(check_identity(spec.clone(), true), expected, "{spec}");
        assert_eq!(check_identity(spec, false), [""; 0], "a directory has no controllers");
    }
}

#[test]
fn identities_that_stay_are_not_reported() {
    let mut host = Harness::<Azure>::new();
    host.add_to_source(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "AzureClusterIdentity",
        "metadata": {"name": "cluster-identity", "namespace": "azure"},
        "spec": {"type": "WorkloadIdentity"},
    }));
    host.set_moving_objects([]);
    assert_eq!(host.check(Point::BeforePause).unwrap(), []);
}
