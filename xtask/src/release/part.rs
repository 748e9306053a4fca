//! Something that is in the archive as machine code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A crate, or a library of another kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) version: String,
    /// As an SPDX expression.
    pub(super) licence: String,
    /// An algorithm and a digest of it as it was published in a registry.
    pub(super) digest: Option<(&'static str, String)>,
    /// Whether this work tree is where it is from.
    pub(super) own: bool,
    /// Where it lies, and the files there that are its licences.
    pub(super) source: PathBuf,
    /// Those that it uses.
    pub(super) uses: BTreeSet<String>,
}

/// All of them, by their package URLs.
pub(super) type Parts = BTreeMap<String, Part>;
