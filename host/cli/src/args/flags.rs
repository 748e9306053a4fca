//! Command lines, as they are typed. The doc comments are the help texts.

mod backup;
mod checks;
mod connection;
mod generate;
mod handover;
mod moves;
mod output;
mod under_way;
mod waits;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
pub(crate) use clap_complete::Shell;

pub(crate) use self::backup::{BackupArgs, BackupContent, BackupJobArgs};
pub(crate) use self::checks::{Describe, DescribeCluster, DoctorArgs, VerifyArgs};
pub(crate) use self::connection::{ConnectionArgs, FromCluster, ToCluster, ToDirectory};
pub(crate) use self::generate::{Generate, Rbac};
pub(crate) use self::handover::{HandoverCancel, HandoverFinish, HandoverStart, HandoverVerb};
pub(crate) use self::moves::{Dry, DryRunArgs, MoveOrAsk, PlanArgs, PlanVerb, SelectionArgs};
pub(crate) use self::output::{Color, Hide, Kept, LogFormat, Look, OutputFormat, Picture, RecordArgs};
pub(crate) use self::under_way::{ResumeArgs, RollbackArgs, StatusArgs, Taking, Which};
pub(crate) use self::waits::{PauseWaits, StopStep, TakeoverWaits, WaitArgs};
use super::plugins::{PluginVerb, Signing};
use super::risks::RiskParser;
use super::service::{AgentVerb, ControllerVerb};

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
