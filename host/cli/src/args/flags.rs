//! What can be typed. The doc comments are the help texts.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
pub(crate) use clap_complete::Shell;

/// Moves Cluster API objects between management clusters: safely, and to be taken up where it stopped.
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
    /// Show what would move, in which order, what stays and why; changes nothing
    Plan(Box<Move>),
    /// Move; a move that was begun before is taken up where it stopped
    Move(Box<MoveOrAsk>),
    /// Show where a move stands; changes nothing
    Status(Box<Connection>),
    /// Go on with a move that stopped
    Resume(Box<Resume>),
    /// Take back a move that is not past the point of no return
    Rollback(Box<Rollback>),
    /// Write, look at and admit plugins
    #[command(subcommand)]
    Plugin(PluginVerb),
    /// Print the version
    Version,
    /// Print a completion script for a shell
    Completion {
        /// Which shell
        shell: Shell,
    },
}

/// How things are shown.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Look {
    /// How the result on stdout is written
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text", global = true)]
    pub(crate) output: OutputFormat,
    /// Show more: counts per kind and why things stay; twice, requests to servers. A level is fine too: -v 5
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
    /// How progress and messages on stderr are written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", global = true)]
    pub(crate) log_format: LogFormat,
    /// Whether to use colours and bars; NO_COLOR and CLICOLOR_FORCE count too
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: Color,
    /// Which warnings of API servers not to show; by default those about the form of finalizers' names
    #[arg(long, value_enum, value_name = "WHICH", default_value = "default", global = true)]
    pub(crate) hide_api_warnings: Hide,
}

/// Between what it goes. Also what `next:` lines repeat.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source and target")]
pub(crate) struct Connection {
    /// The source's kubeconfig; otherwise KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The source's context; otherwise the current one
    #[arg(long, alias = "context", value_name = "NAME")]
    pub(crate) kubeconfig_context: Option<String>,
    /// The target's kubeconfig
    #[arg(long, value_name = "FILE")]
    pub(crate) to_kubeconfig: Option<PathBuf>,
    /// The target's context; without --to-kubeconfig, one of the source's kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) to_kubeconfig_context: Option<String>,
    /// Read the source from a directory of manifests
    #[arg(long, value_name = "DIR")]
    pub(crate) from_directory: Option<PathBuf>,
    /// Write the target into a directory; the source is resumed and nothing in it deleted
    #[arg(long, value_name = "DIR")]
    pub(crate) to_directory: Option<PathBuf>,
    /// Act in the source as this user
    #[arg(long = "as", value_name = "USER")]
    pub(crate) as_user: Option<String>,
    /// Act in the source as a member of this group; may be repeated
    #[arg(long, value_name = "GROUP", action = ArgAction::Append)]
    pub(crate) as_group: Vec<String>,
    /// Act in the target as this user
    #[arg(long, value_name = "USER")]
    pub(crate) to_as: Option<String>,
    /// Act in the target as a member of this group; may be repeated
    #[arg(long, value_name = "GROUP", action = ArgAction::Append)]
    pub(crate) to_as_group: Vec<String>,
    /// Where the lease and the record of the move are kept, on both sides
    #[arg(long, value_name = "NAME", default_value = "kube-system")]
    pub(crate) record_namespace: String,
}

