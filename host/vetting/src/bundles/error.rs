//! Reasons to refuse a bundle.

use pivot_core::messages::safe_text::escape_line;

use crate::bundles::archive::ArchiveError;
use crate::bundles::document::DocumentError;
use crate::bundles::kind::{FILES, FileError, NAME, TOTAL};

/// Reasons to refuse files, a tar or a manifest as a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// One of the files can't be part of a bundle.
    #[error("{name}: {why}")]
    File {
        /// The file's name, safe to print.
        name: String,
        /// The reason.
        why: FileError,
    },
    /// Too many files.
    #[error("it has {0} files; at most {FILES} are allowed")]
    Files(usize),
    /// Nothing to run.
    #[error("it has no component (NAME.wasm)")]
    NoComponent,
    /// Too much in all.
    #[error("it has more than {TOTAL} bytes in all")]
    Total,
    /// The tar is not one that holds a bundle.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A JSON document of the layout is wrong.
    #[error("{what}: {why}")]
    Document {
        /// The document: its path, or the digest of its blob.
        what: String,
        /// The reason.
        why: DocumentError,
    },
}

impl BundleError {
    /// An error about a document.
    pub(crate) fn in_document(what: &str) -> impl FnOnce(DocumentError) -> Self + '_ {
        move |why| Self::Document { what: what.to_owned(), why }
    }

    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { why, .. } => why.code(),
            Self::Files(_) => "too-many-files",
            Self::NoComponent => "no-component",
            Self::Total => "too-large",
            Self::Archive(why) => why.code(),
            Self::Document { why, .. } => why.code(),
        }
    }
}

impl FileError {
    /// Returns this error as an error about a file.
    pub(crate) fn in_file(self, name: &str) -> BundleError {
        BundleError::File { name: escape_line(name, NAME), why: self }
    }
}
