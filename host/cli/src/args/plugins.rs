//! What can be typed about plugins. The doc comments are the help texts.

use std::path::PathBuf;

use clap::{ArgAction, ArgGroup, Args, Subcommand, ValueEnum};

/// The plugins that take part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Plugins")]
pub(crate) struct PluginArgs {
    /// Directory of plugins, with plugins.toml and plugins.lock
    #[arg(long, value_name = "DIR")]
    pub(crate) plugins: Option<PathBuf>,
    /// Refuse disabled plugins, and a directory that other users can write
    #[arg(long, requires = "plugins")]
    pub(crate) strict: bool,
    /// Trust file for signatures of plugins, plans and directories, in addition to /etc/pivot-host/trust.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) trust: Option<PathBuf>,
}

impl PluginArgs {
    /// Returns the directory as the user named it.
    pub(crate) fn directory_name(&self) -> Option<String> {
        self.plugins.as_ref().map(|directory| directory.display().to_string())
    }
}

/// What can be done with plugins outside a move.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum PluginVerb {
    /// Create a project for a new plugin in a new folder; needs no network
    New {
        /// Name: lower-case words joined by dashes
        name: String,
        /// Language of the project
        #[arg(long, value_enum, value_name = "LANGUAGE", default_value = "rust")]
        lang: ProjectLanguage,
    },
    /// Make a component of a core module, such as the Go compiler makes
    ///
    /// Leaves a component as it is.
    Componentize(Componentize),
    /// Show what a component could do at worst and what it requests, without trusting it
    Inspect {
        /// The component
        file: PathBuf,
    },
    /// List the plugins of a directory, as a move would use them
    List {
        /// The directory of plugins, with plugins.toml and plugins.lock
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Also list plugins that plugins.lock doesn't have with their digest; no move uses them
        #[arg(long)]
        allow_unlocked: bool,
        /// Refuse disabled plugins, and a directory that other users can write
        #[arg(long)]
        strict: bool,
        /// Trust file for signatures, in addition to /etc/pivot-host/trust.toml
        #[arg(long, value_name = "FILE")]
        trust: Option<PathBuf>,
    },
    /// Add a component to plugins.lock by its digest; without --grant, grants nothing
    ///
    /// Its requests are written to plugins.toml, not enabled.
    Add {
        /// The component
        file: PathBuf,
        /// Give this file the permissions in plugins.toml. If there are none, grant everything it requests (development only)
        #[arg(long)]
        grant: bool,
        /// Trust file for signatures, in addition to /etc/pivot-host/trust.toml
        #[arg(long, value_name = "FILE")]
        trust: Option<PathBuf>,
    },
    /// Sign a component. Writes the signature to FILE.intoto.jsonl; trust files decide which signers are accepted
    Sign {
        /// The claim
        #[arg(long, value_enum, value_name = "CLAIM", help_heading = "Claim")]
        claim: PluginClaim,
        /// Report of checks that support the claim; its digest is signed too
        #[arg(long, value_name = "FILE", conflicts_with = "attach", help_heading = "Claim")]
        checked: Option<PathBuf>,
        #[command(flatten)]
        signing: Signing,
    },
    /// Show how a component differs from an older one; exit 10 if it differs
    ///
    /// Compares effects, requests and imports.
    Diff {
        /// The older one, or a directory of plugins that has an older version
        old: PathBuf,
        /// The newer one
        new: PathBuf,
    },
    /// Check a directory as a move does, and report all problems
    Verify {
        /// The directory of plugins, with plugins.toml and plugins.lock
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Refuse disabled plugins, and a directory that other users can write
        #[arg(long)]
        strict: bool,
        /// Trust file for signatures, in addition to /etc/pivot-host/trust.toml
        #[arg(long, value_name = "FILE")]
        trust: Option<PathBuf>,
    },
    /// Write a directory of plugins, or a vendor's release, into one file
    ///
    /// The file is an OCI image layout: components, statements, grants, lock.
    Bundle {
        /// Directory of plugins that loads, or a release: signed components and the vendor's public key, without plugins.toml and plugins.lock
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Write the bundle there
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Trust file for signatures, in addition to /etc/pivot-host/trust.toml
        #[arg(long, value_name = "FILE")]
        trust: Option<PathBuf>,
    },
    /// Write a bundle into a directory of plugins, all of it or nothing
    ///
    /// --dry-run shows what that would change.
    Import(Import),
    /// Push a bundle to an OCI registry, with the credentials of `docker login`
    #[cfg(feature = "registry")]
    Push {
        /// The bundle
        bundle: PathBuf,
        /// Destination: HOST/NAME:TAG
        reference: String,
        /// Without TLS, for a registry on this machine
        #[arg(long)]
        plain_http: bool,
    },
    /// Pull a bundle from an OCI registry; the file is identical to the pushed one
    #[cfg(feature = "registry")]
    Pull {
        /// Source: HOST/NAME:TAG, or HOST/NAME@DIGEST
        reference: String,
        /// Write the bundle there
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Without TLS, for a registry on this machine
        #[arg(long)]
        plain_http: bool,
    },
    /// Check that a component follows the rules for plugins; exit 3 if it doesn't
    ///
    /// Calls its hooks on generated objects and on scenes.
    Check(PluginCheckArgs),
    /// Compare a component's answers with scenes; exit 3 if an answer differs
    Test(PluginTestArgs),
    /// Call a component as a recorded move called it, without a cluster; exit 3 if an answer differs
    ///
    /// The recording of `move --record` answers its questions.
    Replay(ReplayArgs),
    /// Measure a component: size, start, and calls of its hooks on objects
    Bench(PluginBenchArgs),
    /// Rehearse a move of a file's objects in memory, with all hooks
    ///
    /// Simulated controllers work on both sides. It needs no cluster.
    Rehearse(RehearseArgs),
    /// Call one hook on objects from a file, without a cluster
    ///
    /// It works before `plugin add`, too.
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

