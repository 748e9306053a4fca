//! Certificates of an authority, in directories as a Secret is mounted.

use std::fs;

use pivot_link::TlsFiles;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};
use tempfile::TempDir;

pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer, directory: tempfile::tempdir().unwrap() }
    }

    /// Who is called, at this name.
    pub(crate) fn controller(&self, host: &str) -> TlsFiles {
        let names = CertificateParams::new(vec![host.to_owned()]).unwrap().subject_alt_names;
        self.papers(&format!("controller-{host}"), names, ExtendedKeyUsagePurpose::ServerAuth, false)
    }

    /// An agent whose certificate has these URIs.
    pub(crate) fn agent(&self, uris: &[&str]) -> TlsFiles {
        self.papers(&names(uris), addresses(uris), ExtendedKeyUsagePurpose::ClientAuth, false)
    }

    /// The same, too late.
    pub(crate) fn expired(&self, uris: &[&str]) -> TlsFiles {
        self.papers("expired", addresses(uris), ExtendedKeyUsagePurpose::ClientAuth, true)
    }

    fn papers(
        &self,
        to: &str,
        names: Vec<SanType>,
        usage: ExtendedKeyUsagePurpose,
        expired: bool,
    ) -> TlsFiles {
        let directory = self.directory.path().join(to);
        fs::create_dir_all(&directory).unwrap();
        let mut params = CertificateParams::default();
        params.subject_alt_names = names;
        params.extended_key_usages = vec![usage];
        if expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2020, 1, 2);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(directory.join("tls.crt"), certificate.pem()).unwrap();
        fs::write(directory.join("tls.key"), key.serialize_pem()).unwrap();
        fs::write(directory.join("ca.crt"), self.issuer.pem()).unwrap();
        TlsFiles::in_directory(directory)
    }
}

fn addresses(uris: &[&str]) -> Vec<SanType> {
    uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap())).collect()
}

fn names(uris: &[&str]) -> String {
    format!("agent-{}", uris.join("-").replace(['/', ':'], "-"))
}
