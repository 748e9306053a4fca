//! Clusters in the states in which people look at them, a namespace each.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const CONTROL: &str = "controlplane.cluster.x-k8s.io/v1";
const INFRA: &str = "infrastructure.cluster.x-k8s.io/v1";
const BOOT: &str = "bootstrap.cluster.x-k8s.io/v1";
const ADDONS: &str = "addons.cluster.x-k8s.io/v1beta2";

/// Kinds of providers: API version, kind, plural, the contracts that their definition claims.
const KINDS: [(&str, &str, &str, &[&str]); 10] = [
    (CONTROL, "LabControlPlane", "labcontrolplanes", &["v1beta2"]),
    (CONTROL, "OldControlPlane", "oldcontrolplanes", &["v1beta1"]),
    (INFRA, "LabCluster", "labclusters", &["v1beta2"]),
    (INFRA, "LabMachine", "labmachines", &["v1beta2"]),
    (INFRA, "LabMachineTemplate", "labmachinetemplates", &["v1beta2"]),
    (INFRA, "LabMachinePool", "labmachinepools", &["v1beta2"]),
    // Nobody labelled its definition.
    (INFRA, "BareCluster", "bareclusters", &[]),
    (BOOT, "LabConfig", "labconfigs", &["v1beta2"]),
    (BOOT, "LabConfigTemplate", "labconfigtemplates", &["v1beta2"]),
    (INFRA, "OldCluster", "oldclusters", &["v1beta1"]),
];

/// The definitions of those kinds; each lets everything through.
pub(crate) fn crds() -> Vec<String> {
    let crd = |(api, kind, plural, contracts): &(&str, &str, &str, &[&str])| {
        let (group, version) = api.split_once('/').unwrap();
        let labels: serde_json::Map<String, Value> = contracts
            .iter()
            .map(|contract| (format!("cluster.x-k8s.io/{contract}"), version.into()))
            .collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}"), "labels": labels},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
                "versions": [{
                    "name": version, "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                }],
            },
        })
        .to_string()
    };
    KINDS.iter().map(crd).collect()
}

/// The objects of one namespace.
pub(crate) struct Cluster {
    namespace: &'static str,
    pub(crate) objects: Vec<Value>,
}

/// So long ago that every program gives it the same age for the next half hour: from eight hours on, ages have no minutes.
fn ago(hours: i64) -> String {
    assert!(hours >= 8, "{hours}");
    let then = Timestamp::now() - SignedDuration::from_hours(hours) - SignedDuration::from_mins(30);
    then.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn refers(api: &str, kind: &str, name: &str) -> Value {
    json!({"apiGroup": api.split('/').next(), "kind": kind, "name": name})
}

fn condition(kind: &str, status: &str, reason: &str, message: &str, hours: i64) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": ago(hours)})
}

fn well(kind: &str) -> Value {
    condition(kind, "True", kind, "", 70)
}

fn all_well() -> [Value; 3] {
    [well("Available"), well("Ready"), well("UpToDate")]
}

fn counters(replicas: u32) -> Value {
    json!({"replicas": replicas, "availableReplicas": replicas, "readyReplicas": replicas, "upToDateReplicas": replicas})
}

fn with(mut value: Value, more: Value) -> Value {
    let (Value::Object(fields), Value::Object(more)) = (&mut value, more) else { panic!() };
    fields.extend(more);
    value
}

impl Cluster {
    fn new(namespace: &'static str) -> Self {
        Self { namespace, objects: Vec::new() }
    }

    fn add(&mut self, api: &str, kind: &str, name: &str, owner: Option<(&str, &str, &str)>, content: Value) {
        let owners: Vec<Value> = owner
            .map(|(api, kind, name)| json!({"apiVersion": api, "kind": kind, "name": name, "controller": true}))
            .into_iter()
            .collect();
        let metadata = json!({"name": name, "namespace": self.namespace, "ownerReferences": owners,
            "labels": {"cluster.x-k8s.io/cluster-name": "c"}});
        let object = json!({"apiVersion": api, "kind": kind, "metadata": metadata});
        self.objects.push(with(object, content));
    }

    /// Changes the latest object.
    fn latest(&mut self, change: impl FnOnce(&mut Value)) {
        change(self.objects.last_mut().unwrap());
    }

