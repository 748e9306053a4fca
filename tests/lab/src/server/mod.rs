//! A Kubernetes API server with its etcd and the garbage collector.
//!
//! Half of what can go wrong in a move goes wrong in the server: finalizers, preconditions, owner references to missing UIDs, a
//! namespace that is being deleted. So tests use the real one. It runs just the two controllers that delete: the garbage
//! collector and the namespace controller; nothing schedules, nothing runs pods.

mod commands;
mod controllers;
mod crds;
mod dump;
mod garbage;
mod manifest;
mod objects;
mod stored;

pub use crds::Crds;
pub(crate) use dump::selects;
pub use dump::{Dump, normalise};
pub use manifest::parse;
pub use objects::Applied;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::assets::{KUBERNETES, ServerBinaries, assets};
use crate::kubeconfig;
use crate::pki::{Authority, Identity, Validity};
use crate::ports::free_ports;
use crate::process::Process;
use stored::Entry;

/// How long a server may take; a busy machine needs a multiple of the usual three seconds.
const START_LIMIT: Duration = Duration::from_mins(5);

/// Ports are chosen before the server binds them: another process can take them in between.
const START_ATTEMPTS: usize = 3;

/// Two servers: what is moved from, and what is moved to.
pub struct Pair {
    /// The side that objects are moved from.
    pub source: Server,
    /// The side that objects are moved to.
    pub target: Server,
}

impl Pair {
    /// Starts both at the same time.
    pub async fn start() -> Result<Self> {
        Self::start_with(&Crds::default()).await
    }

    /// The same with CRDs on both sides.
    pub async fn start_with(crds: &Crds) -> Result<Self> {
        Self::start_of(KUBERNETES, KUBERNETES, crds).await
    }

    /// The same with these Kubernetes releases.
    pub async fn start_of(source: &str, target: &str, crds: &Crds) -> Result<Self> {
        let (source, target) = tokio::try_join!(
            Server::start_of("source", source, crds),
            Server::start_of("target", target, crds)
        )?;
        Ok(Self { source, target })
    }
}

/// A running API server.
pub struct Server {
    name: String,
    url: String,
    etcd_url: String,
    client: Client,
    kubeconfig: PathBuf,
    authority: Authority,
    binaries: ServerBinaries,
    // Dropped in this order: clients before servers, the directory last.
    controllers: Mutex<Option<Process>>,
    apiserver: Process,
    etcd: Process,
    dir: TempDir,
}

impl Server {
    /// Starts a server; `name` is its kubeconfig's context.
    pub async fn start(name: &str) -> Result<Self> {
        Self::start_with(name, &Crds::default()).await
    }

    /// The same with CRDs.
    pub async fn start_with(name: &str, crds: &Crds) -> Result<Self> {
        Self::start_of(name, KUBERNETES, crds).await
    }

    /// The same with a Kubernetes release.
    pub async fn start_of(name: &str, version: &str, crds: &Crds) -> Result<Self> {
        let binaries = assets().await?.servers(version).await?;
        let entries = stored::entries(&binaries, version, crds).await?;
        let server = Self::start_without_controllers(name, &binaries, &entries).await?;
        server.wait_for_crds(crds).await?;
        server.start_controllers().await?;
        Ok(server)
    }

    /// Starts a server whose etcd holds these entries, and no controllers.
    async fn start_without_controllers(
        name: &str,
        binaries: &ServerBinaries,
        entries: &[Entry],
    ) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::try_start(name, binaries, entries).await {
                Err(error)
                    if attempt < START_ATTEMPTS
                        && format!("{error:#}").contains("address already in use") =>
                {
                    attempt += 1;
                }
                other => break other.with_context(|| format!("start the {name} server")),
            }
        }
    }

    async fn try_start(name: &str, binaries: &ServerBinaries, entries: &[Entry]) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix(&format!("pivot-lab-{name}-")).tempdir()?;
        let path = dir.path();
        let (etcd_port, port) = free_ports()?;
        let authority = Authority::new(&format!("{name} authority"))?;
        let admin = authority.user("lab-admin", &["system:masters"], Validity::Current)?;
        let url = format!("https://127.0.0.1:{port}");
        let content = kubeconfig::kubeconfig(name, &url, Some((&authority.certificate(), &admin)))?;
        let kubeconfig = kubeconfig::write(path, "admin", &content)?;
        commands::write_files(path, &authority)?;

        let etcd_url = format!("http://127.0.0.1:{etcd_port}");
        let mut etcd =
            Process::spawn("etcd", &commands::etcd(binaries, path, &etcd_url), path.join("etcd.log")).await?;
        if !entries.is_empty() {
            etcd.until("ready", START_LIMIT, async || stored::is_ready(&etcd_url).await).await?;
            stored::write(&etcd_url, entries).await.context("write CRDs into etcd")?;
        }
        let command = commands::apiserver(binaries, path, &etcd_url, port);
        let mut apiserver =
            Process::spawn("kube-apiserver", &command, path.join("kube-apiserver.log")).await?;
        let client = kubeconfig::client(&kubeconfig).await?;
        let waited = apiserver.until("ready", START_LIMIT, async || is_ready(&client).await).await;
        // The API server only reports that it cannot reach etcd; the reason is in the other log.
        etcd.still_runs()?;
        waited?;
        Ok(Self {
            name: name.to_owned(),
            url,
            etcd_url,
            client,
            kubeconfig,
            authority,
            binaries: binaries.clone(),
            controllers: Mutex::new(None),
            apiserver,
            etcd,
            dir,
        })
    }

    /// The name given at the start, and the kubeconfig's context.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The administrator's client.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A kubeconfig for a user with the permissions that RBAC gives to its name and groups: none, until a test binds some.
    pub fn kubeconfig_as(&self, user: &str, groups: &[&str]) -> Result<PathBuf> {
        self.write_kubeconfig(user, &self.authority.user(user, groups, Validity::Current)?)
    }

    /// A kubeconfig with an expired certificate.
    pub fn kubeconfig_expired(&self, user: &str) -> Result<PathBuf> {
        let identity = self.authority.user(user, &["system:masters"], Validity::Expired)?;
        self.write_kubeconfig(&format!("{user}-expired"), &identity)
    }

    /// The process of the API server, for tests that stop it.
    #[must_use]
    pub fn apiserver(&self) -> &Process {
        &self.apiserver
    }

    /// The process of etcd.
    #[must_use]
    pub fn etcd(&self) -> &Process {
        &self.etcd
    }

    /// A directory that lives as long as the server, for its logs and related files.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn write_kubeconfig(&self, file: &str, identity: &Identity) -> Result<PathBuf> {
        let content =
            kubeconfig::kubeconfig(&self.name, &self.url, Some((&self.authority.certificate(), identity)))?;
        kubeconfig::write(self.dir.path(), file, &content)
    }
}

/// Ready, and with the namespaces that the server creates itself.
async fn is_ready(client: &Client) -> bool {
    async fn get(client: &Client, path: &str) -> bool {
        match http::Request::get(path).body(Vec::new()) {
            Ok(request) => client.request_text(request).await.is_ok(),
            Err(_) => false,
        }
    }
    get(client, "/readyz").await
        && get(client, "/api/v1/namespaces/kube-system").await
        && get(client, "/api/v1/namespaces/default").await
}
