//! The token of an agent, which it shows once, and its stored digest.

use std::fmt;

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

/// A secret of 128 random bits, as text.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// SHA-256 of a token or of a public key, as text.
#[derive(Clone, Debug, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Digest(String);

impl PartialEq for Digest {
    /// In the same time, wherever they differ.
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Digest {
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self(to_hex(digest(&SHA256, bytes).as_ref()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The machine gives no random numbers.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random numbers")]
pub struct NoRandomness;

impl Token {
    pub(crate) fn new() -> Result<Self, NoRandomness> {
        random_bytes().map(|bytes| Self(to_hex(&bytes)))
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of_bytes(self.0.as_bytes())
    }
}

/// 128 bits that nobody can guess.
pub(crate) fn random_bytes() -> Result<[u8; 16], NoRandomness> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_random_and_not_printed() {
        let (one, other) = (Token::new().unwrap(), Token::new().unwrap());
        assert_eq!(one.0.len(), 32);
        assert_ne!(one, other);
        assert_ne!(one.digest(), other.digest());
        assert_eq!(one.digest(), Digest::of_bytes(one.0.as_bytes()));
        assert_eq!(format!("{one:?}"), "Token");
    }
}
