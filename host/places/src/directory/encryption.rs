//! Files that only the holders of a key can read, in the format of `age`.
//!
//! Each file is encrypted on its own, so that the `age` tool opens one and a site can carry a part. Encryption keeps what is in a
//! file secret and shows damage. It proves nothing about the author of the file: anyone who knows a recipient can encrypt to it.
//!
//! Only X25519 keys are known here, which `age-keygen` makes. ssh keys would bring RSA along, and passphrases a derivation that a
//! file can make arbitrarily slow.

use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::DirectoryError;
use crate::regular;

#[cfg(feature = "encryption")]
mod age_files;
#[cfg(feature = "encryption")]
use age_files as library;
#[cfg(not(feature = "encryption"))]
mod no_library;
#[cfg(not(feature = "encryption"))]
use no_library as library;

/// The end of an encrypted file's name.
pub(super) const ENDING: &str = ".age";
/// First bytes of an encrypted file that is written as text.
const ARMOR: &[u8] = b"-----BEGIN AGE ENCRYPTED FILE-----";
/// Most bytes of a file of keys.
const MAX_KEY_FILE_BYTES: u64 = 64 << 10;
/// Most keys in a file. Each identity is tried on each stanza of a header.
const MAX_RECIPIENTS: usize = 64;
const MAX_IDENTITIES: usize = 16;
/// Most bytes and stanzas in the header of an encrypted file.
const MAX_HEADER_BYTES: usize = 16 << 10;
const MAX_STANZAS: usize = 128;

/// The encryption of a directory's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Encryption {
    /// Each file is one of `age`.
    Age,
}

/// The keys of readers, to which files are encrypted.
#[derive(Clone)]
pub struct Recipients(Vec<library::Recipient>);

/// The secret keys that open files.
#[derive(Clone)]
pub struct Identities(Vec<library::Identity>);

impl Recipients {
    /// Reads a file with a recipient on each line; `#` begins a comment.
    pub fn read(path: &Path) -> Result<Self, DirectoryError> {
        read_keys(path, MAX_RECIPIENTS, "recipients", |line| match line.starts_with("AGE-SECRET-KEY-") {
            true => "is a secret key, and recipients are public keys (age1…)",
            false => "is not an X25519 recipient (age1…), and keys of other kinds are not supported",
        })
        .map(Self)
    }

    pub(super) fn encrypt(&self, content: &[u8]) -> Result<Vec<u8>, String> {
        library::encrypt(&self.0, content).ok_or_else(|| "can't be encrypted".to_owned())
    }
}

impl Identities {
    /// Reads a file with an identity on each line, as `age-keygen` writes it; `#` begins a comment.
    pub fn read(path: &Path) -> Result<Self, DirectoryError> {
        let wrong = |line: &str| match line.starts_with("age1") {
            true => "is a public key; an identity (secret key) is needed",
            false => {
                "is not an X25519 identity (AGE-SECRET-KEY-1…), and keys of other kinds are not supported"
            }
        };
        let identities = read_keys(path, MAX_IDENTITIES, "identities", wrong).map(Self)?;
        if regular::is_accessible_to_others(path) {
            let path = path.display();
            tracing::warn!("others can read the secret keys in {path}: chmod 600 {path}");
        }
        Ok(identities)
    }

    /// Returns the content of a file, if the file is complete and unchanged.
    pub(super) fn decrypt(&self, encrypted: &[u8]) -> Result<Vec<u8>, String> {
        if encrypted.starts_with(ARMOR) {
            return Err("armored, as text; only binary files are read".to_owned());
        }
        check_header(encrypted)?;
        library::decrypt(&self.0, encrypted)
    }
}

/// Refuses headers that would take long: each stanza costs a multiplication for each identity.
fn check_header(encrypted: &[u8]) -> Result<(), String> {
    let head = encrypted.get(..MAX_HEADER_BYTES).unwrap_or(encrypted);
    let end = head.windows(5).position(|window| window == b"\n--- ");
    // A file that is shorter than a header is cut off, and reported as such later.
    if end.is_none() && encrypted.len() > MAX_HEADER_BYTES && head.starts_with(b"age-encryption.org/") {
        return Err(format!("its header is larger than {MAX_HEADER_BYTES} bytes"));
    }
    let stanzas = head.get(..end.unwrap_or_default()).unwrap_or_default();
    match stanzas.windows(4).filter(|window| window == b"\n-> ").count() > MAX_STANZAS {
        true => Err(format!("its header names more than {MAX_STANZAS} recipients")),
        false => Ok(()),
    }
}

/// Reads the keys in a file. Errors name the line, and never quote it.
fn read_keys<T: FromStr>(
    path: &Path,
    most: usize,
    what: &str,
    wrong: impl Fn(&str) -> &'static str,
) -> Result<Vec<T>, DirectoryError> {
    let shown = path.display().to_string();
    let unusable = |reason: String| DirectoryError::Unusable { path: shown.clone(), reason };
    if !library::IS_BUILT_IN {
        return Err(unusable("not used: this program was built without the feature `encryption`".to_owned()));
    }
    let content = regular::read_at_most(path, MAX_KEY_FILE_BYTES)
        .map_err(|source| DirectoryError::Io { path: shown.clone(), source })?;
    if content.starts_with(b"age-encryption.org/") || content.starts_with(ARMOR) {
        return Err(unusable("encrypted itself; decrypt it first".to_owned()));
    }
    let text = str::from_utf8(&content).map_err(|_| unusable("not UTF-8".to_owned()))?;
    let mut keys = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        keys.push(line.parse().map_err(|_| unusable(format!("line {} {}", index + 1, wrong(line))))?);
        if keys.len() > most {
            return Err(unusable(format!("more than {most} {what}")));
        }
    }
    match keys.is_empty() {
        true => Err(unusable(format!("no {what} in it"))),
        false => Ok(keys),
    }
}

#[cfg(feature = "encryption")]
#[cfg(test)]
mod tests;
