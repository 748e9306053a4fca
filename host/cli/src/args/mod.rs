//! The command line, in two stages: what was typed ([`flags`]), and what it means ([`checked`]).
//!
//! Nothing behind this module sees a raw flag. Names are clusterctl's where clusterctl has the flag, kubectl's
//! otherwise, so that a line in a script goes on working with another word in front.

mod between;
mod checked;
mod command;
mod examples;
mod flags;
#[cfg(test)]
mod tests;
mod usage;
mod values;

pub(crate) use between::{Ends, SourceEnd, TargetEnd};
pub(crate) use checked::{Choices, Task, check};
pub(crate) use command::{command, parse};
pub(crate) use flags::{Color, Connection, Hide, LogFormat, Look, OutputFormat, PluginVerb, Trial, With};
pub(crate) use usage::UsageError;
