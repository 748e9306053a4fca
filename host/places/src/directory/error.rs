//! Problems with a directory.

use pivot_core::Key;
use pivot_core::messages::refusal::some_of;
use pivot_core::messages::safe_text;

/// The error of a directory that can't be used. Contains no part of a file's content except names.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The file system returned an error.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: String,
        /// The error.
        source: std::io::Error,
    },
    /// A file or directory is of a kind that can't be used.
    #[error("{path}: {reason}")]
    Unusable {
        /// The file or directory.
        path: String,
        /// Reason of the error.
        reason: String,
    },
    /// A file's content is not valid.
    #[error("{file}, document {document}: {reason}")]
    Document {
        /// The file.
        file: String,
        /// The document in it, counted from 1.
        document: usize,
        /// Reason of the error.
        reason: String,
    },
    /// Two documents define the same object.
    #[error("{key} is both in {first} and in {second}")]
    Twice {
        /// The object.
        key: Box<Key>,
        /// The first document.
        first: String,
        /// The second document.
        second: String,
    },
    /// The directory holds something that pivot-host didn't write.
    #[error("{path} is not empty (it has {found}): choose a new directory")]
    NotEmpty {
        /// The directory.
        path: String,
        /// A name that was found in it.
        found: String,
    },
    /// The directory belongs to another move.
    #[error("{path} belongs to move {found}; choose a new directory")]
    OtherMove {
        /// The directory.
        path: String,
        /// The move that it belongs to.
        found: String,
    },
    /// The directory is encrypted, and no key was given.
    #[error("{path} is encrypted: an identity is needed to read it")]
    Encrypted {
        /// The directory.
        path: String,
    },
    /// A move encrypted the files that it wrote so far, and is about to continue without encryption; or the other way round.
    #[error(
        "{path}: move {move_id} started it {}",
        if *encrypted { "encrypted" } else { "unencrypted, as far as the directory says" }
    )]
    OtherwiseEncrypted {
        /// The directory.
        path: String,
        /// The move.
        move_id: String,
        /// Whether the files that were written so far are encrypted.
        encrypted: bool,
    },
    /// A move that has written everything finds no directory that it did not close.
    #[error("{path} has nothing that the move left unfinished")]
    NotLeftUnclosed {
        /// The directory.
        path: String,
    },
    /// The move that wrote the directory did not finish.
    #[error("{path} is incomplete: move {move_id} has not finished writing it")]
    Incomplete {
        /// The directory.
        path: String,
        /// The move.
        move_id: String,
    },
    /// Files that the manifest names are missing.
    #[error("{path}: the manifest lists files that don't exist: {}", safe_text::to_line(&some_of(files, 8), 1_000))]
    Missing {
        /// The directory.
        path: String,
        /// The missing files.
        files: Vec<String>,
    },
}
