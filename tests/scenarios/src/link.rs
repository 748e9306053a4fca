//! Both ends of an agent's link: their certificates, and where agents call.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use anyhow::Result;
use pivot_lab::pki::{Authority, Identity};
use tempfile::TempDir;

use crate::host::{Host, Run};

/// A link of the agent `edge`, for Pivots of the namespace `shop`.
pub struct Link {
    address: String,
    call: String,
    papers: TempDir,
}

impl Link {
    /// Makes the certificates of both.
    pub fn new() -> Result<Self> {
        let authority = Authority::new("links")?;
        let papers = tempfile::tempdir()?;
        let write = |name: &str, identity: Identity| {
            let directory = papers.path().join(name);
            fs::create_dir(&directory)?;
            fs::write(directory.join("tls.crt"), identity.certificate)?;
            fs::write(directory.join("tls.key"), identity.key)?;
            fs::write(directory.join("ca.crt"), authority.certificate())
        };
        write("controller", authority.server()?)?;
        write("agent", authority.agent("spiffe://site.example.com/agent/shop/edge")?)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        Ok(Self { address: format!("127.0.0.1:{port}"), call: format!("localhost:{port}"), papers })
    }

    fn papers(&self, of: &str) -> String {
        self.papers.path().join(of).display().to_string()
    }

    /// A controller that agents can call.
    pub async fn controller(&self, kubeconfig: &Path) -> Result<Run> {
        let words = ["controller", "--agents", &self.address, "--agents-tls", &self.papers("controller")];
        Host::out_of(kubeconfig).start(&words).await
    }

    /// An agent, when it is linked.
    pub async fn agent(&self, kubeconfig: &Path) -> Result<Run> {
        self.agent_with(kubeconfig, &[]).await
    }

    /// The same with more flags.
    pub async fn agent_with(&self, kubeconfig: &Path, more: &[&str]) -> Result<Run> {
        let tls = self.papers("agent");
        let words = ["agent", "--call", &self.call, "--tls", &tls, "--allow-namespace", "shop"];
        let mut agent = Host::out_of(kubeconfig).start(&[&words[..], more].concat()).await?;
        agent.until_it_says("linked to ").await?;
        Ok(agent)
    }
}
