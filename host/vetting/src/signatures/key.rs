//! Keys: ECDSA P-256 with SHA-256 (what cosign makes by default) and Ed25519, as PEM.
//!
//! Two algorithms and one encoding of each: a public key is compared byte by byte with the two prefixes that a
//! SubjectPublicKeyInfo of these has, so there is no DER parser to attack, and one key has one fingerprint. Everything else is
//! refused by its kind, because people try the key they have.

use std::fmt;

use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey as Point, agree_ephemeral};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
    UnparsedPublicKey,
};

use crate::digest::prefixed_sha256;
pub use crate::signatures::key_file::KeyError;
use crate::signatures::key_file::{parse_single_block, wrong_algorithm_error, wrong_kind_error};

/// A SubjectPublicKeyInfo of P-256 up to its uncompressed point.
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// A SubjectPublicKeyInfo of Ed25519 up to its 32 bytes.
const ED: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Ed25519 keys of small order, without their sign bit: for these, anyone can make signatures.
const WEAK: [[u8; 32]; 7] = [
    small_order_key(0x00, 0x00, 0x00),
    small_order_key(0x01, 0x00, 0x00),
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5,
        0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a,
        0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ],
    small_order_key(0xec, 0xff, 0x7f),
    small_order_key(0xed, 0xff, 0x7f),
    small_order_key(0xee, 0xff, 0x7f),
];

const fn small_order_key(first: u8, middle: u8, last: u8) -> [u8; 32] {
    let mut bytes = [middle; 32];
    let [head, .., tail] = &mut bytes;
    *head = first;
    *tail = last;
    bytes
}

/// Signature algorithm of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256; signatures are ASN.1 DER.
    P256,
    /// Ed25519 of the message itself, not of its digest.
    Ed25519,
}

/// A public key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey {
    algorithm: Algorithm,
    /// The point, or the 32 bytes.
    bytes: Vec<u8>,
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({:?}, {})", self.algorithm, self.fingerprint())
    }
}

impl PublicKey {
    /// Reads a PEM file with one `PUBLIC KEY`.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let (tag, der) = parse_single_block(text)?;
        if tag != "PUBLIC KEY" {
            return Err(wrong_kind_error(&tag, "a public key (`PUBLIC KEY`)", true));
        }
        if let Some(point) = der.strip_prefix(&P256) {
            if point.len() != 65 || point.first() != Some(&4) {
                return Err(KeyError::Damaged("its point is not an uncompressed one of 65 bytes"));
            }
            return Self { algorithm: Algorithm::P256, bytes: point.into() }.ensure_on_curve();
        }
        if let Some(bytes) = der.strip_prefix(&ED) {
            return match <[u8; 32]>::try_from(bytes) {
                Err(_) => Err(KeyError::Damaged("it has not 32 bytes")),
                Ok(mut plain) => {
                    plain[31] &= 0x7f;
                    if WEAK.contains(&plain) {
                        return Err(KeyError::Damaged("anyone could sign for it"));
                    }
                    Ok(Self { algorithm: Algorithm::Ed25519, bytes: bytes.into() })
                }
            };
        }
        Err(wrong_algorithm_error(&der))
    }

    /// Refuses a point that isn't on the curve, as early as a person can see it. ring looks at points only when it uses them.
    fn ensure_on_curve(self) -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        let mine = EphemeralPrivateKey::generate(&ECDH_P256, &random).map_err(|_| KeyError::Random)?;
        agree_ephemeral(mine, &Point::new(&ECDH_P256, &self.bytes), |_| ())
            .map_err(|_| KeyError::Damaged("its point is not on the curve"))?;
        Ok(self)
    }

    /// Returns the key's algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// As SubjectPublicKeyInfo, in DER.
    pub fn to_der(&self) -> Vec<u8> {
        let prefix: &[u8] = match self.algorithm {
            Algorithm::P256 => &P256,
            Algorithm::Ed25519 => &ED,
        };
        [prefix, &self.bytes].concat()
    }

    /// As PEM, as `openssl pkey -pubout` writes it.
    pub fn to_pem(&self) -> String {
        let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
        pem::encode_config(&pem::Pem::new("PUBLIC KEY", self.to_der()), config)
    }

    /// `sha256:` and the digest of [`PublicKey::to_der`].
    pub fn fingerprint(&self) -> String {
        prefixed_sha256(&self.to_der())
    }

    /// Returns true if this key made the signature of the message.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        match self.algorithm {
            Algorithm::P256 => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.bytes).verify(message, signature)
            }
            Algorithm::Ed25519 => UnparsedPublicKey::new(&ED25519, &self.bytes).verify(message, signature),
        }
        .is_ok()
    }
}

