//! Reads the tar of a layout. Only regular files with a few known names are accepted. So no entry can be extracted to another
//! place or mean something else to another reader.
//!
//! The entries are walked here rather than by the `tar` crate, which takes an archive that just stops for one that has ended,
//! and doesn't look at what follows the end.

mod blocks;
mod error;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use pivot_core::messages::safe_text::escape_line;
use tar::Header;

pub use self::error::ArchiveError;

use self::blocks::{TarReader, check_only_times};
use self::error::NAME;
use crate::bundles::document;
use crate::bundles::kind::{COMPONENT, FILES, TOTAL};
use crate::digest::{is_sha256, prefixed_sha256};

/// The most bytes of an extension header with times.
const TIMES: u64 = 4096;

/// Limits of reading. Tests set lower ones.
pub(crate) struct ArchiveLimits {
    /// Bytes of one blob.
    pub(crate) blob: u64,
    /// Bytes of all blobs.
    pub(crate) total: u64,
    /// Headers.
    pub(crate) entries: usize,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        // Three blobs for a component, as many extension headers, and a few entries that are always there.
        Self { blob: COMPONENT, total: TOTAL, entries: 2 * (3 * FILES + 16) }
    }
}

/// The contents of a layout's tar.
#[derive(Debug)]
pub(crate) struct LayoutFiles {
    pub(crate) layout: Vec<u8>,
    pub(crate) index: Vec<u8>,
    /// By digest (`sha256:…`), which has been checked.
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
}

/// The allowed paths in a tar.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum EntryPath {
    /// `./`, which GNU tar writes for the directory that it was started in.
    Top,
    Blobs,
    Sha256,
    Layout,
    Index,
    /// `manifest.json`, which regctl writes for Docker next to the index. The content is ignored.
    Docker,
    Blob(String),
}

impl EntryPath {
    fn from_path(path: &str) -> Option<Self> {
        if matches!(path, "." | "./") {
            return Some(Self::Top);
        }
        Some(match path.strip_prefix("./").unwrap_or(path) {
            "blobs" | "blobs/" => Self::Blobs,
            "blobs/sha256" | "blobs/sha256/" => Self::Sha256,
            "oci-layout" => Self::Layout,
            "index.json" => Self::Index,
            "manifest.json" => Self::Docker,
            other => {
                let hex = other.strip_prefix("blobs/sha256/").filter(|hex| is_sha256(hex))?;
                Self::Blob(format!("sha256:{hex}"))
            }
        })
    }

    fn is_directory(&self) -> bool {
        matches!(self, Self::Top | Self::Blobs | Self::Sha256)
    }

    fn max_size(&self, limits: &ArchiveLimits) -> u64 {
        match self {
            Self::Blob(_) => limits.blob,
            _ if self.is_directory() => 0,
            _ => document::SIZE as u64,
        }
    }
}

/// Reads a tar to its end.
pub(crate) fn read_layout(from: impl Read, limits: &ArchiveLimits) -> Result<LayoutFiles, ArchiveError> {
    let mut tape = TarReader::new(from);
    let mut seen = BTreeSet::new();
    let (mut layout, mut index, mut blobs) = (None, None, BTreeMap::new());
    let mut total = 0_u64;
    let mut entries = 0;
    let mut extended = false;
    while let Some((at, header)) = tape.next_header()? {
        entries += 1;
        if entries > limits.entries {
            return Err(ArchiveError::Entries(limits.entries));
        }
        let kind = header.as_old().linkflag.first().copied().unwrap_or_default();
        if kind == b'x' {
            // One belongs to the entry after it, so there can't be two.
            if extended {
                return Err(ArchiveError::BadExtension(at));
            }
            let size = checked_size(&header, at, "an extension header", TIMES)?;
            check_only_times(&tape.read_data(size)?, at)?;
            extended = true;
            continue;
        }
        extended = false;
        let (path, place) = parse_path(&header, kind)?;
        let size = checked_size(&header, at, &path, place.max_size(limits))?;
        if !seen.insert(place.clone()) {
            return Err(ArchiveError::Twice(path));
        }
        if matches!(place, EntryPath::Blob(_)) {
            total = total.saturating_add(size);
            if total > limits.total {
                return Err(ArchiveError::Total(limits.total));
            }
        }
        let data = tape.read_data(size)?;
        match place {
            EntryPath::Top | EntryPath::Blobs | EntryPath::Sha256 | EntryPath::Docker => {}
            EntryPath::Layout => layout = Some(data),
            EntryPath::Index => index = Some(data),
            EntryPath::Blob(digest) if prefixed_sha256(&data) == digest => {
                blobs.insert(digest, data);
            }
            EntryPath::Blob(_) => return Err(ArchiveError::Digest(path)),
        }
    }
    if extended {
        return Err(ArchiveError::BadExtension(tape.at));
    }
    tape.expect_only_zeros()?;
    let layout = layout.ok_or(ArchiveError::Missing("oci-layout"))?;
    let index = index.ok_or(ArchiveError::Missing("index.json"))?;
    Ok(LayoutFiles { layout, index, blobs })
}

/// Returns the kind of an entry, and its path in a printable form.
fn parse_path(header: &Header, kind: u8) -> Result<(String, EntryPath), ArchiveError> {
    let bytes = header.path_bytes();
    let text = String::from_utf8_lossy(&bytes);
    let path = escape_line(&text, NAME);
    let directory = match kind {
        b'0' | 0 => false,
        b'5' => true,
        b'1' => return Err(ArchiveError::HardLink(path)),
        b'2' => return Err(ArchiveError::Symlink(path)),
        b'3' | b'4' => return Err(ArchiveError::Device(path)),
        b'6' => return Err(ArchiveError::Fifo(path)),
        b'S' => return Err(ArchiveError::Sparse(path)),
        b'K' | b'L' => return Err(ArchiveError::LongName(path)),
        b'g' => return Err(ArchiveError::Global),
        other => return Err(ArchiveError::Type(path, other.into())),
    };
    if text.starts_with('/') {
        return Err(ArchiveError::Absolute(path));
    }
    if text.split('/').any(|part| part == "..") {
        return Err(ArchiveError::Parent(path));
    }
    let Some(place) = EntryPath::from_path(&text) else { return Err(ArchiveError::Path(path)) };
    match (place.is_directory(), directory) {
        (true, false) => Err(ArchiveError::Wrong(path, "a file, not a directory")),
        (false, true) => Err(ArchiveError::Wrong(path, "a directory, not a file")),
        _ => Ok((path, place)),
    }
}

/// Returns the size of an entry, or fails if the size exceeds the limit.
fn checked_size(header: &Header, at: u64, path: &str, limit: u64) -> Result<u64, ArchiveError> {
    let too_large = || ArchiveError::Size(path.to_owned(), limit);
    let field = header.as_old().size;
    // Binary, which is for more than 8 GiB, and of which readers take different parts.
    if field.first().is_some_and(|byte| byte & 0x80 != 0) {
        return Err(too_large());
    }
    match header.entry_size() {
        Ok(size) if size <= limit => Ok(size),
        Ok(_) => Err(too_large()),
        Err(_) => Err(ArchiveError::Damaged(at)),
    }
}
