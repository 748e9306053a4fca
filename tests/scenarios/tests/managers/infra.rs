//! An infrastructure provider as small as the contracts (v1beta1, v1beta2) allow, so that Cluster API's own managers have objects
//! to own.
//!
//! It behaves as providers must: it changes nothing in a paused Cluster, starts no machine before there is data to boot with, sets
//! the `Paused` condition, and an object that is deleted while its Cluster is *not* paused is really torn down, with the Node. That
//! is the accident a move must never cause, so each one is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::serde::Serialize;
use k8s_openapi::serde::de::DeserializeOwned;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use pivot_lab::Server;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::world::{CLUSTER_NAME, is_paused, objects_of};

const FINALIZER: &str = "infrastructure.lab/finalizer";
const INTERVAL: Duration = Duration::from_millis(100);

/// The CRDs: four kinds without a schema.
pub(crate) fn crds() -> String {
    ["LabCluster", "LabClusterTemplate", "LabMachine", "LabMachineTemplate"].map(crd).join("---\n")
}

fn crd(kind: &str) -> String {
    let (singular, plural) = (kind.to_lowercase(), format!("{}s", kind.to_lowercase()));
    format!(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {plural}.infrastructure.cluster.x-k8s.io
  labels:
    cluster.x-k8s.io/provider: infrastructure-lab
    clusterctl.cluster.x-k8s.io: ''
    cluster.x-k8s.io/v1beta1: v1
    cluster.x-k8s.io/v1beta2: v1
spec:
  group: infrastructure.cluster.x-k8s.io
  scope: Namespaced
  names: {{kind: {kind}, plural: {plural}, singular: {singular}, listKind: {kind}List}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}}}
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
"
    )
}

/// The provider, running on one side.
pub(crate) struct Provider {
    torn_down: Arc<Mutex<BTreeSet<String>>>,
    tasks: JoinSet<Result<()>>,
}

impl Provider {
    /// Starts it on `server`; its Machines' Nodes are in `workload`.
    pub(crate) async fn start(server: &Server, workload: &Server) -> Result<Self> {
        let torn_down = Arc::new(Mutex::new(BTreeSet::new()));
        let side = Side {
            clusters: objects_of(server, "Cluster.cluster.x-k8s.io").await?,
            machines: objects_of(server, "Machine.cluster.x-k8s.io").await?,
            lab_clusters: objects_of(server, "LabCluster.infrastructure.cluster.x-k8s.io").await?,
            lab_machines: objects_of(server, "LabMachine.infrastructure.cluster.x-k8s.io").await?,
            nodes: Api::all(workload.client()),
            pods: Api::namespaced(workload.client(), "kube-system"),
            name: server.name().to_owned(),
            torn_down: torn_down.clone(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                side.reconcile().await?;
                tokio::time::sleep(INTERVAL).await;
            }
        });
        Ok(Self { torn_down, tasks })
    }

    /// Stops it.
    pub(crate) fn stop(&mut self) {
        self.tasks = JoinSet::new();
    }

    /// What it has torn down so far. An error if it stopped working.
    pub(crate) fn torn_down(&mut self) -> Result<Vec<String>> {
        if let Some(ended) = self.tasks.try_join_next() {
            ended??;
        }
        Ok(self.torn_down.lock().unwrap().iter().cloned().collect())
    }
}

struct Side {
    clusters: Api<DynamicObject>,
    machines: Api<DynamicObject>,
    lab_clusters: Api<DynamicObject>,
    lab_machines: Api<DynamicObject>,
    nodes: Api<Node>,
    pods: Api<Pod>,
    name: String,
    torn_down: Arc<Mutex<BTreeSet<String>>>,
}

impl Side {
    async fn reconcile(&self) -> Result<()> {
        for (api, is_machine) in [(&self.lab_clusters, false), (&self.lab_machines, true)] {
            // Objects first: a Cluster that is read later is at least as paused as when they were read.
            let objects = api.list(&ListParams::default()).await.context("list infrastructure")?;
            let clusters = self.clusters.list(&ListParams::default()).await.context("list Clusters")?;
            let paused: BTreeMap<String, bool> =
                clusters.iter().map(|cluster| (cluster.name_any(), is_paused(cluster))).collect();
            for object in &objects {
                let Some(paused) = object.labels().get(CLUSTER_NAME).and_then(|name| paused.get(name)) else {
                    continue;
                };
                match self.one(api, object, *paused, is_machine).await {
                    // It changed or was deleted in between; the next round sees its new state.
                    Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => {}
                    other => other.with_context(|| format!("reconcile {}", object.name_any()))?,
                }
            }
        }
        Ok(())
    }

