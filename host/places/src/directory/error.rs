//! What can be wrong with a directory.

use pivot_core::refusal::some_of;
use pivot_core::{Key, words};

/// Why a directory can't be used. Carries no part of a file's content but names.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The file system says no.
    #[error("{path}: {source}")]
    Io {
        /// Which file or directory.
        path: String,
        /// What it says.
        source: std::io::Error,
    },
    /// A file or directory is not what can be worked with.
    #[error("{path}: {reason}")]
    Unusable {
        /// Which.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file is not readable as what it should be.
    #[error("{file}, document {document}: {reason}")]
    Document {
        /// Which file.
        file: String,
        /// Which document of it, from 1.
        document: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Two documents are the same object.
    #[error("{key} is both in {first} and in {second}")]
    Twice {
        /// Which object.
        key: Box<Key>,
        /// Where it is first.
        first: String,
        /// Where it is again.
        second: String,
    },
    /// There is something in the directory that is not ours.
    #[error(
        "{path} is not empty ({found} is there): nothing in it will be overwritten; choose a new directory"
    )]
    NotEmpty {
        /// Which directory.
        path: String,
        /// What is in it.
        found: String,
    },
    /// The directory belongs to another move.
    #[error("{path} belongs to move {found}; choose a new directory")]
    OtherMove {
        /// Which directory.
        path: String,
        /// Whose it is.
        found: String,
    },
    /// The move that wrote the directory did not come to its end.
    #[error("{path} is incomplete: move {move_id} has not finished writing it")]
    Incomplete {
        /// Which directory.
        path: String,
        /// Which move.
        move_id: String,
    },
    /// Files that the manifest names are not there.
    #[error("{path}: the manifest lists files that don't exist: {}", words::line(&some_of(files, 8), 1_000))]
    Missing {
        /// Which directory.
        path: String,
        /// Which files.
        files: Vec<String>,
    },
}
