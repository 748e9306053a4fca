//! Flags of commands that plan or begin a move.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand, ValueEnum};
use pivot_core::messages::risk::AcceptedBy;

use super::connection::ConnectionArgs;
use super::output::{Kept, RecordArgs};
use super::under_way::Taking;
use super::waits::WaitArgs;
use crate::args::plugins::{PluginArgs, Signing};
use crate::args::risks::RiskParser;

/// The choice of objects, and the accepted risks.
#[derive(Clone, Debug, Args)]
pub(crate) struct SelectionArgs {
    /// Namespace to move; by default the context's, or `default`
    #[arg(short, long, value_name = "NAME", help_heading = "What moves")]
    pub(crate) namespace: Option<String>,
    /// Move all namespaces
    #[arg(short = 'A', long, help_heading = "What moves")]
    pub(crate) all_namespaces: bool,
    /// Move only this Cluster and the objects it needs (NAME or NAMESPACE/NAME). Shared objects are copied and kept; can be repeated
    #[arg(long, value_name = "NAME", action = ArgAction::Append, help_heading = "What moves")]
    pub(crate) cluster: Vec<String>,
    /// Give a namespace another name in the target; can be repeated
    ///
    /// References to it are renamed in known fields. If another field names it, the move is refused.
    #[arg(long, value_name = "OLD=NEW", action = ArgAction::Append, help_heading = "What moves")]
    pub(crate) map_namespace: Vec<String>,
    /// Leave these objects in the source: a kind, or one object. Refused if a moving object depends on them; can be repeated
    ///
    /// KIND.group, KIND.group/NS/NAME, or `KIND.group/NS/*` for a whole namespace. `:LABEL=VALUE` or `:LABEL` at the end selects by label.
    #[arg(long, value_name = "KIND.group[/NS/NAME]", action = ArgAction::Append, help_heading = "What moves")]
    pub(crate) exclude: Vec<String>,
    /// Also copy these objects, without deleting them from the source; can be repeated
    ///
    /// KIND.group, KIND.group/NS/NAME, or `KIND.group/NS/*` for a whole namespace. `:LABEL=VALUE` or `:LABEL` at the end selects by label.
    #[arg(long, value_name = "KIND.group[/NS/NAME]", action = ArgAction::Append, help_heading = "What moves")]
    pub(crate) also_copy: Vec<String>,
    /// Also create the objects in this file (YAML or JSON) in the target; can be repeated
    #[arg(long, value_name = "FILE", action = ArgAction::Append, help_heading = "What moves")]
    pub(crate) with_manifest: Vec<PathBuf>,
    /// Accept a risk by the code that a refusal prints: CODE, or CODE=KIND.group; can be repeated. `explain CODE` describes it
    #[arg(long, value_name = "CODE[=KIND]", action = ArgAction::Append, value_parser = RiskParser(Some(AcceptedBy::Move)), hide_possible_values = true, help_heading = "Risks")]
    pub(crate) accept: Vec<String>,
    #[command(flatten)]
    pub(crate) with: PluginArgs,
}

#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(mut_arg("accept", |accept| accept.value_parser(RiskParser(Some(AcceptedBy::Plan)))))]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    /// The source stays paused after the copy into a directory: `handover start`
    #[arg(long, requires = "to_directory", help_heading = "Source and target")]
    pub(crate) handover: bool,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Show each object, below its owner
    #[arg(long, help_heading = "Output")]
    pub(crate) tree: bool,
    #[command(flatten)]
    pub(crate) kept: Kept,
    /// Also save the plan in this file, for `plan sign` and `move --plan`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) saved: Option<PlanVerb>,
}

/// What can be done with saved plans.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum PlanVerb {
    /// Show a saved plan, the summary first; needs no cluster
    Show {
        /// The file
        file: PathBuf,
        /// Show each object, below its owner
        #[arg(long, help_heading = "Output")]
        tree: bool,
    },
    /// Approve a saved plan in FILE.intoto.jsonl; trust files can require approvals
    Sign(Signing),
    /// Show how a saved plan differs from an older one; exit 10 if it does
    Diff {
        /// The older one
        old: PathBuf,
        /// The newer one
        new: PathBuf,
    },
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MoveOrAsk {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) waits: WaitArgs,
    #[command(flatten)]
    pub(crate) taking: Taking,
    /// Have both clusters refuse to unpause the objects until the move ends, except for pivot-host; needs Kubernetes 1.30
    ///
    /// This is against accidents, such as a script that unpauses a Cluster. The move creates an admission policy in each cluster, and
    /// removes both when it ends or is rolled back. `generate rbac --guard` prints the permissions.
    #[arg(long, help_heading = "Risks", conflicts_with_all = ["to_directory", "from_directory"])]
    pub(crate) guard: bool,
    #[command(flatten)]
    pub(crate) dry_run_args: DryRunArgs,
    /// Carry out this saved plan and nothing else. The plan selects objects and accepts risks
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "What moves",
        conflicts_with_all = [
            "dry_run", "namespace", "all_namespaces", "cluster", "map_namespace", "exclude", "also_copy", "accept",
        ]
    )]
    pub(crate) plan: Option<PathBuf>,
    /// Wait until the Clusters are provisioned, their GitOps owners are suspended, and the target answers and has their providers; an hour by default
    #[arg(
        long,
        value_name = "DURATION",
        help_heading = "Waiting",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1h",
        conflicts_with_all = ["dry_run", "plan"]
    )]
    pub(crate) wait_for_provisioning: Option<String>,
    #[command(flatten)]
    pub(crate) kept: Kept,
    #[command(flatten)]
    pub(crate) recorded: RecordArgs,
}

/// Says whether the command changes anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct DryRunArgs {
    /// Change nothing, and show the plan: `client` (true) only reads, `server` also dry-runs each create on the target
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "client", hide_possible_values = true, help_heading = "What moves")]
    pub(crate) dry_run: Option<Dry>,
}

/// kubectl's words for a dry run, and the words of clusterctl's boolean, as Go parses one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dry {
    #[value(aliases = ["true", "True", "TRUE", "t", "T", "1"])]
    Client,
    Server,
    #[value(aliases = ["false", "False", "FALSE", "f", "F", "0"])]
    None,
}
