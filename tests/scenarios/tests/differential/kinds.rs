//! Kinds of the shapes that neither the example nor the random management clusters have.

use pivot_worlds::KINDS;
use serde_json::{Value, json};

const DISCOVERED: &str = "clusterctl.cluster.x-k8s.io";
const MOVED: &str = "clusterctl.cluster.x-k8s.io/move";
const HIERARCHY: &str = "clusterctl.cluster.x-k8s.io/move-hierarchy";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

/// A kind by its API version, kind and plural, and the labels on its CRD.
struct Kind(&'static str, &'static str, &'static str, &'static [&'static str]);

const OURS: [Kind; 6] = [
    Kind("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", "extensionconfigs", &[DISCOVERED]),
    Kind("controlplane.cluster.x-k8s.io/v1beta2", "HostedControlPlane", "hostedcontrolplanes", &[DISCOVERED]),
    Kind(INFRASTRUCTURE, "Rack", "racks", &[DISCOVERED, HIERARCHY]),
    Kind(INFRASTRUCTURE, "Shelf", "shelves", &[DISCOVERED]),
    Kind("ipam.example.org/v1", "Range", "ranges", &[DISCOVERED]),
    // Nobody labelled it.
    Kind("example.org/v1", "Widget", "widgets", &[]),
];
/// Its status is a field like any other.
const WITHOUT_STATUS: Kind = Kind(INFRASTRUCTURE, "Ledger", "ledgers", &[DISCOVERED, MOVED]);

/// The API version of a kind that a shape uses.
pub(crate) fn api_version(kind: &str) -> String {
    if let Some(Kind(api, ..)) = OURS.iter().chain([&WITHOUT_STATUS]).find(|Kind(_, ours, ..)| *ours == kind)
    {
        return (*api).to_owned();
    }
    if let Some(spec) = KINDS.iter().find(|spec| spec.kind == kind) {
        return format!("{}/{}", spec.group, spec.version);
    }
    match kind {
        "Secret" | "ConfigMap" => "v1".to_owned(),
        example => {
            assert!(example.starts_with("Metal3"), "no kind {example}");
            INFRASTRUCTURE.to_owned()
        }
    }
}

pub(crate) fn is_global(kind: &str) -> bool {
    KINDS.iter().any(|spec| spec.kind == kind && !spec.namespaced)
}

/// The CRDs of all shapes. Those of the random management clusters let everything through, and count where the example's define
/// the same kind.
pub(crate) fn crds() -> Vec<String> {
    let mut crds: Vec<Value> = pivot_worlds::crds();
    crds.extend(OURS.iter().map(|kind| crd(kind, true)).chain([crd(&WITHOUT_STATUS, false)]));
    let names = crds.iter().map(|crd| format!("  name: {}\n", crd["metadata"]["name"].as_str().unwrap()));
    let names: Vec<String> = names.collect();
    let example = pivot_scenarios::shape::crds().unwrap().join("\n---\n");
    let example = example.split("\n---\n").filter(|text| !names.iter().any(|name| text.contains(name)));
    example.map(ToOwned::to_owned).chain(crds.iter().map(Value::to_string)).collect()
}

fn crd(Kind(api, kind, plural, labels): &Kind, status: bool) -> Value {
    let (group, version) = api.split_once('/').unwrap();
    let labels: Value = labels.iter().map(|label| ((*label).to_owned(), json!(""))).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}"), "labels": labels },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
            "versions": [{
                "name": version, "served": true, "storage": true,
                "subresources": if status { json!({ "status": {} }) } else { json!({}) },
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    })
}
