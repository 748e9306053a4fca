//! Errors of plugins: why one is refused ([`Refused`]: exit code 6, before anything has moved), and why a hook failed
//! ([`CallError`]).

use std::fmt;
use std::sync::Arc;

use pivot_core::Key;
use pivot_vetting::permissions::InvalidFile;
use pivot_vetting::signatures::signature_file::LineError;
use pivot_vetting::signatures::untrusted::Untrusted;

/// Identifies a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginIdentity {
    /// Name of the plugin, if known.
    pub name: Option<String>,
    /// Version of the plugin, if known.
    pub version: Option<String>,
    /// File of the plugin in the plugin directory.
    pub file: String,
    /// SHA-256 of the file, if it was read.
    pub digest: Option<String>,
}

/// `plugin metal3-hosts 0.1.0 (metal3-hosts.wasm, sha256 0123456789ab…)`.
impl fmt::Display for PluginIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, version, file, digest } = self;
        let digest = digest.as_deref().map(|digest| format!("sha256 {}…", short_digest(digest)));
        match name {
            Some(name) => {
                write!(f, "plugin {name}")?;
                version.as_ref().map_or(Ok(()), |version| write!(f, " {version}"))?;
                let parts: Vec<&str> = [Some(file.as_str()), digest.as_deref()]
                    .into_iter()
                    .flatten()
                    .filter(|p| !p.is_empty())
                    .collect();
                if parts.is_empty() { Ok(()) } else { write!(f, " ({})", parts.join(", ")) }
            }
            None => {
                write!(f, "{file}")?;
                digest.map_or(Ok(()), |digest| write!(f, " ({digest})"))
            }
        }
    }
}

/// As much of a digest as a person compares.
pub(crate) fn short_digest(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// A refused plugin, or a refused file of the operator.
#[derive(Debug, thiserror::Error)]
#[error("{who}: {reason}")]
pub struct LoadError {
    /// The plugin or file.
    pub who: Box<PluginIdentity>,
    /// The reason.
    pub reason: Box<Refused>,
}

impl From<InvalidFile> for LoadError {
    fn from(invalid: InvalidFile) -> Self {
        let InvalidFile { file, why } = invalid;
        let who = PluginIdentity { file: file.to_owned(), ..PluginIdentity::default() };
        Refused::Operator(why).about_plugin(who)
    }
}

impl LoadError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        self.reason.code()
    }
}