    fn cluster(&mut self, infrastructure: &str, control_plane: Option<&str>, conditions: &[Value]) {
        let mut spec = json!({"infrastructureRef": refers(INFRA, infrastructure, "c")});
        if let Some(kind) = control_plane {
            spec["controlPlaneRef"] = refers(CONTROL, kind, "c");
        }
        let desired = |replicas: u32| with(counters(replicas), json!({"desiredReplicas": replicas}));
        let status = json!({"controlPlane": desired(3), "workers": desired(2), "conditions": conditions});
        self.add(CAPI, "Cluster", "c", None, json!({"spec": spec, "status": status}));
    }

    fn infrastructure(&mut self, kind: &str, conditions: &[Value]) {
        self.add(INFRA, kind, "c", None, json!({"status": {"conditions": conditions}}));
    }

    fn control_plane(&mut self) {
        let spec = json!({"replicas": 3, "version": "v1.36.3",
            "machineTemplate": {"spec": {"infrastructureRef": refers(INFRA, "LabMachineTemplate", "control")}}});
        let conditions = [well("Available"), condition("ScalingUp", "False", "NotScalingUp", "", 30)];
        let status = with(counters(3), json!({"conditions": conditions}));
        self.add(CONTROL, "LabControlPlane", "c", None, json!({"spec": spec, "status": status}));
    }

    fn template() -> Value {
        json!({"spec": {"clusterName": "c", "version": "v1.36.3",
            "infrastructureRef": refers(INFRA, "LabMachineTemplate", "workers"),
            "bootstrap": {"configRef": refers(BOOT, "LabConfigTemplate", "workers")}}})
    }

    fn deployment(&mut self, name: &str, conditions: &[Value]) {
        let spec = json!({"clusterName": "c", "replicas": 2, "selector": {"matchLabels": {"pool": name}},
            "template": with(Self::template(), json!({"metadata": {"labels": {"pool": name}}}))});
        let status = with(counters(2), json!({"conditions": conditions}));
        self.add(CAPI, "MachineDeployment", name, None, json!({"spec": spec, "status": status}));
    }

    fn set(&mut self, name: &str, deployment: Option<&str>) {
        let spec = json!({"clusterName": "c", "replicas": 2, "selector": {"matchLabels": {"pool": name}},
            "template": with(Self::template(), json!({"metadata": {"labels": {"pool": name}}}))});
        let conditions = [well("MachinesReady"), condition("ScalingDown", "False", "NotScalingDown", "", 20)];
        let status = with(counters(2), json!({"conditions": conditions}));
        let owner = deployment.map(|name| (CAPI, "MachineDeployment", name));
        self.add(CAPI, "MachineSet", name, owner, json!({"spec": spec, "status": status}));
    }

    /// A Machine whose parts are as ready as it is.
    fn machine(&mut self, name: &str, owner: Option<(&str, &str, &str)>, conditions: &[Value]) {
        let ready: Vec<&Value> = conditions.iter().filter(|condition| condition["type"] == "Ready").collect();
        let part = json!({"status": {"conditions": ready}});
        self.add(INFRA, "LabMachine", name, None, part.clone());
        self.add(BOOT, "LabConfig", name, None, part);
        let spec = json!({"clusterName": "c", "version": "v1.36.3", "infrastructureRef": refers(INFRA, "LabMachine", name),
            "bootstrap": {"configRef": refers(BOOT, "LabConfig", name)}});
        self.add(CAPI, "Machine", name, owner, json!({"spec": spec, "status": {"conditions": conditions}}));
        if name.starts_with("cp") {
            self.latest(|machine| {
                machine["metadata"]["labels"]["cluster.x-k8s.io/control-plane"] = json!("")
            });
        }
    }
}

/// A Cluster that looks the same to both programs, whatever they are told to show.
fn sound(namespace: &'static str) -> Cluster {
    let mut all = Cluster::new(namespace);
    all.cluster("LabCluster", Some("LabControlPlane"), &[well("Available"), well("InfrastructureReady")]);
    all.infrastructure("LabCluster", &[well("Ready")]);
    all.control_plane();
    for name in ["cp-1", "cp-2", "cp-3"] {
        all.machine(name, Some((CONTROL, "LabControlPlane", "c")), &all_well());
    }
    all.deployment("md", &[well("Available")]);
    all.set("ms", Some("md"));
    for name in ["w-1", "w-2"] {
        all.machine(name, Some((CAPI, "MachineSet", "ms")), &all_well());
    }
    all
}

