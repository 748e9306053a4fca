//! What controllers make of what users write: owners, Machines, Secrets, clones of templates, status.

use std::collections::BTreeMap;

use serde_json::{Value, json};

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io/v1beta2";
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

/// All objects of a namespace, while controllers add to them.
pub(crate) struct Namespace {
    name: String,
    objects: BTreeMap<(String, String), Value>,
}

/// Everything that there is once a cluster runs.
pub(crate) fn at_rest(namespace: &str, objects: Vec<Value>) -> Vec<Value> {
    let mut all = Namespace { name: namespace.to_owned(), objects: BTreeMap::new() };
    objects.into_iter().for_each(|object| all.add(object));
    all.classes();
    all.topologies();
    all.clusters();
    all.control_planes();
    all.deployments();
    all.pools();
    all.health_checks();
    all.resource_sets();
    all.of_providers();
    all.objects.into_values().collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn name(object: &Value) -> String {
    text(&object["metadata"]["name"])
}

/// A reference to an owner. UIDs are known once there are objects.
fn owner(object: &Value, controller: bool) -> Value {
    let mut owner = json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "name": name(object)});
    if controller {
        owner["controller"] = json!(true);
        owner["blockOwnerDeletion"] = json!(true);
    }
    owner
}

fn condition(kind: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": kind, "message": "done", "lastTransitionTime": "2026-08-03T10:58:41Z"})
}

/// What an infrastructure provider reports, in both contracts: the server drops what the kind doesn't have.
fn provisioned() -> Value {
    json!({"ready": true, "initialization": {"provisioned": true}, "conditions": [condition("Ready")]})
}

/// `AWSMachine` of `AWSMachineTemplate`.
fn without_template(kind: &str) -> String {
    kind.strip_suffix("Template").unwrap_or(kind).to_owned()
}

impl Namespace {
    fn add(&mut self, mut object: Value) {
        object["metadata"]["namespace"] = json!(self.name);
        self.objects.insert((text(&object["kind"]), name(&object)), object);
    }

    fn of(&self, kind: &str) -> Vec<Value> {
        self.objects.iter().filter(|((of, _), _)| of == kind).map(|(_, object)| object.clone()).collect()
    }

    /// The object that a reference means; none if it has none.
    fn at(&mut self, reference: &Value) -> Option<&mut Value> {
        let (kind, name) = (reference["kind"].as_str()?, reference["name"].as_str()?);
        self.objects.get_mut(&(kind.to_owned(), name.to_owned()))
    }

    /// Adds an owner, the Cluster's label and a finalizer to the object that a reference means.
    fn own(&mut self, reference: &Value, by: &Value, controller: bool, cluster: Option<&str>) {
        let Some(object) = self.at(reference) else { panic!("no {reference} for {}", name(by)) };
        let is_template = text(&object["kind"]).ends_with("Template");
        let metadata = &mut object["metadata"];
        let owners = metadata["ownerReferences"].as_array().cloned().unwrap_or_default();
        metadata["ownerReferences"] = owners.into_iter().chain([owner(by, controller)]).collect();
        if let Some(cluster) = cluster {
            metadata["labels"][CLUSTER_NAME] = json!(cluster);
        }
        if !is_template {
            let kind = text(&object["kind"]).to_lowercase();
            object["metadata"]["finalizers"] = json!([format!("{kind}.infrastructure.cluster.x-k8s.io")]);
            object["status"] = provisioned();
        }
    }

    /// A copy of a template, as the topology controller clones it; returns a reference to it.
    fn clone_of(&mut self, reference: &Value, kind: &str, name: &str, cluster: &Value) -> Value {
        let template = self.at(reference).unwrap_or_else(|| panic!("no {reference}")).clone();
        let spec = if kind.ends_with("Template") {
            &template["spec"]
        } else {
            &template["spec"]["template"]["spec"]
        };
        let metadata = json!({
            "name": name,
            "labels": {CLUSTER_NAME: self::name(cluster), "topology.cluster.x-k8s.io/owned": ""},
            "annotations": {"cluster.x-k8s.io/cloned-from-name": self::name(&template)},
        });
        let api = &template["apiVersion"];
        let spec = if spec.is_null() { json!({}) } else { spec.clone() };
        self.add(json!({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}));
        json!({"apiGroup": text(api).split('/').next(), "kind": kind, "name": name})
    }