/// What moves, and which dangers are accepted by name.
#[derive(Clone, Debug, Args)]
pub(crate) struct Move {
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// The namespace to move; otherwise the context's, or default
    #[arg(short, long, value_name = "NAME", help_heading = "What moves")]
    pub(crate) namespace: Option<String>,
    /// Move all namespaces
    #[arg(short = 'A', long, help_heading = "What moves")]
    pub(crate) all_namespaces: bool,
    /// End well where there is nothing to move
    #[arg(long, help_heading = "What moves")]
    pub(crate) allow_empty: bool,
    #[command(flatten)]
    pub(crate) accept: Accept,
    #[command(flatten)]
    pub(crate) waits: Waits,
    #[command(flatten)]
    pub(crate) taking: Taking,
    #[command(flatten)]
    pub(crate) with: With,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MoveOrAsk {
    #[command(flatten)]
    pub(crate) what: Move,
    /// Change nothing: `plan` reads only, `server` also asks the target's server about each object
    #[arg(long, help_heading = "What moves", value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "plan")]
    pub(crate) dry_run: Option<Dry>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Dangers accepted by name")]
pub(crate) struct Accept {
    /// References to owners of this kind may get lost where the owner does not move; may be repeated
    #[arg(long, value_name = "KIND.group", action = ArgAction::Append)]
    pub(crate) drop_owner: Vec<String>,
    /// Objects of this kind may be garbage-collected in the source; may be repeated
    #[arg(long, value_name = "KIND.group", action = ArgAction::Append)]
    pub(crate) accept_loss: Vec<String>,
    /// This kind may move although it is dangerous to move without a plugin; may be repeated
    #[arg(long, value_name = "KIND.group", action = ArgAction::Append)]
    pub(crate) without_plugin_for: Vec<String>,
    /// Clusters that a user paused may move; they stay paused
    #[arg(long)]
    pub(crate) move_paused: bool,
    /// Clusters and Machines that are still being built may move
    #[arg(long)]
    pub(crate) accept_unprovisioned: bool,
    /// Shared objects that are in the target already are used, although they differ
    #[arg(long)]
    pub(crate) use_existing: bool,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Waiting")]
pub(crate) struct Waits {
    /// How long to wait for the source's controllers to heed the pause, and for block-move
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub(crate) pause_timeout: String,
    /// How long to wait for plugins' checks
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub(crate) gate_timeout: String,
    /// How long to wait for the target's controllers after the resume
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub(crate) timeout: String,
    /// How many held objects, such as hosts, to release at once: one first, then two, four, up to this number while all goes
    /// well
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) settle_concurrency: u8,
    /// The source's controllers are off: don't wait for them to heed the pause
    #[arg(long)]
    pub(crate) assume_paused: bool,
    /// The target's controllers of this kind need not show that they took over; may be repeated
    #[arg(long, value_name = "KIND.group", action = ArgAction::Append)]
    pub(crate) accept_unverified: Vec<String>,
    /// Don't wait for the target's controllers
    #[arg(long)]
    pub(crate) no_wait: bool,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Another run, other plugins")]
pub(crate) struct Taking {
    /// Take the lease of a run that is known to be dead, without watching it first
    #[arg(long)]
    pub(crate) take_over: bool,
}

/// Which move is meant.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Which move")]
pub(crate) struct Which {
    /// The move's id, where several are under way; `status` names them
    #[arg(long = "move", value_name = "ID")]
    pub(crate) which: Option<String>,
}

/// The plugins that take part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Plugins")]
pub(crate) struct With {
    /// A directory of plugins, with plugins.toml and plugins.lock
    #[arg(long, value_name = "DIR")]
    pub(crate) plugins: Option<PathBuf>,
    /// Take plugins that plugins.lock does not name, or names with another digest: for development
    #[arg(long, requires = "plugins")]
    pub(crate) unlocked: bool,
}

/// What can be done with plugins outside a move.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum PluginVerb {
    /// Write a new plugin's project into a folder of its name; needs no network
    New {
        /// Its name: lower-case words joined by dashes
        name: String,
    },
    /// Show what a component is and asks for, in a sandbox, without admitting it
    Inspect {
        /// The component
        file: PathBuf,
    },
    /// Show the plugins of a directory as a move would take them
    List {
        #[command(flatten)]
        with: With,
    },
    /// Admit a component as it is now: write its digest to plugins.lock beside it
    Lock {
        /// The component
        file: PathBuf,
    },
    /// Hold a directory against all gates, as a move does before it begins; tells every fault at once
    Verify {
        /// The directory of plugins, with plugins.toml and plugins.lock
        directory: PathBuf,
    },
    /// Call one hook on objects from a file, without a cluster and without admitting the component
    Run(Trial),
    /// Validate and compile the component on stdin within limits, for the program that started this one
    #[command(hide = true)]
    TryCompile {
        /// Bytes of memory
        memory: u64,
        /// Seconds of processor time
        seconds: u64,
        /// Bytes of the component
        size: u64,
    },
}

/// One hook, and on what it is called.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct Trial {
    /// The component
    pub(crate) file: PathBuf,
    /// The hook: relate, check, hold, adapt, restore or settle
    #[arg(long, value_name = "HOOK")]
    pub(crate) hook: String,
    /// The source's objects, YAML or JSON, any number of documents; for settle, what the source had
    #[arg(long, value_name = "FILE")]
    pub(crate) objects: PathBuf,
    /// The target's objects: what restore and settle are asked about, and what may be read there
    #[arg(long, value_name = "FILE")]
    pub(crate) target_objects: Option<PathBuf>,
    /// When check is asked: before-pause, after-pause, before-commit or after-resume
    #[arg(long, value_name = "POINT", default_value = "before-pause")]
    pub(crate) point: String,
    /// A plugins.toml whose section of this plugin counts: its grants, limits and configuration. Without one it is
    /// granted what it asks for, and has no configuration
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    pub(crate) connection: Connection,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Shared objects that are in the target already are used, although they differ
    #[arg(long, help_heading = "Dangers accepted by name")]
    pub(crate) use_existing: bool,
    #[command(flatten)]
    pub(crate) waits: Waits,
    #[command(flatten)]
    pub(crate) taking: Taking,
    #[command(flatten)]
    pub(crate) with: With,
    /// After the point of no return: go on with other plugins than the move was begun with
    #[arg(long, help_heading = "Another run, other plugins")]
    pub(crate) accept_plugin_change: bool,
    /// After the point of no return: the source can't be reached any more, finish without it
    #[arg(long, help_heading = "Another run, other plugins")]
    pub(crate) source_gone: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Rollback {
    #[command(flatten)]
    pub(crate) connection: Connection,
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) taking: Taking,
    /// The target can't be reached any more: un-pause the source all the same
    #[arg(long, help_heading = "Another run, other plugins")]
    pub(crate) target_gone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dry {
    Plan,
    Server,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Text,
    Json,
    Yaml,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// clusterctl's words. Warnings about finalizers' names are of no use to anyone, so `none` is as `default` here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Hide {
    Default,
    All,
    None,
}
