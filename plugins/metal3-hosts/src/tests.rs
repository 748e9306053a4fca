//! The rules, by name; the harness calls every hook twice and checks answers against the host's own rules.

mod carried;
mod firmware;
mod granted;
mod held;
mod related;
mod settled;
mod source;
mod target;

use pivot_sdk::test::Harness;
use serde_json::{Value, json};

use crate::Metal3Hosts;

pub(super) type Host = Harness<Metal3Hosts>;

const IMAGE: &str = "http://172.22.0.1/images/node.raw";

/// A provisioned host with a machine of Cluster `edge`, like the example's.
pub(super) fn consumed() -> Value {
    let mut host = free();
    merge(
        &mut host,
        json!({
            "metadata": {"name": "rack1-u01", "labels": {"cluster.x-k8s.io/cluster-name": "edge"}},
            "spec": {
                "online": true, "bootMACAddress": "02:00:5e:00:01:11",
                "bmc": {"credentialsName": "rack1-u01-bmc"},
                "consumerRef": {
                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
                    "name": "edge-4xk2d", "namespace": "metal3",
                },
                "image": {"url": IMAGE},
                "userData": {"name": "edge-4xk2d", "namespace": "metal3"},
            },
            "status": {
                "operationHistory": {"provision": {"start": "2026-08-03T09:38:17Z", "end": "2026-08-03T09:46:13Z"}},
                "provisioning": {"state": "provisioned", "image": {"url": IMAGE}},
                "hardware": {"hostname": "rack1-u01"},
            },
        }),
    );
    host
}

/// A host without a consumer.
pub(super) fn free() -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "rack1-u06", "namespace": "metal3", "generation": 7},
        "spec": {
            "online": false, "bootMACAddress": "02:00:5e:00:01:61",
            "bmc": {"address": "redfish://192.168.110.16", "credentialsName": "rack1-u06-bmc"},
        },
        "status": {
            "operationalStatus": "OK", "errorMessage": "", "poweredOn": true,
            "goodCredentials": {"credentialsVersion": "2237"},
            "operationHistory": {
                "register": {"start": "2026-08-03T08:21:04Z", "end": "2026-08-03T08:21:41Z"},
                "inspect": {"start": "2026-08-03T08:21:41Z", "end": "2026-08-03T08:31:58Z"},
                "deprovision": {"start": null, "end": null},
            },
            "provisioning": {"state": "available", "ID": "be2916f6", "image": {"url": ""}},
            "conditions": [{"type": "Progressing", "status": "False", "observedGeneration": 7}],
        },
    })
}

/// The objects of a host's name, and the Secrets that it names.
pub(super) fn companions(host: &Value) -> Vec<Value> {
    let object = pivot_sdk::Object::from(host);
    let beside = |kind: &str| {
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": kind,
            "metadata": {"name": object.name(), "namespace": "metal3", "generation": 1},
        })
    };
    let secret = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "namespace": "metal3", "resourceVersion": "9000"},
            "data": {"password": "eA=="},
        })
    };
    let named = crate::host::Host(&object)
        .referenced_secrets()
        .map(|named| secret(&named.key.name))
        .collect::<Vec<_>>();
    named.into_iter().chain([beside("HardwareData"), beside("HostFirmwareSettings")]).collect()
}

/// A source with this host and what it needs.
pub(super) fn source(host: &Value) -> Host {
    let mut harness = Host::new();
    harness.add_to_source(host);
    for companion in companions(host) {
        harness.add_to_source(companion);
    }
    harness
}

/// The object with changes merged in; null removes.
pub(super) fn with(mut object: Value, change: Value) -> Value {
    merge(&mut object, change);
    object
}

pub(super) fn paused(host: Value, by: &str) -> Value {
    with(host, json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": by}}}))
}

fn merge(to: &mut Value, change: Value) {
    match (to, change) {
        (Value::Object(to), Value::Object(change)) => {
            for (key, value) in change {
                if value.is_null() {
                    to.remove(&key);
                } else {
                    merge(to.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (to, change) => *to = change,
    }
}

#[path = "../../scene.rs"]
mod scene;

#[test]
fn recorded_answers_match_the_native_code() {
    scene::answers_as_recorded::<crate::Metal3Hosts>(concat!(env!("CARGO_MANIFEST_DIR"), "/scene.json"));
}

#[test]
fn schema_agrees_with_the_plugin() {
    Harness::<Metal3Hosts>::new()
        .compare_schema(&[json!({"hold-consumed": true, "pending-firmware": "warn"})]);
}
