//! The interface through which plugins ask questions; the engine answers them, for the side a plugin reads and the vantage it
//! probes from.
//!
//! The runtime has checked that each question was declared by the plugin and granted by the operator. It also limits how many
//! questions there are, how long they take and how much they return.

use std::time::Duration;

use async_trait::async_trait;
use pivot_core::checks::providers::Provider;
use pivot_core::objects::names;
use pivot_core::{GroupKind, Object, Side};

/// A question for objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The side.
    pub side: Side,
    /// The kind.
    pub kind: GroupKind,
    /// The namespace; none: those that move; `*`: all of them. For a kind without namespaces, `*` asks for all objects and
    /// anything else for those that move.
    pub namespace: Option<String>,
    /// The name; none: all.
    pub name: Option<String>,
    /// Only the namespaces that move were granted: any other one is [`Denied`].
    pub confined: bool,
}

/// The vantage point of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// From this machine; [`crate::probe::Here`] does it.
    Here,
    /// Through a side's API server and its service proxy.
    Side(Side),
}

/// A probe of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// HTTP GET, or just whether a TCP connection opens.
    pub http: bool,
    /// The vantage point.
    pub vantage: Vantage,
    /// `host:port` for TCP, a URL for HTTP, `namespace/service:port/path` through a service proxy.
    pub address: String,
    /// Longest wait.
    pub timeout: Duration,
    /// Addresses that are reachable because the operator named them, although no name pattern covers them.
    pub named: Vec<pivot_core::request::network::Network>,
}

impl Probe {
    /// Returns the probe in words: `tcp HOST:PORT`, `http URL`, or a side and the address of a service.
    pub fn describe(&self) -> String {
        let vantage = match (self.vantage, self.http) {
            (Vantage::Here, false) => "tcp".to_owned(),
            (Vantage::Here, true) => "http".to_owned(),
            (Vantage::Side(side), _) => side.to_string(),
        };
        format!("{vantage} {}", self.address)
    }
}

/// The answer of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status; 0 for TCP.
    pub status: u16,
    /// The body, cut if it is too long.
    pub body: String,
    /// Duration of the probe.
    pub took: Duration,
}

/// The reason why a question has no answer; returned to the plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ServiceError {
    /// `denied`, `not-found`, `unreachable`, `invalid`, …
    pub code: String,
    /// A sentence for people. Contains no data of Secrets.
    pub message: String,
}

impl ServiceError {
    /// An error.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

/// A question that was not granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Denied(pub String);

impl From<Denied> for ServiceError {
    fn from(denied: Denied) -> Self {
        Self::new("denied", denied.0)
    }
}

/// Answers a plugin's questions.
#[async_trait]
pub trait Services: Send + Sync + 'static {
    /// Whole objects. None if there are none.
    async fn read(&self, plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError>;

    /// The providers of a side. Every plugin may ask for them.
    async fn providers(&self, plugin: &str, side: Side) -> Result<Vec<Provider>, ServiceError> {
        read_providers(self, plugin, side).await
    }

    /// Probes an endpoint.
    async fn probe(&self, plugin: &str, probe: Probe) -> Result<Answer, ServiceError>;
}

/// Reads the providers of a side.
pub async fn read_providers<S: Services + ?Sized>(
    services: &S,
    plugin: &str,
    side: Side,
) -> Result<Vec<Provider>, ServiceError> {
    let query = Query {
        side,
        kind: GroupKind::new(names::GROUP_CLUSTERCTL, "Provider"),
        namespace: Some("*".to_owned()),
        name: None,
        confined: false,
    };
    let objects = services.read(plugin, query).await?;
    let providers = objects.iter().map(Provider::from_object);
    providers.map(|one| one.map_err(|why| ServiceError::new("unreadable", why.to_string()))).collect()
}
