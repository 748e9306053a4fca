//! A Kubernetes API server with its etcd and the garbage collector.
//!
//! Half of what can go wrong in a move goes wrong in the server: finalizers, preconditions, owner references to missing UIDs, a
//! namespace that is being deleted. So tests use the real one. It runs just the two controllers that delete: the garbage
//! collector and the namespace controller; nothing schedules, nothing runs pods.

mod backup;
mod commands;
mod controllers;
mod crds;
mod dump;
mod garbage;
mod install;
mod manifest;
mod objects;
mod start;
mod stored;

pub use backup::{Backup, Revision};
pub use crds::Crds;
pub(crate) use dump::selects;
pub use dump::{Dump, normalise};
pub use manifest::parse;
pub use objects::Applied;

use std::path::{Path, PathBuf};

use anyhow::Result;
use kube::Client;
use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::assets::{KUBERNETES, ServerBinaries};
use crate::kubeconfig;
use crate::pki::{Authority, Identity, Validity};
use crate::process::Process;

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
    port: u16,
    etcd_url: String,
    client: Client,
    kubeconfig: PathBuf,
    authority: Authority,
    binaries: ServerBinaries,
    /// An admission plugin that is off by default.
    admission_plugin: Option<&'static str>,
    // Dropped in this order: clients before servers, the directory last.
    controllers: Mutex<Option<Process>>,
    apiserver: Process,
    etcd: Process,
    dir: TempDir,
}

impl Server {
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

    /// Where etcd keeps its data.
    fn data_dir(&self) -> PathBuf {
        commands::data_dir(self.dir.path())
    }

    fn write_kubeconfig(&self, file: &str, identity: &Identity) -> Result<PathBuf> {
        let content =
            kubeconfig::kubeconfig(&self.name, &self.url, Some((&self.authority.certificate(), identity)))?;
        kubeconfig::write(self.dir.path(), file, &content)
    }
}
