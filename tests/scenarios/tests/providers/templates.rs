//! What users write for a cluster: the providers' own templates, filled in.

use std::collections::BTreeMap;

use pivot_lab::assets::ProviderFiles;
use pivot_lab::{assets, parse, say};
use serde_json::{Map, Value, json};

/// Each provider and the label that `clusterctl init` puts on its CRDs.
const PROVIDERS: [(&str, &str); 8] = [
    ("addon-helm", "addon-helm"),
    ("aws", "infrastructure-aws"),
    ("azure", "infrastructure-azure"),
    ("docker", "infrastructure-docker"),
    ("gcp", "infrastructure-gcp"),
    ("ipam-in-cluster", "ipam-in-cluster"),
    ("openstack", "infrastructure-openstack"),
    ("vsphere", "infrastructure-vsphere"),
];

/// The providers that are available on this machine.
pub(crate) struct Providers(BTreeMap<&'static str, ProviderFiles>);

impl Providers {
    /// Reports those that are not.
    pub(crate) async fn find() -> Self {
        let assets = assets().await.unwrap();
        let mut found = BTreeMap::new();
        for (name, label) in PROVIDERS {
            match assets.provider(name).await.unwrap() {
                Some(mut files) => {
                    for crd in &mut files.crds {
                        crd["metadata"]["labels"]["clusterctl.cluster.x-k8s.io"] = json!("");
                        crd["metadata"]["labels"]["cluster.x-k8s.io/provider"] = json!(label);
                    }
                    found.insert(name, files);
                }
                None => say(format_args!(
                    "not run: {name}, whose CRDs and templates are neither in $PIVOT_HOST_PROVIDERS nor in \
                     ../shared/providers; docs/providers.md describes that folder"
                )),
            }
        }
        Self(found)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The CRDs of all of them, as `clusterctl init` leaves them.
    pub(crate) fn crds(&self) -> Vec<Value> {
        self.0.values().flat_map(|files| files.crds.clone()).collect()
    }

    /// The objects of a template such as `aws/cluster-template`, in one namespace.
    pub(crate) fn template(&self, name: &str, namespace: &str) -> Vec<Value> {
        let (provider, file) = name.split_once('/').unwrap();
        let path = self.0[provider].templates.join(format!("{file}.yaml"));
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let objects = parse(&filled(&text, namespace)).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        objects.into_iter().map(|object| placed(object, namespace)).collect()
    }
}

/// An object of a namespace, in the newest version of Cluster API's own kinds.
pub(crate) fn placed(mut object: Value, namespace: &str) -> Value {
    object["metadata"]["namespace"] = json!(namespace);
    let api = object["apiVersion"].as_str().unwrap().to_owned();
    let kind = object["kind"].as_str().unwrap().to_owned();
    let (group, version) = api.split_once('/').unwrap_or(("", &api));
    let is_core = CORE.contains(&kind.as_str()) && version != "v1beta2";
    if is_core {
        object["apiVersion"] = json!(format!("{group}/v1beta2"));
        modernised(&mut object["spec"]);
    }
    object
}

/// Cluster API's own kinds in templates.
const CORE: [&str; 9] = [
    "Cluster",
    "ClusterClass",
    "ClusterResourceSet",
    "MachineDeployment",
    "MachinePool",
    "KubeadmControlPlane",
    "KubeadmControlPlaneTemplate",
    "KubeadmConfig",
    "KubeadmConfigTemplate",
];

/// What Cluster API's conversion makes of v1beta1, as far as templates need it.
fn modernised(value: &mut Value) {
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(modernised);
    }
    let Some(fields) = value.as_object_mut() else { return };
    fields.remove("timeoutForControlPlane");
    fields.values_mut().for_each(modernised);
    // The newest version refuses what says nothing.
    let is_empty = |value: &Value| *value == json!({}) || *value == json!([]) || value.is_null();
    fields.retain(|_, value| !is_empty(value));
    for (key, value) in &mut *fields {
        match key.as_str() {
            "infrastructureRef" | "controlPlaneRef" | "configRef" => {
                let api = value.as_object_mut().unwrap().remove("apiVersion").unwrap();
                value["apiGroup"] = json!(api.as_str().unwrap().split('/').next());
            }
            "extraArgs" | "kubeletExtraArgs" => {
                let arguments = value.as_object().unwrap().iter();
                *value = arguments.map(|(name, value)| json!({"name": name, "value": value})).collect();
            }
            "machineTemplate" => {
                let reference = value.as_object_mut().unwrap().remove("infrastructureRef");
                if let Some(reference) = reference {
                    value["spec"]["infrastructureRef"] = reference;
                }
            }
            _ => {}
        }
    }
    if let Some(reference) = fields.remove("ref") {
        fields.insert("templateRef".to_owned(), reference);
    }
    if let Some(class) = fields.get("class").cloned().filter(|_| fields.contains_key("version")) {
        fields.remove("class");
        fields.insert("classRef".to_owned(), json!({"name": class}));
    }
    let is_class = |fields: &Map<String, Value>| fields.contains_key("class");
    if let Some(template) = fields.get("template").cloned().filter(|_| is_class(fields)) {
        fields.remove("template");
        fields.extend(template.as_object().unwrap().clone());
    }
}

/// A template with all its variables; those without a default get their own name.
fn filled(text: &str, namespace: &str) -> String {
    let values = BTreeMap::from([
        ("NAMESPACE", namespace),
        ("CLUSTER_NAME", "c"),
        ("CLUSTER_CLASS_NAME", "class"),
        ("KUBERNETES_VERSION", "v1.36.3"),
        ("CONTROL_PLANE_MACHINE_COUNT", "1"),
        ("WORKER_MACHINE_COUNT", "2"),
        ("CONTROL_PLANE_ENDPOINT_IP", "192.0.2.1"),
        ("NODE_IPAM_POOL_API_GROUP", "ipam.cluster.x-k8s.io"),
        ("NODE_IPAM_POOL_KIND", "InClusterIPPool"),
        ("NODE_IPAM_POOL_NAME", "pool"),
        ("NAMESERVER", "192.0.2.2"),
        ("OPENSTACK_DNS_NAMESERVERS", "192.0.2.2"),
        ("OPENSTACK_EXTERNAL_NETWORK_ID", "0f8b1d6e-3b1c-4bd5-8c1b-2f3f3f6a7b01"),
        ("OPENSTACK_CLOUD_YAML_B64", "Y2xvdWRz"),
        ("OPENSTACK_CLOUD_CACERT_B64", "Cg=="),
        ("CNI_RESOURCES", "{cni.yaml: none}"),
        ("AZURE_SUBSCRIPTION_ID", "00000000-0000-0000-0000-000000000001"),
        ("AZURE_TENANT_ID", "00000000-0000-0000-0000-000000000002"),
        ("AZURE_CLIENT_ID_USER_ASSIGNED_IDENTITY", "00000000-0000-0000-0000-000000000003"),
        ("CLUSTER_IDENTITY_NAME", "identity"),
    ]);
    let mut text = text.to_owned();
    // Innermost first: a default may contain variables.
    while let Some(start) = text.rfind("${") {
        let end = start + text[start..].find('}').unwrap();
        let variable = &text[start + 2..end];
        let name: String = variable.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let default = variable[name.len()..].trim_start_matches([':', '=', '-']);
        let value = match values.get(name.as_str()) {
            Some(value) => (*value).to_owned(),
            None if variable.len() > name.len() => default.to_owned(),
            None => name.to_lowercase().replace('_', "-"),
        };
        text.replace_range(start..=end, &value);
    }
    text
}
