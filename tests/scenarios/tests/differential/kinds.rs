//! Kinds that the example lacks, as CRDs that let everything through.

use serde_json::{Value, json};

const DISCOVERED: &str = "clusterctl.cluster.x-k8s.io";
const MOVED: &str = "clusterctl.cluster.x-k8s.io/move";
const HIERARCHY: &str = "clusterctl.cluster.x-k8s.io/move-hierarchy";

/// A kind by its API version, kind and plural, and the labels on its CRD.
struct Kind(&'static str, &'static str, &'static str, &'static [&'static str]);

const NAMESPACED: [Kind; 10] = [
    Kind("cluster.x-k8s.io/v1beta2", "MachinePool", "machinepools", &[DISCOVERED]),
    Kind("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", "extensionconfigs", &[DISCOVERED]),
    Kind("controlplane.cluster.x-k8s.io/v1beta2", "HostedControlPlane", "hostedcontrolplanes", &[DISCOVERED]),
    Kind("infrastructure.cluster.x-k8s.io/v1beta2", "LabMachinePool", "labmachinepools", &[DISCOVERED]),
    Kind("infrastructure.cluster.x-k8s.io/v1beta2", "Rack", "racks", &[DISCOVERED, HIERARCHY]),
    Kind("infrastructure.cluster.x-k8s.io/v1beta2", "Shelf", "shelves", &[DISCOVERED]),
    Kind("ipam.cluster.x-k8s.io/v1beta2", "IPAddressClaim", "ipaddressclaims", &[DISCOVERED]),
    Kind("ipam.cluster.x-k8s.io/v1beta2", "IPAddress", "ipaddresses", &[DISCOVERED]),
    Kind("ipam.cluster.x-k8s.io/v1alpha2", "InClusterIPPool", "inclusterippools", &[DISCOVERED]),
    // Nobody labelled it.
    Kind("example.org/v1", "Widget", "widgets", &[]),
];
const GLOBAL: [Kind; 2] = [
    Kind("infrastructure.cluster.x-k8s.io/v1beta2", "LabIdentity", "labidentities", &[DISCOVERED, HIERARCHY]),
    Kind(
        "ipam.cluster.x-k8s.io/v1alpha2",
        "GlobalInClusterIPPool",
        "globalinclusterippools",
        &[DISCOVERED, MOVED],
    ),
];
/// Its status is a field like any other.
const WITHOUT_STATUS: Kind =
    Kind("infrastructure.cluster.x-k8s.io/v1beta2", "Ledger", "ledgers", &[DISCOVERED, MOVED]);

/// The kinds of the example, which the shapes use too.
const EXAMPLE: [(&str, &[&str]); 5] = [
    (
        "cluster.x-k8s.io/v1beta2",
        &["Cluster", "ClusterClass", "Machine", "MachineSet", "MachineDeployment", "MachineHealthCheck"],
    ),
    ("addons.cluster.x-k8s.io/v1beta2", &["ClusterResourceSet", "ClusterResourceSetBinding"]),
    (
        "infrastructure.cluster.x-k8s.io/v1beta2",
        &[
            "Metal3Cluster",
            "Metal3ClusterTemplate",
            "Metal3Machine",
            "Metal3MachineTemplate",
            "Metal3DataTemplate",
        ],
    ),
    ("bootstrap.cluster.x-k8s.io/v1beta2", &["KubeadmConfig", "KubeadmConfigTemplate"]),
    ("controlplane.cluster.x-k8s.io/v1beta2", &["KubeadmControlPlane", "KubeadmControlPlaneTemplate"]),
];

/// The API version of a kind that a shape uses.
pub(crate) fn api_version(kind: &str) -> &'static str {
    let ours = NAMESPACED.iter().chain(&GLOBAL).chain([&WITHOUT_STATUS]);
    let ours = ours.map(|Kind(api, kind, ..)| (*api, *kind));
    let example = EXAMPLE.iter().flat_map(|(api, kinds)| kinds.iter().map(move |kind| (*api, *kind)));
    let found = ours.chain(example).find(|(_, known)| *known == kind);
    match (found, kind) {
        (Some((api, _)), _) => api,
        (None, "Provider") => "clusterctl.cluster.x-k8s.io/v1alpha3",
        (None, "IPPool") => "ipam.metal3.io/v1alpha1",
        (None, "Secret" | "ConfigMap") => "v1",
        (None, _) => panic!("no kind {kind}"),
    }
}

pub(crate) fn is_global(kind: &str) -> bool {
    GLOBAL.iter().any(|Kind(_, global, ..)| *global == kind)
}

/// The CRDs of the kinds that the example lacks.
pub(crate) fn crds() -> Vec<String> {
    let namespaced = NAMESPACED.iter().map(|kind| crd(kind, "Namespaced", true));
    let global = GLOBAL.iter().map(|kind| crd(kind, "Cluster", true));
    let crds = namespaced.chain(global).chain([crd(&WITHOUT_STATUS, "Namespaced", false)]);
    crds.map(|crd| crd.to_string()).collect()
}

fn crd(Kind(api, kind, plural, labels): &Kind, scope: &str, status: bool) -> Value {
    let (group, version) = api.split_once('/').unwrap();
    let labels: Value = labels.iter().map(|label| ((*label).to_owned(), json!(""))).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}"), "labels": labels },
        "spec": {
            "group": group, "scope": scope,
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
            "versions": [{
                "name": version, "served": true, "storage": true,
                "subresources": if status { json!({ "status": {} }) } else { json!({}) },
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    })
}
