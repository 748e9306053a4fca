//! Compares the table with the fields that pivot-host checks, checks the provider's own examples of roles, and records answers for
//! the component.

use pivot_sdk::prelude::{Finding, Point, Severity};
use pivot_sdk::test::{Harness, codes};
use pivot_sdk::{Error, Side};
use serde_json::{Value, json};

use crate::Aws;
use crate::role::SERVICE_ACCOUNT;

#[path = "../../rows.rs"]
mod rows;
#[path = "../../scene.rs"]
mod scene;

#[test]
fn relations_match_the_checked_fields() {
    rows::assert_rows_related::<Aws>(&["AWSClusterControllerIdentity"]);
}

#[test]
fn recorded_answers_match_the_native_code() {
    scene::answers_as_recorded::<Aws>(concat!(env!("CARGO_MANIFEST_DIR"), "/scene.json"));
}

/// Role in cluster-api-provider-aws, docs/book/src/topics/specify-management-iam-role.md.
const ARN: &str = "arn:aws:iam::1234567890:role/capa-management-components";

fn account(role: Option<&str>) -> Value {
    let annotations = role.map_or_else(|| json!({}), |role| json!({"eks.amazonaws.com/role-arn": role}));
    json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "capa-controller-manager", "namespace": "capa-system", "annotations": annotations},
    })
}

/// A source whose controllers have this role, with a cluster of this identity, as in docs/book/src/topics/multitenancy.md.
fn stage(role: Option<&str>, identity: Value) -> Harness<Aws> {
    let mut host = Harness::<Aws>::new();
    host.add_to_source(account(role));
    host.add_to_source(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "AWSCluster",
        "metadata": {"name": "test", "namespace": "test"},
        "spec": {"region": "eu-west-1", "identityRef": identity},
    }));
    for (name, kind, source) in [
        ("team", "AWSClusterStaticIdentity", "test-account-creds"),
        ("multi-tenancy-role", "AWSClusterControllerIdentity", "default"),
        ("multi-tenancy-nested-role", "AWSClusterRoleIdentity", "multi-tenancy-role"),
        ("cycle", "AWSClusterRoleIdentity", "cycle"),
    ] {
        host.add_to_source(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "AWSClusterRoleIdentity",
            "metadata": {"name": name},
            "spec": {"sourceIdentityRef": {"kind": kind, "name": source}},
        }));
    }
    host
}

fn check(host: &mut Harness<Aws>) -> Vec<Finding> {
    host.check(Point::BeforePause).unwrap()
}

#[test]
fn source_role_without_target_role_is_reported() {
    for (identity, uses_role) in [
        (Value::Null, true),
        (json!({"kind": "AWSClusterControllerIdentity", "name": "default"}), true),
        (json!({"kind": "AWSClusterRoleIdentity", "name": "multi-tenancy-nested-role"}), true),
        (json!({"kind": "AWSClusterRoleIdentity", "name": "cycle"}), true),
        (json!({"kind": "AWSClusterRoleIdentity", "name": "team"}), false),
        (json!({"kind": "AWSClusterStaticIdentity", "name": "test-account"}), false),
    ] {
        let mut host = stage(Some(ARN), identity.clone());
        host.add_to_target(account(None));
        let findings = check(&mut host);
        assert_eq!(codes(&findings), if uses_role { &["controller-role"][..] } else { &[] }, "{identity}");
        for finding in &findings {
            assert_eq!(
                finding.objects.iter().map(ToString::to_string).collect::<Vec<_>>(),
                ["AWSCluster.infrastructure.cluster.x-k8s.io test/test"]
            );
            assert!(finding.message.contains("pivot-host can't see whether"), "{}", finding.message);
        }
        assert!(check(stage(None, identity).add_to_target(account(None))).is_empty(), "keys of the provider");
    }
}

#[test]
fn target_with_a_role_is_prepared() {
    let controller = json!({"kind": "AWSClusterControllerIdentity", "name": "default"});
    assert!(check(stage(Some(ARN), controller.clone()).add_to_target(account(Some(ARN)))).is_empty());
    assert_eq!(codes(&check(&mut stage(Some(ARN), controller.clone()))), ["controller-role"]);
    assert!(check(stage(Some(ARN), controller).make_directory(Side::Target)).is_empty());
}

#[test]
fn unreadable_roles_do_not_stop_a_move() {
    let mut host = stage(Some(ARN), Value::Null);
    host.fail_reads(Side::Target, &SERVICE_ACCOUNT, Error::new("forbidden", "no"));
    let findings = check(&mut host);
    assert_eq!((codes(&findings), findings[0].severity), (vec!["role-not-readable"], Severity::Note));
}
