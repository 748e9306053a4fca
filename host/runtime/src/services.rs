//! Who answers a plugin's questions: the engine, for the side it reads and the vantage it probes from.
//!
//! What comes here was declared by the plugin and granted by the operator; the runtime has checked both. It also
//! bounds how many questions there are, how long they take and how much comes back.

use std::time::Duration;

use async_trait::async_trait;
use pivot_core::{GroupKind, Object, Side};

/// A question for objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Where.
    pub side: Side,
    /// Of which kind.
    pub kind: GroupKind,
    /// In which namespace; none: in those that move; `*`: in all there are, and of a kind without namespaces all objects,
    /// where any other question is for those that move.
    pub namespace: Option<String>,
    /// Which; none: all.
    pub name: Option<String>,
    /// Only the namespaces that move were granted: a namespace that doesn't is [`Denied`].
    pub confined: bool,
}

/// From where an endpoint is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// From this machine; [`crate::probe::Here`] does it.
    Here,
    /// Through a side's API server and its service proxy.
    Side(Side),
}

/// What to probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// HTTP GET, or only whether a TCP connection opens.
    pub http: bool,
    /// From where.
    pub vantage: Vantage,
    /// `host:port` for TCP, a URL for HTTP, `namespace/service:port/path` through a service proxy.
    pub address: String,
    /// How long to wait.
    pub timeout: Duration,
    /// Addresses that are reachable because the operator named them, though no pattern of names reaches them.
    pub named: Vec<crate::trust::Network>,
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status; 0 for TCP.
    pub status: u16,
    /// The body, cut where it is too long.
    pub body: String,
    /// How long it took.
    pub took: Duration,
}

/// Why a question has no answer; handed to the plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ServiceError {
    /// `denied`, `not-found`, `unreachable`, `invalid`, …
    pub code: String,
    /// A sentence for people. Carries no data of secrets.
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
    /// Objects, whole. None where there are none.
    async fn read(&self, plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError>;

    /// An endpoint.
    async fn probe(&self, plugin: &str, probe: Probe) -> Result<Answer, ServiceError>;
}
