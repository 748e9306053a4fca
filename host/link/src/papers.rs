//! Who is at the two ends of a link: certificates of one authority, asked for on both sides, in TLS 1.3.
//!
//! They lie in a directory as Kubernetes mounts a Secret of type `kubernetes.io/tls`, and are read for each connection: whoever
//! renews them needs to tell nobody.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// What both sides name as the protocol, so that no other service is taken for one of them.
const PROTOCOL: &[u8] = b"pivot-link/1";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const AUTHORITY: &str = "ca.crt";

/// A certificate, its key, and the authority that the other side's certificate has to be of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Papers(PathBuf);

/// Why a side can't show who it is.
#[derive(Debug, thiserror::Error)]
pub enum PapersError {
    /// A file is missing, or has nothing of what it should have.
    #[error("{}: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why, without what is in it.
        why: String,
    },
    /// The parts don't go together.
    #[error("{}: {why}", directory.display())]
    Together {
        /// Where they lie.
        directory: PathBuf,
        /// Why.
        why: String,
    },
}

impl Papers {
    /// Those in a directory: `tls.crt`, `tls.key`, `ca.crt`.
    pub fn of(directory: impl Into<PathBuf>) -> Self {
        Self(directory.into())
    }

    /// For the side that is called.
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, PapersError> {
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(self.authority()?);
        let clients = WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build();
        let clients = clients.map_err(|error| self.together(error))?;
        let (chain, key) = self.identity()?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| self.together(error))?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .map_err(|error| self.together(error))?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        // A resumed session would outlive the certificate that it began with.
        config.send_tls13_tickets = 0;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// For the side that calls.
    pub(crate) fn connector(&self) -> Result<TlsConnector, PapersError> {
        let (chain, key) = self.identity()?;
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| self.together(error))?
            .with_root_certificates(self.authority()?)
            .with_client_auth_cert(chain, key)
            .map_err(|error| self.together(error))?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    }

    fn authority(&self) -> Result<RootCertStore, PapersError> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates(AUTHORITY)? {
            roots.add(certificate).map_err(|error| self.file(AUTHORITY, error))?;
        }
        Ok(roots)
    }

    fn identity(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), PapersError> {
        let key = PrivateKeyDer::from_pem_file(self.0.join(KEY));
        Ok((self.certificates(CERTIFICATE)?, key.map_err(|error| self.file(KEY, said(&error)))?))
    }

    fn certificates(&self, name: &str) -> Result<Vec<CertificateDer<'static>>, PapersError> {
        let read =
            CertificateDer::pem_file_iter(self.0.join(name)).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        match read {
            Ok(certificates) if certificates.is_empty() => Err(self.file(name, "it has no certificate")),
            Ok(certificates) => Ok(certificates),
            Err(error) => Err(self.file(name, said(&error))),
        }
    }

    fn file(&self, name: &str, why: impl fmt::Display) -> PapersError {
        PapersError::File { path: self.0.join(name), why: why.to_string() }
    }

    fn together(&self, why: impl fmt::Display) -> PapersError {
        PapersError::Together { directory: self.0.clone(), why: why.to_string() }
    }

    /// Where they lie.
    pub fn directory(&self) -> &Path {
        &self.0
    }
}

/// What is wrong with a file; other errors of it quote lines, and one of them may be of a key.
fn said(error: &PemError) -> String {
    match error {
        PemError::Io(error) => error.to_string(),
        PemError::NoItemsFound => "there is nothing in it that was expected".to_owned(),
        _ => "it is not PEM".to_owned(),
    }
}
