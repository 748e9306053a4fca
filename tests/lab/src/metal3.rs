//! Metal3's real operators, with machines that do not exist.
//!
//! The baremetal operator has its own provisioner for tests, `fixture`: its controllers and their state machine are those of
//! production, and only the part that would talk to Ironic is simulated. It logs what it would have done, so the log has
//! everything that a disk would have noticed. One limit: it has one machine for all hosts, so only the first host of a process
//! takes the seconds that an inspection or an adoption takes.
//!
//! The webhooks of both are registered, as in an installation: while one is stopped, all writes to its kinds fail.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use tempfile::TempDir;

use crate::assets::assets;
use crate::managers::{is_idle, is_ready, loopback_client};
use crate::ports::free_ports;
use crate::process::{self, Process};
use crate::server::Server;
use crate::webhooks::WebhookEndpoint;

const START_LIMIT: Duration = Duration::from_mins(5);
/// The API group of the Cluster API provider's kinds.
const PROVIDER_GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// The baremetal operator: BareMetalHosts and their objects.
    Hosts,
    /// The Cluster API provider: Metal3Clusters, Metal3Machines, their data.
    Provider,
}

/// Running operators; killed on drop.
pub struct Metal3Operators {
    hosts: Process,
    provider: Process,
    provider_diagnostics: Client,
    _dir: TempDir,
}

impl Metal3Operators {
    /// Starts both for one namespace of a server, waits until they are ready, and registers their webhooks. They reach the server
    /// by this kubeconfig. The server needs Cluster API's and Metal3's CRDs.
    pub async fn start(server: &Server, kubeconfig: &Path, namespace: &str) -> Result<Self> {
        let files = assets().await?.metal3()?;
        let dir = tempfile::Builder::new().prefix("pivot-lab-metal3-").tempdir()?;
        let spawn = async |name: &str, binary: &Path, webhooks: &WebhookEndpoint, flags: &[String]| {
            let mut command = Command::new(binary);
            command.arg(format!("--namespace={namespace}")).args(flags);
            command.arg(format!("--webhook-port={}", webhooks.port()));
            command.env("KUBECONFIG", kubeconfig).env("TMPDIR", webhooks.temporary_dir());
            Process::spawn(name, &command, dir.path().join(format!("{name}.log"))).await
        };

        let host_webhooks = WebhookEndpoint::of_manager(server, "baremetal-operator")?;
        let (health, _) = free_ports()?;
        let mut hosts = spawn(
            "baremetal-operator",
            &files.operator,
            &host_webhooks,
            &[
                "--provisioner=fixture".to_owned(),
                "--metrics-addr=0".to_owned(),
                format!("--health-addr=127.0.0.1:{health}"),
                "--dev".to_owned(),
            ],
        )
        .await?;
        let client = loopback_client(health)?;
        let provider_webhooks = WebhookEndpoint::of_manager(server, "capm3")?;
        server.register_conversion(&provider_webhooks, &[PROVIDER_GROUP]).await?;
        let (health, diagnostics) = free_ports()?;
        let mut provider = spawn(
            "capm3-manager",
            &files.provider,
            &provider_webhooks,
            &[
                format!("--kubeconfig={}", kubeconfig.display()),
                format!("--webhook-cert-dir={}", provider_webhooks.certificates().display()),
                format!("--health-addr=127.0.0.1:{health}"),
                format!("--diagnostics-address=127.0.0.1:{diagnostics}"),
                "--insecure-diagnostics".to_owned(),
                "--skip-crd-migration-phases=StorageVersionMigration".to_owned(),
                "--skip-crd-migration-phases=CleanupManagedFields".to_owned(),
            ],
        )
        .await?;
        hosts.until("ready", START_LIMIT, async || is_ready(&client).await).await?;
        let client = loopback_client(health)?;
        provider.until("ready", START_LIMIT, async || is_ready(&client).await).await?;
        tokio::try_join!(
            server.register_webhooks(&host_webhooks, &files.operator_webhooks),
            server.register_webhooks(&provider_webhooks, &files.provider_webhooks)
        )?;
        Ok(Self { hosts, provider, provider_diagnostics: loopback_client(diagnostics)?, _dir: dir })
    }

    /// Stops the operator of hosts where it is: a server that calls its webhooks gets no answer.
    pub fn freeze_hosts(&self) -> Result<()> {
        process::freeze(self.hosts.id())
    }

    /// Lets the operator of hosts go on.
    pub fn thaw_hosts(&self) -> Result<()> {
        process::thaw(self.hosts.id())
    }

    /// Returns true if the provider's controllers have nothing queued and nothing in progress. The operator of hosts shows its
    /// metrics only to authenticated clients; its log grows with each step.
    pub async fn provider_is_idle(&self) -> Result<bool> {
        is_idle(&self.provider_diagnostics).await
    }

    /// An error with the end of its log if one of them has exited.
    pub fn still_run(&mut self) -> Result<()> {
        self.hosts.still_runs()?;
        self.provider.still_runs()
    }

    /// The log of one of them so far.
    pub fn log(&self, operator: Operator) -> Result<String> {
        let process = match operator {
            Operator::Hosts => &self.hosts,
            Operator::Provider => &self.provider,
        };
        let log =
            std::fs::read(process.log()).with_context(|| format!("read {}", process.log().display()))?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }
}
