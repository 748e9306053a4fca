//! The public key of an agent, only on the curve P-256. So a stranger's bytes are compared and never parsed.

use rcgen::{PKCS_ECDSA_P256_SHA256, PublicKeyData, SignatureAlgorithm};
use tokio_rustls::rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

use super::token::Digest;

/// Prefix of the subject public key info of each such key. The uncompressed point follows.
const HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const POINT: usize = 65;

/// The public key of an agent, as a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentKey([u8; POINT]);

impl AgentKey {
    /// That of a subject public key info.
    pub(crate) fn of_info(info: &[u8]) -> Option<Self> {
        info.strip_prefix(&HEAD).and_then(|point| point.try_into().ok()).map(Self)
    }

    pub(crate) fn of_certificate(certificate: &CertificateDer<'_>) -> Option<Self> {
        let certificate = EndEntityCert::try_from(certificate).ok()?;
        Self::of_info(&certificate.subject_public_key_info())
    }

    /// Returns the digest that identifies the key.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of_bytes(&self.subject_public_key_info())
    }
}

impl PublicKeyData for AgentKey {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};

    // proves: T57
    #[test]
    fn agent_keys_are_on_p256() {
        let info = KeyPair::generate().unwrap().subject_public_key_info();
        let key = AgentKey::of_info(&info).unwrap();
        assert_eq!(key.subject_public_key_info(), info);
        assert_eq!(key.digest(), Digest::of_bytes(&info));
        for algorithm in [&PKCS_ED25519, &PKCS_ECDSA_P384_SHA384] {
            let other = KeyPair::generate_for(algorithm).unwrap().subject_public_key_info();
            assert_eq!(AgentKey::of_info(&other), None);
        }
        for odd in [&info[..90], &[info.as_slice(), &[0]].concat(), &[]] {
            assert_eq!(AgentKey::of_info(odd), None);
        }
    }
}
