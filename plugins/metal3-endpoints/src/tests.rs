//! The rules, by name; the harness calls every hook twice and checks answers against the host's own rules.

mod asked;
mod compared;
mod granted;
mod served;
mod watched;

use pivot_sdk::test::Harness;
use pivot_sdk::{Finding, Point, Side};
use serde_json::{Value, json};

use crate::Metal3Endpoints;

pub(super) const URL: &str = "http://172.22.0.2:6385/v1/";
pub(super) const DRIVERS: &str = "http://172.22.0.2:6385/v1/drivers";
pub(super) const KERNEL: &str = "http://172.22.0.2:6180/images/ironic-python-agent.kernel";
pub(super) const VERSION: &str =
    r#"{"id": "v1", "version": {"id": "v1", "version": "1.109", "min_version": "1.1"}}"#;

pub(super) struct Host(pub(super) Harness<Metal3Endpoints>);

impl Host {
    /// A move of a host between two sides with the same configuration, Ironic and an operator of all namespaces up in the target
    /// only.
    pub(super) fn new() -> Self {
        let mut harness = Harness::new();
        harness.add_to_source(json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "a", "namespace": "metal3"},
        }));
        harness.set_namespaces(["metal3"]);
        harness.set_http_answer(URL, 200, VERSION).set_http_answer(
            DRIVERS,
            200,
            r#"{"drivers": [{"name": "redfish"}]}"#,
        );
        harness.set_http_answer(KERNEL, 200, "");
        let mut this = Self(harness);
        for side in Side::BOTH {
            this.map(side, json!({}));
        }
        this.deployment(Side::Source, 0, 0).deployment(Side::Target, 1, 1);
        this.0.add_to_target(watched::operator("operator", json!({})));
        this
    }

    /// The ConfigMap of a side, with changes.
    pub(super) fn map(&mut self, side: Side, change: Value) -> &mut Self {
        let mut data = json!({
            "PROVISIONING_IP": "172.22.0.2", "PROVISIONING_INTERFACE": "ironicendpoint",
            "IRONIC_ENDPOINT": URL, "DEPLOY_KERNEL_URL": KERNEL, "DHCP_RANGE": "172.22.0.10,172.22.0.100",
        });
        if let (Value::Object(data), Value::Object(change)) = (&mut data, change) {
            data.extend(change);
            data.retain(|_, value| !value.is_null());
        }
        self.0.add_object(
            side,
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "ironic-bmo-configmap", "namespace": "baremetal-operator-system"},
                "data": data,
            }),
        );
        self
    }

    pub(super) fn deployment(&mut self, side: Side, replicas: u8, available: u8) -> &mut Self {
        self.0.add_object(
            side,
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "capm3-ironic", "namespace": "baremetal-operator-system"},
                "spec": {"replicas": replicas, "template": {"spec": {"containers": [
                    {"name": "ironic"}, {"name": "ironic-endpoint-keepalived", "env": [{"name": "KEEPALIVED_AUTH_PASS", "value": "x"}]},
                ]}}},
                "status": {"availableReplicas": available},
            }),
        );
        self
    }

    pub(super) fn set_config(&mut self, config: Value) -> &mut Self {
        self.0.set_config(config);
        self
    }

    pub(super) fn check(&mut self, point: Point) -> Vec<Finding> {
        self.0.check(point).unwrap()
    }

    /// The findings before the pause, by severity and code.
    pub(super) fn found(&mut self) -> Vec<String> {
        self.at(Point::BeforePause)
    }

    pub(super) fn at(&mut self, point: Point) -> Vec<String> {
        let findings = self.check(point);
        findings.iter().map(|found| format!("{} {}", found.severity.as_str(), found.code)).collect()
    }
}

#[path = "../../scene.rs"]
mod scene;

#[test]
fn recorded_answers_match_the_native_code() {
    scene::answers_as_recorded::<crate::Metal3Endpoints>(concat!(env!("CARGO_MANIFEST_DIR"), "/scene.json"));
}

#[test]
fn schema_agrees_with_the_plugin() {
    Harness::<Metal3Endpoints>::new().compare_schema(&[json!({
        "namespaces": ["capm3-system"], "config-maps": ["ironic"], "endpoint": URL, "vantage": "target",
        "service": "capm3-system/ironic", "up": "before-commit", "same-address": false, "min-microversion": 89,
    })]);
}
