//! The objects to move: one Cluster with a MachineDeployment of as many Machines as needed.
//!
//! Each Machine comes with its infrastructure machine, its bootstrap config and the config's Secret: four objects in a chain of
//! owners five deep, like most objects of a real management cluster. Clusters, Machines, sets and infrastructure have their
//! finalizers and a status, as after provisioning.

use std::collections::BTreeSet;

use pivot_lab::ObjectKey;
use serde_json::{Value, json};

/// Objects of the Cluster itself.
const BASE: usize = 8;
/// Objects with each Machine.
const EACH: usize = 4;

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io/v1beta2";
const INFRA: &str = "infrastructure.cluster.x-k8s.io/v1";
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

/// The CRDs of the made-up infrastructure provider.
pub(crate) fn crds() -> String {
    ["LabCluster", "LabMachine", "LabMachineTemplate"].map(crd).join("---\n")
}

fn crd(kind: &str) -> String {
    let singular = kind.to_lowercase();
    format!(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {singular}s.infrastructure.cluster.x-k8s.io
  labels: {{clusterctl.cluster.x-k8s.io: '', cluster.x-k8s.io/provider: infrastructure-lab, cluster.x-k8s.io/v1beta2: v1}}
spec:
  group: infrastructure.cluster.x-k8s.io
  scope: Namespaced
  names: {{kind: {kind}, plural: {singular}s, singular: {singular}, listKind: {kind}List}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}}}
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
"
    )
}

/// A namespace's objects: `count` of them, rounded down to whole Machines.
pub(crate) fn objects(namespace: &str, count: usize) -> Vec<Value> {
    let machines = count.saturating_sub(BASE) / EACH;
    let make = Maker { namespace };
    let mut all = make.cluster(machines);
    all.extend((0..machines).flat_map(|index| make.machine(index)));
    all
}

/// The keys of a namespace's objects.
pub(crate) fn keys(namespace: &str, count: usize) -> BTreeSet<ObjectKey> {
    let key = |object: &Value| {
        let text = |path| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (group, kind) = (text("/apiVersion").split_once('/').map(|(group, _)| group), text("/kind"));
        let kind = group.map_or_else(|| kind.to_owned(), |group| format!("{kind}.{group}"));
        ObjectKey::new(&kind, namespace, text("/metadata/name"))
    };
    objects(namespace, count).iter().map(key).collect()
}

struct Maker<'a> {
    namespace: &'a str,
}