/// Reasons to refuse a plugin.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The directory or a file in it can't be read.
    #[error("can't be read: {0}")]
    Unreadable(std::io::Error),
    /// A name that is not text, or that contains hidden characters.
    #[error("has a file whose name is not plain text: {0}; rename or remove it")]
    FileName(String),
    /// A link out of the directory, or something that is not a file.
    #[error("is not a file inside the plugin directory: {0}")]
    NotInside(String),
    /// A directory's components are found by the end of their names.
    #[error("has a name that doesn't end in .wasm, and no move would load it; rename it")]
    NoComponentName,
    /// Larger than any plugin.
    #[error(
        "is {size} bytes; a plugin has at most {limit}. Build it for release, and strip what it doesn't run"
    )]
    TooLarge {
        /// Size of the file.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Not a component.
    #[error("is {0}, not a WebAssembly component")]
    NotAComponent(&'static str),
    /// A damaged component.
    #[error("is not a valid component: {}{}", .0, advise_building_synchronously(.0))]
    Malformed(String),
    /// The component imports interfaces that no plugin gets.
    #[error("imports interfaces that no plugin gets: {}; {}", .0.join(", "), import_advice(.0))]
    ForeignImports(Vec<String>),
    /// The plugin was built against another contract.
    #[error("was built against another contract than pivot:provider@0.1: {0}")]
    Mismatch(String),
    /// Components nested so often that the compiler would not finish.
    #[error("is small and would be compiled into {0}; no plugin may")]
    Unfolds(String),
    /// More of something than any plugin has.
    #[error("has more {what} than a plugin may have: {most}")]
    TooMany {
        /// The thing that is counted.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// Validating and compiling it in a separate process failed.
    #[error("was compiled on trial and {0}; no plugin may")]
    Trial(String),
    /// The plugin's description is invalid.
    #[error("describes itself wrongly: {0}; correct what `describe` returns")]
    Description(String),
    /// The plugin could not describe itself.
    #[error("failed to describe itself: {} ({}); `describe` only returns a description, and asks nothing", .0.message, .0.code)]
    Describe(Box<CallError>),
    /// The plugin's check of its configuration failed.
    #[error("the check of its [plugins.{name}.config] in plugins.toml failed: {why}")]
    Configuration {
        /// The plugin.
        name: String,
        /// The plugin's words, or the reason why it gave no answer.
        why: String,
    },
    /// The plugin asks for more than the operator grants.
    #[error("is not granted all it asks for: {}; grant it in plugins.toml, below [plugins.{name}]", .missing.join("; "))]
    NotGranted {
        /// The plugin.
        name: String,
        /// The missing grants.
        missing: Vec<String>,
    },
    /// plugins.toml has no section for it.
    #[error(
        "plugins.toml has no [plugins.{name}]; `{command}` writes one with what it asks for, to be reviewed and enabled"
    )]
    NoGrants {
        /// The plugin.
        name: String,
        /// The command that would admit it.
        command: String,
    },
    /// The plugin was never admitted.
    #[error("is not in plugins.lock; to trust it, admit it with `{command}`")]
    NotLocked {
        /// The command that would admit it.
        command: String,
    },
    /// The plugin's file differs from the admitted one.
    #[error("has changed since it was admitted (as sha256 {locked}…); if that was meant, `{command}`")]
    Changed {
        /// The admitted digest.
        locked: String,
        /// The command that would admit it.
        command: String,
    },
    /// The operator gave the grants under its name to another file.
    #[error(
        "calls itself {name}, and plugins.toml enables [plugins.{name}] for {}; nothing was written. \
         Inspect the file; if it is to have those grants, `{command}`",
        grant_holder(.locked.as_deref())
    )]
    NameGranted {
        /// The plugin.
        name: String,
        /// The digest of the file that has them; none: no file has them yet.
        locked: Option<String>,
        /// The command that would give them to this file.
        command: String,
    },
    /// The plugin was admitted under another name or version.
    #[error("plugins.lock has it as {locked}, but it calls itself {itself}; admit it again with `{command}`")]
    LockedAs {
        /// Name and version in the lock.
        locked: String,
        /// Name and version in its description.
        itself: String,
        /// The command that would admit it.
        command: String,
    },
    /// A file of the operator names it, but it doesn't exist.
    #[error("is named in {by}, but no file is this plugin; restore it, or remove it from {by}")]
    Missing {
        /// The file that names it.
        by: &'static str,
    },
    /// Two plugins have the same name.
    #[error("has the name of {other} too; a name belongs to one plugin")]
    NameTaken {
        /// The other file.
        other: String,
    },
    /// The statements about it can't be read.
    #[error("has statements that can't be read: {0}: {1}")]
    Statements(String, LineError),
    /// The trust file does not trust it.
    #[error("is not trusted: {0}{next}", next = next_step(.0))]
    Untrusted(Untrusted),
    /// The signed card differs from the plugin.
    #[error(
        "is not what {signer} vouched for: it differs in {}. Ask {signer} what was signed; `pivot-host plugin inspect` shows \
         what it is",
        .fields.join(", ")
    )]
    Misdescribed {
        /// Name of the signer.
        signer: String,
        /// The fields of the signed card that differ.
        fields: Vec<String>,
    },
    /// The plugin is disabled, and the run is strict.
    #[error("is there and not enabled; a strict run refuses that. Enable it in plugins.toml, or remove it")]
    Disabled,
    /// Other users may write the files that decide about plugins, and the run is strict.
    #[error("may be written by others: {}; a strict run refuses that. `chmod go-w` takes it from them", .0.join(", "))]
    OpenToOthers(Vec<String>),
    /// The operator's file is invalid.
    #[error("can't be understood: {0}")]
    Operator(String),
    /// The runtime itself can't start.
    #[error("the runtime does not start: {0}")]
    Runtime(String),
}

