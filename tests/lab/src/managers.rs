//! Cluster API's own managers, the real ones.
//!
//! A move has to work with these programs, not with a specification: they put finalizers back within milliseconds, set the
//! `Paused` condition, adopt Secrets, and delete Machines if they are unpaused at the wrong moment. They run as plain processes
//! against a lab server. Their webhooks are registered as in an installation, and stay so: they default, refuse and convert objects,
//! and while a manager is stopped, the server refuses all writes to its kinds.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::ByteString;
use kube::{Client, Config};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::assets::{CLUSTER_API, ManagerBinaries, WebhookManifests, assets};
use crate::ports::free_ports;
use crate::process::Process;
use crate::server::Server;
use crate::webhooks::WebhookEndpoint;

const START_LIMIT: Duration = Duration::from_mins(5);

/// One of Cluster API's managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// Clusters, Machines, sets and deployments of them, ClusterClasses, ClusterResourceSets.
    Core,
    /// KubeadmConfigs.
    Bootstrap,
    /// KubeadmControlPlanes.
    ControlPlane,
}

impl Manager {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Core, Self::Bootstrap, Self::ControlPlane];

    fn name(self) -> &'static str {
        match self {
            Self::Core => "capi-core",
            Self::Bootstrap => "capi-bootstrap",
            Self::ControlPlane => "capi-control-plane",
        }
    }

    fn binary(self, binaries: &ManagerBinaries) -> &Path {
        match self {
            Self::Core => &binaries.core,
            Self::Bootstrap => &binaries.bootstrap,
            Self::ControlPlane => &binaries.control_plane,
        }
    }

    fn webhooks(self, manifests: &WebhookManifests) -> &Path {
        match self {
            Self::Core => &manifests.core,
            Self::Bootstrap => &manifests.bootstrap,
            Self::ControlPlane => &manifests.control_plane,
        }
    }

    /// The API groups whose kinds it converts.
    fn groups(self) -> &'static [&'static str] {
        match self {
            Self::Core => &[
                "cluster.x-k8s.io",
                "addons.cluster.x-k8s.io",
                "ipam.cluster.x-k8s.io",
                "runtime.cluster.x-k8s.io",
            ],
            Self::Bootstrap => &["bootstrap.cluster.x-k8s.io"],
            Self::ControlPlane => &["controlplane.cluster.x-k8s.io"],
        }
    }
}

/// Which managers to run, and how.
#[derive(Debug, Clone)]
pub struct ManagerOptions {
    /// The managers.
    pub managers: Vec<Manager>,
    /// The release of Cluster API.
    pub version: &'static str,
    /// For example `ClusterTopology=true`.
    pub feature_gates: Vec<String>,
    /// klog's verbosity.
    pub verbosity: u8,
}

impl ManagerOptions {
    /// These managers with default features.
    #[must_use]
    pub fn of(managers: &[Manager]) -> Self {
        Self { managers: managers.to_vec(), version: CLUSTER_API, feature_gates: Vec::new(), verbosity: 2 }
    }
}

/// Running managers; killed on drop.
pub struct Managers {
    running: Vec<Running>,
    dir: TempDir,
}

struct Running {
    manager: Manager,
    process: Process,
    diagnostics: Client,
}

impl Managers {
    /// Starts managers against a server that has Cluster API's CRDs, waits until they are ready, and registers their webhooks.
    pub async fn start(server: &Server, options: &ManagerOptions) -> Result<Self> {
        Self::start_through(server, server.kubeconfig(), options).await
    }

    /// Starts managers with another kubeconfig, which may lead through a proxy. The server calls their webhooks directly.
    pub async fn start_through(server: &Server, kubeconfig: &Path, options: &ManagerOptions) -> Result<Self> {
        let assets = assets().await?;
        let (binaries, manifests) =
            (assets.managers(options.version).await?, assets.webhooks(options.version).await?);
        let dir = tempfile::Builder::new().prefix("pivot-lab-managers-").tempdir()?;
        let mut starting = Vec::new();
        for manager in &options.managers {
            let endpoint = WebhookEndpoint::of_manager(server, manager.name())?;
            // Before the manager starts: it may find objects in versions that it doesn't read.
            server.register_conversion(&endpoint, manager.groups()).await?;
            let (health, diagnostics) = free_ports()?;
            let mut command = Command::new(manager.binary(&binaries));
            command.env("POD_NAMESPACE", "default").args([
                format!("--kubeconfig={}", kubeconfig.display()),
                format!("--webhook-cert-dir={}", endpoint.certificates().display()),
                format!("--webhook-port={}", endpoint.port()),
                format!("--health-addr=127.0.0.1:{health}"),
                "--insecure-diagnostics".to_owned(),
                format!("--diagnostics-address=127.0.0.1:{diagnostics}"),
                "--leader-elect=false".to_owned(),
                format!("--v={}", options.verbosity),
            ]);
            if !options.feature_gates.is_empty() {
                command.arg(format!("--feature-gates={}", options.feature_gates.join(",")));
            }
            let log = dir.path().join(format!("{}.log", manager.name()));
            let process = Process::spawn(manager.name(), &command, log).await?;
            starting.push((*manager, endpoint, process, health, diagnostics));
        }
        let mut running = Vec::new();
        for (manager, endpoint, mut process, health, diagnostics) in starting {
            let client = loopback_client(health)?;
            process.until("ready", START_LIMIT, async || is_ready(&client).await).await?;
            server.register_webhooks(&endpoint, manager.webhooks(&manifests)).await?;
            running.push(Running { manager, process, diagnostics: loopback_client(diagnostics)? });
        }
        Ok(Self { running, dir })
    }