impl Maker<'_> {
    /// An object; its owner and its finalizer are optional, everything else is the same for all.
    fn object(
        &self,
        (api, kind, name): (&str, &str, &str),
        owner: Option<(&str, &str, &str)>,
        finalizer: &str,
        content: Value,
    ) -> Value {
        let mut object = json!({
            "apiVersion": api, "kind": kind,
            "metadata": {
                "name": name, "namespace": self.namespace, "labels": {CLUSTER_NAME: "c"},
                "annotations": {"example.com/note": "as long as a note of a person in charge might be"},
            },
        });
        if let (Some(fields), Value::Object(content)) = (object.as_object_mut(), content) {
            fields.extend(content);
        }
        let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) else {
            return object;
        };
        if let Some((api, kind, name)) = owner {
            let reference = json!({"apiVersion": api, "kind": kind, "name": name, "controller": true});
            metadata.insert("ownerReferences".to_owned(), json!([reference]));
        }
        if !finalizer.is_empty() {
            metadata.insert("finalizers".to_owned(), json!([finalizer]));
        }
        object
    }

    fn cluster(&self, machines: usize) -> Vec<Value> {
        let cluster = (CAPI, "Cluster", "c");
        let deployment = (CAPI, "MachineDeployment", "c-md");
        let selector = json!({"matchLabels": {CLUSTER_NAME: "c"}});
        let template = json!({"metadata": {"labels": {CLUSTER_NAME: "c"}}, "spec": machine_spec("c-md")});
        let many =
            json!({"clusterName": "c", "replicas": machines, "selector": selector, "template": template});
        vec![
            self.object(cluster, None, "cluster.cluster.x-k8s.io", json!({
                "spec": {
                    "controlPlaneEndpoint": {"host": "127.0.0.1", "port": 6443},
                    "infrastructureRef": reference("LabCluster", "c"),
                },
                "status": {
                    "initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true},
                    "conditions": [truth("ControlPlaneInitialized")],
                },
            })),
            self.object((INFRA, "LabCluster", "c"), Some(cluster), "lab/cluster", json!({"spec": {"region": "here"}})),
            self.object((INFRA, "LabMachineTemplate", "c-md"), Some(cluster), "", json!({"spec": {"template": {"spec": {}}}})),
            self.object((BOOTSTRAP, "KubeadmConfigTemplate", "c-md"), Some(cluster), "", json!({"spec": {"template": {"spec": {"format": "cloud-config"}}}})),
            self.object(("v1", "Secret", "c-kubeconfig"), Some(cluster), "", secret("kubeconfig")),
            self.object(("v1", "Secret", "c-ca"), Some(cluster), "", secret("ca")),
            self.object(deployment, Some(cluster), "cluster.x-k8s.io/machinedeployment", json!({"spec": many})),
            self.object((CAPI, "MachineSet", "c-md-1"), Some(deployment), "cluster.x-k8s.io/machineset", json!({"spec": many})),
        ]
    }

    fn machine(&self, index: usize) -> Vec<Value> {
        let name = &format!("c-md-1-{index:04}");
        let (machine, config) =
            ((CAPI, "Machine", name.as_str()), (BOOTSTRAP, "KubeadmConfig", name.as_str()));
        vec![
            self.object(machine, Some((CAPI, "MachineSet", "c-md-1")), "machine.cluster.x-k8s.io", json!({
                "spec": machine_spec(name),
                "status": {
                    "nodeRef": {"name": name}, "phase": "Running",
                    "initialization": {"infrastructureProvisioned": true, "bootstrapDataSecretCreated": true},
                    "conditions": [truth("Ready"), truth("Available")],
                },
            })),
            self.object((INFRA, "LabMachine", name), Some(machine), "lab/machine", json!({
                "spec": {"providerID": format!("lab://{name}"), "size": "large"},
                "status": {"initialization": {"provisioned": true}},
            })),
            self.object(config, Some(machine), "", json!({
                "spec": {"format": "cloud-config", "files": [{"path": "/etc/motd", "content": "x".repeat(500)}]},
                "status": {"dataSecretName": name},
            })),
            self.object(("v1", "Secret", name), Some(config), "", secret("value")),
        ]
    }
}

fn machine_spec(name: &str) -> Value {
    let bootstrap = json!({"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": name}, "dataSecretName": name});
    json!({"clusterName": "c", "version": "v1.36.3", "bootstrap": bootstrap, "infrastructureRef": reference("LabMachine", name)})
}

fn reference(kind: &str, name: &str) -> Value {
    json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": name})
}

/// Two kilobytes, as bootstrap data and certificates have.
fn secret(key: &str) -> Value {
    json!({"type": "cluster.x-k8s.io/secret", "stringData": {key: "y".repeat(2000)}})
}

fn truth(kind: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": "Done", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_are_a_thousand() {
        assert_eq!(objects("n", 1000).len(), 1000);
        assert_eq!(objects("n", 200).len(), 200);
    }

    #[test]
    fn every_object_has_its_own_key() {
        let keys = keys("n", 200);
        assert_eq!(keys.len(), 200);
        assert!(keys.contains(&ObjectKey::new("Machine.cluster.x-k8s.io", "n", "c-md-1-0047")));
        assert!(keys.contains(&ObjectKey::new("Secret", "n", "c-ca")));
    }
}
