//! Clusters to move: the example management cluster, and clusters of any size shaped like it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::secrets::ENCODED;

/// The flags for moving hosts without a plugin.
pub const WITHOUT_PLUGIN: [&str; 2] = ["--accept", "no-plugin=BareMetalHost.metal3.io"];

/// Objects of a cluster without machines; each machine adds [`EACH`]; see [`cluster`].
pub const BASE: usize = 16;
/// See [`BASE`].
pub const EACH: usize = 9;

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io/v1beta2";
const CONTROL: &str = "controlplane.cluster.x-k8s.io/v1beta2";
const INFRA: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const METAL: &str = "metal3.io/v1alpha1";
const IPAM: &str = "ipam.metal3.io/v1alpha1";

/// The CRDs of the example, one text per provider.
pub fn crds() -> Result<Vec<String>> {
    read(&example_dir().join("crds"))
}

/// The objects of the example, in one text: owners may be in other files.
pub fn example() -> Result<String> {
    Ok(read(&example_dir())?.join("\n---\n"))
}

/// One file of the example.
pub fn example_file(name: &str) -> Result<String> {
    let path = example_dir().join(name);
    std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
}

fn example_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/metal3")
}

fn read(dir: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))? {
        paths.push(entry?.path());
    }
    paths.sort();
    let texts = paths.iter().filter(|path| path.extension().is_some_and(|end| end == "yaml"));
    texts.map(|path| Ok(std::fs::read_to_string(path)?)).collect()
}

/// A Metal3-shaped cluster `c` of [`BASE`] objects and [`EACH`] for each machine: 43 with three. All of them move; nothing
/// here needs a controller.
#[must_use]
pub fn cluster(namespace: &str, machines: usize) -> Vec<Value> {
    let make = Maker { namespace };
    let mut all = make.base(machines);
    all.extend((0..machines).flat_map(|index| make.machine(index)));
    all
}

struct Maker<'a> {
    namespace: &'a str,
}

/// An owner by name; the server that is filled knows its UID.
fn owner(api: &str, kind: &str, name: &str) -> Value {
    json!({ "apiVersion": api, "kind": kind, "name": name, "controller": true, "blockOwnerDeletion": true })
}

fn reference(api: &str, kind: &str, name: &str) -> Value {
    json!({ "apiGroup": api.split('/').next(), "kind": kind, "name": name })
}

fn condition(kind: &str) -> Value {
    json!({
        "type": kind, "status": "True", "reason": kind, "message": "",
        "lastTransitionTime": "2026-08-03T10:58:41Z",
    })
}