    /// Stops one of them.
    pub fn stop(&mut self, manager: Manager) {
        self.running.retain(|running| running.manager != manager);
    }

    /// An error with the end of its log if one of them has exited.
    pub fn still_run(&mut self) -> Result<()> {
        self.running.iter_mut().try_for_each(|running| running.process.still_runs())
    }

    /// Returns true if no controller has objects queued or in progress. Objects that wait for a timer, or after an error, don't
    /// count.
    pub async fn are_idle(&self) -> Result<bool> {
        for running in &self.running {
            if !is_idle(&running.diagnostics).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The path of a manager's log.
    #[must_use]
    pub fn log(&self, manager: Manager) -> PathBuf {
        self.dir.path().join(format!("{}.log", manager.name()))
    }
}

/// A kubeconfig for the lab's server itself, as the managers expect it in `<cluster>-kubeconfig`: a self-managed cluster.
pub fn workload_kubeconfig(server: &Server) -> Result<Vec<u8>> {
    std::fs::read(server.kubeconfig()).context("read the administrator's kubeconfig")
}

/// The Secret in which the managers look for a Cluster's kubeconfig.
pub fn kubeconfig_secret(server: &Server, namespace: &str, cluster: &str) -> Result<Value> {
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "cluster.x-k8s.io/secret",
        "metadata": {
            "name": format!("{cluster}-kubeconfig"),
            "namespace": namespace,
            "labels": { "cluster.x-k8s.io/cluster-name": cluster },
        },
        "data": { "value": ByteString(workload_kubeconfig(server)?) },
    }))
}

/// A client for a port of a manager.
pub(crate) fn loopback_client(port: u16) -> Result<Client> {
    let url = format!("http://127.0.0.1:{port}").parse()?;
    Ok(Client::try_from(Config::new(url))?)
}

/// Whether a manager's health port reports that it is ready.
pub(crate) async fn is_ready(client: &Client) -> bool {
    match http::Request::get("/readyz").body(Vec::new()) {
        Ok(request) => client.request_text(request).await.is_ok(),
        Err(_) => false,
    }
}

/// Whether a manager's metrics report that its controllers have nothing queued and nothing in progress.
pub(crate) async fn is_idle(client: &Client) -> Result<bool> {
    let metrics = client.request_text(http::Request::get("/metrics").body(Vec::new())?).await;
    reports_idle(&metrics.context("read a manager's metrics")?)
}

/// Gauges of controller-runtime: one line per controller.
const WORK: [&str; 2] = ["workqueue_depth{", "controller_runtime_active_workers{"];

fn reports_idle(metrics: &str) -> Result<bool> {
    let mut idle = true;
    for gauge in WORK {
        let mut lines = metrics.lines().filter(|line| line.starts_with(gauge)).peekable();
        ensure!(lines.peek().is_some(), "a manager's metrics have no {gauge}…");
        for line in lines {
            let value = line.rsplit(' ').next().unwrap_or_default();
            let value: f64 = value.parse().with_context(|| format!("read the metric {line}"))?;
            idle &= value == 0.0;
        }
    }
    Ok(idle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manager_is_busy_while_one_gauge_is_not_zero() {
        let metrics = |depth: &str, workers: &str| {
            format!(
                "# TYPE workqueue_depth gauge\nworkqueue_depth{{name=\"a\"}} 0\nworkqueue_depth{{name=\"b\"}} {depth}\n\
                 controller_runtime_active_workers{{controller=\"a\"}} {workers}\nworkqueue_adds_total{{name=\"a\"}} 7\n"
            )
        };
        assert!(reports_idle(&metrics("0", "0")).unwrap());
        assert!(!reports_idle(&metrics("2", "0")).unwrap());
        assert!(!reports_idle(&metrics("0", "1")).unwrap());
        let error = reports_idle("workqueue_depth{name=\"a\"} 0\n").unwrap_err().to_string();
        assert!(error.contains("active_workers"), "{error}");
        assert!(reports_idle(&metrics("none", "0")).is_err());
    }
}
