//! A Cluster with everything below it, as its controllers leave it.

use serde_json::{Value, json};

use crate::dice::Dice;
use crate::objects::{GLOBAL_POOL, IDENTITY, Made, Objects};

/// What a Cluster uses of what its world has.
pub(crate) struct Wishes {
    pub(crate) identity: bool,
    pub(crate) global_pool: bool,
    /// Where a class of another namespace can be.
    pub(crate) first_namespace: &'static str,
}

struct Builder<'a> {
    objects: &'a mut Objects,
    namespace: &'a str,
    /// The Cluster's name.
    name: &'a str,
    dice: Dice,
    /// Where the machines' addresses come from.
    pool: Option<Made>,
}

impl Objects {
    pub(crate) fn cluster(&mut self, namespace: &str, name: &str, dice: Dice, wishes: &Wishes) {
        let pool = match () {
            () if wishes.global_pool => self.find("GlobalInClusterIPPool", None, GLOBAL_POOL),
            () if dice.about("pool").percent(60) => self.find("InClusterIPPool", Some(namespace), "pool"),
            () => None,
        };
        let cluster = Builder { objects: self, namespace, name, dice, pool }.top(wishes);
        if dice.about("binding").percent(80)
            && let Some(set) = self.find("ClusterResourceSet", Some(namespace), "cni")
        {
            let spec =
                json!({ "spec": { "clusterName": name, "bindings": [{ "clusterResourceSetName": "cni" }] } });
            let owners = [cluster.owner(), set.owner()];
            self.add("ClusterResourceSetBinding", Some(namespace), name, &owners, spec);
        }
    }
}

