//! Flags of backups.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use pivot_core::messages::risk::AcceptedBy;

use super::connection::FromCluster;
use super::output::Kept;
use crate::args::plugins::PluginArgs;
use crate::args::risks::RiskParser;

/// A copy of a cluster that stays in service.
#[derive(Clone, Debug, Args)]
pub(crate) struct BackupArgs {
    /// The directory to write
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) content: BackupContent,
    #[command(flatten)]
    pub(crate) kept: Kept,
}

/// The content of backups.
#[derive(Clone, Debug, Args)]
pub(crate) struct BackupContent {
    #[command(flatten)]
    pub(crate) from: FromCluster,
    /// Encrypt the directory to the age recipients (public keys) in this file, one per line
    #[arg(long, value_name = "FILE", help_heading = "Source and target")]
    pub(crate) encrypt_to: Option<PathBuf>,
    /// Namespace to back up; by default the context's, or `default`
    #[arg(short, long, value_name = "NAME", help_heading = "Selection")]
    pub(crate) namespace: Option<String>,
    /// Back up all namespaces
    #[arg(short = 'A', long, help_heading = "Selection")]
    pub(crate) all_namespaces: bool,
    /// Back up only this Cluster and the objects it needs (NAME or NAMESPACE/NAME); can be repeated
    #[arg(long, value_name = "NAME", action = ArgAction::Append, help_heading = "Selection")]
    pub(crate) cluster: Vec<String>,
    /// Leave out these objects: a kind, or one object. Refused if another object depends on them; can be repeated
    #[arg(long, value_name = "KIND.group[/NS/NAME]", action = ArgAction::Append, help_heading = "Selection")]
    pub(crate) exclude: Vec<String>,
    /// Also copy these objects; can be repeated
    #[arg(long, value_name = "KIND.group[/NS/NAME]", action = ArgAction::Append, help_heading = "Selection")]
    pub(crate) also_copy: Vec<String>,
    /// Accept a risk by the code that a refusal prints: CODE, or CODE=KIND.group; can be repeated. `explain CODE` describes it
    #[arg(long, value_name = "CODE[=KIND]", action = ArgAction::Append, value_parser = RiskParser(Some(AcceptedBy::Move)), hide_possible_values = true, help_heading = "Risks")]
    pub(crate) accept: Vec<String>,
    #[command(flatten)]
    pub(crate) with: PluginArgs,
}

/// Backups that a cluster makes of itself.
#[derive(Clone, Debug, Args)]
pub(crate) struct BackupJobArgs {
    #[command(flatten)]
    pub(crate) content: BackupContent,
    /// The image of pivot-host. With --plugins, the backups are made with the plugins of the image
    #[arg(long, value_name = "IMAGE", help_heading = "Installation")]
    pub(crate) image: String,
    /// The namespace to install it in
    #[arg(long, value_name = "NAME", default_value = "pivot-host-backup", help_heading = "Installation")]
    pub(crate) job_namespace: String,
    /// Times of the backups, as in a CronJob
    #[arg(long, value_name = "CRON", default_value = "0 2 * * *", help_heading = "Installation")]
    pub(crate) schedule: String,
    /// Size of the volume
    #[arg(long, value_name = "QUANTITY", default_value = "10Gi", help_heading = "Installation")]
    pub(crate) storage: String,
}
