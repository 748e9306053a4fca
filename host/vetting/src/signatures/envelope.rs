//! One signed line: a DSSE envelope, bare or inside a Sigstore bundle.
//!
//! A payload is reached through [`Verified`] only, which holds the very bytes whose signature was verified. What an envelope
//! says about its key (`keyid`, the bundle's `hint`) isn't used: every key of the trust file is tried.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use pivot_core::messages::safe_text::escape_line;

use crate::digest::sha256_bytes;
use crate::fields::Fields;
use crate::json::{JsonError, parse};
use crate::signatures::key::{KeyError, PrivateKey, PublicKey};

/// The payload type of in-toto statements.
pub const IN_TOTO: &str = "application/vnd.in-toto+json";
/// The media type of the bundles that are written.
pub const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// The older spelling of the same version.
const BUNDLE_OLDER: &str = "application/vnd.dev.sigstore.bundle+json;version=0.3";
/// The most bytes of an envelope, and of a file of them.
pub const SIZE: usize = 1 << 20;
/// The most signatures of a bare envelope. Each is tried with each key.
pub const SIGNATURES: usize = 16;

/// Reasons to refuse a line as an envelope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// Not the JSON that it should be.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// Too large.
    #[error("it has {0} bytes; {SIZE} at most are read")]
    Size(usize),
    /// Bytes that aren't base64.
    #[error("`{0}` is not base64 with padding")]
    Base64(String),
    /// A bundle of another version.
    #[error("it is a bundle of the type `{0}`; version 0.3 is supported")]
    Version(String),
    /// A bundle around something else.
    #[error(
        "it is a signature of a file, which says nothing about it; an attestation (`dsseEnvelope`) is needed"
    )]
    NotAnAttestation,
    /// No signature, or more than there may be.
    #[error("it has {0} signatures; {1}")]
    Signatures(usize, &'static str),
    /// A bundle with no key or with several.
    #[error("its `verificationMaterial` names {0} keys or certificates, not one")]
    Material(usize),
}

impl EnvelopeError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Json(error) => error.code(),
            Self::Size(_) => "too-large",
            Self::Base64(_) => "not-base64",
            Self::Version(_) => "bundle-version",
            Self::NotAnAttestation => "not-an-attestation",
            Self::Signatures(..) => "signatures",
            Self::Material(_) => "verification-material",
        }
    }
}

/// A signed payload, read and not yet verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    line: String,
    payload_type: String,
    payload: Vec<u8>,
    signatures: Vec<Vec<u8>>,
    keyless: bool,
}

/// A payload of which at least one key has made a signature.
#[derive(Debug)]
pub struct Verified<'e, 'k> {
    payload_type: &'e str,
    payload: &'e [u8],
    keys: Vec<&'k PublicKey>,
}

impl<'e, 'k> Verified<'e, 'k> {
    /// Returns the signed bytes. Their type was signed with them.
    pub fn payload(&self) -> &'e [u8] {
        self.payload
    }

    /// The type of the payload.
    pub fn payload_type(&self) -> &'e str {
        self.payload_type
    }

    /// The keys that made signatures of it, each once, in the order in which they were given.
    pub fn keys(&self) -> &[&'k PublicKey] {
        &self.keys
    }
}

impl Envelope {
    /// Reads a line. It may also be the content of a file that a tool wrote, of several lines.
    pub fn parse(text: &str) -> Result<Self, EnvelopeError> {
        if text.len() > SIZE {
            return Err(EnvelopeError::Size(text.len()));
        }
        let value = parse(text)?;
        // What others wrote stays as it is, if it is a line.
        let text = text.trim_ascii();
        let line = if text.contains(['\n', '\r']) { value.to_string() } else { text.to_owned() };
        let fields = Fields::from_value(value)?;
        if fields.contains("mediaType") {
            Self::parse_bundle(line, fields)
        } else {
            Self::parse_dsse(line, fields, false)
        }
    }

    fn parse_bundle(line: String, mut fields: Fields) -> Result<Self, EnvelopeError> {
        let media = fields.take_text("mediaType")?;
        if media != BUNDLE && media != BUNDLE_OLDER {
            return Err(EnvelopeError::Version(escape_line(&media, 80)));
        }
        if fields.contains("messageSignature") {
            return Err(EnvelopeError::NotAnAttestation);
        }
        let mut material = fields.take_object("verificationMaterial")?;
        let named = ["publicKey", "certificate", "x509CertificateChain"].map(|name| material.contains(name));
        let count = named.iter().filter(|named| **named).count();
        if count != 1 {
            return Err(EnvelopeError::Material(count));
        }
        let keyless = !material.contains("publicKey");
        if keyless {
            let name = if material.contains("certificate") { "certificate" } else { "x509CertificateChain" };
            // Nothing of it is used, and its fields are Sigstore's.
            material.take_object(name)?;
        } else {
            let mut key = material.take_object("publicKey")?;
            key.take_text_if_present("hint")?;
            key.refuse_remaining()?;
        }
        if material.contains("tlogEntries") {
            material.take_list("tlogEntries")?;
        }
        if material.contains("timestampVerificationData") {
            material.take_object("timestampVerificationData")?;
        }
        material.refuse_remaining()?;
        let dsse = fields.take_object("dsseEnvelope")?;
        fields.refuse_remaining()?;
        let envelope = Self::parse_dsse(line, dsse, keyless)?;
        match envelope.signatures.len() {
            1 => Ok(envelope),
            count => Err(EnvelopeError::Signatures(count, "a bundle has exactly one")),
        }
    }

