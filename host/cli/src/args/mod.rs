//! The command line, in two stages: what was typed ([`flags`]), and what it means ([`checked`]).
//!
//! Code outside this module never sees a raw flag. Flags are named as in clusterctl if it has them, otherwise as in kubectl, so
//! that a line in a script keeps working when only its first word is replaced.

mod between;
mod checked;
mod clusters;
mod command;
mod describe;
mod examples;
mod flags;
mod parts;
#[cfg(test)]
mod tests;
mod usage;
mod values;
mod workload;

pub(crate) use between::{DirectoryEnd, Ends, SourceEnd, TargetEnd};
pub(crate) use checked::{Choices, Roles, Task, check};
pub(crate) use command::{command, parse};
pub(crate) use describe::Description;
pub(crate) use flags::{
    Color, Connection, Hide, LogFormat, Look, OutputFormat, Picture, PlanVerb, PluginVerb, Trial, With,
};
pub(crate) use usage::UsageError;
pub(crate) use workload::{Within, Workload};