    fn secret(&mut self, name: &str, by: &Value, cluster: &str) {
        self.add(json!({
            "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
            "metadata": {"name": name, "labels": {CLUSTER_NAME: cluster}, "ownerReferences": [owner(by, true)]},
            "data": {"value": "bm90IGEgc2VjcmV0"},
        }));
    }

    /// A ClusterClass owns its templates.
    fn classes(&mut self) {
        for class in self.of("ClusterClass") {
            let mut references = Vec::new();
            references_of(&class["spec"], &mut references);
            for reference in references {
                let is_owned = |object: &Value| !object["metadata"]["ownerReferences"].is_null();
                if !self.at(&reference).is_some_and(|object| is_owned(object)) {
                    self.own(&reference, &class, false, None);
                }
            }
        }
    }

    /// The topology controller clones the class's templates.
    fn topologies(&mut self) {
        for mut cluster in self.of("Cluster") {
            if cluster["spec"]["topology"].is_null() {
                continue;
            }
            let (c, topology) = (name(&cluster), cluster["spec"]["topology"].clone());
            let class = self
                .at(&json!({"kind": "ClusterClass", "name": topology["classRef"]["name"]}))
                .unwrap()
                .clone();
            let class = &class["spec"];
            let made = |all: &mut Self, from: &Value, suffix: &str| {
                let kind = without_template(from["kind"].as_str().unwrap());
                all.clone_of(from, &kind, &format!("{c}{suffix}"), &cluster)
            };
            let infrastructure = made(self, &class["infrastructure"]["templateRef"], "-hj4tq");
            let control_plane = made(self, &class["controlPlane"]["templateRef"], "-w9d4m");
            if let Some(machines) = class["controlPlane"]["machineInfrastructure"].get("templateRef") {
                let template = self.clone_of(
                    machines,
                    machines["kind"].as_str().unwrap(),
                    &format!("{c}-k5vsn"),
                    &cluster,
                );
                let object = self.at(&control_plane).unwrap();
                object["spec"]["replicas"] = topology["controlPlane"]["replicas"].clone();
                object["spec"]["version"] = topology["version"].clone();
                object["spec"]["machineTemplate"]["spec"]["infrastructureRef"] = template;
            }
            for (list, kind) in [("machineDeployments", "MachineDeployment"), ("machinePools", "MachinePool")]
            {
                for wanted in topology["workers"][list].as_array().into_iter().flatten() {
                    let classes = class["workers"][list].as_array().unwrap();
                    let of = classes.iter().find(|class| class["class"] == wanted["class"]).unwrap();
                    let name = format!("{c}-{}-zx5kv", wanted["name"].as_str().unwrap());
                    let mut part = |part: &str| {
                        let from = &of[part]["templateRef"];
                        let template = text(&from["kind"]);
                        // A pool has one of each itself.
                        let kind = if kind == "MachinePool" { without_template(&template) } else { template };
                        self.clone_of(from, &kind, &name, &cluster)
                    };
                    let (bootstrap, infrastructure) = (part("bootstrap"), part("infrastructure"));
                    self.add(json!({
                        "apiVersion": CAPI, "kind": kind,
                        "metadata": {"name": name, "labels": {CLUSTER_NAME: c, "topology.cluster.x-k8s.io/owned": ""}},
                        "spec": {
                            "clusterName": c, "replicas": wanted["replicas"],
                            "selector": {"matchLabels": {CLUSTER_NAME: c}},
                            "template": {
                                "metadata": {"labels": {CLUSTER_NAME: c}},
                                "spec": {
                                    "clusterName": c, "version": topology["version"],
                                    "bootstrap": {"configRef": bootstrap}, "infrastructureRef": infrastructure,
                                },
                            },
                        },
                    }));
                }
            }
            cluster["spec"]["infrastructureRef"] = infrastructure;
            cluster["spec"]["controlPlaneRef"] = control_plane;
            self.add(cluster);
        }
    }

