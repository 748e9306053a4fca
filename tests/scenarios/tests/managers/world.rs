//! Two management clusters with Cluster API's managers and an infrastructure provider running on both, all the time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use pivot_lab::assets::KUBERNETES;
use pivot_lab::managers::kubeconfig_secret;
use pivot_lab::observer::Side;
use pivot_lab::proxy::Faults;
use pivot_lab::{
    Backup, Crds, Dump, FaultProxy, Manager, ManagerOptions, Managers, Pair, Revision, Server, pki, process,
    say,
};
use pivot_scenarios::secrets::mark_secret;
use pivot_scenarios::state::ensure_no_secret_in_records;
use serde_json::{Value, json};

use super::infra::{self, Provider};

pub(crate) const NAMESPACE: &str = "shop";
pub(crate) const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
const PAUSED: &str = "cluster.x-k8s.io/paused";
/// A busy machine needs a multiple of the usual ten seconds.
const LIMIT: Duration = Duration::from_mins(5);
/// Controllers are idle if they report no work, and write nothing for this long.
const QUIET: Duration = Duration::from_secs(2);

/// Replaces workers whose Nodes fail.
const HEALTH_CHECK: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: plain, namespace: shop}
spec:
  clusterName: plain
  selector: {matchLabels: {pool: workers}}
  checks:
    nodeStartupTimeoutSeconds: 600
    unhealthyNodeConditions: [{type: Ready, status: 'False', timeoutSeconds: 1}]
";

pub(crate) struct World {
    /// The Cluster API releases of the source and the target.
    versions: [&'static str; 2],
    pair: Pair,
    /// Between the source and its managers, if a test disturbs what they read.
    line: Option<FaultProxy>,
    managers: [Managers; 2],
    providers: [Provider; 2],
}

impl World {
    /// Starts everything, with one release of Cluster API; the target is also the workload cluster.
    pub(crate) async fn start(version: &'static str) -> Result<Self> {
        Self::start_on([version; 2], [KUBERNETES; 2]).await
    }

