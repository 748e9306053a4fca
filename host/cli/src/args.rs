//! The command line, in two stages: what was typed ([`flags`]), and what it means ([`checked`]).
//!
//! Code outside this module never sees a raw flag. Flags are named as in clusterctl if it has them, otherwise as in kubectl, so
//! that a line in a script keeps working when only its first word is replaced.

mod between;
mod candidates;
mod checked;
mod choices;
mod clusters;
mod command;
mod describe;
mod environment;
mod examples;
mod flags;
mod manual;
mod parts;
mod plugins;
mod protection;
mod risks;
mod scripts;
mod service;
mod side;
mod task;
#[cfg(test)]
mod tests;
mod usage;
mod values;
mod workload;

pub(crate) use between::{DirectoryEnd, Ends, SourceEnd, TargetEnd};
pub(crate) use candidates::candidates;
pub(crate) use checked::check;
pub(crate) use choices::Choices;
#[cfg(test)]
pub(crate) use command::command;
pub(crate) use command::{describe_variables_without_effect, invoked_name, parse};
pub(crate) use describe::DescribeArgs;
pub(crate) use flags::{
    Color, ConnectionArgs, FromCluster, Hide, LogFormat, Look, OutputFormat, Picture, PlanVerb, ToCluster,
    ToDirectory,
};
pub(crate) use manual::pages;
pub(crate) use plugins::{
    Componentize, Import, PluginArgs, PluginBenchArgs, PluginCheckArgs, PluginClaim, PluginTestArgs,
    PluginVerb, ProjectLanguage, RehearseArgs, ReplayArgs, Signing, Trial,
};
pub(crate) use protection::Protection;
pub(crate) use risks::{needs_kinds, needs_kinds_of_move, to_accept};
pub(crate) use scripts::script;
pub(crate) use service::{
    AgentCallArgs, AgentInvitation, AgentManifests, AgentVerb, Answering, Controlled, ControllerManifests,
    ControllerVerb, MountArgs, OfController, SecretName,
};
pub(crate) use side::OneSide;
pub(crate) use task::{BackupJob, Roles, Task};
pub(crate) use usage::UsageError;
pub(crate) use values::namespace_map;
pub(crate) use workload::{Within, Workload};
