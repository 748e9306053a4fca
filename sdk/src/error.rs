//! Errors of hooks, and of questions to the host.

use std::borrow::Cow;
use std::fmt;

/// A result whose error the host understands.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A code for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// `denied`, `not-found`, `unreachable`, `invalid`, … or the plugin's own. Lower-case words joined by dashes.
    pub code: Cow<'static, str>,
    /// A sentence. It appears in logs and on terminals: no data of Secrets in it.
    pub message: String,
}

impl Error {
    /// Creates an error with a code of the plugin.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }

    /// Creates an error for input that can't be read.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new("invalid", message)
    }

    /// Returns true if the host refused the question, because it was not declared or not granted.
    pub fn is_denied(&self) -> bool {
        self.code == "denied"
    }

    /// Returns true if the requested object does not exist, or a side does not serve its kind.
    pub fn is_not_found(&self) -> bool {
        matches!(&*self.code, "not-found" | "no-such-kind")
    }

    /// Prepends what was being done: `reading the lease: not found`.
    #[must_use]
    pub fn with_context(mut self, doing: impl fmt::Display) -> Self {
        self.message = format!("{doing}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Error {}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::invalid(error.to_string())
    }
}
