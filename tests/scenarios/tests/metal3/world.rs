//! Two management clusters for bare metal: Cluster API's core and Metal3's operators run on both, all the time.

use std::convert::Infallible;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use pivot_lab::assets::CLUSTER_API;
use pivot_lab::managers::kubeconfig_secret;
use pivot_lab::observer::Side;
use pivot_lab::proxy::Faults;
use pivot_lab::{
    Crds, Dump, FaultProxy, Kind, Manager, ManagerOptions, Managers, Metal3Operators, Operator, Pair, Server,
    say,
};
use pivot_scenarios::host::Host;
use pivot_scenarios::sampling::is_nightly;
use pivot_scenarios::secrets::mark_secret;
use pivot_scenarios::state::ensure_no_secret_in_records;
use serde_json::{Value, json};

use super::companions::add_companions;

pub(crate) const NAMESPACE: &str = "metal3";
pub(crate) const HOST: &str = "BareMetalHost.metal3.io";
/// The annotation that keeps the baremetal operator from a host.
pub(crate) const PAUSED: &str = "baremetalhost.metal3.io/paused";
/// The value with which a person paused a host.
const MAINTENANCE: &str = "maintenance: fan 2";

/// Hosts for the Cluster's machines, and the others in the rack.
pub(crate) const CONSUMED: [&str; 6] = ["u11", "u12", "u13", "u14", "u15", "u16"];
const FREE: [&str; 3] = ["u17", "u18", "u19"];
/// The free host that a person paused.
const PAUSED_BY_USER: &str = "u19";
const EXTERNAL: &str = "u20";
/// A host of a machine and a free one that their users have detached from Ironic.
pub(crate) const DETACHED: [&str; 2] = ["u15", "u18"];
/// Hosts whose users want other firmware settings than the vendor's.
const TUNED: [&str; 2] = ["u12", "u17"];

/// A busy machine needs many times the usual half minute, and a limit that is not reached costs nothing.
pub(crate) const LIMIT: Duration = Duration::from_mins(5);
/// Controllers are at rest if they report no work, and write nothing to objects or logs for this long.
const QUIET: Duration = Duration::from_secs(1);
/// Between two questions whether they are.
const INTERVAL: Duration = Duration::from_millis(200);

pub(crate) struct World {
    pub(crate) pair: Pair,
    /// Those that a move can touch.
    kinds: Vec<Kind>,
    managers: [Managers; 2],
    operators: [Metal3Operators; 2],
    /// Between the source and its operators.
    pub(crate) line: FaultProxy,
    wires: [FaultProxy; 2],
}

impl World {
    /// Starts everything; the target stands in for the workload, too.
    pub(crate) async fn start() -> Result<Self> {
        let crds = Crds::cluster_api(CLUSTER_API).await?.and(Crds::metal3().await?);
        let pair = Pair::start_with(&crds).await?;
        for server in [&pair.source, &pair.target] {
            server.apply("{apiVersion: v1, kind: Namespace, metadata: {name: metal3}}").await?;
        }
        let line = FaultProxy::start(&pair.source).await?;
        let options = ManagerOptions::of(&[Manager::Core]);
        let (source, target) = tokio::try_join!(
            Managers::start(&pair.source, &options),
            Managers::start(&pair.target, &options)
        )?;
        let operators = [
            Metal3Operators::start(&pair.source, line.kubeconfig(), NAMESPACE).await?,
            Metal3Operators::start(&pair.target, pair.target.kubeconfig(), NAMESPACE).await?,
        ];
        let wires = [FaultProxy::start(&pair.source).await?, FaultProxy::start(&pair.target).await?];
        let kinds = pair.source.kinds().await?;
        Ok(Self { pair, kinds, managers: [source, target], operators, line, wires })
    }

