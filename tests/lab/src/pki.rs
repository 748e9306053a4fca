//! Certificates: one authority per server, and identities signed by it.
//!
//! Users are client certificates because the API server understands those without a webhook: the common name is the user, the
//! organisation the group. Certificates can also be created expired, since a move has to survive "the laptop's credentials
//! expired halfway through".

use anyhow::{Context, Result, bail};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// A certificate and its key, PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key (PKCS #8).
    pub key: String,
}

/// Whether an identity is still valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// Longer than any test runs.
    Current,
    /// It ended years ago.
    Expired,
}

/// A server's certificate authority.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// A new authority.
    pub fn new(name: &str) -> Result<Self> {
        let mut params = params(name, &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// Its certificate, PEM.
    #[must_use]
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// The identity of a server on this machine.
    pub fn server(&self) -> Result<Identity> {
        let mut params = params("kube-apiserver", &[])?;
        params.subject_alt_names = names(&["localhost", "kubernetes.default.svc", "127.0.0.1"])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// The identity of a user. At most two groups: the certificate library knows two spellings of "organisation".
    pub fn user(&self, name: &str, groups: &[&str], validity: Validity) -> Result<Identity> {
        let mut params = params(name, groups)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if validity == Validity::Expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2020, 1, 2);
        }
        self.sign(params)
    }

    /// The identity of an agent, by the URI in its certificate.
    pub fn agent(&self, uri: &str) -> Result<Identity> {
        let mut params = params("agent", &[])?;
        params.subject_alt_names = vec![rcgen::SanType::URI(uri.try_into()?)];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Result<Identity> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer).context("sign a certificate")?;
        Ok(Identity { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// A key pair that signs service account tokens.
#[derive(Debug)]
pub struct TokenKeys {
    /// Signs: PEM, PKCS #8.
    pub private: String,
    /// Verifies: PEM. The API server does not accept the private key for that in this encoding.
    pub public: String,
}

impl TokenKeys {
    /// A new pair.
    pub fn new() -> Result<Self> {
        let key = KeyPair::generate()?;
        Ok(Self { private: key.serialize_pem(), public: key.public_key_pem() })
    }
}

/// A self-signed serving certificate for a process that requires one.
pub fn self_signed() -> Result<Identity> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    Ok(Identity { certificate: made.cert.pem(), key: made.signing_key.serialize_pem() })
}

fn params(name: &str, groups: &[&str]) -> Result<CertificateParams> {
    // The library keeps only one entry per attribute type; the organisation's number spelled out is another type.
    let organisation = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
    if groups.len() > organisation.len() {
        bail!("user {name}: a certificate can carry two groups, not {}", groups.len());
    }
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    for (kind, group) in organisation.into_iter().zip(groups) {
        subject.push(kind, *group);
    }
    let mut params = CertificateParams::default();
    params.distinguished_name = subject;
    Ok(params)
}

fn names(names: &[&str]) -> Result<Vec<rcgen::SanType>> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    Ok(CertificateParams::new(names)?.subject_alt_names)
}
