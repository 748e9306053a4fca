//! Both ends of agents' links: their certificates, and where agents call.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::Result;
use pivot_lab::pki::{Authority, Identity};
use tempfile::TempDir;

use crate::host::{Host, Run};

/// The links of agents that are called `edge`, each for Pivots of a namespace.
pub struct Link {
    authority: Authority,
    address: SocketAddr,
    papers: TempDir,
}

impl Link {
    /// Makes an authority, and finds a port for the end that is called.
    pub fn new() -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        Ok(Self { authority: Authority::new("links")?, address, papers: tempfile::tempdir()? })
    }

    /// A directory as a Secret is mounted; it is written once.
    fn papers(&self, of: &str, identity: impl FnOnce() -> Result<Identity>) -> Result<PathBuf> {
        let directory = self.papers.path().join(of);
        if !directory.exists() {
            let identity = identity()?;
            fs::create_dir(&directory)?;
            fs::write(directory.join("tls.crt"), identity.certificate)?;
            fs::write(directory.join("tls.key"), identity.key)?;
            fs::write(directory.join("ca.crt"), self.authority.certificate())?;
        }
        Ok(directory)
    }

    /// A controller that agents can call.
    pub async fn controller(&self, kubeconfig: &Path) -> Result<Run> {
        self.controller_with(kubeconfig, &[]).await
    }

    /// The same with more flags.
    pub async fn controller_with(&self, kubeconfig: &Path, more: &[&str]) -> Result<Run> {
        let tls = self.papers("controller", || self.authority.server())?.display().to_string();
        let at = self.address.to_string();
        let words = ["controller", "run", "--agents", &at, "--agents-tls", &tls];
        Host::out_of(kubeconfig).start(&[&words[..], more].concat()).await
    }

    /// The agent of `shop`, when it is linked.
    pub async fn agent(&self, kubeconfig: &Path) -> Result<Run> {
        self.agent_with(kubeconfig, &[]).await
    }

    /// The same with more flags.
    pub async fn agent_with(&self, kubeconfig: &Path, more: &[&str]) -> Result<Run> {
        self.agent_of("shop", kubeconfig, more).await
    }

    /// The agent of a namespace, when it is linked.
    pub async fn agent_of(&self, namespace: &str, kubeconfig: &Path, more: &[&str]) -> Result<Run> {
        let mut agent = self.calling(namespace, kubeconfig, self.address, more).await?;
        agent.until_it_says("linked to ").await?;
        Ok(agent)
    }

    /// Where agents are taken.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The agent of a namespace, which calls at this address, linked or not.
    pub async fn calling(
        &self,
        namespace: &str,
        kubeconfig: &Path,
        at: SocketAddr,
        more: &[&str],
    ) -> Result<Run> {
        let name = format!("spiffe://site.example.com/agent/{namespace}/edge");
        let tls = self.papers(&format!("agent-{namespace}"), || self.authority.agent(&name))?;
        let (tls, call) = (tls.display().to_string(), format!("localhost:{}", at.port()));
        let words = ["agent", "run", "--call", &call, "--tls", &tls, "--allow-namespace", namespace];
        Host::out_of(kubeconfig).start(&[&words[..], more].concat()).await
    }
}