/// The language of a new project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProjectLanguage {
    /// Rust, with the SDK and its test harness
    Rust,
    /// Go, with the stock toolchain
    Go,
    /// JavaScript, with QuickJS; the build needs npm and its registry
    #[value(name = "javascript")]
    JavaScript,
}

/// A core module, and its world.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct Componentize {
    /// The core module
    #[arg(value_name = "CORE.wasm")]
    pub(crate) file: PathBuf,
    /// Write the component there
    #[arg(long, value_name = "FILE.wasm")]
    pub(crate) out: PathBuf,
    /// WIT of the module's world. By default, the world is the contract with the hooks that the module exports
    #[arg(long, value_name = "DIR")]
    pub(crate) wit: Option<PathBuf>,
    /// Name of the world, if the WIT has several
    #[arg(long, value_name = "NAME", requires = "wit")]
    pub(crate) world: Option<String>,
}

/// What is claimed about a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PluginClaim {
    /// Its vendor made it
    Released,
    /// A reviewer approved it
    Vetted,
}

/// A signature, and what is said with it.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(group(ArgGroup::new("how").required(true).args(["key", "statement_only", "attach"])))]
pub(crate) struct Signing {
    /// The file
    pub(crate) file: PathBuf,
    /// Sign with this private key: PKCS#8 in PEM, ECDSA P-256 or Ed25519
    #[arg(long, value_name = "PEM", help_heading = "Signature")]
    pub(crate) key: Option<PathBuf>,
    /// Print the statement to sign, for a tool that holds the key
    #[arg(long, help_heading = "Signature")]
    pub(crate) statement_only: bool,
    /// Add a statement that such a tool signed: a Sigstore bundle, or a DSSE envelope
    #[arg(long, value_name = "FILE", conflicts_with_all = ["reviewer", "note"], help_heading = "Signature")]
    pub(crate) attach: Option<PathBuf>,
    /// Name of the reviewer
    #[arg(long, value_name = "NAME", help_heading = "Claim")]
    pub(crate) reviewer: Option<String>,
    /// A remark
    #[arg(long, value_name = "TEXT", help_heading = "Claim")]
    pub(crate) note: Option<String>,
}