    /// Fills the source, and waits until the operators have brought every host to its intended state.
    pub(crate) async fn fill(&mut self) -> Result<()> {
        let consumed = CONSUMED.iter().map(|name| host(name, json!({"rack": "one"}), json!({})));
        let free = FREE.iter().map(|name| host(name, json!({"rack": "two"}), json!({})));
        let external = host(EXTERNAL, json!({"rack": "two"}), json!({"externallyProvisioned": true}));
        let hosts = consumed.chain(free).chain([external]).flatten().collect();
        self.pair.source.apply_values(hosts).await?;
        let port = self.pair.target.url().rsplit(':').next().unwrap_or_default();
        let mut kubeconfig = kubeconfig_secret(&self.pair.target, NAMESPACE, "edge")?;
        mark_secret(&mut kubeconfig);
        self.pair.source.apply_values(vec![kubeconfig]).await?;
        self.pair.source.apply(&include_str!("world.yaml").replace("ENDPOINT_PORT", port)).await?;
        self.until_at_rest().await?;
        let wanted = json!({"spec": {"settings": {"ProcTurboMode": "Disabled", "BootMode": "Uefi"}}});
        for name in TUNED {
            self.patch("HostFirmwareSettings.metal3.io", name, wanted.clone()).await?;
        }
        add_companions(self).await?;
        for name in DETACHED {
            self.detach(name).await?;
        }
        let pause = json!({"metadata": {"annotations": {PAUSED: MAINTENANCE}}});
        self.patch(HOST, PAUSED_BY_USER, pause).await
    }

    /// Detaches a host of the source, which must not be deleted by accident.
    async fn detach(&self, name: &str) -> Result<()> {
        let value = r#"{"deleteAction":"delay"}"#;
        let patch = json!({"metadata": {"annotations": {"baremetalhost.metal3.io/detached": value}}});
        self.patch(HOST, name, patch).await?;
        self.until_status(name, "/status/operationalStatus", "detached").await
    }

    /// Adds another host to the rack of the source; its inspection takes a while.
    pub(crate) async fn add_host(&self, name: &str) -> Result<()> {
        self.pair.source.apply_values(host(name, json!({"rack": "two"}), json!({})).into()).await.map(drop)
    }

