//! The operator's log, which shows the plugin's name with each line.

use crate::host;

pub use crate::level::Level;

/// Writes a line. The macros [`error!`](crate::error!), [`warn!`](crate::warn!), [`info!`](crate::info!) and
/// [`debug!`](crate::debug!) are shorter.
pub fn write_line(level: Level, message: &str) {
    host::write_log(level, message);
}

/// Writes an error to the operator's log, with the arguments of `format!`.
#[macro_export]
macro_rules! error {
    ($($arg:tt)+) => { $crate::log::write_line($crate::log::Level::Error, &::std::format!($($arg)+)) };
}

/// Writes a warning to the operator's log, with the arguments of `format!`.
#[macro_export]
macro_rules! warn {
    ($($arg:tt)+) => { $crate::log::write_line($crate::log::Level::Warn, &::std::format!($($arg)+)) };
}

/// Writes a line to the operator's log, with the arguments of `format!`.
#[macro_export]
macro_rules! info {
    ($($arg:tt)+) => { $crate::log::write_line($crate::log::Level::Info, &::std::format!($($arg)+)) };
}

/// Writes a debug line to the operator's log, shown with `-v`, with the arguments of `format!`.
#[macro_export]
macro_rules! debug {
    ($($arg:tt)+) => { $crate::log::write_line($crate::log::Level::Debug, &::std::format!($($arg)+)) };
}
