//! A probe of an endpoint, and its answer.

use serde::de::DeserializeOwned;

use crate::{Result, Side};

/// Where an endpoint is probed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// From where pivot-host runs.
    Here,
    /// Through a side's API server and its service proxy.
    Through(Side),
}

impl Vantage {
    /// The contract's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Through(side) => side.as_str(),
        }
    }
}

/// What to probe.
///
/// ```
/// use pivot_sdk::{Side, endpoints::Probe};
///
/// let api = Probe::get("https://172.22.0.2:6385/v1/").timeout_ms(2_000);
/// let service = Probe::service(Side::Target, "capi-system", "capi-webhook-service", 443, "/healthz");
/// assert_eq!(service.address, "capi-system/capi-webhook-service:443/healthz");
/// # let _ = api;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Probe {
    /// HTTP GET, or just whether a TCP connection opens.
    pub http: bool,
    /// Where from.
    pub vantage: Vantage,
    /// `host:port` for TCP, a URL for HTTP, `namespace/service:port/path` through a service proxy.
    pub address: String,
    /// How long to wait; the host caps it.
    pub timeout_ms: u32,
}

/// How long a probe waits by default.
const TIMEOUT_MS: u32 = 3_000;

impl Probe {
    /// Whether a TCP connection to `host:port` opens.
    pub fn tcp(address: impl Into<String>) -> Self {
        Self { http: false, vantage: Vantage::Here, address: address.into(), timeout_ms: TIMEOUT_MS }
    }

    /// The answer of a URL.
    pub fn get(url: impl Into<String>) -> Self {
        Self { http: true, vantage: Vantage::Here, address: url.into(), timeout_ms: TIMEOUT_MS }
    }

    /// The answer of a Service, through the API server of its side.
    pub fn service(side: Side, namespace: &str, service: &str, port: u16, path: &str) -> Self {
        let address = format!("{namespace}/{service}:{port}/{}", path.trim_start_matches('/'));
        Self { http: true, vantage: Vantage::Through(side), address, timeout_ms: TIMEOUT_MS }
    }

    /// How long to wait; the host caps it.
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
    /// How long it took, in steps of 10 ms.
    pub took_ms: u32,
}

impl Answer {
    /// Whether it is an HTTP answer with a 2xx status.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as a type of your own.
    ///
    /// # Errors
    /// If it doesn't match the type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(serde_json::from_str(&self.body)?)
    }
}
