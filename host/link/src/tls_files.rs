//! The identities at the two ends of a link: certificates of one authority, verified on both sides, in TLS 1.3.
//!
//! They lie in a directory as Kubernetes mounts a Secret of type `kubernetes.io/tls`, and are read for each connection: whoever
//! renews them needs to tell nobody.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::clock::{ForTls, WallClock};
use crate::tls::{self, Time, TlsParts};

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const AUTHORITY: &str = "ca.crt";

/// A certificate, its key, and the authority that the other side's certificate has to be of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles(PathBuf);

/// Reasons why a side can't show its identity.
#[derive(Debug, thiserror::Error)]
pub enum TlsFilesError {
    /// A file is missing, or lacks its content.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason, without any content of the file.
        why: String,
    },
    /// The parts don't go together.
    #[error("{}: {why}", directory.display())]
    Together {
        /// The directory of the files.
        directory: PathBuf,
        /// The reason.
        why: String,
    },
}

impl TlsFiles {
    /// Those in a directory: `tls.crt`, `tls.key`, `ca.crt`.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        Self(directory.into())
    }

    /// For the side that is called.
    pub(crate) fn server_config(&self) -> Result<Arc<ServerConfig>, TlsFilesError> {
        let config = tls::server_config(self.read_parts()?, &[tls::LINK], wall_clock_time());
        config.map(Arc::new).map_err(|error| self.mismatch_error(error))
    }

    /// For the side that calls.
    pub(crate) fn connector(&self) -> Result<TlsConnector, TlsFilesError> {
        tls::client_connector(self.read_parts()?, tls::LINK, wall_clock_time())
            .map_err(|error| self.mismatch_error(error))
    }

    fn read_parts(&self) -> Result<TlsParts, TlsFilesError> {
        let roots = self.read_authority()?;
        let (chain, key) = self.read_identity()?;
        Ok(TlsParts { chain, key, roots })
    }

    fn read_authority(&self) -> Result<RootCertStore, TlsFilesError> {
        let mut roots = RootCertStore::empty();
        for certificate in self.read_certificates(AUTHORITY)? {
            roots.add(certificate).map_err(|error| self.file_error(AUTHORITY, error))?;
        }
        Ok(roots)
    }

    fn read_identity(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsFilesError> {
        let key = PrivateKeyDer::from_pem_file(self.0.join(KEY));
        Ok((
            self.read_certificates(CERTIFICATE)?,
            key.map_err(|error| self.file_error(KEY, describe_pem_error(&error)))?,
        ))
    }

    fn read_certificates(&self, name: &str) -> Result<Vec<CertificateDer<'static>>, TlsFilesError> {
        let read =
            CertificateDer::pem_file_iter(self.0.join(name)).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        match read {
            Ok(certificates) if certificates.is_empty() => {
                Err(self.file_error(name, "it has no certificate"))
            }
            Ok(certificates) => Ok(certificates),
            Err(error) => Err(self.file_error(name, describe_pem_error(&error))),
        }
    }

    fn file_error(&self, name: &str, why: impl fmt::Display) -> TlsFilesError {
        TlsFilesError::File { path: self.0.join(name), why: why.to_string() }
    }

    fn mismatch_error(&self, why: impl fmt::Display) -> TlsFilesError {
        TlsFilesError::Together { directory: self.0.clone(), why: why.to_string() }
    }

    /// Returns the directory of the files.
    pub fn directory(&self) -> &Path {
        &self.0
    }
}

fn wall_clock_time() -> Time {
    Arc::new(ForTls(Arc::new(WallClock)))
}

/// Describes a wrong file without quoting it. Other texts of this error quote lines, which may be part of a key.
fn describe_pem_error(error: &PemError) -> String {
    match error {
        PemError::Io(error) => error.to_string(),
        PemError::NoItemsFound => "there is nothing in it that was expected".to_owned(),
        _ => "it is not PEM".to_owned(),
    }
}
