//! Flags of handovers.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};
use pivot_core::messages::risk::AcceptedBy;

use super::connection::{FromCluster, ToCluster, ToDirectory, describe_keys};
use super::moves::{DryRunArgs, SelectionArgs};
use super::output::{Kept, RecordArgs};
use super::under_way::{Taking, Which};
use super::waits::{PauseWaits, WaitArgs};
use crate::args::plugins::PluginArgs;
use crate::args::risks::RiskParser;

/// The steps of a handover. Its second step is a move out of the directory.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum HandoverVerb {
    /// Copy into a directory and leave the source paused, for a cluster that imports the directory (move --from-directory)
    Start(Box<HandoverStart>),
    /// Delete from the source what it handed over, once the target has imported it and taken over
    Finish(Box<HandoverFinish>),
    /// Unpause the source, if no cluster has imported the directory
    Cancel(Box<HandoverCancel>),
}

#[derive(Clone, Debug, Args)]
#[command(mut_arg("accept", |accept| accept.value_parser(RiskParser(Some(AcceptedBy::StartHandover)))))]
pub(crate) struct HandoverStart {
    /// The directory to write
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) from: FromCluster,
    /// Encrypt the directory to the age recipients (public keys) in this file, one per line
    #[arg(long, value_name = "FILE", help_heading = "Source and target")]
    pub(crate) encrypt_to: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) dry_run_args: DryRunArgs,
    /// Carry out this saved plan of a handover, and nothing else
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "What moves",
        conflicts_with_all = [
            "dry_run", "namespace", "all_namespaces", "cluster", "map_namespace", "exclude", "also_copy", "accept",
        ]
    )]
    pub(crate) plan: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pauses: PauseWaits,
    #[command(flatten)]
    pub(crate) taking: Taking,
    #[command(flatten)]
    pub(crate) kept: Kept,
    #[command(flatten)]
    pub(crate) recorded: RecordArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct HandoverFinish {
    #[command(flatten)]
    pub(crate) from: FromCluster,
    #[command(flatten)]
    pub(crate) to: ToCluster,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Before the point of no return: the same files of objects to add as the move began with; can be repeated
    #[arg(long, value_name = "FILE", action = ArgAction::Append, help_heading = "Which move")]
    pub(crate) with_manifest: Vec<PathBuf>,
    /// The saved plan that the move was begun with; needed before the point of no return, and what it decides counts after it, too
    #[arg(long, value_name = "FILE", help_heading = "Which move")]
    pub(crate) plan: Option<PathBuf>,
    /// Accept a risk by the code that a stop prints: CODE, or CODE=KIND.group; can be repeated. `explain CODE` describes it
    #[arg(long, value_name = "CODE[=KIND]", action = ArgAction::Append, value_parser = RiskParser(Some(AcceptedBy::FinishHandover)), hide_possible_values = true, help_heading = "Risks")]
    pub(crate) accept: Vec<String>,
    #[command(flatten)]
    pub(crate) waits: WaitArgs,
    #[command(flatten)]
    pub(crate) taking: Taking,
    #[command(flatten)]
    pub(crate) with: PluginArgs,
    #[command(flatten)]
    pub(crate) kept: Kept,
    #[command(flatten)]
    pub(crate) recorded: RecordArgs,
}

#[derive(Clone, Debug, Args)]
#[command(
    mut_arg("to_directory", |directory| directory.help("Directory that `handover start` wrote; its files are removed")),
    mut_arg("encrypt_to", describe_keys)
)]
pub(crate) struct HandoverCancel {
    #[command(flatten)]
    pub(crate) from: FromCluster,
    #[command(flatten)]
    pub(crate) to: ToCluster,
    #[command(flatten)]
    pub(crate) to_files: ToDirectory,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Accept a risk by the code that a stop prints; `explain CODE` describes it
    #[arg(long, value_name = "CODE", action = ArgAction::Append, value_parser = RiskParser(Some(AcceptedBy::CancelHandover)), hide_possible_values = true, help_heading = "Risks")]
    pub(crate) accept: Vec<String>,
    #[command(flatten)]
    pub(crate) taking: Taking,
    #[command(flatten)]
    pub(crate) with: PluginArgs,
    #[command(flatten)]
    pub(crate) kept: Kept,
}
