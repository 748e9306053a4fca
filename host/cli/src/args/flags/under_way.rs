//! Flags of commands about a move under way.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use pivot_core::messages::risk::AcceptedBy;

use super::connection::{ConnectionArgs, describe_directory, describe_keys};
use super::output::{Kept, RecordArgs};
use super::waits::WaitArgs;
use crate::args::plugins::PluginArgs;
use crate::args::risks::RiskParser;

/// Which move is meant.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Which move")]
pub(crate) struct Which {
    /// ID of the move, or its first characters; needed if several moves are under way
    #[arg(value_name = "ID")]
    pub(crate) which: Option<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Risks")]
pub(crate) struct Taking {
    /// Break the lease of a run that you know to be dead, without waiting for it to expire
    #[arg(long)]
    pub(crate) break_lease: bool,
}

#[derive(Clone, Debug, Args)]
#[command(mut_arg("to_directory", describe_directory), mut_arg("encrypt_to", describe_keys))]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) which: Which,
}

#[derive(Clone, Debug, Args)]
#[command(mut_arg("to_directory", describe_directory), mut_arg("encrypt_to", describe_keys))]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Before the point of no return: the files that the move began with; can be repeated
    #[arg(long, value_name = "FILE", action = ArgAction::Append, help_heading = "Which move")]
    pub(crate) with_manifest: Vec<PathBuf>,
    /// The saved plan that the move began with; required before the point of no return
    #[arg(long, value_name = "FILE", help_heading = "Which move")]
    pub(crate) plan: Option<PathBuf>,
    /// Accept a risk by the code that a stop prints: CODE, or CODE=KIND.group; can be repeated. `explain CODE` describes it
    #[arg(long, value_name = "CODE[=KIND]", action = ArgAction::Append, value_parser = RiskParser(Some(AcceptedBy::Resume)), hide_possible_values = true, help_heading = "Risks")]
    pub(crate) accept: Vec<String>,
    #[command(flatten)]
    pub(crate) waits: WaitArgs,
    #[command(flatten)]
    pub(crate) taking: Taking,
    #[command(flatten)]
    pub(crate) with: PluginArgs,
    /// After the point of no return: finish without a source that is lost for good
    #[arg(long, help_heading = "Risks")]
    pub(crate) without_source: bool,
    /// Unpause this Cluster: after --accept world-changed or a restore, once you have compared its machines, or if its annotation
    /// pivot-host.io/undo is gone; can be repeated
    #[arg(long, value_name = "NAMESPACE/NAME", action = ArgAction::Append, help_heading = "Risks")]
    pub(crate) unpause: Vec<String>,
    /// After a restore: remove the copies of this Cluster's Machines that have no node, and set the replicas to the Machines that are
    /// left; name it once you have seen that these machines are gone; nothing is deleted in a cloud or a rack; can be
    /// repeated
    #[arg(long, value_name = "NAMESPACE/NAME", action = ArgAction::Append, help_heading = "Risks")]
    pub(crate) drop: Vec<String>,
    /// With --accept world-changed, if the source has no record of a move with which the target went on: pause this Cluster in the source,
    /// once you have seen that the target runs it; can be repeated
    #[arg(long, value_name = "NAMESPACE/NAME", action = ArgAction::Append, help_heading = "Risks")]
    pub(crate) pause: Vec<String>,
    #[command(flatten)]
    pub(crate) kept: Kept,
    #[command(flatten)]
    pub(crate) recorded: RecordArgs,
}

#[derive(Clone, Debug, Args)]
#[command(
    mut_arg("to_directory", |directory| directory.help("Directory that the move copies into; its files are removed")),
    mut_arg("encrypt_to", describe_keys)
)]
pub(crate) struct RollbackArgs {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) taking: Taking,
    /// Unpause the source without a target that is lost for good
    #[arg(long, help_heading = "Risks")]
    pub(crate) without_target: bool,
    /// Accept a risk by the code that a stop prints; `explain CODE` describes it
    #[arg(long, value_name = "CODE", action = ArgAction::Append, value_parser = RiskParser(Some(AcceptedBy::Rollback)), hide_possible_values = true, conflicts_with = "without_target", help_heading = "Risks")]
    pub(crate) accept: Vec<String>,
    /// Delete the objects that were created from a directory that is lost
    #[arg(long, conflicts_with_all = ["without_target", "accept"], help_heading = "Risks")]
    pub(crate) without_source: bool,
    /// Unpause this Cluster: after --accept world-changed, once you have compared its machines, or if its annotation
    /// pivot-host.io/undo is gone; can be repeated
    #[arg(long, value_name = "NAMESPACE/NAME", action = ArgAction::Append, help_heading = "Risks")]
    pub(crate) unpause: Vec<String>,
    #[command(flatten)]
    pub(crate) with: PluginArgs,
    #[command(flatten)]
    pub(crate) kept: Kept,
}
