//! A probe of an endpoint, and its answer.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::{Result, Side};

/// An endpoint, and the way to probe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Whether a TCP connection to `host:port` opens, from where pivot-host runs.
    Tcp(String),
    /// The answer of an HTTP GET to a URL, from where pivot-host runs.
    HttpGet(String),
    /// The answer of an HTTP GET to a Service.
    Service(Service),
}

/// A Service, through the API server of its side and the service proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The side.
    pub side: Side,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The port.
    pub port: u16,
    /// The path, with or without its first slash.
    pub path: String,
}

/// `host:port`, a URL, or `namespace/service:port/path`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) | Self::HttpGet(address) => f.write_str(address),
            Self::Service(Service { namespace, name, port, path, .. }) => {
                write!(f, "{namespace}/{name}:{port}/{}", path.trim_start_matches('/'))
            }
        }
    }
}

/// A probe of an endpoint.
///
/// ```
/// use pivot_sdk::{Side, endpoints::Probe};
///
/// let api = Probe::get("https://172.22.0.2:6385/v1/").timeout_ms(2_000);
/// let service = Probe::service(Side::Target, "capi-system", "capi-webhook-service", 443, "/healthz");
/// assert_eq!(service.target.to_string(), "capi-system/capi-webhook-service:443/healthz");
/// # let _ = api;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Probe {
    /// The endpoint.
    pub target: Target,
    /// Time to wait, in milliseconds; the host caps it.
    pub timeout_ms: u32,
}

/// Time that a probe waits by default.
const TIMEOUT_MS: u32 = 3_000;

impl Probe {
    fn new(target: Target) -> Self {
        Self { target, timeout_ms: TIMEOUT_MS }
    }

    /// Creates a probe that opens a TCP connection to `host:port`.
    pub fn tcp(address: impl Into<String>) -> Self {
        Self::new(Target::Tcp(address.into()))
    }

    /// Creates a probe that gets a URL.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Target::HttpGet(url.into()))
    }

    /// Creates a probe that gets a path of a Service, through the API server of its side.
    pub fn service(side: Side, namespace: &str, service: &str, port: u16, path: &str) -> Self {
        let (namespace, name) = (namespace.to_owned(), service.to_owned());
        let path = format!("/{}", path.trim_start_matches('/'));
        Self::new(Target::Service(Service { side, namespace, name, port, path }))
    }

    /// Sets the time to wait, in milliseconds; the host caps it.
    pub fn timeout_ms(self, timeout_ms: u32) -> Self {
        Self { timeout_ms, ..self }
    }
}

/// The answer of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status; 0 for TCP.
    pub status: u16,
    /// The body, cut at the host's limit; empty for TCP.
    pub body: String,
    /// Time that the answer took, in steps of 10 ms.
    pub took_ms: u32,
}

impl Answer {
    /// Returns true for an HTTP answer with a 2xx status.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Parses the body as JSON into a type of yours.
    ///
    /// # Errors
    /// If it doesn't match the type.
    pub fn parse_body<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(serde_json::from_str(&self.body)?)
    }
}
