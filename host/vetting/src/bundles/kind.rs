//! The kinds of files that a bundle may have. File names become paths on the machine that imports the bundle, and tags in a
//! registry. So they are plain enough for both, and for file systems that don't distinguish upper from lower case.

use crate::permissions::{GRANTS_FILE, LOCK_FILE};
use crate::signatures::signature_file::ENDING;

/// The most files of a bundle.
pub const FILES: usize = 256;
/// The most bytes of a file's name.
pub const NAME: usize = 128;
/// The most bytes of a component.
pub const COMPONENT: u64 = 64 << 20;
/// The most bytes of a software bill of materials.
pub const SBOM: u64 = 8 << 20;
/// The most bytes of any other file.
pub const OTHER: u64 = 1 << 20;
/// The most bytes of all files, and of all blobs of a tar.
pub const TOTAL: u64 = 512 << 20;

/// Suffix of a component's file.
pub const WASM: &str = ".wasm";
/// Suffix of a public key's file.
pub const KEY: &str = ".pub";
/// Name of the whole bundle in the index, which no component can have.
pub(crate) const WHOLE: &str = "bundle";

/// Reasons to refuse a file as part of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// A name that is unsafe somewhere.
    #[error(
        "a name has ASCII letters, digits, `.`, `_` and `-`, begins with neither `.` nor `-`, and has at most {NAME} bytes"
    )]
    Name,
    /// A name that belongs to no kind of file.
    #[error("no bundle has such a file")]
    Unknown,
    /// Two names that are one on some file systems.
    #[error("it differs from {0} only in upper and lower case")]
    Alike(String),
    /// Statements about a component that isn't there.
    #[error("there is no {0}, which it makes statements about")]
    Orphan(String),
    /// A component with the name that the index has for the bundle.
    #[error("`{WHOLE}` is the name of the bundle itself; rename the component")]
    Reserved,
    /// Too large for its kind.
    #[error("it has {size} bytes; at most {limit} are allowed")]
    Size {
        /// Size of the file in bytes, counted or claimed.
        size: u64,
        /// Allowed size in bytes.
        limit: u64,
    },
    /// No WebAssembly component.
    #[error("it is not a WebAssembly component: {0}")]
    NotComponent(String),
    /// More imports and exports than its manifest has room for.
    #[error("the names of its imports and exports don't fit into its manifest")]
    Names,
}

impl FileError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name => "bad-name",
            Self::Unknown => "unknown-file",
            Self::Alike(_) => "names-alike",
            Self::Orphan(_) => "statements-without-component",
            Self::Reserved => "reserved-name",
            Self::Size { .. } => "file-too-large",
            Self::NotComponent(_) => "not-a-component",
            Self::Names => "too-many-imports",
        }
    }
}

/// The kind of a file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `NAME.wasm`
    Component,
    /// `NAME.wasm.intoto.jsonl`
    Statements,
    /// `plugins.toml`
    Grants,
    /// `plugins.lock`
    Lock,
    /// `NAME.pub`
    Key,
    /// `NAME.md`
    Text,
    /// `NAME.cdx.json`
    Sbom,
    /// `LICENSE`
    License,
}

impl Kind {
    /// The kind of the file with a name.
    pub fn from_name(name: &str) -> Result<Self, FileError> {
        let fits = (1..=NAME).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
        if !fits || name.starts_with(['.', '-']) {
            return Err(FileError::Name);
        }
        let ends = |ending: &str| name.ends_with(ending);
        match name {
            GRANTS_FILE => Ok(Self::Grants),
            LOCK_FILE => Ok(Self::Lock),
            "LICENSE" => Ok(Self::License),
            _ if component_of(name).is_some() => Ok(Self::Statements),
            _ if ends(WASM) && component_name(name).eq_ignore_ascii_case(WHOLE) => Err(FileError::Reserved),
            _ if ends(WASM) => Ok(Self::Component),
            _ if ends(KEY) => Ok(Self::Key),
            _ if ends(".md") => Ok(Self::Text),
            _ if ends(".cdx.json") => Ok(Self::Sbom),
            _ => Err(FileError::Unknown),
        }
    }

    /// The media type of such a file's blob.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Component => "application/wasm",
            Self::Statements => "application/vnd.pivot-host.statements.v1+jsonl",
            Self::Grants | Self::Lock => "application/toml",
            Self::Key => "application/x-pem-file",
            Self::Text => "text/markdown",
            Self::Sbom => "application/vnd.cyclonedx+json",
            Self::License => "text/plain",
        }
    }

    /// The most bytes of such a file.
    pub fn max_size(self) -> u64 {
        match self {
            Self::Component => COMPONENT,
            Self::Sbom => SBOM,
            _ => OTHER,
        }
    }
}

/// A component's name: its file's without the ending.
pub(crate) fn component_name(name: &str) -> &str {
    name.strip_suffix(WASM).unwrap_or(name)
}

/// The file that statements are about.
pub(crate) fn component_of(name: &str) -> Option<&str> {
    name.strip_suffix(ENDING).filter(|component| component.ends_with(WASM))
}