    /// Starts both sides with releases of Cluster API and Kubernetes of their side.
    pub(crate) async fn start_on(versions: [&'static str; 2], kubernetes: [&str; 2]) -> Result<Self> {
        let own = Crds::parse(&[infra::crds()])?;
        let start = async |name: &str, side: usize| {
            let crds = Crds::cluster_api(versions[side]).await?.and(own.clone());
            Server::start_of(name, kubernetes[side], &crds).await
        };
        let (source, target) = tokio::try_join!(start("source", 0), start("target", 1))?;
        let pair = Pair { source, target };
        // With this ConfigMap, KCP considers a control plane initialized.
        pair.target
            .apply(
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: kubeadm-config, namespace: kube-system}}",
            )
            .await?;
        for server in [&pair.source, &pair.target] {
            server.apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}").await?;
        }
        let [of_source, of_target] = versions.map(options);
        let (source, target) = tokio::try_join!(
            Managers::start(&pair.source, &of_source),
            Managers::start(&pair.target, &of_target)
        )?;
        let providers = [
            Provider::start(&pair.source, &pair.target).await?,
            Provider::start(&pair.target, &pair.target).await?,
        ];
        Ok(Self { versions, pair, line: None, managers: [source, target], providers })
    }

    /// The Cluster API release of one side.
    pub(crate) fn version(&self, side: Side) -> &'static str {
        self.versions[usize::from(side == Side::Target)]
    }

    /// Restarts the source's managers behind a proxy, and returns its faults.
    pub(crate) async fn disturb_source_managers(&mut self) -> Result<Faults> {
        self.stop_managers(Side::Source);
        let line = FaultProxy::start(&self.pair.source).await?;
        self.managers[0] = Managers::start_through(
            &self.pair.source,
            line.kubeconfig(),
            &options(self.version(Side::Source)),
        )
        .await?;
        let faults = line.faults().clone();
        self.line = Some(line);
        Ok(faults)
    }

    fn stop_managers(&mut self, side: Side) {
        let managers = &mut self.managers[usize::from(side == Side::Target)];
        Manager::ALL.into_iter().for_each(|manager| managers.stop(manager));
    }

    /// Fills the source, and waits until the controllers have created so many Machines.
    pub(crate) async fn fill(&mut self, objects: &str, machines: usize) -> Result<()> {
        let clusters = ["plain", "classy", "canary"]
            .into_iter()
            .filter(|name| objects.contains(&format!("name: {name},")));
        let port = self.pair.target.url().rsplit(':').next().unwrap_or_default();
        for cluster in clusters {
            let kubeconfig = kubeconfig_secret(&self.pair.target, NAMESPACE, cluster)?;
            let [etcd, client] = ["etcd", "apiserver-etcd-client"].map(|of| certificate(cluster, of));
            let mut secrets = vec![kubeconfig, etcd?, client?];
            secrets.iter_mut().for_each(mark_secret);
            self.pair.source.apply_values(secrets).await?;
        }
        self.pair.source.apply(&objects.replace("ENDPOINT_PORT", port)).await?;
        self.until_machines(Side::Source, machines).await?;
        let settled = |dump: &Dump| dump.values().all(are_workers_available);
        let dump = self.until(Side::Source, settled).await?;
        ensure!(settled(&dump), "workers are not reported as available");
        Ok(())
    }

    /// Has workers replaced whose Nodes fail. Its controller looks at a MachineHealthCheck every 15 seconds at most, so what has one
    /// needs longer to come to rest, and to move.
    pub(crate) async fn add_health_check(&mut self, side: Side) -> Result<()> {
        self.server(side).apply(HEALTH_CHECK).await?;
        let is_owned = |dump: &Dump| dump.values().all(is_health_check_owned);
        let dump = self.until(side, is_owned).await?;
        ensure!(is_owned(&dump), "the health check has no owner");
        Ok(())
    }

    pub(crate) fn server(&self, side: Side) -> &Server {
        match side {
            Side::Source => &self.pair.source,
            Side::Target => &self.pair.target,
        }
    }

    /// Waits until exactly so many Machines run and none is being created or deleted.
    pub(crate) async fn until_machines(&mut self, side: Side, count: usize) -> Result<()> {
        let machines = objects_of(self.server(side), "Machine.cluster.x-k8s.io").await?;
        let start = Instant::now();
        loop {
            let list = machines.list(&ListParams::default()).await?;
            let open: Vec<_> =
                list.iter().filter(|machine| !runs(machine)).map(ResourceExt::name_any).collect();
            if open.is_empty() && list.items.len() == count {
                say(format_args!("{count} Machines run after {:.1} s", start.elapsed().as_secs_f64()));
                return Ok(());
            }
            self.still_run()?;
            let all = list.items.len();
            ensure!(
                start.elapsed() < LIMIT,
                "{all} Machines, not running: {}\n{}",
                open.join(", "),
                self.complaints()
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Waits until controllers are idle, and returns the state.
    pub(crate) async fn until_quiet(&mut self, side: Side) -> Result<Dump> {
        let start = Instant::now();
        let (mut dump, mut since) = (Dump::new(), Instant::now());
        while since.elapsed() < QUIET {
            ensure!(
                start.elapsed() < LIMIT,
                "the {side}'s controllers do not come to rest:\n{}",
                self.complaints()
            );
            tokio::time::sleep(Duration::from_millis(250)).await;
            self.still_run()?;
            if !self.managers[usize::from(side == Side::Target)].are_idle().await? {
                since = Instant::now();
                continue;
            }
            let now = self.server(side).dump(&[NAMESPACE]).await?;
            if now != dump {
                (dump, since) = (now, Instant::now());
            }
        }
        ensure_no_secret_in_records(self.server(side)).await?;
        dump.retain(|key, _| key.namespace == NAMESPACE);
        Ok(dump)
    }

    /// Waits until controllers are idle and the state is as wanted. After the time limit it returns the state as it is: comparing it
    /// shows more than that it is late.
    pub(crate) async fn until(&mut self, side: Side, wanted: impl Fn(&Dump) -> bool) -> Result<Dump> {
        let start = Instant::now();
        loop {
            let dump = self.until_quiet(side).await?;
            if wanted(&dump) || start.elapsed() > LIMIT {
                return Ok(dump);
            }
        }
    }

    /// The source is lost for good: nothing acts on its objects any more.
    pub(crate) fn lose_source(&mut self) {
        self.stop_managers(Side::Source);
        let [source, _] = &mut self.providers;
        source.stop();
    }

    /// The source's cluster is away: nobody answers there, and nothing acts.
    pub(crate) async fn take_source_away(&mut self) -> Result<()> {
        self.lose_source();
        self.pair.source.stop_controllers().await;
        self.source_processes().into_iter().try_for_each(process::freeze)
    }

    /// It is as it was when it went.
    pub(crate) async fn bring_source_back(&mut self) -> Result<()> {
        self.source_processes().into_iter().try_for_each(process::thaw)?;
        self.pair.source.start_controllers().await?;
        self.managers[0] = Managers::start(&self.pair.source, &options(self.version(Side::Source))).await?;
        self.providers[0] = Provider::start(&self.pair.source, &self.pair.target).await?;
        Ok(())
    }

    /// Puts a backup of one side back. Its managers stop before that, and act on what is restored at once.
    pub(crate) async fn restore(&mut self, side: Side, backup: &Backup) -> Result<()> {
        ensure!(self.torn_down()?.is_empty(), "something was torn down");
        self.stop_managers(side);
        // The target is the workload cluster of both providers.
        self.providers.iter_mut().for_each(Provider::stop);
        let server = match side {
            Side::Source => &mut self.pair.source,
            Side::Target => &mut self.pair.target,
        };
        server.restore(backup, Revision::Ahead).await?;
        self.providers = [
            Provider::start(&self.pair.source, &self.pair.target).await?,
            Provider::start(&self.pair.target, &self.pair.target).await?,
        ];
        let server = self.server(side);
        self.managers[usize::from(side == Side::Target)] =
            Managers::start(server, &options(self.version(side))).await?;
        Ok(())
    }

    fn source_processes(&self) -> [u32; 2] {
        [self.pair.source.apiserver().id(), self.pair.source.etcd().id()]
    }

    /// Everything besides the program under test is still running.
    fn still_run(&mut self) -> Result<()> {
        self.managers.iter_mut().try_for_each(Managers::still_run)?;
        self.torn_down().map(drop)
    }

    /// The managers' last complaints.
    pub(crate) fn complaints(&self) -> String {
        let mut lines = Vec::new();
        for (managers, manager) in self.managers.iter().flat_map(|all| Manager::ALL.map(|one| (all, one))) {
            let log = std::fs::read_to_string(managers.log(manager)).unwrap_or_default();
            let errors = log.lines().filter(|line| line.starts_with('E'));
            lines.extend(errors.rev().take(3).map(|line| format!("{manager:?}: {line}")));
        }
        lines.join("\n")
    }

    /// What providers tore down, on either side.
    pub(crate) fn torn_down(&mut self) -> Result<Vec<String>> {
        let [source, target] = &mut self.providers;
        Ok([source.torn_down()?, target.torn_down()?].concat())
    }

    /// The workload's Nodes: name and UID.
    pub(crate) async fn nodes(&self) -> Result<BTreeMap<String, String>> {
        let nodes = Api::<Node>::all(self.pair.target.client()).list(&ListParams::default()).await?;
        Ok(nodes.iter().map(|node| (node.name_any(), node.uid().unwrap_or_default())).collect())
    }

    /// Changes the number of workers of the plain Cluster: only running controllers can follow.
    pub(crate) async fn scale(&self, side: Side, replicas: u32) -> Result<()> {
        let patch = json!({"spec": {"replicas": replicas}});
        self.patch(side, "MachineDeployment.cluster.x-k8s.io", "plain-workers", patch).await
    }

    /// The Node of a Machine fails.
    pub(crate) async fn fail_node(&self, name: &str) -> Result<()> {
        let nodes = Api::<Node>::all(self.pair.target.client());
        let now = k8s_openapi::jiff::Timestamp::now().to_string();
        let ready = json!([{"type": "Ready", "status": "False", "reason": "Lab", "lastTransitionTime": now}]);
        let patch = Patch::Strategic(json!({"status": {"conditions": ready}}));
        nodes.patch_status(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Deletes an object, as its user would.
    pub(crate) async fn delete(&self, side: Side, kind: &str, name: &str) -> Result<()> {
        let api = objects_of(self.server(side), kind).await?;
        api.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Changes an object, as its user would.
    pub(crate) async fn patch(&self, side: Side, kind: &str, name: &str, patch: Value) -> Result<()> {
        let api = objects_of(self.server(side), kind).await?;
        let params = PatchParams { field_manager: Some("user".to_owned()), ..PatchParams::default() };
        api.patch(name, &params, &Patch::Merge(patch)).await?;
        Ok(())
    }
}

fn options(version: &'static str) -> ManagerOptions {
    let mut options = ManagerOptions { version, ..ManagerOptions::of(&Manager::ALL) };
    options.feature_gates = vec!["ClusterTopology=true".to_owned()];
    options
}

/// A Secret with a certificate, as users supply it to Clusters with external etcd.
fn certificate(cluster: &str, of: &str) -> Result<Value> {
    let identity = pki::self_signed()?;
    Ok(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
        "metadata": {"name": format!("{cluster}-{of}"), "namespace": NAMESPACE, "labels": {CLUSTER_NAME: cluster}},
        "stringData": {"tls.crt": identity.certificate, "tls.key": identity.key},
    }))
}

/// The objects of a kind (`Kind.group`) in the test's namespace.
pub(crate) async fn objects_of(server: &Server, kind: &str) -> Result<Api<DynamicObject>> {
    let kinds = server.kinds().await?;
    let found = kinds.iter().find(|found| found.name() == kind);
    Ok(found.with_context(|| format!("no kind {kind}"))?.api(server.client()).constrain(NAMESPACE))
}

/// Whether controllers leave a Cluster alone.
pub(crate) fn is_paused(cluster: &DynamicObject) -> bool {
    cluster.data["spec"]["paused"] == true || cluster.annotations().contains_key(PAUSED)
}

/// The status of an object's conditions: in v1beta1, those of v1beta2 are beside them.
pub(crate) fn conditions(object: &Value) -> BTreeMap<&str, &str> {
    let lists = ["/status/conditions", "/status/v1beta2/conditions"];
    let lists = lists.iter().filter_map(|path| object.pointer(path).and_then(Value::as_array));
    lists
        .flatten()
        .filter_map(|condition| Some((condition.get("type")?.as_str()?, condition.get("status")?.as_str()?)))
        .collect()
}

/// A MachineHealthCheck belongs to its Cluster once its controller has seen it: what no Cluster owns does not move.
fn is_health_check_owned(object: &Value) -> bool {
    object["kind"] != "MachineHealthCheck" || object["metadata"]["ownerReferences"].is_array()
}

/// What Clusters and MachineDeployments report some time after their Machines run. Older releases don't report it.
fn are_workers_available(object: &Value) -> bool {
    let reported = match object["kind"].as_str() {
        Some("Cluster") => "WorkersAvailable",
        Some("MachineDeployment") => "Available",
        _ => return true,
    };
    conditions(object).get(reported).is_none_or(|status| *status == "True")
}

fn runs(machine: &DynamicObject) -> bool {
    let (spec, status) = (&machine.data["spec"], &machine.data["status"]);
    // The lab's provider doesn't wait for the data that a machine boots with.
    let boots = spec["bootstrap"]["dataSecretName"].is_string();
    boots && status["phase"] == "Running" && machine.metadata.deletion_timestamp.is_none()
}
