//! A network that fails on request, in front of a server.
//!
//! The proxy speaks plain HTTP on the loopback interface and forwards with the administrator's credentials over TLS. It uses
//! plain HTTP so that any client can use it with just a kubeconfig, and so that the proxy can inspect requests: faults target
//! requests ("the third create of a Secret"), not packets. Everything else passes unchanged: bodies stream, so watches work; user
//! agents, impersonation and content types are preserved.
//!
//! An inactive fault costs only a lock and a look at a list. A [`Relay`] carries bytes that it can't read: it breaks connections
//! themselves, and is the wire of the benchmarks.

mod faults;
mod forward;
mod link;
mod lock;
mod relay;
mod rule;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::{Server, kubeconfig};
use forward::Forwarder;
use link::Connection;

pub use faults::{Faults, Partition, RuleId};
pub use relay::{Break, Relay};
pub use rule::{Action, Fault, Moment, Rule, Seen, Times};

/// A running proxy; closes all its connections on drop.
pub struct FaultProxy {
    address: SocketAddr,
    kubeconfig: PathBuf,
    faults: Faults,
    // Aborted when dropped.
    _tasks: JoinSet<()>,
    _dir: TempDir,
}

impl FaultProxy {
    /// Starts a proxy without faults in front of `server`.
    pub async fn start(server: &Server) -> Result<Self> {
        let config = kubeconfig::config(server.kubeconfig()).await?;
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        // A request is two writes; without this the second waits for the other side's delayed acknowledgement.
        connector.set_nodelay(true);
        let connector = config.rustls_https_connector_with_connector(connector)?;
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let authority = config.cluster_url.authority().context("a server without an address")?.clone();

        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let dir = tempfile::Builder::new().prefix("pivot-lab-proxy-").tempdir()?;
        let content = kubeconfig::kubeconfig(server.name(), &format!("http://{address}"), None)?;
        let kubeconfig = kubeconfig::write(dir.path(), "proxy", &content)?;
        let faults = Faults::default();
        let forwarder = Arc::new(Forwarder { client, authority, faults: faults.clone() });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, forwarder));
        Ok(Self { address, kubeconfig, faults, _tasks: tasks, _dir: dir })
    }

    /// A kubeconfig that leads through the proxy, as administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A client through the proxy.
    pub async fn client(&self) -> Result<kube::Client> {
        kubeconfig::client(&self.kubeconfig).await
    }

    /// The faults of the network, and the requests that passed it.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }
}

async fn accept<C>(listener: TcpListener, forwarder: Arc<Forwarder<C>>)
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        // An error here is the client's: it disconnected before it was served.
        let Ok((stream, _)) = listener.accept().await else { continue };
        while connections.try_join_next().is_some() {}
        let connection = Connection::new(stream);
        if forwarder.faults.partition() == Partition::Refuse {
            connection.reset();
            continue;
        }
        connections.spawn(forward::serve(connection, forwarder.clone()));
    }
}
