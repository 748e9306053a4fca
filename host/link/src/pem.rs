//! Certificates and keys as text.

use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// At least one.
pub(crate) fn parse_certificates(text: &str) -> Option<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, _>>().ok()?;
    (!read.is_empty()).then_some(read)
}

pub(crate) fn parse_key(text: &str) -> Option<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_slice(text.as_bytes()).ok()
}

/// Parses the authorities that certificates may come from.
pub(crate) fn parse_roots(text: &str) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in parse_certificates(text)? {
        roots.add(certificate).ok()?;
    }
    Some(roots)
}