impl Maker<'_> {
    fn object(&self, api: &str, kind: &str, name: &str, owners: &[Value], content: Value) -> Value {
        let mut object = json!({
            "apiVersion": api, "kind": kind,
            "metadata": {
                "name": name, "namespace": self.namespace,
                "labels": { "cluster.x-k8s.io/cluster-name": "c", "lab/name": name },
                "annotations": { "lab/note": format!("about {name}") },
                "finalizers": [format!("{}.lab/{}", kind.to_lowercase(), "stay")],
                "ownerReferences": owners,
            },
        });
        if let (Some(object), Value::Object(content)) = (object.as_object_mut(), content) {
            object.extend(content);
        }
        object
    }

    fn secret(&self, name: &str, owners: &[Value]) -> Value {
        let content = json!({ "type": "cluster.x-k8s.io/secret", "data": { "value": ENCODED } });
        let mut secret = self.object("v1", "Secret", name, owners, content);
        // Nothing puts finalizers on these.
        if let Some(metadata) = secret.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            metadata.remove("finalizers");
        }
        secret
    }

    fn base(&self, machines: usize) -> Vec<Value> {
        let cluster = [owner(CAPI, "Cluster", "c")];
        let control = [owner(CONTROL, "KubeadmControlPlane", "c")];
        let template = json!({ "spec": { "template": { "spec": { "nodeReuse": false } } } });
        let machine_template = json!({ "spec": {
            "clusterName": "c",
            "bootstrap": { "configRef": reference(BOOTSTRAP, "KubeadmConfigTemplate", "c-workers") },
            "infrastructureRef": reference(INFRA, "Metal3MachineTemplate", "c-workers"),
        }});
        let selector = json!({ "matchLabels": { "cluster.x-k8s.io/cluster-name": "c" } });
        let set = json!({ "clusterName": "c", "replicas": machines, "selector": selector, "template": machine_template });
        let mut objects = vec![
            self.object(CAPI, "Cluster", "c", &[], json!({
                "spec": {
                    "controlPlaneEndpoint": { "host": "192.168.111.249", "port": 6443 },
                    "controlPlaneRef": reference(CONTROL, "KubeadmControlPlane", "c"),
                    "infrastructureRef": reference(INFRA, "Metal3Cluster", "c"),
                },
                "status": {
                    "phase": "Provisioned",
                    "initialization": { "infrastructureProvisioned": true, "controlPlaneInitialized": true },
                    "conditions": [condition("ControlPlaneInitialized")],
                },
            })),
            self.object(INFRA, "Metal3Cluster", "c", &cluster, json!({
                "spec": { "controlPlaneEndpoint": { "host": "192.168.111.249", "port": 6443 } },
                "status": { "ready": true },
            })),
            self.object(CONTROL, "KubeadmControlPlane", "c", &cluster, json!({
                "spec": {
                    "replicas": 3, "version": "v1.35.2",
                    "machineTemplate": { "spec": {
                        "infrastructureRef": reference(INFRA, "Metal3MachineTemplate", "c-controlplane"),
                    }},
                },
                "status": { "initialization": { "controlPlaneInitialized": true } },
            })),
            self.object(INFRA, "Metal3MachineTemplate", "c-controlplane", &cluster, template.clone()),
            self.object(INFRA, "Metal3MachineTemplate", "c-workers", &cluster, template),
            self.object(BOOTSTRAP, "KubeadmConfigTemplate", "c-workers", &cluster, json!({
                "spec": { "template": { "spec": {} } },
            })),
            self.object(CAPI, "MachineDeployment", "c-workers", &cluster, json!({ "spec": set })),
            self.object(CAPI, "MachineSet", "c-workers", &[owner(CAPI, "MachineDeployment", "c-workers")], json!({
                "spec": set,
            })),
            self.object(CAPI, "MachineHealthCheck", "c", &cluster, json!({
                "spec": { "clusterName": "c", "selector": selector },
            })),
            self.object(INFRA, "Metal3DataTemplate", "c", &[], json!({
                "spec": { "clusterName": "c" },
                "status": { "lastUpdated": "2026-08-03T10:06:44Z" },
            })),
            self.object(IPAM, "IPPool", "c", &cluster, json!({
                "spec": { "clusterName": "c", "namePrefix": "c" },
                "status": { "indexes": { "c": "192.168.111.20" } },
            })),
            // Supplied by a user: it has no owner, its name links it to the Cluster.
            self.secret("c-ca", &[]),
        ];
        objects.extend(["c-etcd", "c-proxy", "c-sa", "c-kubeconfig"].map(|name| self.secret(name, &control)));
        objects
    }

    fn machine(&self, index: usize) -> [Value; EACH] {
        let (name, host) = (format!("c-{index}"), format!("host-{index}"));
        let named = |api: &str, kind: &str| [owner(api, kind, &name)];
        // Of two owners only one may be the controller.
        let mut template = owner(INFRA, "Metal3DataTemplate", "c");
        if let Some(fields) = template.as_object_mut() {
            fields.remove("controller");
        }
        let [claim] = named(INFRA, "Metal3DataClaim");
        let here = |name: &str| json!({ "name": name, "namespace": self.namespace });
        [
            self.object(CAPI, "Machine", &name, &[owner(CAPI, "MachineSet", "c-workers")], json!({
                "spec": {
                    "clusterName": "c", "version": "v1.35.2",
                    "bootstrap": {
                        "dataSecretName": name, "configRef": reference(BOOTSTRAP, "KubeadmConfig", &name),
                    },
                    "infrastructureRef": reference(INFRA, "Metal3Machine", &name),
                },
                "status": {
                    "phase": "Running", "nodeRef": { "name": host },
                    "initialization": { "infrastructureProvisioned": true, "bootstrapDataSecretCreated": true },
                    "conditions": [condition("Ready")],
                },
            })),
            self.object(BOOTSTRAP, "KubeadmConfig", &name, &named(CAPI, "Machine"), json!({
                "spec": { "format": "cloud-config" },
                "status": { "dataSecretName": name },
            })),
            self.secret(&name, &named(BOOTSTRAP, "KubeadmConfig")),
            self.object(INFRA, "Metal3Machine", &name, &named(CAPI, "Machine"), json!({
                "spec": { "providerID": format!("metal3://{}/{host}/{name}", self.namespace) },
                "status": { "initialization": { "provisioned": true } },
            })),
            self.object(INFRA, "Metal3DataClaim", &name, &named(INFRA, "Metal3Machine"), json!({
                "spec": { "template": here("c") },
            })),
            self.object(INFRA, "Metal3Data", &name, &[claim, template], json!({
                "spec": { "index": index, "claim": here(&name), "template": here("c") },
                "status": { "ready": true },
            })),
            self.secret(&format!("{name}-metadata"), &named(INFRA, "Metal3Data")),
            self.object(METAL, "BareMetalHost", &host, &[], json!({
                "spec": {
                    "online": true,
                    "bmc": { "address": format!("redfish://192.168.110.{index}"), "credentialsName": format!("{host}-bmc") },
                    "consumerRef": { "apiVersion": INFRA, "kind": "Metal3Machine", "name": name, "namespace": self.namespace },
                },
                "status": {
                    "errorCount": 0, "errorMessage": "", "hardwareProfile": "unknown", "operationalStatus": "OK",
                    "poweredOn": true, "provisioning": { "ID": format!("id-{index}"), "state": "provisioned" },
                },
            })),
            self.secret(&format!("{host}-bmc"), &[owner(METAL, "BareMetalHost", &host)]),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_machines_make_forty_three_objects() {
        assert_eq!(cluster("n", 3).len(), 43);
        assert_eq!(cluster("n", 0).len(), BASE);
    }
}
