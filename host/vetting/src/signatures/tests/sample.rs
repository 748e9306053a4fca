//! Keys, statements and policies for tests.

use std::collections::BTreeMap;

use pem::{Pem, encode};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair};

use crate::signatures::card;
use crate::signatures::envelope::Envelope;
use crate::signatures::key::{Algorithm, PrivateKey};
use crate::signatures::policy::Policy;
use crate::signatures::signature_file::SignatureFile;
use crate::signatures::statement::{Claim, Predicate, Statement, SubjectFile, Topic};
use crate::signatures::trust_file::{self, TrustError};

/// The digest of the component that is judged.
pub(crate) const SHA: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// A new key.
pub(crate) fn key(algorithm: Algorithm) -> PrivateKey {
    let random = SystemRandom::new();
    let der = match algorithm {
        Algorithm::P256 => EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random),
        Algorithm::Ed25519 => Ed25519KeyPair::generate_pkcs8(&random),
    };
    PrivateKey::from_pem(&encode(&Pem::new("PRIVATE KEY", der.unwrap().as_ref()))).unwrap()
}

/// A statement about a component with this digest.
pub(crate) fn statement(claim: Claim, name: &str, sha256: &str) -> Statement {
    let predicate = Predicate {
        claim,
        card: (claim.topic() == Topic::Plugin).then(|| card::sample_card(name)),
        reviewer: Some("Alice".into()),
        date: "2026-11-23T13:00:00Z".parse().unwrap(),
        note: None,
        checked: None,
    };
    Statement::new(vec![SubjectFile { name: format!("{name}.wasm"), sha256: sha256.into() }], predicate)
        .unwrap()
}

/// A claim about the plugin `hosts`, signed.
pub(crate) fn vetted(key: &PrivateKey) -> Envelope {
    Envelope::sign(&statement(Claim::Vetted, "hosts", SHA).to_payload(), key).unwrap()
}

/// Some people's keys.
#[derive(Default)]
pub(crate) struct People(BTreeMap<String, PrivateKey>);

impl People {
    /// Returns a person's key, and creates it on the first call.
    pub(crate) fn key(&mut self, name: &str) -> &PrivateKey {
        self.0.entry(name.into()).or_insert_with(|| key(Algorithm::Ed25519))
    }

    /// A trust file in which each path of a key is someone's name.
    pub(crate) fn trust(&mut self, text: &str) -> Result<Policy, TrustError> {
        trust_file::parse(text, &mut |path| match path {
            "missing" => Err("no such file".into()),
            "rsa" => Ok("-----BEGIN RSA PUBLIC KEY-----\nMAo=\n-----END RSA PUBLIC KEY-----\n".into()),
            name => Ok(self.key(name).public_key().to_pem()),
        })
    }

    /// A file in which each of these says that it vetted the plugin.
    pub(crate) fn vetted(&mut self, names: &[&str]) -> SignatureFile {
        file(names.iter().map(|name| vetted(self.key(name))))
    }
}

/// A file with these lines.
pub(crate) fn file(envelopes: impl IntoIterator<Item = Envelope>) -> SignatureFile {
    let text: String = envelopes.into_iter().map(|envelope| envelope.line().to_owned() + "\n").collect();
    SignatureFile::parse(text.as_bytes()).unwrap()
}
