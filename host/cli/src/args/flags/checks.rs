//! Flags of commands that check a cluster or a directory, or show a Cluster.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};
use pivot_core::messages::risk::AcceptedBy;

use super::connection::FromCluster;
use super::output::Color;
use crate::args::plugins::PluginArgs;
use crate::args::risks::RiskParser;

/// The cluster to check, and the objects that would move.
#[derive(Clone, Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) from: FromCluster,
    /// Kubeconfig of another management cluster: also find Clusters that are active in both
    #[arg(long, value_name = "FILE", help_heading = "Source and target")]
    pub(crate) to_kubeconfig: Option<PathBuf>,
    /// Kubeconfig context of that cluster; without --to-kubeconfig, a context of the source's kubeconfig
    #[arg(long, value_name = "NAME", help_heading = "Source and target")]
    pub(crate) to_kubeconfig_context: Option<String>,
    /// Namespace to check; by default all
    #[arg(short, long, value_name = "NAME", help_heading = "What moves")]
    pub(crate) namespace: Option<String>,
    /// Check all namespaces, which is the default
    #[arg(short = 'A', long, help_heading = "What moves")]
    pub(crate) all_namespaces: bool,
    /// Assume that these objects stay; can be repeated
    #[arg(long, value_name = "KIND.group[/NS/NAME]", action = ArgAction::Append, help_heading = "What moves")]
    pub(crate) exclude: Vec<String>,
    /// Assume that these objects are also copied; can be repeated
    #[arg(long, value_name = "KIND.group[/NS/NAME]", action = ArgAction::Append, help_heading = "What moves")]
    pub(crate) also_copy: Vec<String>,
    /// Accept a risk by the code that a problem prints: CODE, or CODE=KIND.group; can be repeated. `explain CODE` describes it
    #[arg(long, value_name = "CODE[=KIND]", action = ArgAction::Append, value_parser = RiskParser(Some(AcceptedBy::Plan)), hide_possible_values = true, help_heading = "Risks")]
    pub(crate) accept: Vec<String>,
    #[command(flatten)]
    pub(crate) with: PluginArgs,
}

/// A directory to check.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct VerifyArgs {
    /// The directory
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Look into an encrypted directory too, with the age identities (secret keys) in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// Restore the directory into memory too, with the plugins of --plugins, and compare the result with the files
    #[arg(long)]
    pub(crate) restore: bool,
    #[command(flatten)]
    pub(crate) with: PluginArgs,
}

/// What can be described.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Describe {
    /// Show a Cluster, its control plane and its workers as a tree, each with its state
    Cluster(Box<DescribeCluster>),
}

/// One Cluster, where it is, and how much of it is shown. clusterctl's switches take a value, too: `--grouping=false`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DescribeCluster {
    /// The Cluster: NAME, or NAMESPACE/NAME
    #[arg(value_name = "NAME")]
    pub(crate) cluster: String,
    /// Kubeconfig of the management cluster; by default KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long, value_name = "FILE", help_heading = "Where it is")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Kubeconfig context; by default the current one
    #[arg(long, alias = "context", value_name = "NAME", help_heading = "Where it is")]
    pub(crate) kubeconfig_context: Option<String>,
    /// Namespace of the Cluster; by default the context's, or `default`; of a directory, whichever has a Cluster of this name
    #[arg(short, long, value_name = "NAME", help_heading = "Where it is")]
    pub(crate) namespace: Option<String>,
    /// Read a directory of manifests instead of a cluster
    #[arg(long, value_name = "DIR", help_heading = "Where it is")]
    pub(crate) from_directory: Option<PathBuf>,
    /// Decrypt --from-directory with the age identities (secret keys) in this file
    #[arg(long, value_name = "FILE", help_heading = "Where it is")]
    pub(crate) identity: Option<PathBuf>,
    /// Impersonate this user
    #[arg(long = "as", value_name = "USER", help_heading = "Where it is")]
    pub(crate) as_user: Option<String>,
    /// Impersonate this group; can be repeated
    #[arg(long, value_name = "GROUP", action = ArgAction::Append, help_heading = "Where it is")]
    pub(crate) as_group: Vec<String>,
    /// Show all conditions of these objects: Kind, Kind/name or all, separated by commas; with a + at the end (all+), only those
    /// that sum up the object or are not as they should be
    #[arg(long, value_name = "WHOSE", value_delimiter = ',', action = ArgAction::Append, help_heading = "Display")]
    pub(crate) show_conditions: Vec<String>,
    /// Show MachineSets
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", action = ArgAction::Set, hide_possible_values = true, hide_default_value = true, help_heading = "Display")]
    pub(crate) show_machinesets: bool,
    /// Show ClusterResourceSets, and whether they are applied to the Cluster
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", action = ArgAction::Set, hide_possible_values = true, hide_default_value = true, help_heading = "Display")]
    pub(crate) show_resourcesets: bool,
    /// Show the names of templates
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", action = ArgAction::Set, hide_possible_values = true, hide_default_value = true, help_heading = "Display")]
    pub(crate) show_templates: bool,
    /// Show infrastructure and bootstrap objects even if they are ready, or say the same as their Machine
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", action = ArgAction::Set, hide_possible_values = true, hide_default_value = true, help_heading = "Display")]
    pub(crate) echo: bool,
    /// Show Machines that say the same in one row; --grouping=false gives each its own
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "true", default_missing_value = "true", action = ArgAction::Set, hide_possible_values = true, help_heading = "Display")]
    pub(crate) grouping: bool,
    /// When to use colors. Without a value: always. Other commands follow NO_COLOR, CLICOLOR and CLICOLOR_FORCE, as `auto` does here
    #[arg(
        short,
        long,
        value_enum,
        value_name = "WHEN",
        num_args = 0..=1,
        default_value = "auto",
        default_missing_value = "always",
        help_heading = "Display"
    )]
    pub(crate) color: Color,
}
