//! What goes wrong with a plugin: why it is refused ([`Refused`]: exit code 6, before anything has moved), and why a hook gave
//! no answer ([`CallError`]).

use std::fmt;
use std::sync::Arc;

use pivot_core::Key;

/// Which plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// Its name, as far as it is known.
    pub name: Option<String>,
    /// Its version, as far as it is known.
    pub version: Option<String>,
    /// Its file in the plugin directory.
    pub file: String,
    /// SHA-256 of the file, as far as it was read.
    pub digest: Option<String>,
}

/// `plugin metal3-hosts 0.1.0 (metal3-hosts.wasm, sha256 0123456789ab…)`.
impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, version, file, digest } = self;
        let digest = digest.as_deref().map(|digest| format!("sha256 {}…", short(digest)));
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
pub(crate) fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// A plugin, or a file beside the plugins, that is refused.
#[derive(Debug, thiserror::Error)]
#[error("{who}: {reason}")]
pub struct LoadError {
    /// Which.
    pub who: Box<Who>,
    /// Why.
    pub reason: Box<Refused>,
}

impl LoadError {
    /// A word for programs.
    pub fn code(&self) -> &'static str {
        self.reason.code()
    }
}

/// Why a plugin is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The directory or a file in it can't be read.
    #[error("can't be read: {0}")]
    Unreadable(std::io::Error),
    /// A name that is no text, or would write more than itself.
    #[error("has a file whose name is not plain text: {0}; rename or remove it")]
    FileName(String),
    /// A link out of the directory, or something that is not a file.
    #[error("is not a file inside the plugin directory: {0}")]
    NotInside(String),
    /// Larger than any plugin is.
    #[error("is {size} bytes; a plugin has at most {limit}")]
    TooLarge {
        /// How large, as far as it was read.
        size: u64,
        /// How large it may be.
        limit: u64,
    },
    /// Something else than a component.
    #[error("is {0}, not a WebAssembly component")]
    NotAComponent(&'static str),
    /// A component that is damaged.
    #[error("is not a valid component: {0}")]
    Malformed(String),
    /// It wants what no plugin gets.
    #[error("imports what no plugin gets: {}", .0.join(", "))]
    ForeignImports(Vec<String>),
    /// It was built against another contract.
    #[error("does not fit the contract pivot:provider@0.1: {0}")]
    Mismatch(String),
    /// Components in components, so often that the compiler would not come to an end.
    #[error("is small and would be compiled into {0}; no plugin may")]
    Unfolds(String),
    /// More of something than any plugin has.
    #[error("has too many {what}: more than {most}; no plugin may")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: u64,
    },
    /// Validating and compiling it was tried in a process of its own, and failed.
    #[error("was compiled on trial and {0}; no plugin may")]
    Trial(String),
    /// What it says of itself makes no sense.
    #[error("describes itself wrongly: {0}")]
    Description(String),
    /// It could not even describe itself.
    #[error("failed to describe itself: {0}")]
    Describe(Box<CallError>),
    /// Its binary reaches for more than it declares.
    #[error("its binary asks for more than it declares: {}", .0.join("; "))]
    Undeclared(Vec<String>),
    /// It asks for more than the operator grants.
    #[error("is not granted all it asks for: {}; grant it in plugins.toml, below [plugins.{name}]", .missing.join("; "))]
    NotGranted {
        /// The plugin.
        name: String,
        /// What is missing.
        missing: Vec<String>,
    },
    /// The operator has said nothing of it.
    #[error(
        "plugins.toml has no [plugins.{name}]; `{command}` writes one with what it asks for, to be reviewed and enabled"
    )]
    NoGrants {
        /// The plugin.
        name: String,
        /// What would admit it.
        command: String,
    },
    /// It was never admitted.
    #[error("is not in plugins.lock; to trust it, admit it with `{command}`")]
    NotLocked {
        /// What would admit it.
        command: String,
    },
    /// It is not what was admitted.
    #[error("has changed since it was admitted (as sha256 {locked}…); if that was meant, `{command}`")]
    Changed {
        /// What was admitted.
        locked: String,
        /// What would admit it.
        command: String,
    },
    /// Its name has grants that the operator gave to another file.
    #[error(
        "calls itself {name}, and plugins.toml enables [plugins.{name}] for {}; nothing was written. \
         Inspect the file; if it is to have those grants, `{command}`",
        holder(.locked.as_deref())
    )]
    NameGranted {
        /// The plugin.
        name: String,
        /// The digest of the file that has them; none: no file has them yet.
        locked: Option<String>,
        /// What would give them to this file.
        command: String,
    },
    /// It was admitted as another.
    #[error("plugins.lock has it as {locked}, but it calls itself {itself}; admit it again with `{command}`")]
    LockedAs {
        /// Name and version in the lock.
        locked: String,
        /// Name and version it gives.
        itself: String,
        /// What would admit it.
        command: String,
    },
    /// The operator admitted it or wrote of it, and it isn't there.
    #[error("is named in {by}, but no file is this plugin; restore it, or remove it from {by}")]
    Missing {
        /// Which file names it.
        by: &'static str,
    },
    /// Two of one name.
    #[error("has the name of {other} too; a name belongs to one plugin")]
    NameTaken {
        /// The other file.
        other: String,
    },
    /// The operator's file can't be understood.
    #[error("can't be understood: {0}")]
    Operator(String),
    /// The runtime itself does not start.
    #[error("the runtime does not start: {0}")]
    Runtime(String),
}

impl Refused {
    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "unreadable",
            Self::FileName(_) => "file-name",
            Self::NotInside(_) => "not-inside",
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
            Self::Undeclared(_) => "undeclared",
            Self::NotGranted { .. } => "not-granted",
            Self::NoGrants { .. } => "no-grants",
            Self::NotLocked { .. } => "not-locked",
            Self::Changed { .. } => "changed",
            Self::NameGranted { .. } => "name-granted",
            Self::LockedAs { .. } => "locked-as",
            Self::Missing { .. } => "missing",
            Self::NameTaken { .. } => "name-taken",
            Self::Operator(_) => "operator-file",
            Self::Runtime(_) => "runtime",
        }
    }

    pub(crate) fn of(self, who: Who) -> LoadError {
        LoadError { who: Box::new(who), reason: Box::new(self) }
    }
}

/// Whose grants they are.
fn holder(locked: Option<&str>) -> String {
    match locked {
        Some(digest) => format!("the file that was locked as sha256 {}…", short(digest)),
        None => "a plugin that isn't locked yet".to_owned(),
    }
}

/// Why a hook gave no answer. The host and everything else it runs is as well as before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{who} failed in {hook}{}: {message} ({code})", of(.object))]
pub struct CallError {
    /// The plugin.
    pub who: Arc<Who>,
    /// In which hook; `describe` is one here.
    pub hook: &'static str,
    /// About which object.
    pub object: Option<Box<Key>>,
    /// A word for programs: `trap`, `timeout`, `out-of-memory`, `too-many-host-calls`, `output-too-large`, `exit`,
    /// `invalid-answer`, or the plugin's own.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

fn of(object: &Option<Box<Key>>) -> String {
    object.as_ref().map(|key| format!(" of {key}")).unwrap_or_default()
}
