//! SHA-256 digests as text: 64 digits, lower case, so that one digest has one spelling.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

const PREFIX: &str = "sha256:";

/// The SHA-256 of bytes.
pub(crate) fn sha256_bytes(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The SHA-256 of bytes, as 64 hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in sha256_bytes(bytes) {
        // Writing to a string doesn't fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The SHA-256 of bytes, as `sha256:` and 64 hexadecimal digits.
pub fn prefixed_sha256(bytes: &[u8]) -> String {
    format!("{PREFIX}{}", sha256(bytes))
}

/// Returns the digits of a SHA-256 after `sha256:`; `None` for any other text.
pub fn strip_sha256_prefix(text: &str) -> Option<&str> {
    text.strip_prefix(PREFIX).filter(|digits| is_sha256(digits))
}

/// Returns true if a text is a SHA-256 in the spelling of this program.
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_one_spelling() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(b""), empty);
        assert!(is_sha256(empty));
        for other in [&empty.to_uppercase(), "", &empty[1..], &format!("{empty}0"), &empty.replace('e', "g")]
        {
            assert!(!is_sha256(other), "{other}");
            assert_eq!(strip_sha256_prefix(&format!("sha256:{other}")), None, "{other}");
        }
        assert_eq!(strip_sha256_prefix(&prefixed_sha256(b"")), Some(empty));
        assert_eq!(strip_sha256_prefix(empty), None);
    }
}
