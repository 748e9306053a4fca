//! Tasks that command lines turn into.

use std::path::PathBuf;

use pivot_core::Side;
use pivot_core::messages::risk::Risk;
use pivot_engine::{Resume, Rollback};

use super::between::DirectoryEnd;
use super::choices::Choices;
use super::describe::DescribeArgs;
use super::flags::{PlanVerb, Shell};
use super::plugins::{PluginArgs, PluginVerb, Signing};
use super::protection::Protection;
use super::service::{AgentManifests, AgentVerb, ControllerManifests, ControllerVerb};

/// What to do.
#[derive(Debug)]
pub(crate) enum Task {
    Plan(Choices),
    SavedPlan(PlanVerb),
    Doctor(Choices),
    Move(Choices),
    /// The state of all moves, or of the named one.
    Status(Choices, Option<String>),
    Resume(Choices, Resume),
    Rollback(Choices, Rollback),
    Describe(DescribeArgs),
    Rbac(Choices, Roles),
    BackupJob(Choices, BackupJob),
    /// The risk to explain; none: all.
    Explain(Option<Risk>),
    /// Examines a directory. The flag is true if the directory is also restored into memory, with these plugins.
    Verify(DirectoryEnd, PluginArgs, bool),
    Sign(Signing),
    Plugin(PluginVerb),
    Controller(ControllerVerb),
    ControllerManifests(ControllerManifests),
    Agent(AgentVerb),
    AgentManifests(AgentManifests),
    Protection(Protection),
    Version,
    Completion(Shell),
    Manual(PathBuf),
}

/// The roles to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) side: Side,
    pub(crate) bind_to: Option<String>,
    pub(crate) finish_alone: bool,
    pub(crate) guard: bool,
}

/// The CronJob to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BackupJob {
    pub(crate) image: String,
    pub(crate) namespace: String,
    pub(crate) schedule: String,
    pub(crate) storage: String,
    pub(crate) encrypt_to: Option<PathBuf>,
    pub(crate) has_plugins: bool,
    /// Arguments of the backup that select its objects and plugins, except for its namespaces.
    pub(crate) selection: Vec<String>,
}
