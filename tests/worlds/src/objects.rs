//! Objects one by one, and what the Clusters of a namespace have in common.

use serde_json::{Value, json};

use crate::dice::Dice;
use crate::kinds::KINDS;
use crate::secrets::SECRET_DATA;

/// Where the provider keeps the Secrets of identities.
pub(crate) const PROVIDER_NAMESPACE: &str = "lab-system";
/// The identity that Clusters can name.
pub(crate) const IDENTITY: &str = "lab";
/// The pool for Clusters of all namespaces.
pub(crate) const GLOBAL_POOL: &str = "everywhere";

/// An object that others own or name.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) api_version: String,
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    uid: String,
}

impl Made {
    /// An owner reference to it.
    pub(crate) fn owner(&self) -> Value {
        json!({ "apiVersion": self.api_version, "kind": self.kind, "name": self.name, "uid": self.uid })
    }

    /// One that says that it is the managing controller.
    pub(crate) fn controller(&self) -> Value {
        let mut owner = self.owner();
        owner["controller"] = json!(true);
        owner["blockOwnerDeletion"] = json!(true);
        owner
    }

    /// A reference to it in a body.
    pub(crate) fn reference(&self) -> Value {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        json!({ "apiGroup": group, "kind": self.kind, "name": self.name })
    }
}

/// The objects so far.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) all: Vec<Value>,
}

impl Objects {
    /// Adds an object; one without a namespace is cluster-scoped.
    pub(crate) fn add(
        &mut self,
        kind: &'static str,
        namespace: Option<&str>,
        name: &str,
        owners: &[Value],
        content: Value,
    ) -> Made {
        let spec = KINDS.iter().find(|spec| spec.kind == kind);
        let api_version =
            spec.map_or_else(|| "v1".to_owned(), |spec| format!("{}/{}", spec.group, spec.version));
        let uid = format!("{kind}.{}.{name}", namespace.unwrap_or("-"));
        let mut object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": { "name": name, "uid": uid, "labels": { "lab/name": name }, "annotations": { "lab/note": uid } },
        });
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        if !owners.is_empty() {
            object["metadata"]["ownerReferences"] = json!(owners);
        }
        if spec.is_some() {
            object["metadata"]["finalizers"] = json!([format!("{}.lab/stay", kind.to_lowercase())]);
        }
        if let (Some(object), Value::Object(content)) = (object.as_object_mut(), content) {
            object.extend(content);
        }
        self.all.push(object);
        Made { api_version, kind, name: name.to_owned(), uid }
    }

    pub(crate) fn secret(&mut self, namespace: &str, name: &str, owners: &[Value]) -> Made {
        self.add(
            "Secret",
            Some(namespace),
            name,
            owners,
            json!({ "type": "Opaque", "data": { "value": SECRET_DATA } }),
        )
    }

    /// Says of the last object that it moves by itself, in the way of this label.
    pub(crate) fn labelled(&mut self, moves: &str) {
        if let Some(object) = self.all.last_mut() {
            object["metadata"]["labels"][format!("clusterctl.cluster.x-k8s.io/{moves}")] = json!("");
        }
    }

    /// An object made before.
    pub(crate) fn find(&self, kind: &'static str, namespace: Option<&str>, name: &str) -> Option<Made> {
        let object = self.all.iter().find(|object| {
            let metadata = &object["metadata"];
            object["kind"] == kind && metadata["name"] == name && metadata["namespace"].as_str() == namespace
        })?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Made {
            api_version: text(&object["apiVersion"])?,
            kind,
            name: name.to_owned(),
            uid: text(&object["metadata"]["uid"])?,
        })
    }

    pub(crate) fn identity(&mut self) {
        let spec = json!({ "spec": { "allowedNamespaces": [], "secretName": IDENTITY } });
        let identity = self.add("LabIdentity", None, IDENTITY, &[], spec);
        self.secret(PROVIDER_NAMESPACE, IDENTITY, &[identity.owner()]);
    }

    pub(crate) fn global_pool(&mut self) {
        let spec = json!({ "spec": { "addresses": ["10.9.0.1-10.9.0.99"], "prefix": 24 } });
        self.add("GlobalInClusterIPPool", None, GLOBAL_POOL, &[], spec);
    }

    /// What a namespace has whether or not a Cluster uses it.
    pub(crate) fn common(&mut self, namespace: &str, dice: Dice) {
        if dice.about("class").percent(60) {
            self.class(namespace, "quick");
        }
        if dice.about("second class").percent(15) {
            self.class(namespace, "slow");
        }
        if dice.about("pool").percent(40) {
            let spec = json!({ "spec": { "addresses": ["10.0.0.1-10.0.0.99"], "prefix": 24 } });
            self.add("InClusterIPPool", Some(namespace), "pool", &[], spec);
        }
        if dice.about("set").percent(40) {
            self.resource_set(namespace, dice);
        }
        if dice.about("network").percent(40) {
            self.add(
                "LabNetwork",
                Some(namespace),
                "network",
                &[],
                json!({ "spec": { "vlan": 9_007_199_254_740_993_i64 } }),
            );
        }
        if dice.about("credentials").percent(40) {
            self.secret(namespace, "credentials", &[]);
            self.labelled("move");
        }
        if dice.about("hierarchy").percent(20) {
            let top = self.add("ConfigMap", Some(namespace), "top", &[], json!({ "data": { "x": "y" } }));
            self.labelled("move-hierarchy");
            self.add("ConfigMap", Some(namespace), "below", &[top.owner()], json!({ "data": { "x": "z" } }));
        }
        if dice.about("unrelated").percent(60) {
            self.secret(namespace, "unrelated", &[]);
            self.add(
                "ConfigMap",
                Some(namespace),
                "kube-root-ca.crt",
                &[],
                json!({ "data": { "ca.crt": "x" } }),
            );
        }
    }

    fn class(&mut self, namespace: &str, name: &str) {
        let templates = [
            "LabClusterTemplate",
            "KubeadmControlPlaneTemplate",
            "LabMachineTemplate",
            "KubeadmConfigTemplate",
        ];
        let reference = |kind: &str| {
            let spec = KINDS.iter().find(|spec| spec.kind == kind);
            let version = spec.map(|spec| format!("{}/{}", spec.group, spec.version));
            json!({ "templateRef": { "apiVersion": version, "kind": kind, "name": name } })
        };
        let [cluster, control, machine, config] = templates.map(reference);
        let worker = json!({ "class": "workers", "bootstrap": config, "infrastructure": machine });
        let spec = json!({ "spec": {
            "infrastructure": cluster, "controlPlane": control, "workers": { "machineDeployments": [worker] },
        }});
        let class = self.add("ClusterClass", Some(namespace), name, &[], spec);
        for kind in templates {
            self.add(
                kind,
                Some(namespace),
                name,
                &[class.owner()],
                json!({ "spec": { "template": { "spec": {} } } }),
            );
        }
    }

    fn resource_set(&mut self, namespace: &str, dice: Dice) {
        let resources = json!([{ "kind": "ConfigMap", "name": "cni" }, { "kind": "Secret", "name": "cni" }]);
        let spec = json!({ "spec": { "clusterSelector": {}, "resources": resources } });
        let set = self.add("ClusterResourceSet", Some(namespace), "cni", &[], spec);
        // The controller owns what the set applies.
        self.add("ConfigMap", Some(namespace), "cni", &[set.owner()], json!({ "data": { "x": "y" } }));
        if dice.about("set of secrets").percent(50) {
            self.secret(namespace, "cni", &[set.owner()]);
        }
    }
}