/// The same in trouble: Machines that differ, messages of several lines, something that is being deleted.
fn troubled() -> Cluster {
    let mut all = sound("troubled");
    let message = "* MachineDeployment md:\n  * 1 available Machine of 2, because the host of the other one is powered off and nobody who \
                   may power it on has seen that yet\n* Control plane: fine";
    let conditions = [
        condition("Available", "False", "NotAvailable", message, 15),
        condition("RollingOut", "True", "RollingOut", "v1.36.2 => v1.36.3", 2000),
        condition("Paused", "False", "NotPaused", "", 20_000),
        condition("TopologyReconciled", "Unknown", "Why", "", 90_000),
    ];
    for object in &mut all.objects {
        if object["kind"] == "Cluster" {
            object["status"]["conditions"] = json!(conditions);
        }
    }
    let off = |hours| {
        let ready = condition("Ready", "False", "PoweredOff", "its host is off", hours);
        [condition("Available", "False", "NotReady", "", hours), ready, well("UpToDate")]
    };
    let owner = Some((CAPI, "MachineSet", "ms"));
    all.machine("w-3", owner, &off(14));
    all.machine("w-4", owner, &off(30));
    all.machine("w-5", owner, &[well("Available"), condition("Ready", "Unknown", "Silent", "one\ntwo", 11)]);
    let mut part = all.objects.iter_mut().rev().find(|object| object["kind"] == "LabConfig");
    part.as_mut().unwrap()["status"]["conditions"] =
        json!([condition("Ready", "False", "Waits", "for data", 11)]);
    all.machine("w-6", owner, &[well("Ready"), condition("Deleting", "True", "Draining", "", 11)]);
    all.latest(|machine| {
        machine["metadata"]["finalizers"] = json!(["lab.io/stay"]);
        machine["metadata"]["deletionTimestamp"] = ago(11).into();
    });
    all
}

/// Machines that an infrastructure makes by itself.
fn pooled() -> Cluster {
    let mut all = Cluster::new("pooled");
    all.cluster("LabCluster", None, &[well("Available")]);
    all.infrastructure("LabCluster", &[well("Ready")]);
    let template = json!({"spec": {"clusterName": "c", "version": "v1.36.3", "infrastructureRef": refers(INFRA, "LabMachinePool", "mp"),
        "bootstrap": {"configRef": refers(BOOT, "LabConfig", "mp")}}});
    let status = with(
        counters(1),
        json!({"conditions": [condition("Available", "False", "NotAvailable", "1 of 2", 16)]}),
    );
    let content =
        json!({"spec": {"clusterName": "c", "replicas": 2, "template": template}, "status": status});
    all.add(CAPI, "MachinePool", "mp", None, content);
    let scaling = [condition("Ready", "False", "Scaling", "1 of 2", 16)];
    all.add(INFRA, "LabMachinePool", "mp", None, json!({"status": {"conditions": scaling}}));
    all.add(BOOT, "LabConfig", "mp", None, json!({"status": {"conditions": [well("Ready")]}}));
    for name in ["p-1", "p-2"] {
        all.machine(name, Some((CAPI, "MachinePool", "mp")), &all_well());
    }
    all
}

/// With sets of resources.
fn supplied() -> Cluster {
    let mut all = sound("supplied");
    let resource = |name: &str, applied: bool| json!({"kind": "ConfigMap", "name": name, "applied": applied, "hash": "h", "lastAppliedTime": ago(9)});
    let bindings = json!([
        {"clusterResourceSetName": "cni", "resources": [resource("a", true)]},
        {"clusterResourceSetName": "csi", "resources": [resource("a", true), resource("b", false)]},
    ]);
    for name in ["cni", "csi"] {
        let spec = json!({"clusterSelector": {"matchLabels": {"x": "y"}}, "resources": [{"kind": "ConfigMap", "name": "a"}]});
        let status = json!({"conditions": [condition("ResourcesApplied", "True", "Applied", "", 9)]});
        all.add(ADDONS, "ClusterResourceSet", name, None, json!({"spec": spec, "status": status}));
    }
    let spec = json!({"clusterName": "c", "bindings": bindings});
    all.add(ADDONS, "ClusterResourceSetBinding", "c", None, json!({"spec": spec}));
    all
}

