//! The kinds of the worlds, and definitions of them for a real server.

use serde_json::{Value, json};

/// A kind that a world has.
#[derive(Debug)]
pub struct KindSpec {
    /// Its group.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its name.
    pub kind: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// The suffix of the label that says how its objects move: `move`, `move-hierarchy`, or none.
    pub moves: Option<&'static str>,
    /// Whether it is clusterctl's own, which says which providers there are.
    pub inventory: bool,
}

impl KindSpec {
    /// Its plural name.
    #[must_use]
    pub fn plural(&self) -> String {
        let lower = self.kind.to_lowercase();
        match lower.strip_suffix("ss") {
            Some(stem) => format!("{stem}sses"),
            None => format!("{lower}s"),
        }
    }
}

const CAPI: &str = "cluster.x-k8s.io";
const ADDONS: &str = "addons.cluster.x-k8s.io";
const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
const CONTROL: &str = "controlplane.cluster.x-k8s.io";
const INFRA: &str = "infrastructure.cluster.x-k8s.io";
const IPAM: &str = "ipam.cluster.x-k8s.io";

const fn kind(group: &'static str, kind: &'static str) -> KindSpec {
    KindSpec { group, version: "v1beta2", kind, namespaced: true, moves: None, inventory: false }
}

/// All kinds, apart from Kubernetes' own.
pub const KINDS: [KindSpec; 25] = [
    kind(CAPI, "Cluster"),
    kind(CAPI, "ClusterClass"),
    kind(CAPI, "Machine"),
    kind(CAPI, "MachineDeployment"),
    kind(CAPI, "MachineSet"),
    kind(CAPI, "MachinePool"),
    kind(CAPI, "MachineHealthCheck"),
    kind(ADDONS, "ClusterResourceSet"),
    kind(ADDONS, "ClusterResourceSetBinding"),
    kind(BOOTSTRAP, "KubeadmConfig"),
    kind(BOOTSTRAP, "KubeadmConfigTemplate"),
    kind(CONTROL, "KubeadmControlPlane"),
    kind(CONTROL, "KubeadmControlPlaneTemplate"),
    kind(INFRA, "LabCluster"),
    kind(INFRA, "LabClusterTemplate"),
    kind(INFRA, "LabMachine"),
    kind(INFRA, "LabMachineTemplate"),
    kind(INFRA, "LabMachinePool"),
    KindSpec { moves: Some("move"), ..kind(INFRA, "LabNetwork") },
    KindSpec { namespaced: false, moves: Some("move-hierarchy"), ..kind(INFRA, "LabIdentity") },
    kind(IPAM, "IPAddress"),
    kind(IPAM, "IPAddressClaim"),
    KindSpec { moves: Some("move-hierarchy"), ..kind(IPAM, "InClusterIPPool") },
    KindSpec { namespaced: false, moves: Some("move-hierarchy"), ..kind(IPAM, "GlobalInClusterIPPool") },
    KindSpec { version: "v1alpha3", inventory: true, ..kind("clusterctl.cluster.x-k8s.io", "Provider") },
];

/// Definitions of all kinds, which keep whatever fields they are given.
#[must_use]
pub fn crds() -> Vec<Value> {
    KINDS.iter().map(crd).collect()
}

fn crd(spec: &KindSpec) -> Value {
    let mut labels = match spec.inventory {
        true => json!({ "clusterctl.cluster.x-k8s.io/core": "inventory" }),
        false => json!({ "clusterctl.cluster.x-k8s.io": "", "cluster.x-k8s.io/v1beta2": "v1beta2" }),
    };
    if let Some(moves) = spec.moves {
        labels[format!("clusterctl.cluster.x-k8s.io/{moves}")] = json!("");
    }
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let plural = spec.plural();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{}", spec.group), "labels": labels },
        "spec": {
            "group": spec.group,
            "names": { "kind": spec.kind, "plural": plural, "singular": spec.kind.to_lowercase() },
            "scope": if spec.namespaced { "Namespaced" } else { "Cluster" },
            "versions": [{
                "name": spec.version, "served": true, "storage": true,
                "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "properties": { "spec": open, "status": open },
                }},
            }],
        },
    })
}
