//! What can be typed. The doc comments are the help texts.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Args, Parser, Subcommand, ValueEnum};
pub(crate) use clap_complete::Shell;
use pivot_core::messages::risk::AcceptedBy;
use pivot_core::objects::names::RECORD_NAMESPACE;
use pivot_engine::Options;

use super::plugins::{PluginArgs, PluginVerb, Signing};
use super::protection::Protection;
use super::risks::RiskParser;
use super::service::{AgentManifests, AgentVerb, ControllerManifests, ControllerVerb};
use super::side::OneSide;
use super::values::format_duration;

/// Move Cluster API objects between management clusters, safely and resumably.
#[derive(Debug, Parser)]
#[command(name = "pivot-host", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) look: Look,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Show what would move, in which order, what stays and why; change nothing
    Plan(Box<PlanArgs>),
    /// Check a management cluster long before a move: objects that would be refused, left behind or missing; change nothing
    Doctor(Box<DoctorArgs>),
    /// Move, or continue a move that stopped
    Move(Box<MoveOrAsk>),
    /// Show how far moves are; change nothing
    Status(Box<StatusArgs>),
    /// Continue a move that stopped
    Resume(Box<ResumeArgs>),
    /// Undo a move that has not passed the point of no return
    Rollback(Box<RollbackArgs>),
    /// Copy a management cluster into a directory, without pausing it
    ///
    /// All kinds are read at one version, if the server can do that. In the files, everything is paused as a move would have paused it.
    Backup(Box<BackupArgs>),
    /// Hand a source over in a directory, for a cluster that no network reaches
    #[command(subcommand)]
    Handover(HandoverVerb),
    /// Show a Cluster with all that belongs to it; change nothing
    #[command(subcommand)]
    Describe(Describe),
    /// Print manifests to apply: roles, a policy, a controller or an agent; change nothing
    #[command(subcommand)]
    Generate(Generate),
    /// Explain a risk: cause, danger and alternatives. Without a code, list all risks; needs no cluster
    Explain {
        /// Code of a risk, as refusals print it
        #[arg(value_name = "CODE", value_parser = RiskParser(None), hide_possible_values = true)]
        code: Option<String>,
    },
    /// Check a directory that a move wrote; needs no cluster
    Verify(VerifyArgs),
    /// Sign a directory that a move wrote. Writes the signature to DIR.intoto.jsonl; trust files decide which signers are accepted
    #[command(mut_arg("file", |directory| directory.value_name("DIR").help("The directory")))]
    Sign(Signing),
    /// Write, inspect and add plugins
    #[command(subcommand)]
    Plugin(PluginVerb),
    /// Run a controller, which carries out the Pivots of a cluster
    #[command(subcommand)]
    Controller(ControllerVerb),
    /// Run, invite or remove an agent, which connects this cluster to a controller elsewhere
    #[command(subcommand)]
    Agent(AgentVerb),
    /// Print the version
    Version,
    /// Print a completion script for a shell
    ///
    /// It is for pivot-host and for links to it named kubectl-pivot and clusterctl-pivot. For bash, zsh and fish it completes
    /// `clusterctl pivot` too, if it is loaded after clusterctl's own. For `kubectl pivot`, put one more link on the PATH, named
    /// kubectl_complete-pivot: kubectl's own completion calls it.
    Completion {
        /// Which shell
        shell: Shell,
    },
    /// Write the manual's pages into a directory that `man -M` reads
    #[command(hide = true)]
    Man {
        /// The directory
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

impl Cli {
    /// When to use colors: as the flag of `describe cluster` says, and otherwise as the terminal and the environment do.
    pub(crate) fn color(&self) -> Color {
        match &self.verb {
            Verb::Describe(Describe::Cluster(typed)) => typed.color,
            _ => Color::Auto,
        }
    }
}

/// How things are shown.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Look {
    /// Format of the result on stdout; dot, mermaid and html draw a plan
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text", global = true)]
    pub(crate) output: OutputFormat,
    /// Show more: every object, and why objects stay; twice, requests to servers too. Takes a level as well: -v 5
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
    /// Show only problems, warnings and the result
    #[arg(short, long, conflicts_with = "verbose", global = true)]
    pub(crate) quiet: bool,
    /// Format of progress and messages on stderr
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", global = true)]
    pub(crate) log_format: LogFormat,
    /// Which API server warnings to hide; by default those about the form of finalizer names
    #[arg(long, value_enum, value_name = "WHICH", default_value = "default", global = true)]
    pub(crate) hide_api_warnings: Hide,
}

/// A source that is a cluster.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source and target")]
pub(crate) struct FromCluster {
    /// Kubeconfig of the source; by default KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Kubeconfig context of the source; by default the current one
    #[arg(long, alias = "context", value_name = "NAME")]
    pub(crate) kubeconfig_context: Option<String>,
    /// Impersonate this user in the source
    #[arg(long = "as", value_name = "USER")]
    pub(crate) as_user: Option<String>,
    /// Impersonate this group in the source; can be repeated
    #[arg(long, value_name = "GROUP", action = ArgAction::Append)]
    pub(crate) as_group: Vec<String>,
    /// Namespace of leases and records of moves, on both sides; a move creates it if it is missing
    #[arg(long, value_name = "NAME", default_value = RECORD_NAMESPACE)]
    pub(crate) record_namespace: String,
}

