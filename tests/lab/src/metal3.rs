//! Metal3's real operators, with machines that do not exist.
//!
//! The baremetal operator has its own provisioner for tests, `fixture`: its controllers and their state machine are those of
//! production, and only the part that would talk to Ironic is simulated. It logs what it would have done, so the log has
//! everything that a disk would have noticed. One limit: it has one machine for all hosts, so only the first host of a process
//! takes the seconds that an inspection or an adoption takes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use tempfile::TempDir;

use crate::assets::assets;
use crate::managers::{is_idle, is_ready, loopback_client};
use crate::pki;
use crate::ports::free_ports;
use crate::process::Process;

const START_LIMIT: Duration = Duration::from_mins(5);

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
    /// Starts both for one namespace of the server in this kubeconfig, and waits until they are ready. The server needs Cluster
    /// API's and Metal3's CRDs.
    pub async fn start(kubeconfig: &Path, namespace: &str) -> Result<Self> {
        let files = assets().await?.metal3()?;
        let dir = tempfile::Builder::new().prefix("pivot-lab-metal3-").tempdir()?;
        let identity = pki::self_signed()?;
        std::fs::write(dir.path().join("tls.crt"), identity.certificate)?;
        std::fs::write(dir.path().join("tls.key"), identity.key)?;
        let spawn = async |name: &str, binary: &Path, flags: &[String]| {
            let mut command = Command::new(binary);
            command.arg(format!("--namespace={namespace}")).args(flags).env("KUBECONFIG", kubeconfig);
            Process::spawn(name, &command, dir.path().join(format!("{name}.log"))).await
        };

        let (health, webhooks) = free_ports()?;
        let mut hosts = spawn(
            "baremetal-operator",
            &files.operator,
            &[
                "--provisioner=fixture".to_owned(),
                "--webhook-port=0".to_owned(),
                "--metrics-addr=0".to_owned(),
                format!("--health-addr=127.0.0.1:{health}"),
                "--dev".to_owned(),
            ],
        )
        .await?;
        let client = loopback_client(health)?;
        let (health, diagnostics) = free_ports()?;
        let mut provider = spawn(
            "capm3-manager",
            &files.provider,
            &[
                format!("--kubeconfig={}", kubeconfig.display()),
                // Its webhooks can't be disabled. Nobody calls them, but it must be able to serve them.
                format!("--webhook-port={webhooks}"),
                format!("--webhook-cert-dir={}", dir.path().display()),
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
        Ok(Self { hosts, provider, provider_diagnostics: loopback_client(diagnostics)?, _dir: dir })
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