impl Builder<'_> {
    fn add(&mut self, kind: &'static str, name: &str, owners: &[Value], content: Value) -> Made {
        let made = self.objects.add(kind, Some(self.namespace), name, owners, content);
        if let Some(object) = self.objects.all.last_mut() {
            object["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] = json!(self.name);
        }
        made
    }

    fn secret(&mut self, name: &str, owners: &[Value]) {
        self.objects.secret(self.namespace, name, owners);
        if let Some(object) = self.objects.all.last_mut() {
            object["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] = json!(self.name);
        }
    }

    fn top(mut self, wishes: &Wishes) -> Made {
        let (name, dice) = (self.name.to_owned(), self.dice);
        let class = if dice.about("class").percent(50) {
            self.objects
                .find("ClusterClass", Some(self.namespace), "quick")
                .map(|class| json!({ "name": class.name }))
        } else if dice.about("foreign class").percent(15) {
            let class = self.objects.find("ClusterClass", Some(wishes.first_namespace), "quick");
            class.map(|class| json!({ "name": class.name, "namespace": wishes.first_namespace }))
        } else {
            None
        };
        let mut spec =
            json!({ "paused": false, "controlPlaneEndpoint": { "host": "192.0.2.9", "port": 6443 } });
        if let Some(class) = &class {
            spec["topology"] = json!({ "classRef": class, "version": "v1.35.2" });
        }
        let status = json!({
            "phase": "Provisioned",
            "initialization": { "infrastructureProvisioned": true, "controlPlaneInitialized": true },
            "conditions": [{ "type": "ControlPlaneInitialized", "status": "True", "reason": "Is", "message": "",
                "lastTransitionTime": "2026-08-03T10:58:41Z" }],
        });
        let cluster = self.add("Cluster", &name, &[], json!({ "spec": spec, "status": status }));
        let owner = [cluster.controller()];
        let mut infra = json!({ "spec": { "region": "lab" } });
        if wishes.identity {
            infra["spec"]["identityRef"] = json!({ "kind": "LabIdentity", "name": IDENTITY });
        }
        if self.dice.about("credentials").percent(60)
            && self.objects.find("Secret", Some(self.namespace), "credentials").is_some()
        {
            infra["spec"]["credentialsSecret"] = json!("credentials");
        }
        if let Some(network) = self.objects.find("LabNetwork", Some(self.namespace), "network") {
            infra["spec"]["network"] = network.reference();
        }
        self.add("LabCluster", &name, &owner, infra);
        self.control_plane(&cluster);
        self.workers(&cluster, class.is_some());
        if dice.about("pool of machines").percent(25) {
            self.machine_pool(&cluster);
        }
        if dice.about("health").percent(30) {
            let spec = json!({ "spec": { "clusterName": name } });
            self.add("MachineHealthCheck", &name, &[cluster.owner()], spec);
        }
        cluster
    }

    fn control_plane(&mut self, cluster: &Made) {
        let (name, dice) = (self.name.to_owned(), self.dice.about("control plane"));
        let kubeconfig = format!("{name}-kubeconfig");
        if !dice.about("own").percent(80) {
            // Managed elsewhere: its Secrets belong to the Cluster by their names.
            return self.secret(&kubeconfig, &[]);
        }
        let spec = json!({ "spec": { "replicas": 1, "version": "v1.35.2" } });
        let control = self.add("KubeadmControlPlane", &name, &[cluster.controller()], spec);
        self.secret(&kubeconfig, &[control.controller()]);
        for purpose in ["ca", "sa", "proxy", "etcd"] {
            let owners = if dice.about(purpose).percent(30) { vec![] } else { vec![control.controller()] };
            self.secret(&format!("{name}-{purpose}"), &owners);
        }
        for index in 0..dice.about("machines").below(3) {
            self.machine(&control, &format!("{name}-cp-{index}"));
        }
    }

    fn workers(&mut self, cluster: &Made, of_class: bool) {
        let name = self.name.to_owned();
        for index in 0..self.dice.about("deployments").below(3) {
            let dice = self.dice.about("deployment").about(&index.to_string());
            let name = format!("{name}-md-{index}");
            let template = json!({ "spec": { "template": { "spec": { "size": index } } } });
            // A template of two Clusters is owned by both.
            let shared = dice.about("shared template").percent(20);
            if shared {
                self.shared_template(cluster);
            } else {
                self.add("LabMachineTemplate", &name, &[cluster.owner()], template.clone());
            }
            self.add("KubeadmConfigTemplate", &name, &[cluster.owner()], template);
            let spec = json!({ "spec": { "clusterName": cluster.name, "template": { "spec": {
                "infrastructureRef": { "kind": "LabMachineTemplate", "name": if shared { "shared" } else { &name } } } } } });
            let deployment = self.add("MachineDeployment", &name, &[cluster.controller()], spec.clone());
            let set = self.add("MachineSet", &name, &[deployment.controller()], spec);
            if of_class {
                for object in self.objects.all.iter_mut().rev().take(2) {
                    object["metadata"]["labels"]["topology.cluster.x-k8s.io/owned"] = json!("");
                }
            }
            for machine in 0..dice.about("machines").below(3) {
                self.machine(&set, &format!("{name}-{machine}"));
            }
        }
    }

    fn shared_template(&mut self, cluster: &Made) {
        let of = |object: &&mut Value| {
            let metadata = &object["metadata"];
            object["kind"] == "LabMachineTemplate"
                && metadata["name"] == "shared"
                && metadata["namespace"] == self.namespace
        };
        let Some(template) = self.objects.all.iter_mut().find(of) else {
            let spec = json!({ "spec": { "template": { "spec": {} } } });
            self.objects.add("LabMachineTemplate", Some(self.namespace), "shared", &[cluster.owner()], spec);
            return;
        };
        let owners = template.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
        if let Some(owners) = owners
            && owners.iter().all(|owner| owner["name"] != cluster.name.as_str())
        {
            owners.push(cluster.owner());
        }
    }

    fn machine(&mut self, owner: &Made, name: &str) {
        let spec = json!({ "spec": { "clusterName": self.name, "bootstrap": { "dataSecretName": name } },
            "status": { "phase": "Running", "nodeRef": { "name": name } } });
        let machine = self.add("Machine", name, &[owner.controller()], spec);
        let owner = [machine.controller()];
        let config = self.add("KubeadmConfig", name, &owner, json!({ "spec": {} }));
        self.secret(name, &[config.controller()]);
        let infra = self.add(
            "LabMachine",
            name,
            &owner,
            json!({ "spec": { "providerID": format!("lab://{name}") } }),
        );
        let Some(pool) = self.pool.clone() else { return };
        let claim = json!({ "spec": { "poolRef": pool.reference(), "clusterName": self.name } });
        let claim = self.add("IPAddressClaim", name, &[infra.owner()], claim);
        let address = json!({ "spec": { "address": "10.0.0.1", "claimRef": { "name": name }, "poolRef": pool.reference() } });
        self.add("IPAddress", name, &[claim.controller(), pool.owner()], address);
    }

    fn machine_pool(&mut self, cluster: &Made) {
        let name = format!("{}-mp", self.name);
        let spec = json!({ "spec": { "clusterName": cluster.name, "replicas": 1 }, "status": { "phase": "Running" } });
        let pool = self.add("MachinePool", &name, &[cluster.controller()], spec);
        let infra = self.add(
            "LabMachinePool",
            &name,
            &[pool.controller()],
            json!({ "spec": { "providerIDList": [] } }),
        );
        self.add("KubeadmConfig", &name, &[pool.controller()], json!({ "spec": {} }));
        if self.dice.about("pool machines").percent(50) {
            self.machine(&infra, &format!("{name}-0"));
        }
    }
}
