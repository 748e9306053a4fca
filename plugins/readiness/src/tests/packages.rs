use pivot_sdk::test::Harness;
use pivot_sdk::{Point, Side};
use serde_json::json;

use super::*;

fn package(namespace: &str, spec: Value, status: Value) -> Object {
    Object::from(json!({
        "apiVersion": "packaging.carvel.dev/v1alpha1", "kind": "PackageInstall",
        "metadata": {"name": "cluster-api", "namespace": namespace}, "spec": spec, "status": status,
    }))
}

fn found(config: Value, package: Object) -> Vec<String> {
    let mut harness = Harness::<Readiness>::new();
    harness.set_config(config).set_namespaces(["metal3"]).add_object(Side::Source, package);
    told(&harness.check(Point::BeforePause).unwrap())
}

#[test]
fn reconciled_package_is_fine() {
    let status = json!({"conditions": conditions(&[("ReconcileSucceeded", "True")])});
    assert_eq!(found(json!({}), package("tkg-system", json!({}), status)), [""; 0]);
}

#[test]
fn check_waits_for_unreconciled_packages() {
    for status in [json!({}), json!({"conditions": conditions(&[("Reconciling", "True")])})] {
        assert_eq!(
            found(json!({}), package("tkg-system", json!({}), status)),
            ["wait package-not-reconciled"]
        );
    }
}

#[test]
fn packages_of_target_are_checked_before_pause() {
    let mut harness = Harness::<Readiness>::new();
    harness.add_to_target(package("tkg-system", json!({}), json!({})));
    let found = harness.check(Point::BeforePause).unwrap();
    assert_eq!(told(&found), ["wait package-not-reconciled"]);
}

#[test]
fn failed_package_is_reported_with_reason() {
    let status = json!({
        "conditions": conditions(&[("ReconcileFailed", "True")]), "usefulErrorMessage": "kapp: timed out",
    });
    let mut harness = Harness::<Readiness>::new();
    harness.add_to_target(package("tkg-system", json!({}), status));
    let found = harness.check(Point::AfterResume).unwrap();
    assert_eq!(told(&found), ["wait package-failed"]);
    assert_eq!(found[0].message, "the package could not be reconciled: kapp: timed out");
}

#[test]
fn paused_and_unselected_packages_are_ignored() {
    assert_eq!(found(json!({}), package("tkg-system", json!({"paused": true}), json!({}))), [""; 0]);
    let config = json!({"package-namespaces": ["tkg-*"]});
    assert_eq!(found(config.clone(), package("other", json!({}), json!({}))), [""; 0]);
    assert_eq!(found(config, package("tkg-system", json!({}), json!({}))).len(), 1);
}

/// Most clusters don't have the kind.
#[test]
fn side_without_packages_is_fine() {
    let mut harness = Harness::<Readiness>::new();
    harness.fail_reads(
        Side::Source,
        &crate::packages::PACKAGE,
        pivot_sdk::Error::new("not-found", "no such kind"),
    );
    assert_eq!(harness.check(Point::BeforePause).unwrap(), []);
}
