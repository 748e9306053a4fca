//! The objects that shapes are made of.

use pivot_scenarios::secrets::ENCODED;
use serde_json::{Value, json};

use super::kinds::{api_version, is_global};

/// Objects that don't say where they are, in a namespace.
pub(crate) fn placed(namespace: &str, mut objects: Vec<Value>) -> Vec<Value> {
    for object in &mut objects {
        if !is_global(object["kind"].as_str().unwrap()) && object["metadata"].get("namespace").is_none() {
            object["metadata"]["namespace"] = json!(namespace);
        }
    }
    objects
}

/// An object with these owners (kind and name); the first of them is its controller.
pub(crate) fn object(kind: &str, name: &str, owners: &[(&str, &str)], content: Value) -> Value {
    let owners: Vec<Value> = owners
        .iter()
        .enumerate()
        .map(|(index, (kind, name))| {
            let mut owner = json!({ "apiVersion": api_version(kind), "kind": kind, "name": name });
            if index == 0 {
                owner["controller"] = json!(true);
                owner["blockOwnerDeletion"] = json!(true);
            }
            owner
        })
        .collect();
    let mut object = json!({
        "apiVersion": api_version(kind), "kind": kind,
        "metadata": {
            "name": name, "ownerReferences": owners,
            "labels": { "lab/name": name }, "annotations": { "lab/note": format!("about {name}") },
        },
    });
    object.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
    object
}

pub(crate) fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field.replace("~1", "/")] = value;
    object
}

pub(crate) fn labelled(object: Value, label: &str) -> Value {
    with(object, &format!("/metadata/labels/{}", label.replace('/', "~1")), json!(""))
}

pub(crate) fn finalized(object: Value) -> Value {
    with(object, "/metadata/finalizers", json!(["lab.io/stay"]))
}

pub(crate) fn secret(name: &str, owners: &[(&str, &str)]) -> Value {
    let content = json!({ "type": "cluster.x-k8s.io/secret", "data": { "value": ENCODED } });
    object("Secret", name, owners, content)
}

pub(crate) fn config(name: &str, owners: &[(&str, &str)]) -> Value {
    object("ConfigMap", name, owners, json!({ "data": { "key": "value" } }))
}

pub(crate) fn reference(kind: &str, name: &str) -> Value {
    json!({ "apiGroup": api_version(kind).split('/').next(), "kind": kind, "name": name })
}