    /// Changes an object of the source.
    pub(crate) async fn patch(&self, kind: &str, name: &str, patch: Value) -> Result<()> {
        let api = objects_of(&self.pair.source, kind).await?;
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    pub(crate) fn server(&self, side: Side) -> &Server {
        match side {
            Side::Source => &self.pair.source,
            Side::Target => &self.pair.target,
        }
    }

    /// The program, moving away from this side with an added latency.
    pub(crate) fn host(&self, from: Side, delay: Duration) -> Host {
        Host::between(self.wire(from, delay), self.wire(from.other(), delay)).with_controllers()
    }

    /// Waits for the end of a move to this side, and touches the copies of Metal3Datas meanwhile. Their controller doesn't watch
    /// Clusters: objects that it has found paused it looks at 30 seconds later, or when they change. A Cluster that was looked at before
    /// the connection to its nodes was up is looked at again after minutes. The nightly run waits for both.
    pub(crate) async fn until_moved<T>(
        &self,
        to: Side,
        moving: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        if is_nightly() {
            return moving.await;
        }
        let ended = tokio::select! {
            ended = moving => ended,
            failed = self.touch_what_waits(to) => match failed? {},
        };
        // It may have ended between the two halves of a touch.
        for kind in TOUCHED_KINDS {
            let api = objects_of(self.server(to), kind).await?;
            let touched = |one: &DynamicObject| one.annotations().contains_key(TOUCHED);
            for one in api.list(&ListParams::default()).await?.iter().filter(|one| touched(one)) {
                annotate(&api, &one.name_any(), &Value::Null).await?;
            }
        }
        ended
    }

    async fn touch_what_waits(&self, side: Side) -> Result<Infallible> {
        let [clusters, data] = TOUCHED_KINDS.map(|kind| objects_of(self.server(side), kind));
        let (clusters, data) = (clusters.await?, data.await?);
        loop {
            tokio::time::sleep(INTERVAL).await;
            let is_paused = |cluster: &DynamicObject| cluster.data["spec"]["paused"] == true;
            let listed = clusters.list(&ListParams::default()).await?;
            if listed.items.is_empty() || listed.iter().any(is_paused) {
                continue;
            }
            for one in listed.iter().filter(|one| had_no_connection(one)) {
                touch(&clusters, &one.name_any()).await?;
            }
            for one in data.list(&ListParams::default()).await?.iter().filter(|one| !is_ready(one)) {
                touch(&data, &one.name_any()).await?;
            }
        }
    }

    /// The kubeconfig of this side with an added latency, for any program that moves.
    pub(crate) fn wire(&self, side: Side, delay: Duration) -> &Path {
        let wire = &self.wires[index(side)];
        wire.faults().delay(delay);
        wire.kubeconfig()
    }

    /// Faults between the programs that move and a side.
    pub(crate) fn faults(&self, side: Side) -> &Faults {
        self.wires[index(side)].faults()
    }

    /// What the operator of hosts has written on this side.
    pub(crate) fn log(&self, side: Side) -> Result<String> {
        self.operators[index(side)].log(Operator::Hosts)
    }

    /// Stops a side's operator of hosts where it is.
    pub(crate) fn freeze_hosts_operator(&self, side: Side) -> Result<()> {
        self.operators[index(side)].freeze_hosts()
    }

    pub(crate) fn thaw_hosts_operator(&self, side: Side) -> Result<()> {
        self.operators[index(side)].thaw_hosts()
    }

    /// Waits until every host of the source is in its intended state and every Machine runs.
    async fn until_at_rest(&mut self) -> Result<()> {
        let hosts = objects_of(&self.pair.source, HOST).await?;
        let machines = objects_of(&self.pair.source, "Machine.cluster.x-k8s.io").await?;
        let start = Instant::now();
        loop {
            let hosts = hosts.list(&ListParams::default()).await?.items;
            self.boot(&hosts).await?;
            let machines = machines.list(&ListParams::default()).await?.items;
            let mut open: Vec<String> = hosts.iter().filter_map(not_at_rest).collect();
            open.extend(machines.iter().filter(|machine| !runs(machine)).map(ResourceExt::name_any));
            if open.is_empty() && machines.len() == CONSUMED.len() {
                say(format_args!(
                    "{} hosts at rest after {:.1} s",
                    hosts.len(),
                    start.elapsed().as_secs_f64()
                ));
                return Ok(());
            }
            self.still_run()?;
            ensure!(start.elapsed() < LIMIT, "not at rest: {}\n{}", open.join(", "), self.complaints()?);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Waits until a host of the source is seen in a state.
    pub(crate) async fn until_state(&self, name: &str, wanted: &str) -> Result<()> {
        self.until_status(name, "/status/provisioning/state", wanted).await
    }

    async fn until_status(&self, name: &str, field: &str, wanted: &str) -> Result<()> {
        let hosts = objects_of(&self.pair.source, HOST).await?;
        let start = Instant::now();
        while hosts.get(name).await?.data.pointer(field) != Some(&wanted.into()) {
            ensure!(start.elapsed() < LIMIT, "{name} is never {wanted}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// What happens on a machine whose disk was written: it boots, and its kubelet registers a Node.
    async fn boot(&self, hosts: &[DynamicObject]) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.pair.target.client());
        for host in hosts.iter().filter(|host| consumed(host) && state(host) == "provisioned") {
            let node = serde_json::from_value(json!({
                "metadata": {"name": host.name_any(), "labels": {"metal3.io/uuid": host.uid()}},
            }))?;
            match nodes.create(&PostParams::default(), &node).await {
                Err(kube::Error::Api(status)) if status.code == 409 => continue,
                other => drop(other?),
            }
            let healthy = ["MemoryPressure", "DiskPressure", "PIDPressure"].map(|kind| (kind, "False"));
            let conditions: Vec<Value> = healthy
                .into_iter()
                .chain([("Ready", "True")])
                .map(|(kind, status)| json!({"type": kind, "status": status, "reason": "Lab"}))
                .collect();
            let status = Patch::Merge(json!({"status": {"conditions": conditions}}));
            nodes.patch_status(&host.name_any(), &PatchParams::default(), &status).await?;
        }
        Ok(())
    }

    /// Waits until a side's controllers are at rest, and returns the state.
    pub(crate) async fn until_quiet(&mut self, side: Side) -> Result<Dump> {
        let start = Instant::now();
        let (mut seen, mut since) = ((Dump::new(), 0), None);
        loop {
            self.still_run()?;
            if self.is_idle(side).await? {
                let dump = self.server(side).dump_kinds(&self.kinds, &[NAMESPACE]).await?;
                let now = (dump, self.log(side)?.len());
                if now != seen {
                    (seen, since) = (now, None);
                }
                if since.get_or_insert_with(Instant::now).elapsed() >= QUIET {
                    ensure_no_secret_in_records(self.server(side)).await?;
                    let (mut dump, _) = seen;
                    dump.retain(|key, _| key.namespace == NAMESPACE);
                    return Ok(dump);
                }
            } else {
                since = None;
            }
            ensure!(start.elapsed() < LIMIT, "the {side}'s controllers do not come to rest");
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Whether the controllers that show their metrics have nothing to do.
    async fn is_idle(&self, side: Side) -> Result<bool> {
        let (managers, operators) = (&self.managers[index(side)], &self.operators[index(side)]);
        Ok(managers.are_idle().await? && operators.provider_is_idle().await?)
    }

    /// The last complaints of the source's operators.
    fn complaints(&self) -> Result<String> {
        let [operators, _] = &self.operators;
        let logs = operators.log(Operator::Provider)? + &operators.log(Operator::Hosts)?;
        let errors: Vec<_> =
            logs.lines().rev().filter(|line| line.contains("Reconciler error")).take(5).collect();
        Ok(errors.join("\n"))
    }

    /// Everything besides the program under test is still running.
    fn still_run(&mut self) -> Result<()> {
        self.managers.iter_mut().try_for_each(Managers::still_run)?;
        self.operators.iter_mut().try_for_each(Metal3Operators::still_run)
    }
}

fn index(side: Side) -> usize {
    usize::from(side == Side::Target)
}

/// A host with its credentials.
pub(crate) fn host(name: &str, labels: Value, more: Value) -> [Value; 2] {
    let unit = name.trim_start_matches('u');
    let mut host = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "online": true, "bootMACAddress": format!("02:00:5e:00:01:{unit}"),
            "bmc": {"address": format!("redfish://192.168.110.{unit}"), "credentialsName": format!("{name}-bmc")},
        },
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        host["spec"][field] = value.clone();
    }
    let mut secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": format!("{name}-bmc"), "namespace": NAMESPACE},
        "stringData": {"username": "admin", "password": format!("secret of {name}")},
    });
    mark_secret(&mut secret);
    [host, secret]
}

/// Why a host is not in its intended state.
fn not_at_rest(host: &DynamicObject) -> Option<String> {
    let name = host.name_any();
    let wanted = match () {
        () if CONSUMED.contains(&name.as_str()) => "provisioned",
        () if name == EXTERNAL => "externally provisioned",
        () => "available",
    };
    let (state, status) = (state(host), host.data["status"]["operationalStatus"].as_str());
    (state != wanted || status != Some("OK")).then(|| format!("{name} is {state} ({status:?})"))
}

fn state(host: &DynamicObject) -> &str {
    host.data.pointer("/status/provisioning/state").and_then(Value::as_str).unwrap_or_default()
}

fn consumed(host: &DynamicObject) -> bool {
    host.data.pointer("/spec/consumerRef").is_some()
}

fn had_no_connection(cluster: &DynamicObject) -> bool {
    let conditions = cluster.data["status"]["conditions"].as_array();
    conditions.is_some_and(|conditions| conditions.iter().any(|one| one["reason"] == "InternalError"))
}

fn is_ready(data: &DynamicObject) -> bool {
    data.data["status"]["ready"] == true
}

fn runs(machine: &DynamicObject) -> bool {
    let conditions = machine.data["status"]["conditions"].as_array();
    let available = |condition: &Value| condition["type"] == "Available" && condition["status"] == "True";
    conditions.is_some_and(|conditions| conditions.iter().any(available))
}

/// The objects of a kind (`Kind.group`) in the test's namespace.
pub(crate) async fn objects_of(server: &Server, kind: &str) -> Result<Api<DynamicObject>> {
    let kinds = server.kinds().await?;
    let found = kinds.iter().find(|found| found.name() == kind);
    Ok(found.with_context(|| format!("no kind {kind}"))?.api(server.client()).constrain(NAMESPACE))
}

/// By which a copy is touched, so that its controller looks at it.
const TOUCHED: &str = "lab/touched";
const TOUCHED_KINDS: [&str; 2] = ["Cluster.cluster.x-k8s.io", "Metal3Data.infrastructure.cluster.x-k8s.io"];

/// Changes an object and changes it back, so that its controller looks at it.
pub(crate) async fn touch(api: &Api<DynamicObject>, name: &str) -> Result<()> {
    annotate(api, name, &json!("")).await?;
    annotate(api, name, &Value::Null).await
}

async fn annotate(api: &Api<DynamicObject>, name: &str, value: &Value) -> Result<()> {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {TOUCHED: value}}}));
    match api.patch(name, &PatchParams::default(), &patch).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(drop).map_err(Into::into),
    }
}