    fn clusters(&mut self) {
        for mut cluster in self.of("Cluster") {
            let c = name(&cluster);
            for field in ["infrastructureRef", "controlPlaneRef"] {
                let reference = cluster["spec"][field].clone();
                self.own(&reference, &cluster, true, Some(&c));
            }
            let control_plane = self.at(&cluster["spec"]["controlPlaneRef"]).unwrap().clone();
            let of: &[&str] = match control_plane["kind"].as_str().unwrap() {
                "KubeadmControlPlane" => &["kubeconfig", "ca", "etcd", "proxy", "sa"],
                "AWSManagedControlPlane" => &["kubeconfig", "user-kubeconfig", "ca"],
                _ => &["kubeconfig"],
            };
            of.iter().for_each(|of| self.secret(&format!("{c}-{of}"), &control_plane, &c));
            cluster["metadata"]["finalizers"] = json!(["cluster.cluster.x-k8s.io"]);
            cluster["status"] = json!({
                "phase": "Provisioned",
                "initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true},
                "conditions": [condition("ControlPlaneInitialized"), condition("InfrastructureReady")],
            });
            self.add(cluster);
        }
    }

    fn control_planes(&mut self) {
        for mut control_plane in self.of("KubeadmControlPlane") {
            let cluster = self.of("Cluster").remove(0);
            let template = control_plane["spec"]["machineTemplate"]["spec"]["infrastructureRef"].clone();
            self.own(&template, &cluster, false, Some(&name(&cluster)));
            let config = json!({"kind": "KubeadmConfig"});
            for index in 0..control_plane["spec"]["replicas"].as_u64().unwrap() {
                self.machine(&control_plane, index, &cluster, &template, &config);
            }
            control_plane["status"] = json!({"initialization": {"controlPlaneInitialized": true}});
            self.add(control_plane);
        }
    }

    fn deployments(&mut self) {
        for mut deployment in self.of("MachineDeployment") {
            let cluster = self.of("Cluster").remove(0);
            let c = name(&cluster);
            let spec = deployment["spec"].clone();
            let template = &spec["template"]["spec"];
            for reference in [&template["infrastructureRef"], &template["bootstrap"]["configRef"]] {
                self.own(reference, &cluster, false, Some(&c));
            }
            deployment["metadata"]["ownerReferences"] = json!([owner(&cluster, true)]);
            deployment["metadata"]["labels"][CLUSTER_NAME] = json!(c);
            deployment["spec"]["selector"] = json!({"matchLabels": {CLUSTER_NAME: c}});
            deployment["spec"]["template"]["metadata"]["labels"][CLUSTER_NAME] = json!(c);
            let mut set = json!({
                "apiVersion": CAPI, "kind": "MachineSet",
                "metadata": {
                    "name": format!("{}-x2v9q", name(&deployment)), "labels": {CLUSTER_NAME: c},
                    "ownerReferences": [owner(&deployment, true)], "finalizers": ["cluster.x-k8s.io/machineset"],
                },
                "spec": {"clusterName": c, "replicas": spec["replicas"]},
            });
            for field in ["selector", "template"] {
                set["spec"][field] = deployment["spec"][field].clone();
            }
            self.add(set.clone());
            self.add(deployment);
            for index in 0..spec["replicas"].as_u64().unwrap() {
                let config = &template["bootstrap"]["configRef"];
                self.machine(&set, index, &cluster, &template["infrastructureRef"], config);
            }
        }
    }

