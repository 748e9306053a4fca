//! PEM files: one block with nothing around it, and why others are refused.
//!
//! People try the key they have, so what a refused file is gets named, with what to do.

/// The most bytes of a key file. An RSA key of 16,384 bits has fewer.
const SIZE: usize = 16 << 10;

const CONVERT: &str = "convert it with `openssl pkcs8 -topk8 -nocrypt`";
const ELSEWHERE: &str = "sign with the tool that holds the key, and attach what it wrote";

/// Reasons to refuse a key. No text contains any part of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No PEM file.
    #[error("it is not one PEM block: {0}")]
    NotPem(&'static str),
    /// A PEM file of something else.
    #[error("it is {what}, not {wanted}{}", hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default())]
    Kind {
        /// Kind of the file's content.
        what: String,
        /// Expected kind.
        wanted: &'static str,
        /// Advice for the user.
        hint: Option<String>,
    },
    /// A key of another algorithm.
    #[error("it is a key for {0}; ECDSA P-256 and Ed25519 are supported")]
    Algorithm(&'static str),
    /// A key that isn't encoded as its kind is.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    /// The system gave no random bytes.
    #[error("signing failed: the system has no random bytes")]
    Random,
}

impl KeyError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotPem(_) => "not-pem",
            Self::Kind { .. } => "key-kind",
            Self::Algorithm(_) => "key-algorithm",
            Self::Damaged(_) => "key-damaged",
            Self::Random => "no-random",
        }
    }
}

/// The only block of a PEM file, with nothing around it.
pub(crate) fn parse_single_block(text: &str) -> Result<(String, Vec<u8>), KeyError> {
    if text.len() > SIZE {
        return Err(KeyError::NotPem("it is too large for a key"));
    }
    let text = text.trim_ascii();
    if text.matches("-----BEGIN ").count() > 1 {
        return Err(KeyError::NotPem("it has several"));
    }
    if !text.starts_with("-----BEGIN ") {
        return Err(KeyError::NotPem("it doesn't begin with `-----BEGIN`"));
    }
    let end =
        text.rfind("-----END ").and_then(|at| text.get(at..)).ok_or(KeyError::NotPem("it has no end"))?;
    if end.contains(['\n', '\r']) || !end.ends_with("-----") {
        return Err(KeyError::NotPem("it has something after its end"));
    }
    let tag = text.get("-----BEGIN ".len()..).and_then(|rest| rest.split_once("-----"));
    let tag = tag.map(|(tag, _)| tag).unwrap_or_default();
    // What is encrypted need not be understood any further, and may have headers.
    if tag.contains("ENCRYPTED") || text.contains("Proc-Type:") {
        return Ok((format!("ENCRYPTED {}", tag.trim_start_matches("ENCRYPTED ")), Vec::new()));
    }
    let block = pem::parse(text).map_err(|_| KeyError::NotPem("its content is damaged"))?;
    if block.headers().iter().next().is_some() {
        return Err(KeyError::NotPem("it has headers"));
    }
    Ok((block.tag().to_owned(), block.into_contents()))
}

pub(crate) fn wrong_kind_error(tag: &str, wanted: &'static str, public: bool) -> KeyError {
    let (what, hint) = match tag {
        _ if public && tag.ends_with("PRIVATE KEY") => {
            ("a private key", Some("keep it secret, and name its public half here".to_owned()))
        }
        "PUBLIC KEY" => ("a public key", None),
        "ENCRYPTED SIGSTORE PRIVATE KEY" | "ENCRYPTED COSIGN PRIVATE KEY" => {
            ("an encrypted key of cosign", Some(ELSEWHERE.to_owned()))
        }
        tag if tag.starts_with("ENCRYPTED ") => {
            ("an encrypted key", Some(format!("{CONVERT} if that is acceptable, or {ELSEWHERE}")))
        }
        "EC PRIVATE KEY" => ("a key in the older format of EC keys", Some(CONVERT.to_owned())),
        "EC PARAMETERS" => ("the parameters of a curve", None),
        "RSA PRIVATE KEY" | "RSA PUBLIC KEY" => return KeyError::Algorithm("RSA"),
        "OPENSSH PRIVATE KEY" => ("a key of OpenSSH", Some(ELSEWHERE.to_owned())),
        "CERTIFICATE" | "TRUSTED CERTIFICATE" | "X509 CERTIFICATE" => (
            "a certificate",
            public.then(|| "`openssl x509 -pubkey -noout` prints the key that is in it".to_owned()),
        ),
        "CERTIFICATE REQUEST" | "NEW CERTIFICATE REQUEST" => ("a request for a certificate", None),
        "PGP PUBLIC KEY BLOCK" | "PGP PRIVATE KEY BLOCK" => ("a key of PGP", None),
        _ => ("something else in PEM", None),
    };
    KeyError::Kind { what: what.into(), wanted, hint }
}