/// One hook, and on what it is called.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct Trial {
    /// The component
    pub(crate) file: PathBuf,
    /// Hook: relate, check, hold, adapt, restore or settle
    #[arg(long, value_name = "HOOK", help_heading = "Hook")]
    pub(crate) hook: String,
    /// Objects of the source, in YAML or JSON, any number of documents; for settle, their state before the move. `-` is standard input
    #[arg(long, value_name = "FILE", help_heading = "Objects", required_unless_present = "scene")]
    pub(crate) objects: Option<PathBuf>,
    /// Objects of the target: for restore and settle, and for reads. `-` is standard input
    #[arg(long, value_name = "FILE", help_heading = "Objects")]
    pub(crate) target_objects: Option<PathBuf>,
    /// Scene with the objects of both sides, answers of endpoints, grants and configuration
    #[arg(long, value_name = "FILE", help_heading = "Objects", conflicts_with_all = ["objects", "target_objects"])]
    pub(crate) scene: Option<PathBuf>,
    /// Point of the check: before-pause, after-pause, before-commit or after-resume
    #[arg(long, value_name = "POINT", default_value = "before-pause", help_heading = "Hook")]
    pub(crate) point: String,
    /// A plugins.toml whose section for this plugin applies: its grants, limits and configuration. Without one it is
    /// granted what it asks for, and has no configuration
    #[arg(long, value_name = "FILE", help_heading = "Hook")]
    pub(crate) config: Option<PathBuf>,
    /// Name file and line where the component traps. For your own components: nothing limits the time to read debug information
    #[arg(long, help_heading = "Hook")]
    pub(crate) backtrace: bool,
}

/// A component to check.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct PluginCheckArgs {
    /// The component
    pub(crate) file: PathBuf,
    /// Scenes to check in addition: a file, or a directory of YAML and JSON files
    #[arg(long, value_name = "SCENES", help_heading = "Objects")]
    pub(crate) scenes: Option<PathBuf>,
    /// Objects of the source to check in addition, in YAML or JSON. `-` is standard input
    #[arg(long, value_name = "FILE", help_heading = "Objects")]
    pub(crate) objects: Option<PathBuf>,
    /// A plugins.toml whose section for this plugin applies: its grants, limits and configuration. Without one it is
    /// granted what it asks for, and has no configuration
    #[arg(long, value_name = "FILE", help_heading = "Hook")]
    pub(crate) config: Option<PathBuf>,
    /// Name file and line where the component traps. For your own components: nothing limits the time to read debug information
    #[arg(long, help_heading = "Hook")]
    pub(crate) backtrace: bool,
}

/// A component, and scenes to test it with.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct PluginTestArgs {
    /// The component
    pub(crate) file: PathBuf,
    /// Scenes: YAML or JSON files, or directories of such files. `-` is standard input
    #[arg(required = true, value_name = "SCENE")]
    pub(crate) scenes: Vec<PathBuf>,
    /// Write the plugin's answers into the scenes
    #[arg(long)]
    pub(crate) update: bool,
    /// A plugins.toml whose section for this plugin applies: its grants, limits and configuration. Without one it is
    /// granted what it asks for, and has no configuration
    #[arg(long, value_name = "FILE", help_heading = "Hook")]
    pub(crate) config: Option<PathBuf>,
    /// Name file and line where the component traps. For your own components: nothing limits the time to read debug information
    #[arg(long, help_heading = "Hook")]
    pub(crate) backtrace: bool,
}