/// A Cluster that runs: with what its spec is to say beside its infrastructure.
pub(crate) fn lone(name: &str, spec: Value) -> Value {
    let mut content = json!({
        "spec": { "infrastructureRef": reference("Metal3Cluster", name) },
        "status": {
            "phase": "Provisioned",
            "initialization": { "infrastructureProvisioned": true, "controlPlaneInitialized": true },
            "conditions": [{
                "type": "ControlPlaneInitialized", "status": "True", "reason": "Initialized", "message": "",
                "lastTransitionTime": "2026-08-03T10:58:41Z",
            }],
        },
    });
    content["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    finalized(object("Cluster", name, &[], content))
}

/// A Cluster with its infrastructure.
pub(crate) fn bare(name: &str, spec: Value) -> Vec<Value> {
    let infrastructure = json!({ "spec": { "controlPlaneEndpoint": { "host": "192.0.2.1", "port": 6443 } } });
    vec![lone(name, spec), finalized(object("Metal3Cluster", name, &[("Cluster", name)], infrastructure))]
}

/// A Cluster with a control plane and its certificates.
pub(crate) fn cluster(name: &str) -> Vec<Value> {
    let control = [("KubeadmControlPlane", name)];
    let mut objects = bare(name, json!({ "controlPlaneRef": reference("KubeadmControlPlane", name) }));
    objects.push(object(
        "KubeadmControlPlane",
        name,
        &[("Cluster", name)],
        json!({ "spec": {
            "replicas": 1, "version": "v1.35.2",
            "machineTemplate": { "spec": { "infrastructureRef": reference("Metal3MachineTemplate", name) } },
        }}),
    ));
    objects.push(object("Metal3MachineTemplate", name, &[("Cluster", name)], template()));
    objects.extend(["kubeconfig", "ca"].map(|purpose| secret(&format!("{name}-{purpose}"), &control)));
    objects
}

pub(crate) fn template() -> Value {
    json!({ "spec": { "template": { "spec": {} } } })
}

/// A Machine of a Cluster, and what belongs to it.
pub(crate) fn machine(cluster: &str, name: &str, owner: (&str, &str)) -> Vec<Value> {
    let this = [("Machine", name)];
    vec![
        finalized(object(
            "Machine",
            name,
            &[owner],
            json!({
                "spec": {
                    "clusterName": cluster,
                    "bootstrap": { "dataSecretName": name, "configRef": reference("KubeadmConfig", name) },
                    "infrastructureRef": reference("Metal3Machine", name),
                },
                "status": { "nodeRef": { "name": name } },
            }),
        )),
        finalized(object(
            "Metal3Machine",
            name,
            &this,
            json!({ "spec": { "providerID": format!("metal3://{name}") } }),
        )),
        object("KubeadmConfig", name, &this, json!({ "spec": { "format": "cloud-config" } })),
        secret(name, &[("KubeadmConfig", name)]),
    ]
}

/// A class and the templates that it names, owned by it or not.
pub(crate) fn class(name: &str, owned: bool) -> Vec<Value> {
    let of = |kind: &str| json!({ "templateRef": { "apiVersion": api_version(kind), "kind": kind, "name": name } });
    let mut control = of("KubeadmControlPlaneTemplate");
    control["machineInfrastructure"] = of("Metal3MachineTemplate");
    let worker = json!({
        "class": "worker", "bootstrap": of("KubeadmConfigTemplate"), "infrastructure": of("Metal3MachineTemplate"),
    });
    let class = object(
        "ClusterClass",
        name,
        &[],
        json!({ "spec": {
            "infrastructure": of("Metal3ClusterTemplate"), "controlPlane": control,
            "workers": { "machineDeployments": [worker] },
        }}),
    );
    let owner = [("ClusterClass", name)];
    let owner: &[_] = if owned { &owner } else { &[] };
    let kinds = [
        "Metal3ClusterTemplate",
        "KubeadmControlPlaneTemplate",
        "Metal3MachineTemplate",
        "KubeadmConfigTemplate",
    ];
    let templates = kinds.map(|kind| object(kind, name, owner, template()));
    [vec![class], templates.to_vec()].concat()
}

/// A Cluster of a class, in the namespace `of` or in its own.
pub(crate) fn classy(name: &str, class: &str, of: Option<&str>) -> Vec<Value> {
    let mut class = json!({ "name": class });
    if let Some(namespace) = of {
        class["namespace"] = json!(namespace);
    }
    bare(name, json!({ "topology": { "classRef": class, "version": "v1.35.2" } }))
}

pub(crate) fn resource_set(name: &str, clusters: &[&str]) -> Vec<Value> {
    let this = [("ClusterResourceSet", name)];
    let mut objects = vec![
        finalized(object(
            "ClusterResourceSet",
            name,
            &[],
            json!({ "spec": {
                "clusterSelector": {}, "strategy": "ApplyOnce",
                "resources": [{ "kind": "ConfigMap", "name": name }, { "kind": "Secret", "name": name }],
            }}),
        )),
        config(name, &this),
        secret(name, &this),
    ];
    objects.extend(clusters.iter().map(|cluster| {
        let bindings = json!([{ "clusterResourceSetName": name, "resources": [] }]);
        object(
            "ClusterResourceSetBinding",
            cluster,
            &this,
            json!({ "spec": { "clusterName": cluster, "bindings": bindings } }),
        )
    }));
    objects
}

/// A claim of a Machine's infrastructure on a pool, and the address that it got.
pub(crate) fn address(name: &str, pool: (&str, &str)) -> Vec<Value> {
    let pool_ref = reference(pool.0, pool.1);
    let claim = object(
        "IPAddressClaim",
        name,
        &[("Metal3Machine", name)],
        json!({
            "spec": { "poolRef": pool_ref }, "status": { "addressRef": { "name": name } },
        }),
    );
    let address = object(
        "IPAddress",
        name,
        &[("IPAddressClaim", name), pool],
        json!({
            "spec": { "address": "192.0.2.7", "claimRef": { "name": name }, "poolRef": pool_ref },
        }),
    );
    vec![finalized(claim), finalized(address)]
}