    /// A Machine with all that is made for it.
    fn machine(&mut self, by: &Value, index: u64, cluster: &Value, template: &Value, config: &Value) {
        let (machine, c) = (format!("{}-{index}", name(by)), name(cluster));
        let kind = without_template(template["kind"].as_str().unwrap());
        let config = without_template(config["kind"].as_str().unwrap());
        self.clone_of(template, &kind, &machine, cluster);
        let reference = |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": machine});
        let infrastructure = reference("infrastructure.cluster.x-k8s.io", &kind);
        let object = json!({
            "apiVersion": CAPI, "kind": "Machine",
            "metadata": {
                "name": machine, "labels": {CLUSTER_NAME: c}, "ownerReferences": [owner(by, true)],
                "finalizers": ["machine.cluster.x-k8s.io"],
            },
            "spec": {
                "clusterName": c, "version": "v1.36.3", "infrastructureRef": infrastructure,
                "bootstrap": {"dataSecretName": machine, "configRef": reference("bootstrap.cluster.x-k8s.io", &config)},
            },
            "status": {"phase": "Running", "nodeRef": {"name": machine}, "conditions": [condition("Ready")]},
        });
        self.own(&infrastructure, &object, true, Some(&c));
        self.at(&infrastructure).unwrap()["spec"]["providerID"] =
            json!(format!("provider:///zone/{machine}"));
        let config = json!({
            "apiVersion": BOOTSTRAP, "kind": config,
            "metadata": {"name": machine, "labels": {CLUSTER_NAME: c}, "ownerReferences": [owner(&object, true)]},
            "spec": {"format": "cloud-config"}, "status": {"dataSecretName": machine},
        });
        self.secret(&machine, &config, &c);
        self.add(object);
        self.add(config);
    }

    fn pools(&mut self) {
        for mut pool in self.of("MachinePool") {
            let cluster = self.of("Cluster").remove(0);
            let c = name(&cluster);
            pool["metadata"]["ownerReferences"] = json!([owner(&cluster, true)]);
            pool["metadata"]["labels"][CLUSTER_NAME] = json!(c);
            let template = pool["spec"]["template"]["spec"].clone();
            self.own(&template["infrastructureRef"], &pool, true, Some(&c));
            if let Some(config) = template["bootstrap"].get("configRef") {
                self.own(config, &pool, true, Some(&c));
                let config = self.at(config).unwrap();
                config["status"] = json!({"ready": true, "dataSecretName": name(&pool)});
                let config = config.clone();
                self.secret(&name(&pool), &config, &c);
            }
            self.add(pool);
        }
    }

    fn health_checks(&mut self) {
        for check in self.of("MachineHealthCheck") {
            let cluster = self.of("Cluster").remove(0);
            self.own(&owner(&check, false), &cluster, false, None);
        }
    }

    fn resource_sets(&mut self) {
        for set in self.of("ClusterResourceSet") {
            let cluster = self.of("Cluster").remove(0);
            let resources = set["spec"]["resources"].clone();
            for resource in resources.as_array().into_iter().flatten() {
                if let Some(object) = self.at(resource) {
                    object["metadata"]["ownerReferences"] = json!([owner(&set, false)]);
                }
            }
            let done = json!({"kind": "ConfigMap", "name": "none", "applied": true, "hash": "sha256:0"});
            self.add(json!({
                "apiVersion": set["apiVersion"], "kind": "ClusterResourceSetBinding",
                "metadata": {"name": name(&cluster), "ownerReferences": [owner(&set, false), owner(&cluster, false)]},
                "spec": {
                    "clusterName": name(&cluster),
                    "bindings": [{"clusterResourceSetName": name(&set), "resources": [done]}],
                },
            }));
        }
    }

