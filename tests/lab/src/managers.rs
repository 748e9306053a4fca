//! Cluster API's own managers, the real ones.
//!
//! A move has to work with these programs, not with a specification: they put finalizers back within milliseconds, set the
//! `Paused` condition, adopt Secrets, and delete Machines if they are unpaused at the wrong moment. They run as plain processes
//! against a lab server. Webhooks are not registered, so nothing defaults or refuses objects on creation; their server needs a
//! port and a certificate anyway.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use kube::{Client, Config};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::assets::{CLUSTER_API, ManagerBinaries, assets};
use crate::pki;
use crate::ports::free_ports;
use crate::process::Process;
use crate::server::Server;

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
    running: Vec<(Manager, Process)>,
    dir: TempDir,
}

impl Managers {
    /// Starts managers against a server that has Cluster API's CRDs, and waits until they are ready.
    pub async fn start(server: &Server, options: &ManagerOptions) -> Result<Self> {
        let binaries = assets().await?.managers(options.version).await?;
        let dir = tempfile::Builder::new().prefix("pivot-lab-managers-").tempdir()?;
        let identity = pki::self_signed()?;
        std::fs::write(dir.path().join("tls.crt"), identity.certificate)?;
        std::fs::write(dir.path().join("tls.key"), identity.key)?;
        let mut starting = Vec::new();
        for manager in &options.managers {
            let (webhooks, health) = free_ports()?;
            let mut command = Command::new(manager.binary(&binaries));
            command.env("POD_NAMESPACE", "default").args([
                format!("--kubeconfig={}", server.kubeconfig().display()),
                format!("--webhook-cert-dir={}", dir.path().display()),
                format!("--webhook-port={webhooks}"),
                format!("--health-addr=127.0.0.1:{health}"),
                "--insecure-diagnostics".to_owned(),
                "--diagnostics-address=127.0.0.1:0".to_owned(),
                "--leader-elect=false".to_owned(),
                format!("--v={}", options.verbosity),
            ]);
            if !options.feature_gates.is_empty() {
                command.arg(format!("--feature-gates={}", options.feature_gates.join(",")));
            }
            let log = dir.path().join(format!("{}.log", manager.name()));
            starting.push((*manager, Process::spawn(manager.name(), &command, log).await?, health));
        }
        let mut running = Vec::new();
        for (manager, mut process, health) in starting {
            let client = health_client(health)?;
            process.until("ready", START_LIMIT, async || is_ready(&client).await).await?;
            running.push((manager, process));
        }
        Ok(Self { running, dir })
    }

    /// Stops one of them.
    pub fn stop(&mut self, manager: Manager) {
        self.running.retain(|(running, _)| *running != manager);
    }

    /// An error with the end of its log if one of them has exited.
    pub fn still_run(&mut self) -> Result<()> {
        self.running.iter_mut().try_for_each(|(_, process)| process.still_runs())
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

/// A client for a manager's health port.
pub(crate) fn health_client(port: u16) -> Result<Client> {
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