impl Refused {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "unreadable",
            Self::FileName(_) => "file-name",
            Self::NotInside(_) => "not-inside",
            Self::NoComponentName => "file-name",
            Self::TooLarge { .. } => "too-large",
            Self::NotAComponent(_) => "not-a-component",
            Self::Malformed(_) => "malformed",
            Self::ForeignImports(_) => "foreign-imports",
            Self::Mismatch(_) => "mismatch",
            Self::Unfolds(_) => "unfolds",
            Self::TooMany { .. } => "too-many",
            Self::Trial(_) => "trial",
            Self::Description(_) => "description",
            Self::Describe(_) => "describe",
            Self::Configuration { .. } => "configuration",
            Self::NotGranted { .. } => "not-granted",
            Self::NoGrants { .. } => "no-grants",
            Self::NotLocked { .. } => "not-locked",
            Self::Changed { .. } => "changed",
            Self::NameGranted { .. } => "name-granted",
            Self::LockedAs { .. } => "locked-as",
            Self::Missing { .. } => "missing",
            Self::NameTaken { .. } => "name-taken",
            Self::Statements(..) => "statements",
            Self::Untrusted(why) => why.code(),
            Self::Misdescribed { .. } => "misdescribed",
            Self::Disabled => "disabled",
            Self::OpenToOthers(_) => "open-to-others",
            Self::Operator(_) => "operator-file",
            Self::Runtime(_) => "runtime",
        }
    }

    pub(crate) fn about_plugin(self, who: PluginIdentity) -> LoadError {
        LoadError { who: Box::new(who), reason: Box::new(self) }
    }
}

/// Advises authors. Some tools add networking to each component.
fn import_advice(imports: &[String]) -> &'static str {
    if imports.iter().any(|import| import.starts_with("wasi:sockets")) {
        "Python and JavaScript: build with --stub-wasi"
    } else {
        "build it without them: the host offers the contract's interfaces, and WASI without files, network and clock"
    }
}

/// Advises authors whose tools build asynchronous components.
fn advise_building_synchronously(why: &str) -> &'static str {
    if why.contains("async") {
        "; plugins are synchronous: build it without async (componentize-qjs: --sync)"
    } else {
        ""
    }
}

/// Describes who holds the grants.
fn grant_holder(locked: Option<&str>) -> String {
    match locked {
        Some(digest) => format!("the file that was locked as sha256 {}…", short_digest(digest)),
        None => "a plugin that isn't locked yet".to_owned(),
    }
}

/// The failure of a hook. The host and all other calls are unaffected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{who} failed in {hook}{}: {message} ({code})", object_suffix(.object))]
pub struct CallError {
    /// The plugin.
    pub who: Arc<PluginIdentity>,
    /// The hook, or `describe`.
    pub hook: &'static str,
    /// The object it was called for.
    pub object: Option<Box<Key>>,
    /// A code for programs: `trap`, `timeout`, `out-of-memory`, `too-many-host-calls`, `output-too-large`, `exit`,
    /// `invalid-answer`, or the plugin's own.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

fn object_suffix(object: &Option<Box<Key>>) -> String {
    object.as_ref().map(|key| format!(" of {key}")).unwrap_or_default()
}
/// Returns advice about a plugin that isn't trusted.
fn next_step(why: &Untrusted) -> &'static str {
    match why {
        Untrusted::Revoked { .. } => ". Don't use it: remove it, or replace it with a newer version",
        Untrusted::Unmet { .. } => {
            ". Each missing signer can add a signature: `pivot-host plugin sign`; until then, remove the plugin"
        }
        Untrusted::NoRule { .. } => ". Write a [[require]] about it there, or remove the plugin",
        Untrusted::Digest | Untrusted::TooMuch { .. } => "",
    }
}