/// Names the algorithm of a key that is refused, by the identifiers in its first bytes. Only for the message.
pub(crate) fn wrong_algorithm_error(der: &[u8]) -> KeyError {
    let head = der.get(..der.len().min(40)).unwrap_or_default();
    let has = |oid: &[u8]| head.windows(oid.len()).any(|bytes| bytes == oid);
    let known: [(&[u8], &str); 9] = [
        (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01], "RSA"),
        (&[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22], "ECDSA P-384"),
        (&[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23], "ECDSA P-521"),
        (&[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x0a], "ECDSA secp256k1"),
        (&[0x06, 0x03, 0x2b, 0x65, 0x71], "Ed448"),
        (&[0x06, 0x03, 0x2b, 0x65, 0x6e], "X25519, which can't sign"),
        (&[0x06, 0x03, 0x2b, 0x65, 0x6f], "X448, which can't sign"),
        (&[0x2a, 0x86, 0x48, 0xce, 0x38, 0x04], "DSA"),
        (&[0x06, 0x03, 0x2b, 0x65, 0x70], ""),
    ];
    match known.into_iter().find(|(oid, _)| has(oid)) {
        Some((_, "")) => KeyError::Damaged("it is not an Ed25519 key as `openssl` writes them"),
        Some((_, name)) => KeyError::Algorithm(name),
        None if has(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]) => {
            KeyError::Damaged("it is not a P-256 key as `openssl` writes them")
        }
        None => KeyError::Algorithm("an unknown algorithm"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::signatures::key::{Algorithm, PrivateKey, PublicKey};

    #[test]
    fn key_file_is_exactly_one_block() {
        let good = crate::signatures::tests::sample::key(Algorithm::P256).public_key().to_pem();
        for fine in [good.clone(), good.replace('\n', "\r\n"), format!("\n{good}\n\n")] {
            assert!(PublicKey::from_pem(&fine).is_ok(), "{fine:?}");
        }
        for (text, said) in [
            (String::new(), "doesn't begin"),
            (format!("a key:\n{good}"), "doesn't begin"),
            (format!("\u{feff}{good}"), "doesn't begin"),
            (format!("{good}{good}"), "has several"),
            (format!("{good}\nand more"), "something after its end"),
            (good.replace("-----END", "-----ENDE"), "has no end"),
            (good.replace("END PUBLIC", "END PRIVATE"), "content is damaged"),
            (good.replacen("MFkw", "MF!w", 1), "content is damaged"),
            (good.replacen("KEY-----\n", "KEY-----\nComment: a\n\n", 1), "has headers"),
            (good.replacen("MFkw", "MFkx", 1), "it is damaged"),
            (good.replace("PUBLIC KEY", "X\u{1b}[2J"), "something else in PEM"),
            (format!("{good}{}", "\n ".repeat(SIZE)), "too large"),
        ] {
            let error = PublicKey::from_pem(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
            assert!(!error.chars().any(pivot_core::messages::safe_text::is_hidden), "{error:?}");
        }
    }

    #[test]
    fn other_tools_keys_are_refused_by_kind() {
        let block = |tag: &str| format!("-----BEGIN {tag}-----\nMAo=\n-----END {tag}-----\n");
        for (tag, said) in [
            ("ENCRYPTED SIGSTORE PRIVATE KEY", "an encrypted key of cosign"),
            ("ENCRYPTED COSIGN PRIVATE KEY", "an encrypted key of cosign"),
            ("ENCRYPTED PRIVATE KEY", "an encrypted key,"),
            ("OPENSSH PRIVATE KEY", "a key of OpenSSH"),
            ("EC PRIVATE KEY", "convert it with `openssl pkcs8 -topk8 -nocrypt`"),
            ("RSA PRIVATE KEY", "a key for RSA"),
            ("EC PARAMETERS", "the parameters of a curve"),
            ("CERTIFICATE", "a certificate"),
            ("PGP PRIVATE KEY BLOCK", "a key of PGP"),
            ("PUBLIC KEY", "a public key"),
            ("PRIVATE KEY", "an unknown algorithm"),
        ] {
            let error = PrivateKey::from_pem(&block(tag)).unwrap_err().to_string();
            assert!(error.contains(said), "{tag}: {error}");
            if tag != "PUBLIC KEY" {
                assert!(PublicKey::from_pem(&block(tag)).is_err());
            }
        }
    }
}