/// Machines that nothing makes any more, or of which that was never said.
fn orphaned() -> Cluster {
    let mut all = sound("orphaned");
    all.set("lost", None);
    all.machine("o-1", Some((CAPI, "MachineSet", "lost")), &all_well());
    all.machine("o-2", None, &all_well());
    all
}

/// Machines of a control plane that no Cluster names.
fn headless() -> Cluster {
    let mut all = Cluster::new("headless");
    all.cluster("LabCluster", None, &[well("Available")]);
    all.infrastructure("LabCluster", &[well("Ready")]);
    for name in ["cp-1", "cp-2"] {
        all.machine(name, None, &all_well());
    }
    all
}

/// One that is just being made: no Machine yet, and references to what will be there.
fn young() -> Cluster {
    let mut all = Cluster::new("young");
    all.cluster(
        "LabCluster",
        Some("LabControlPlane"),
        &[condition("Available", "False", "NotAvailable", "", 13)],
    );
    all.deployment("md", &[condition("Available", "False", "Waiting", "", 13)]);
    all.latest(|deployment| {
        drop(deployment["spec"]["template"]["spec"].as_object_mut().unwrap().remove("version"))
    });
    all
}

/// What providers, and people who write manifests, leave out.
fn sloppy() -> Cluster {
    let mut all = sound("sloppy");
    for object in &mut all.objects {
        match object["kind"].as_str().unwrap() {
            "Cluster" => object["spec"]["infrastructureRef"]["kind"] = "BareCluster".into(),
            "LabMachine" if object["metadata"]["name"] == "w-1" => {
                object["status"]["conditions"] =
                    json!([{"type": "Ready", "status": "False", "reason": "NoTime"}]);
            }
            "LabMachine" if object["metadata"]["name"] == "w-2" => {
                let odd = json!({"type": "Odd", "status": "Perhaps"});
                let ready = condition("Ready", "False", "Off", "", 14);
                object["status"]["conditions"] = json!([odd, ready]);
            }
            "MachineSet" => {
                drop(object["spec"]["template"]["spec"].as_object_mut().unwrap().remove("version"))
            }
            _ => {}
        }
    }
    all.infrastructure("BareCluster", &[well("Ready")]);
    all
}

/// Whoever wrote it relied on a webhook that labels it.
fn unlabelled() -> Cluster {
    let mut all = sound("unlabelled");
    let mut deployments = all.objects.iter_mut().filter(|object| object["kind"] == "MachineDeployment");
    deployments.next().unwrap()["metadata"]["labels"] = json!({});
    all
}

/// Providers that keep to the contract before v1beta2, with its conditions alone or beside the new ones.
fn older() -> Cluster {
    let mut all = Cluster::new("older");
    all.cluster("OldCluster", Some("OldControlPlane"), &[well("Available")]);
    let old = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": ago(50)});
    all.infrastructure("OldCluster", &[old("Ready"), old("NetworkReady")]);
    let newer = with(counters(3), json!({"conditions": [well("Available"), well("Ready")]}));
    let status = json!({"replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "conditions": [old("Ready")], "v1beta2": newer});
    let spec = json!({"replicas": 3, "version": "v1.33.1",
        "machineTemplate": {"infrastructureRef": {"apiVersion": INFRA, "kind": "LabMachineTemplate", "name": "control", "namespace": "older"}}});
    all.add(CONTROL, "OldControlPlane", "c", None, json!({"spec": spec, "status": status}));
    all
}

/// All of them, each with its namespace.
pub(crate) fn clusters() -> Vec<(&'static str, Cluster)> {
    let all = [
        sound("sound"),
        troubled(),
        pooled(),
        supplied(),
        orphaned(),
        headless(),
        young(),
        sloppy(),
        unlabelled(),
        older(),
    ];
    all.into_iter().map(|cluster| (cluster.namespace, cluster)).collect()
}