    async fn one(
        &self,
        api: &Api<DynamicObject>,
        object: &DynamicObject,
        paused: bool,
        is_machine: bool,
    ) -> kube::Result<()> {
        let (name, version) = (object.name_any(), object.resource_version());
        let patch = async |mut patch: Value| {
            patch["metadata"]["resourceVersion"] = json!(version);
            api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
        };
        if !paused && object.metadata.deletion_timestamp.is_some() {
            if is_machine {
                drop(self.nodes.delete(&name, &DeleteParams::default()).await);
            }
            self.torn_down.lock().unwrap().insert(format!("{name} in the {}", self.name));
            return patch(json!({"metadata": {"finalizers": null}})).await;
        }
        let provider_id = format!("lab://{name}");
        let complete = object.finalizers().iter().any(|finalizer| finalizer == FINALIZER)
            && (!is_machine || object.data["spec"]["providerID"] == json!(provider_id));
        if !paused && !complete {
            if is_machine && !self.may_boot(object).await? {
                return Ok(());
            }
            let mut change = json!({"metadata": {"finalizers": [FINALIZER]}});
            if is_machine {
                change["spec"] = json!({"providerID": provider_id});
                self.ensure_node(object, &provider_id).await?;
            }
            return patch(change).await;
        }
        self.report(api, object, paused, is_machine).await
    }

    /// Whether the Machine has the data with which its machine boots.
    async fn may_boot(&self, object: &DynamicObject) -> kube::Result<bool> {
        let Some(owner) = object.owner_references().iter().find(|owner| owner.kind == "Machine") else {
            return Ok(false);
        };
        let machine = self.machines.get_opt(&owner.name).await?;
        Ok(machine.is_some_and(|machine| machine.data["spec"]["bootstrap"]["dataSecretName"].is_string()))
    }

    async fn report(
        &self,
        api: &Api<DynamicObject>,
        object: &DynamicObject,
        paused: bool,
        is_machine: bool,
    ) -> kube::Result<()> {
        let says = if paused { "True" } else { "False" };
        let status = &object.data["status"];
        let told = status["conditions"][0]["status"] == says;
        if told && (paused || status["initialization"]["provisioned"] == true) {
            return Ok(());
        }
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "Lab", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let mut change = json!({"conditions": [condition("Paused", says), condition("Ready", "True")]});
        if !paused {
            change["initialization"] = json!({"provisioned": true});
            // The same in the previous contract.
            change["ready"] = json!(true);
            if is_machine {
                change["addresses"] = json!([{"type": "InternalIP", "address": "10.0.0.1"}]);
            }
        }
        let patch = Patch::Merge(json!({"status": change}));
        api.patch_status(&object.name_any(), &PatchParams::default(), &patch).await.map(drop)
    }

    /// What a kubelet would do once its machine is up: a healthy Node, with static Pods if it is the control plane's.
    async fn ensure_node(&self, machine: &DynamicObject, provider_id: &str) -> kube::Result<()> {
        let name = &machine.name_any();
        let control_plane = machine.labels().contains_key("cluster.x-k8s.io/control-plane");
        let labels =
            if control_plane { json!({"node-role.kubernetes.io/control-plane": ""}) } else { json!({}) };
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "Lab"});
        let pressures =
            ["MemoryPressure", "DiskPressure", "PIDPressure"].map(|kind| condition(kind, "False"));
        let ready = [condition("Ready", "True")];
        let node = json!({"metadata": {"name": name, "labels": labels}, "spec": {"providerID": provider_id}});
        let conditions: Vec<_> = pressures.iter().chain(&ready).collect();
        ensure(&self.nodes, node, json!({"conditions": conditions})).await?;
        for component in ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
            let pod = json!({
                "metadata": {"name": format!("{component}-{name}")},
                "spec": {"nodeName": name, "containers": [{"name": component, "image": "none"}]},
            });
            if control_plane {
                ensure(&self.pods, pod, json!({"phase": "Running", "conditions": ready})).await?;
            }
        }
        Ok(())
    }
}

/// Creates an object if it is missing, and writes its status.
async fn ensure<K>(api: &Api<K>, object: Value, status: Value) -> kube::Result<()>
where
    K: kube::Resource + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
    match api.create(&PostParams::default(), &object).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        other => drop(other?),
    }
    let patch = Patch::Merge(json!({"status": status}));
    api.patch_status(&object.name_any(), &PatchParams::default(), &patch).await.map(drop)
}
