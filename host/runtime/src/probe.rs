//! Probes endpoints from this machine.
//!
//! A probe is a request that someone else's program has chosen, sent from inside the operator's network. So the name is resolved
//! once, every address is checked, and the connection goes to a checked address. Redirects are returned, never followed; there
//! are no proxies, no credentials, no cookies; the size and time of the answer are small.

mod endpoint;
mod http;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use pivot_core::request::network::{Network, is_reachable};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

use crate::services::{Answer, Probe, ServiceError, Vantage};

pub use endpoint::Endpoint;

/// Probes from this machine: the vantage `here`.
#[derive(Clone)]
pub struct Here {
    tls: TlsConnector,
}

impl Here {
    /// Trusts the certificate authorities that the machine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` replace them, as in most
    /// programs.
    pub fn new() -> Result<Self, tokio_rustls::rustls::Error> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_platform_verifier()?
            .with_no_client_auth();
        Ok(Self::with_tls(config))
    }

    /// Creates a prober that trusts the authorities of a TLS configuration.
    pub fn with_tls(config: ClientConfig) -> Self {
        Self { tls: TlsConnector::from(Arc::new(config)) }
    }

    /// Probes one endpoint. Its permission was checked before; its address is checked here.
    pub async fn probe(&self, probe: &Probe) -> Result<Answer, ServiceError> {
        let endpoint = Endpoint::parse(probe.http, Vantage::Here, &probe.address)
            .map_err(|why| ServiceError::new("invalid", why))?;
        let begun = Instant::now();
        let asked = tokio::time::timeout(probe.timeout, self.request(&endpoint, probe)).await;
        let (status, body) = asked.map_err(|_| ServiceError::new("unreachable", "no answer in time"))??;
        Ok(Answer { status, body, took: begun.elapsed() })
    }

    async fn request(&self, endpoint: &Endpoint, probe: &Probe) -> Result<(u16, String), ServiceError> {
        let stream = connect_to_reachable(endpoint, &probe.named).await?;
        if !probe.http {
            return Ok((0, String::new()));
        }
        if !endpoint.tls {
            return http::get(endpoint, stream).await;
        }
        let name = ServerName::try_from(endpoint.host.clone())
            .map_err(|_| ServiceError::new("invalid", "its host is no name that a certificate could have"))?;
        let stream = self.tls.connect(name, stream).await.map_err(|error| tls_error(&error))?;
        http::get(endpoint, stream).await
    }
}

/// Connects to the first reachable address that accepts.
async fn connect_to_reachable(endpoint: &Endpoint, named: &[Network]) -> Result<TcpStream, ServiceError> {
    let resolved = tokio::net::lookup_host((endpoint.host.as_str(), endpoint.port))
        .await
        .map_err(|error| unreachable_error("its name does not resolve", &error))?;
    let (fine, special): (Vec<SocketAddr>, Vec<_>) =
        resolved.partition(|address| is_reachable(address.ip(), named));
    let mut failed = ServiceError::new("unreachable", "its name has no address");
    if let Some(address) = special.first() {
        let why = format!(
            "{} has a special address ({}), which the operator must name",
            endpoint.host,
            address.ip()
        );
        failed = ServiceError::new("denied", why);
    }
    for address in fine {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = unreachable_error("no connection", &error),
        }
    }
    Err(failed)
}

/// An untrusted certificate is usually a site's own, and there is a way to trust it.
fn tls_error(error: &io::Error) -> ServiceError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(rustls::Error::InvalidCertificate(_)) => {
            let way = "where its authority is the site's own, name its certificate: SSL_CERT_FILE=FILE.pem";
            ServiceError::new("unreachable", format!("TLS failed: {error}; {way}"))
        }
        _ => unreachable_error("TLS failed", error),
    }
}

fn unreachable_error(what: &str, error: &io::Error) -> ServiceError {
    ServiceError::new("unreachable", format!("{what}: {error}"))
}

#[cfg(test)]
mod tests;
