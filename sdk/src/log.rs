//! Words to the operator's log, which shows the plugin's name beside them.

use crate::host;

/// How much a line weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed.
    Error,
    /// Worth a person's attention.
    Warn,
    /// Worth knowing.
    Info,
    /// For whoever looks for a defect (`-v`).
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

/// Writes a line. The macros [`error!`](crate::error!), [`warn!`](crate::warn!), [`info!`](crate::info!) and
/// [`debug!`](crate::debug!) are shorter.
pub fn line(level: Level, message: &str) {
    host::log(level, message);
}

/// Writes an error to the operator's log, with the arguments of `format!`.
#[macro_export]
macro_rules! error {
    ($($arg:tt)+) => { $crate::log::line($crate::log::Level::Error, &::std::format!($($arg)+)) };
}

/// Writes a warning to the operator's log, with the arguments of `format!`.
#[macro_export]
macro_rules! warn {
    ($($arg:tt)+) => { $crate::log::line($crate::log::Level::Warn, &::std::format!($($arg)+)) };
}

/// Writes a line to the operator's log, with the arguments of `format!`.
#[macro_export]
macro_rules! info {
    ($($arg:tt)+) => { $crate::log::line($crate::log::Level::Info, &::std::format!($($arg)+)) };
}

/// Writes a line to the operator's log where it was asked for details, with the arguments of `format!`.
#[macro_export]
macro_rules! debug {
    ($($arg:tt)+) => { $crate::log::line($crate::log::Level::Debug, &::std::format!($($arg)+)) };
}