enum Pair {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// A private key, as long as it takes to sign.
pub struct PrivateKey(Pair);

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey(of {:?})", self.public_key())
    }
}

impl PrivateKey {
    /// Reads a PEM file with one `PRIVATE KEY` (PKCS#8, without passphrase), as `openssl genpkey` writes it.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let (tag, der) = parse_single_block(text)?;
        if tag != "PRIVATE KEY" {
            return Err(wrong_kind_error(&tag, "an unencrypted private key (`PRIVATE KEY`, PKCS#8)", false));
        }
        // openssl writes Ed25519 keys without their public half.
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der) {
            return Ok(Self(Pair::Ed25519(pair)));
        }
        match EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der, &SystemRandom::new()) {
            Ok(pair) => Ok(Self(Pair::P256(pair))),
            Err(_) => Err(wrong_algorithm_error(&der)),
        }
    }

    /// The public half.
    pub fn public_key(&self) -> PublicKey {
        let (algorithm, bytes) = match &self.0 {
            Pair::P256(pair) => (Algorithm::P256, pair.public_key().as_ref()),
            Pair::Ed25519(pair) => (Algorithm::Ed25519, pair.public_key().as_ref()),
        };
        PublicKey { algorithm, bytes: bytes.into() }
    }

    /// Signs a message. Fails only if the system has no random bytes.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        match &self.0 {
            Pair::P256(pair) => pair
                .sign(&SystemRandom::new(), message)
                .map(|signature| signature.as_ref().into())
                .map_err(|_| KeyError::Random),
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem_of(prefix: &[u8], bytes: &[u8]) -> String {
        pem::encode(&pem::Pem::new("PUBLIC KEY", [prefix, bytes].concat()))
    }

    #[test]
    fn weak_keys_are_refused() {
        for weak in WEAK {
            for sign in [0, 0x80] {
                let mut key = weak;
                key[31] |= sign;
                assert_eq!(
                    PublicKey::from_pem(&pem_of(&ED, &key)),
                    Err(KeyError::Damaged("anyone could sign for it"))
                );
            }
        }
        // The same signature, of the neutral element and zero, holds for many messages: that is what makes them weak. ring
        // refuses some of the spellings by itself.
        let forged = [small_order_key(1, 0, 0), [0; 32]].concat();
        let forgeable = WEAK.iter().filter(|key| {
            let key = PublicKey { algorithm: Algorithm::Ed25519, bytes: key.to_vec() };
            (0..100u8).any(|message| key.verify(&[message], &forged))
        });
        assert!(forgeable.count() >= 5);
    }

    #[test]
    fn points_off_the_curve_are_refused() {
        let error = PublicKey::from_pem(&pem_of(&P256, &[&[4][..], &[7; 64]].concat()));
        assert_eq!(error, Err(KeyError::Damaged("its point is not on the curve")));
        for (bytes, first) in [(65, 2), (64, 4), (66, 4), (33, 2)] {
            let point = [&[first][..], &vec![7; bytes - 1]].concat();
            let error = PublicKey::from_pem(&pem_of(&P256, &point));
            assert_eq!(error, Err(KeyError::Damaged("its point is not an uncompressed one of 65 bytes")));
        }
        assert_eq!(
            PublicKey::from_pem(&pem_of(&ED, &[9; 33])),
            Err(KeyError::Damaged("it has not 32 bytes"))
        );
    }
}
