//! TLS 1.3 of both ends, whatever their certificates come from.

use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::time_provider::TimeProvider;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore, ServerConfig};

use crate::pem::{parse_certificates, parse_key, parse_roots};

/// Name of the protocol on both sides. No other service is mistaken for one of them.
pub(crate) const LINK: &[u8] = b"pivot-link/1";

/// The time by which certificates are judged.
pub(crate) type Time = Arc<dyn TimeProvider>;

/// A side's certificate and key, and the authorities for the other side's certificate.
pub(crate) struct TlsParts {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    pub(crate) roots: RootCertStore,
}

impl TlsParts {
    /// Parses a certificate, its key and the roots that sign the other end's certificate.
    pub(crate) fn parse(certificate: &str, key: &str, authority: &str) -> Option<Self> {
        Some(Self {
            chain: parse_certificates(certificate)?,
            key: parse_key(key)?,
            roots: parse_roots(authority)?,
        })
    }
}

pub(crate) fn crypto_provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// For the side that is called, by who has a certificate.
pub(crate) fn server_config(parts: TlsParts, protocols: &[&[u8]], time: Time) -> Result<ServerConfig, Error> {
    let TlsParts { chain, key, roots } = parts;
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), crypto_provider()).build();
    let clients = clients.map_err(|error| Error::General(error.to_string()))?;
    let mut config = ServerConfig::builder_with_details(crypto_provider(), time)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, key)?;
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    // A resumed session would outlive the certificate that it began with.
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// For the side that calls.
pub(crate) fn client_connector(parts: TlsParts, protocol: &[u8], time: Time) -> Result<TlsConnector, Error> {
    let TlsParts { chain, key, roots } = parts;
    let mut config = ClientConfig::builder_with_details(crypto_provider(), time)
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)?;
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