/// A recording, and a component that gets its calls.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct ReplayArgs {
    /// The recording
    pub(crate) recording: PathBuf,
    /// The component
    #[arg(value_name = "COMPONENT")]
    pub(crate) file: PathBuf,
    /// Replay the calls of this plugin; by default, of the plugin with the component's name
    #[arg(long, value_name = "NAME", help_heading = "Hook")]
    pub(crate) plugin: Option<String>,
    /// A plugins.toml whose section for this plugin applies: its grants, limits and configuration. Without one it is
    /// granted what it asks for. Required if the recorded plugin had a configuration, which is not in the recording
    #[arg(long, value_name = "FILE", help_heading = "Hook")]
    pub(crate) config: Option<PathBuf>,
    /// Name file and line where the component traps. For your own components: nothing limits the time to read debug information
    #[arg(long, help_heading = "Hook")]
    pub(crate) backtrace: bool,
}

/// A move in memory.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct RehearseArgs {
    #[command(flatten)]
    pub(crate) with: PluginArgs,
    /// Objects of the source, in YAML or JSON, any number of documents, with the definitions of their kinds; `-` is stdin
    #[arg(long, value_name = "FILE", help_heading = "Objects")]
    pub(crate) objects: PathBuf,
    /// Objects of the target before the move; in addition to the source's definitions, providers and Deployments
    #[arg(long, value_name = "FILE", help_heading = "Objects")]
    pub(crate) target_objects: Option<PathBuf>,
    /// Answers of endpoints, as in the `probes` of a scene; other endpoints are unreachable
    #[arg(long, value_name = "FILE", help_heading = "Objects")]
    pub(crate) answers: Option<PathBuf>,
    /// Namespace to move; by default all
    #[arg(short, long, value_name = "NAME", help_heading = "What moves")]
    pub(crate) namespace: Option<String>,
    /// Give a namespace another name in the target; can be repeated
    #[arg(long, value_name = "OLD=NEW", action = ArgAction::Append, help_heading = "What moves")]
    pub(crate) map_namespace: Vec<String>,
}

/// A component to measure.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct PluginBenchArgs {
    /// The component
    pub(crate) file: PathBuf,
    /// Objects of the source, in YAML or JSON; `-` is standard input. By default, generated objects of the plugin's kinds
    #[arg(long, value_name = "FILE", help_heading = "Objects")]
    pub(crate) objects: Option<PathBuf>,
    /// Calls of each hook
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_count, help_heading = "Hook")]
    pub(crate) calls: usize,
    /// A plugins.toml whose section for this plugin applies: its grants, limits and configuration. Without one it is
    /// granted what it asks for, and has no configuration
    #[arg(long, value_name = "FILE", help_heading = "Hook")]
    pub(crate) config: Option<PathBuf>,
}

fn parse_count(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "write a whole number from 1 on".to_owned())
}

/// A bundle, and the directory that it goes to.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct Import {
    /// The bundle
    pub(crate) bundle: PathBuf,
    /// The directory of plugins; it is created if it doesn't exist
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Write nothing, and show what the bundle would change
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Expected digest of the bundle, from its author over another channel; on a mismatch the bundle is not opened
    #[arg(long, value_name = "DIGEST", help_heading = "Trust")]
    pub(crate) digest: Option<String>,
    /// Use the bundle's plugins.toml if the directory has none; it grants permissions to plugins
    #[arg(long)]
    pub(crate) grants: bool,
    /// Allow older versions of plugins
    #[arg(long)]
    pub(crate) downgrade: bool,
    /// Refuse disabled plugins, and a directory that other users can write
    #[arg(long, help_heading = "Trust")]
    pub(crate) strict: bool,
    /// Trust file for signatures, in addition to /etc/pivot-host/trust.toml
    #[arg(long, value_name = "FILE", help_heading = "Trust")]
    pub(crate) trust: Option<PathBuf>,
}
