//! Errors for invalid command lines.

/// Why a command line is invalid.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UsageError(pub(crate) String);

pub(super) type Result<T> = std::result::Result<T, UsageError>;

pub(super) fn usage<T>(text: impl Into<String>) -> Result<T> {
    Err(UsageError(text.into()))
}
