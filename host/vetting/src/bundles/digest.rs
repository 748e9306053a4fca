//! Digests as descriptors have them.

use crate::digest::sha256;

/// The digest of bytes, as descriptors have it.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256(bytes))
}