    /// What only one provider's controllers make.
    fn of_providers(&mut self) {
        for cluster in self.of("VSphereCluster") {
            if cluster["spec"]["failureDomainSelector"].is_object() {
                let reference = json!({"kind": "VSphereCluster", "name": name(&cluster)});
                let zones = json!([{"name": "zone-a", "controlPlane": true}]);
                self.at(&reference).unwrap()["status"]["failureDomains"] = zones;
            }
            let secret = json!({"kind": "Secret", "name": cluster["spec"]["identityRef"]["name"]});
            if cluster["spec"]["identityRef"]["kind"] == "Secret"
                && let Some(secret) = self.at(&secret)
            {
                secret["metadata"]["ownerReferences"] = json!([owner(&cluster, true)]);
                secret["metadata"]["finalizers"] =
                    json!(["vspherecluster.infrastructure.cluster.x-k8s.io/secret"]);
            }
        }
        self.of("VSphereMachine").iter().for_each(|machine| self.virtual_machine(machine));
        for machine in self.of("OpenStackMachine") {
            let server = json!({
                "flavor": "small", "image": {"filter": {"name": "node-image"}}, "sshKeyName": "key",
                "identityRef": {"name": "c-cloud-config", "cloudName": "cloud"}, "ports": [{"description": "node"}],
            });
            let status = json!({"ready": true, "instanceID": "i-1", "instanceState": "ACTIVE"});
            self.made_for(
                &machine,
                "infrastructure.cluster.x-k8s.io/v1alpha1",
                "OpenStackServer",
                &name(&machine),
                server,
                status,
            );
        }
        for pool in self.of("AzureMachinePool") {
            for index in 0..2 {
                let id = format!("azure:///subscriptions/s/virtualMachines/{index}");
                let spec = json!({"providerID": id, "instanceID": index.to_string()});
                let made = format!("{}-{index}", name(&pool));
                self.made_for(
                    &pool,
                    &text(&pool["apiVersion"]),
                    "AzureMachinePoolMachine",
                    &made,
                    spec,
                    provisioned(),
                );
            }
        }
        for kind in ["AzureCluster", "AzureManagedControlPlane"] {
            for cluster in self.of(kind) {
                self.secret(&format!("{}-aso-secret", name(&cluster)), &cluster, &name(&cluster));
            }
        }
        for kind in ["AzureMachineTemplate", "AzureMachinePool"] {
            for template in self.of(kind) {
                self.secret(&format!("{}-azure-json", name(&template)), &template, "c");
            }
        }
        for pool in self.of("DevMachinePool") {
            let spec = json!({"backend": {"docker": {}}});
            self.made_for(
                &pool,
                &text(&pool["apiVersion"]),
                "DevMachine",
                &format!("{}-0", name(&pool)),
                spec,
                provisioned(),
            );
        }
    }

    /// The VM of a vSphere machine, with the addresses of its pools.
    fn virtual_machine(&mut self, machine: &Value) {
        let mut spec = machine["spec"].clone();
        spec.as_object_mut()
            .unwrap()
            .retain(|field, _| !["providerID", "failureDomain"].contains(&field.as_str()));
        let api = text(&machine["apiVersion"]);
        let vm =
            self.made_for(machine, &api, "VSphereVM", &name(machine), spec.clone(), json!({"ready": true}));
        for pool in spec["network"]["devices"][0]["addressesFromPools"].as_array().into_iter().flatten() {
            let made = format!("{}-0-0", name(machine));
            let api = "ipam.cluster.x-k8s.io/v1beta2";
            let claim = json!({"poolRef": pool});
            let claim = self.made_for(
                &vm,
                api,
                "IPAddressClaim",
                &made,
                claim,
                json!({"addressRef": {"name": made}}),
            );
            let address = json!({
                "address": format!("192.0.2.{}", 10 + self.of("IPAddress").len()), "prefix": 24, "gateway": "192.0.2.1",
                "claimRef": {"name": made}, "poolRef": pool,
            });
            self.made_for(&claim, api, "IPAddress", &made, address, Value::Null);
            let pool = json!({"apiVersion": "ipam.cluster.x-k8s.io/v1alpha2", "kind": pool["kind"], "metadata": {"name": pool["name"]}});
            let address = self.at(&json!({"kind": "IPAddress", "name": made})).unwrap();
            address["metadata"]["ownerReferences"].as_array_mut().unwrap().push(owner(&pool, false));
        }
    }

    fn made_for(
        &mut self,
        by: &Value,
        api: &str,
        kind: &str,
        name: &str,
        spec: Value,
        status: Value,
    ) -> Value {
        let labels = by["metadata"]["labels"].clone();
        let metadata = json!({
            "name": name, "labels": labels, "ownerReferences": [owner(by, true)],
            "finalizers": [format!("{}.infrastructure.cluster.x-k8s.io", kind.to_lowercase())],
        });
        let mut object = json!({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec});
        if !status.is_null() {
            object["status"] = status;
        }
        self.add(object.clone());
        object
    }
}

/// The references to templates in a class.
fn references_of(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("templateRef").cloned());
            fields.values().for_each(|value| references_of(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references_of(value, found)),
        _ => {}
    }
}