/// A target that is a cluster.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source and target")]
pub(crate) struct ToCluster {
    /// Kubeconfig of the target
    #[arg(long, value_name = "FILE")]
    pub(crate) to_kubeconfig: Option<PathBuf>,
    /// Kubeconfig context of the target; without --to-kubeconfig, a context of the source's kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) to_kubeconfig_context: Option<String>,
    /// Move into the workload cluster of this Cluster of the source
    ///
    /// NAME, or NAMESPACE/NAME. Its kubeconfig is in the Secret NAME-kubeconfig of the same namespace.
    #[arg(long, value_name = "NAME")]
    pub(crate) to_workload: Option<String>,
    /// Impersonate this user in the target
    #[arg(long, value_name = "USER")]
    pub(crate) to_as: Option<String>,
    /// Impersonate this group in the target; can be repeated
    #[arg(long, value_name = "GROUP", action = ArgAction::Append)]
    pub(crate) to_as_group: Vec<String>,
}

/// A target that is a directory.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source and target")]
pub(crate) struct ToDirectory {
    /// Copy into a directory; the source is unpaused afterwards
    #[arg(long, value_name = "DIR")]
    pub(crate) to_directory: Option<PathBuf>,
    /// Encrypt --to-directory to the age recipients (public keys) in this file, one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) encrypt_to: Option<PathBuf>,
}

/// Describes the directory to commands that continue a move.
fn describe_directory(directory: Arg) -> Arg {
    directory.help("Directory that the move copies into")
}

/// Describes the keys of the directory to commands that continue a move.
fn describe_keys(keys: Arg) -> Arg {
    keys.help("File of age recipients (public keys) that the move encrypts --to-directory to")
}

/// The two ends of a move. Also what `next:` lines repeat.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source and target")]
pub(crate) struct ConnectionArgs {
    #[command(flatten)]
    pub(crate) from: FromCluster,
    #[command(flatten)]
    pub(crate) to: ToCluster,
    /// Read the source from a directory of manifests
    #[arg(long, value_name = "DIR")]
    pub(crate) from_directory: Option<PathBuf>,
    /// Decrypt --from-directory with the age identities (secret keys) in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) to_files: ToDirectory,
}

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

/// What is kept of a run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Kept {
    /// Write a report to this file, also if the run stops: a page if it ends in .html, a document if it ends in .json
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

/// The recording of a run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Plugins")]
pub(crate) struct RecordArgs {
    /// Record the calls of plugins in this new file, without data of Secrets, for `plugin replay`
    #[arg(long, value_name = "FILE", requires = "plugins")]
    pub(crate) record: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Waiting")]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    pub(crate) pauses: PauseWaits,
    #[command(flatten)]
    pub(crate) takeover: TakeoverWaits,
}

/// The waits before the target takes over.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Waiting")]
pub(crate) struct PauseWaits {
    /// Limit of the wait for the source's controllers to acknowledge the pause, and for block-move
    #[arg(long, value_name = "DURATION", default_value_t = format_duration(Options::PAUSE_TIMEOUT))]
    pub(crate) pause_timeout: String,
    /// Limit of the wait for plugin checks
    #[arg(long, value_name = "DURATION", default_value_t = format_duration(Options::CHECK_TIMEOUT))]
    pub(crate) check_timeout: String,
}

/// The takeover.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Waiting")]
pub(crate) struct TakeoverWaits {
    /// Limit of the wait for the target's controllers to take over
    #[arg(long, value_name = "DURATION", default_value_t = format_duration(Options::TAKEOVER_TIMEOUT))]
    pub(crate) takeover_timeout: String,
    /// Most held objects, such as hosts, that are unpaused at once. The first batch is one object, the next two, then four
    #[arg(long, value_name = "N", default_value_t = Options::UNPAUSE_BATCH, value_parser = clap::value_parser!(u8).range(1..=i64::from(Options::MAX_UNPAUSE_BATCH)))]
    pub(crate) unpause_batch: u8,
    /// Stop after the target has taken over and before the source's objects are deleted. Back the target up, then `resume`
    #[arg(long, value_enum, value_name = "STEP")]
    pub(crate) stop_before: Option<StopStep>,
}

/// The steps before which a move can stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StopStep {
    /// Before anything is deleted from the source
    Release,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Risks")]
pub(crate) struct Taking {
    /// Break the lease of a run that you know to be dead, without waiting for it to expire
    #[arg(long)]
    pub(crate) break_lease: bool,
}

/// Which move is meant.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Which move")]
pub(crate) struct Which {
    /// ID of the move, or its first characters; needed if several moves are under way
    #[arg(value_name = "ID")]
    pub(crate) which: Option<String>,
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

#[derive(Clone, Debug, Args)]
#[command(mut_arg("to_directory", describe_directory), mut_arg("encrypt_to", describe_keys))]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) which: Which,
}

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    Text,
    Json,
    Yaml,
    /// Only of tests.
    Junit,
    /// Only of a plan.
    Picture(Picture),
}

impl OutputFormat {
    /// Whether results, failures among them, are documents for programs.
    pub(crate) fn is_document(self) -> bool {
        matches!(self, Self::Json | Self::Yaml)
    }
}

impl ValueEnum for OutputFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Text,
            Self::Json,
            Self::Yaml,
            Self::Junit,
            Self::Picture(Picture::Dot),
            Self::Picture(Picture::Mermaid),
            Self::Picture(Picture::Html),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = PossibleValue::new(match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Junit => "junit",
            Self::Picture(Picture::Dot) => "dot",
            Self::Picture(Picture::Mermaid) => "mermaid",
            Self::Picture(Picture::Html) => "html",
        });
        Some(value.hide(*self == Self::Junit))
    }
}

/// How a plan is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picture {
    Dot,
    Mermaid,
    /// A page of its own.
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    #[value(alias = "true")]
    Always,
    #[value(alias = "false")]
    Never,
}

/// clusterctl's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Hide {
    Default,
    All,
    None,
}
