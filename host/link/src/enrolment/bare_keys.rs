//! TLS with an agent that has no certificate yet: it shows its bare public key (RFC 7250), and the handshake proves that it has the
//! other half.
//!
//! A certificate request would prove the same. But it contains names that must be ignored, and its format must be parsed before
//! its sender is known.

use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::AlwaysResolvesClientRawPublicKeys;
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer, UnixTime};
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible,
    RootCertStore, ServerConfig, SignatureScheme,
};

use super::key::AgentKey;
use crate::tls::{Time, TlsParts, crypto_provider};

/// Name of the protocol on both sides.
pub(crate) const ENROL: &[u8] = b"pivot-enrol/1";

/// Returns the controller's configuration. The authority in the parts is not used.
pub(crate) fn server_config(
    TlsParts { chain, key, .. }: TlsParts,
    time: Time,
) -> Result<ServerConfig, Error> {
    let supported = crypto_provider().signature_verification_algorithms;
    let mut config = ServerConfig::builder_with_details(crypto_provider(), time)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(BareKeys(supported)))
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![ENROL.to_vec()];
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// For an agent with this key.
pub(crate) fn client_connector(
    key: PrivateKeyDer<'static>,
    roots: RootCertStore,
    time: Time,
) -> Result<TlsConnector, Error> {
    let key = crypto_provider().key_provider.load_private_key(key)?;
    let public = key.public_key().ok_or_else(|| Error::General("a key without its other half".to_owned()))?;
    let shown = CertifiedKey::new(vec![CertificateDer::from(public.to_vec())], key);
    let mut config = ClientConfig::builder_with_details(crypto_provider(), time)
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(Arc::new(shown))));
    config.alpn_protocols = vec![ENROL.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Takes any key of an agent, and no certificate.
#[derive(Debug)]
struct BareKeys(WebPkiSupportedAlgorithms);

impl ClientCertVerifier for BareKeys {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match AgentKey::of_info(end_entity) {
            Some(_) => Ok(ClientCertVerified::assertion()),
            None => Err(CertificateError::BadEncoding.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(certificate.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
