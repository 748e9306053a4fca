//! The error of a command line that makes no sense.

/// Why a command line makes no sense.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UsageError(pub(crate) String);

pub(super) type Result<T> = std::result::Result<T, UsageError>;

pub(super) fn usage<T>(text: impl Into<String>) -> Result<T> {
    Err(UsageError(text.into()))
}
