//! Errors of a registry.

use pivot_core::messages::safe_text::escape_line;
use pivot_vetting::bundles::BundleError;

/// Most characters of a registry's own words that are printed.
const SAID: usize = 200;

/// Errors of a registry. No text contains credentials or contents of files.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The typed text is not a place in a registry.
    #[error("`{0}` isn't a reference to a registry: {1}")]
    Reference(String, &'static str),
    /// No connection.
    #[error("{host} can't be reached: {why}")]
    Unreachable {
        /// Whom.
        host: String,
        /// The reason.
        why: String,
    },
    /// Too slow.
    #[error("{host} did not answer in time: {what}")]
    Slow {
        /// The registry.
        host: String,
        /// The missing part of the answer.
        what: &'static str,
    },
    /// The registry refused something.
    #[error("{host} refused to {what}: HTTP {status}{said}")]
    Refused {
        /// The registry.
        host: String,
        /// The refused request.
        what: &'static str,
        /// The status.
        status: u16,
        /// The registry's codes, as ` (CODE)`.
        said: String,
    },
    /// The user has no permission for this request.
    #[error(
        "{host} doesn't let you {what}: log in with `docker login {host}`, or another tool that writes the same file"
    )]
    Unauthorized {
        /// The registry.
        host: String,
        /// The refused request.
        what: &'static str,
    },
    /// The registry gave an answer that no registry should give.
    #[error("{host} answered what no registry should: {why}")]
    Answer {
        /// The registry.
        host: String,
        /// The fault in the answer.
        why: String,
    },
    /// The stored credentials can't be used.
    #[error("the stored credentials for {host} can't be used: {why}")]
    Credentials {
        /// For whom.
        host: String,
        /// The reason.
        why: String,
    },
    /// The content at this place is not a bundle.
    #[error("{0} is no bundle of plugins: {1}")]
    Bundle(String, BundleError),
}

impl RegistryError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Reference(..) => "reference",
            Self::Unreachable { .. } => "unreachable",
            Self::Slow { .. } => "slow",
            Self::Refused { .. } => "refused",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Answer { .. } => "answer",
            Self::Credentials { .. } => "credentials",
            Self::Bundle(_, why) => why.code(),
        }
    }

    pub(crate) fn bad_answer(host: &str, why: impl Into<String>) -> Self {
        Self::Answer { host: host.to_owned(), why: why.into() }
    }
}

/// The codes in a registry's error document, which are words of the protocol; its messages could be anything.
pub(crate) fn error_codes(body: &[u8]) -> String {
    let document: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let errors = document.as_ref().and_then(|document| document.get("errors")?.as_array());
    let codes = errors.into_iter().flatten().filter_map(|error| error.get("code")?.as_str());
    let codes: Vec<&str> = codes
        .filter(|code| !code.is_empty() && code.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
        .collect();
    if codes.is_empty() { String::new() } else { format!(" ({})", escape_line(&codes.join(", "), SAID)) }
}
