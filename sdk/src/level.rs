//! The levels of log lines.

/// The level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed.
    Error,
    /// Worth a person's attention.
    Warn,
    /// Worth knowing.
    Info,
    /// For debugging (`-v`).
    Debug,
}

impl Level {
    /// The contract's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}
