//! Flags of commands that print manifests.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pivot_core::messages::risk::AcceptedBy;

use super::backup::BackupJobArgs;
use super::connection::{FromCluster, ToCluster};
use super::moves::SelectionArgs;
use crate::args::protection::Protection;
use crate::args::risks::RiskParser;
use crate::args::service::{AgentManifests, ControllerManifests};
use crate::args::side::OneSide;

/// The manifests that can be printed.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Generate {
    /// Print the roles that a move needs on one side
    Rbac(Box<Rbac>),
    /// Print a CronJob that backs a cluster up into a volume, with the permissions that it needs; change nothing
    Backup(Box<BackupJobArgs>),
    /// Print a policy that protects a cluster which manages itself from being deleted by mistake; needs no cluster
    Protection(Protection),
    /// Print what to install in a cluster for a controller: the definition of Pivots, the controller and its roles; needs no cluster
    Controller(ControllerManifests),
    /// Print what to install in a cluster for an agent with a certificate of another authority; needs no cluster. `generate rbac`
    /// prints its roles
    Agent(AgentManifests),
}

/// A move, and the user of its roles.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("accept", |accept| accept.value_parser(RiskParser(Some(AcceptedBy::Plan)))))]
pub(crate) struct Rbac {
    #[command(flatten)]
    pub(crate) from: FromCluster,
    #[command(flatten)]
    pub(crate) to: ToCluster,
    /// Print the roles of a move out of a directory of manifests
    #[arg(long, value_name = "DIR", help_heading = "Source and target")]
    pub(crate) from_directory: Option<PathBuf>,
    /// Decrypt --from-directory with the age identities (secret keys) in this file
    #[arg(long, value_name = "FILE", help_heading = "Source and target")]
    pub(crate) identity: Option<PathBuf>,
    /// Print the roles of a copy into a directory, which deletes nothing from the source
    #[arg(long, value_name = "DIR", help_heading = "Source and target")]
    pub(crate) to_directory: Option<PathBuf>,
    /// The source stays paused after the copy into a directory: `handover start`
    #[arg(long, requires = "to_directory", help_heading = "Source and target")]
    pub(crate) handover: bool,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// The side
    #[arg(long, value_enum, value_name = "SIDE", help_heading = "Roles")]
    pub(crate) side: OneSide,
    /// Bind the roles to this user too; a service account is system:serviceaccount:NAMESPACE:NAME
    #[arg(long, value_name = "USER", help_heading = "Roles")]
    pub(crate) bind_to: Option<String>,
    /// Include permissions for an agent that finishes the move alone (agent run --finish-alone-after)
    #[arg(long, help_heading = "Roles")]
    pub(crate) finish_alone: bool,
    /// Include permissions for a guard (move --guard)
    #[arg(long, help_heading = "Roles", conflicts_with_all = ["to_directory", "from_directory"])]
    pub(crate) guard: bool,
}