    fn parse_dsse(line: String, mut fields: Fields, keyless: bool) -> Result<Self, EnvelopeError> {
        let payload_type = fields.take_text("payloadType")?;
        let payload = take_base64(&mut fields, "payload")?;
        let list = fields.take_objects("signatures")?;
        fields.refuse_remaining()?;
        if list.is_empty() {
            return Err(EnvelopeError::Signatures(0, "at least one is needed"));
        }
        if list.len() > SIGNATURES {
            return Err(EnvelopeError::Signatures(list.len(), "16 at most are read"));
        }
        let mut signatures = Vec::new();
        for mut signature in list {
            signature.take_text_if_present("keyid")?;
            signatures.push(take_base64(&mut signature, "sig")?);
            signature.refuse_remaining()?;
        }
        Ok(Self { line, payload_type, payload, signatures, keyless })
    }

    /// Signs an in-toto statement; the result is a Sigstore bundle.
    pub fn sign(statement: &str, key: &PrivateKey) -> Result<Self, KeyError> {
        let payload = statement.as_bytes().to_vec();
        let signature = key.sign(&pre_authentication_encoding(IN_TOTO, &payload))?;
        // Field by field what cosign writes: no `keyid`, and as hint the digest of the key in base64 of its bytes.
        let line = format!(
            "{{\"mediaType\":\"{BUNDLE}\",\"verificationMaterial\":{{\"publicKey\":{{\"hint\":\"{}\"}}}},\
             \"dsseEnvelope\":{{\"payload\":\"{}\",\"payloadType\":\"{IN_TOTO}\",\"signatures\":[{{\"sig\":\"{}\"}}]}}}}",
            STANDARD.encode(sha256_bytes(&key.public_key().to_der())),
            STANDARD.encode(&payload),
            STANDARD.encode(&signature),
        );
        Ok(Self { line, payload_type: IN_TOTO.into(), payload, signatures: vec![signature], keyless: false })
    }

    /// Returns the keys that have signed the payload. Returns none if no key has, or if the envelope was signed with a
    /// certificate.
    pub fn verified_by<'k>(&self, keys: impl IntoIterator<Item = &'k PublicKey>) -> Option<Verified<'_, 'k>> {
        if self.keyless {
            return None;
        }
        let message = pre_authentication_encoding(&self.payload_type, &self.payload);
        let mut found: Vec<&PublicKey> = Vec::new();
        for key in keys {
            let made = self.signatures.iter().any(|signature| key.verify(&message, signature));
            if made && !found.contains(&key) {
                found.push(key);
            }
        }
        let Self { payload_type, payload, .. } = self;
        (!found.is_empty()).then_some(Verified { payload_type, payload, keys: found })
    }

    /// The envelope as one line of a signature file.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Returns true if another envelope has the same payload and signatures, in any spelling.
    pub fn has_same_content(&self, other: &Self) -> bool {
        let parts =
            |of: &Self| (of.payload_type.clone(), of.payload.clone(), of.signatures.clone(), of.keyless);
        parts(self) == parts(other)
    }

    /// Returns true if the envelope was signed with a certificate, for which only a certificate authority can vouch.
    pub fn is_keyless(&self) -> bool {
        self.keyless
    }

    /// Returns the number of signatures.
    pub fn signature_count(&self) -> usize {
        self.signatures.len()
    }

    /// Returns the claimed type and payload before any verification, to show them or to ignore the line.
    pub fn unverified_payload(&self) -> (&str, &[u8]) {
        (&self.payload_type, &self.payload)
    }
}

/// The bytes that a DSSE signature is made of.
pub fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// Takes bytes in base64, of either alphabet: DSSE allows both.
fn take_base64(fields: &mut Fields, name: &str) -> Result<Vec<u8>, EnvelopeError> {
    let text = fields.take_text(name)?;
    let bytes = STANDARD.decode(&text).or_else(|_| URL_SAFE.decode(&text));
    bytes.map_err(|_| EnvelopeError::Base64(fields.field_path(name)))
}
