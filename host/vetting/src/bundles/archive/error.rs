//! Reasons to refuse a tar.

use std::io;

/// Most characters of a path that are printed.
pub(super) const NAME: usize = 120;

/// Reasons to refuse a tar. The texts quote paths, never contents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// The tar can't be read at all.
    #[error("it can't be read: {0}")]
    Io(io::ErrorKind),
    /// The tar is compressed.
    #[error("it is compressed with {0}; decompress it first ({0} -d)")]
    Compressed(&'static str),
    /// Something else than a tar.
    #[error("it is not a tar")]
    NotTar,
    /// The tar ends too early.
    #[error("it is truncated")]
    Truncated,
    /// A header that contradicts itself.
    #[error("the header at byte {0} is damaged")]
    Damaged(u64),
    /// A path from the root.
    #[error("{0}: an absolute path")]
    Absolute(String),
    /// A path that leads out.
    #[error("{0}: a path with `..`")]
    Parent(String),
    /// A path that no bundle has.
    #[error("{0}: no part of a bundle")]
    Path(String),
    /// A symbolic link.
    #[error("{0}: a symbolic link")]
    Symlink(String),
    /// A hard link.
    #[error("{0}: a hard link")]
    HardLink(String),
    /// A character or block device.
    #[error("{0}: a device")]
    Device(String),
    /// A named pipe.
    #[error("{0}: a named pipe")]
    Fifo(String),
    /// A file with holes.
    #[error("{0}: a sparse file")]
    Sparse(String),
    /// A name or link in an entry of its own.
    #[error("{0}: a long name of GNU tar; a bundle has none")]
    LongName(String),
    /// An extension header that changes more than times.
    #[error("an extension header sets `{0}`; only times are allowed")]
    Extension(String),
    /// An extension header for all that follows.
    #[error("a global extension header")]
    Global,
    /// An extension header that can't be understood, or that belongs to nothing.
    #[error("the extension header at byte {0} is damaged")]
    BadExtension(u64),
    /// An entry of a type that is unknown here.
    #[error("{0}: an entry of the type {1:?}")]
    Type(String, char),
    /// A file where a directory should be, or the reverse.
    #[error("{0}: {1}")]
    Wrong(String, &'static str),
    /// An entry that is there already.
    #[error("{0}: a second time")]
    Twice(String),
    /// An entry that is larger than its kind allows.
    #[error("{0}: more than {1} bytes")]
    Size(String, u64),
    /// Too much in all.
    #[error("its blobs have more than {0} bytes in all")]
    Total(u64),
    /// Too many entries.
    #[error("it has more than {0} entries")]
    Entries(usize),
    /// A blob with other bytes than its name says.
    #[error("{0}: its bytes have another digest")]
    Digest(String),
    /// A file that has to be there.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// Something after the end.
    #[error("something follows its end")]
    Trailing,
}

impl ArchiveError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io(_) => "unreadable",
            Self::Compressed(_) => "compressed",
            Self::NotTar => "not-a-tar",
            Self::Truncated => "truncated",
            Self::Damaged(_) => "damaged-header",
            Self::Absolute(_) => "absolute-path",
            Self::Parent(_) => "parent-path",
            Self::Path(_) => "unexpected-path",
            Self::Symlink(_) => "symlink",
            Self::HardLink(_) => "hard-link",
            Self::Device(_) => "device",
            Self::Fifo(_) => "fifo",
            Self::Sparse(_) => "sparse-file",
            Self::LongName(_) => "long-name",
            Self::Extension(_) => "extension-header",
            Self::Global => "global-extension-header",
            Self::BadExtension(_) => "damaged-extension-header",
            Self::Type(..) => "unknown-entry-type",
            Self::Wrong(..) => "wrong-entry-type",
            Self::Twice(_) => "entry-twice",
            Self::Size(..) => "entry-too-large",
            Self::Total(_) => "archive-too-large",
            Self::Entries(_) => "too-many-entries",
            Self::Digest(_) => "wrong-digest",
            Self::Missing("index.json") => "no-index",
            Self::Missing(_) => "no-layout",
            Self::Trailing => "trailing-data",
        }
    }
}

impl From<io::Error> for ArchiveError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.kind())
    }
}
