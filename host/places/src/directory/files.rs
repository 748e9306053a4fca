//! Files below one directory handle: listed in order, written atomically.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
#[cfg(unix)]
use cap_std::fs::{MetadataExt as _, OpenOptionsExt as _};
use pivot_core::Key;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::DirectoryError;
use super::encryption::{ENDING, Identities};
use crate::regular;

/// Deepest nesting of directories; links can form a cycle.
const MAX_DEPTH: usize = 16;
/// The most files and directories that are looked at: five times a cluster of 20,000 objects. Links that stay inside can make far more
/// paths than there are files.
const MAX_ENTRIES: usize = 100_000;
/// The longest name before the extension; file systems end at 255.
const MAX_NAME_BYTES: usize = 200;
/// Prefix of the names of files that are being written.
const TEMPORARY: &str = ".tmp-";

/// A directory, by its handle and its canonical path.
pub(super) struct DirectoryHandle {
    dir: Dir,
    path: String,
    /// Keys for encrypted files.
    identities: Option<Identities>,
    /// SHA-256 of each file whose objects were read.
    digests: Mutex<BTreeMap<String, String>>,
}

impl DirectoryHandle {
    /// Opens an existing directory.
    pub(super) fn open(path: &Path) -> Result<Self, DirectoryError> {
        let shown = path.display().to_string();
        let canonical = std::fs::canonicalize(path).map_err(|error| io_error(&shown, error))?;
        let dir = Dir::open_ambient_dir(&canonical, ambient_authority())
            .map_err(|error| io_error(&shown, error))?;
        Ok(Self { dir, path: canonical.display().to_string(), identities: None, digests: Mutex::default() })
    }

    /// Adds keys for encrypted files.
    pub(super) fn with_identities(self, identities: Option<Identities>) -> Self {
        Self { identities, ..self }
    }

    /// Returns true if there are keys for encrypted files.
    pub(super) fn has_identities(&self) -> bool {
        self.identities.is_some()
    }

    /// Opens an existing directory, or creates one that only we can access.
    pub(super) fn create(path: &Path) -> Result<Self, DirectoryError> {
        if !path.exists() {
            let mut builder = std::fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder
                .recursive(true)
                .create(path)
                .map_err(|error| io_error(&path.display().to_string(), error))?;
        }
        Self::open(path)
    }

    /// Returns the canonical path.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns every file that may hold objects, in order; hidden files and other types are skipped.
    pub(super) fn list_files(&self) -> Result<Vec<String>, DirectoryError> {
        let (mut found, mut left) = (Vec::new(), MAX_ENTRIES);
        self.collect_files(&self.dir, "", MAX_DEPTH, (&mut found, &mut left))?;
        found.sort_unstable();
        Ok(found)
    }

    fn collect_files(
        &self,
        dir: &Dir,
        at: &str,
        depth: usize,
        (found, left): (&mut Vec<String>, &mut usize),
    ) -> Result<(), DirectoryError> {
        let io_error = |name: &str, error| io_error(&format!("{}/{name}", self.path), error);
        for entry in dir.entries().map_err(|error| io_error(at, error))? {
            let name = entry.map_err(|error| io_error(at, error))?.file_name();
            let Some(name) = name.to_str() else {
                let reason = format!("a file name that is not UTF-8: {}", name.display());
                return Err(DirectoryError::Unusable { path: format!("{}/{at}", self.path), reason });
            };
            // Mounted ConfigMaps have their content twice, once below a hidden link.
            if name.starts_with('.') {
                continue;
            }
            let path = format!("{at}{name}");
            let Some(fewer) = left.checked_sub(1) else {
                let reason = format!("more than {MAX_ENTRIES} files and directories, links followed");
                return Err(DirectoryError::Unusable { path: self.path.clone(), reason });
            };
            *left = fewer;
            // Follows links that stay inside the directory.
            let metadata = dir.metadata(name).map_err(|error| io_error(&path, error))?;
            if metadata.is_dir() {
                if depth == 0 {
                    let reason = format!("more than {MAX_DEPTH} directories in each other");
                    return Err(DirectoryError::Unusable { path: format!("{}/{path}", self.path), reason });
                }
                let below = dir.open_dir(name).map_err(|error| io_error(&path, error))?;
                self.collect_files(&below, &format!("{path}/"), depth - 1, (&mut *found, &mut *left))?;
            } else if [".yaml", ".yml", ".json"].iter().any(|end| plain_name(name).ends_with(end)) {
                found.push(path);
            }
        }
        Ok(())
    }

    /// Returns the first name in the directory, other than `mark` and the leftovers of interrupted writes.
    pub(super) fn first_foreign_name(&self, mark: &str) -> Result<Option<String>, DirectoryError> {
        let names = self.dir.entries().and_then(|entries| {
            entries.map(|entry| Ok(entry?.file_name().display().to_string())).collect::<Result<Vec<_>, _>>()
        });
        let names = names.map_err(|error| io_error(&self.path, error))?.into_iter();
        Ok(names.filter(|name| name != mark && !name.starts_with(TEMPORARY)).min())
    }

    /// Returns a file's content; none if the file doesn't exist.
    pub(super) fn read_file(&self, name: &str) -> Result<Option<Vec<u8>>, DirectoryError> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        options.custom_flags(regular::NOT_WAITING);
        let content = self.dir.metadata(name).and_then(|metadata| {
            #[cfg(unix)]
            regular::check_is_regular(metadata.mode())?;
            self.dir.open_with(name, &options).and_then(|file| regular::read_content(file.into_std()))
        });
        match content {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.file_error(name, error)),
        }
    }

    /// Returns a file's content, decrypted if the file is encrypted.
    pub(super) fn read_decrypted(&self, name: &str) -> Result<Option<Vec<u8>>, DirectoryError> {
        let Some(content) = self.read_file(name)? else { return Ok(None) };
        self.lock_digests().insert(name.to_owned(), sha256_hex(&content));
        if !name.ends_with(ENDING) {
            return Ok(Some(content));
        }
        let Some(identities) = &self.identities else {
            return Err(DirectoryError::Encrypted { path: self.path.clone() });
        };
        let decrypted = identities.decrypt(&content).map(Some);
        decrypted.map_err(|reason| DirectoryError::Unusable { path: name.to_owned(), reason })
    }

    /// Returns the SHA-256 of a file: of the bytes that its objects were read from, if they were: another content of the file doesn't count.
    pub(super) fn file_digest(&self, name: &str) -> Result<Option<String>, DirectoryError> {
        if let Some(digest) = self.lock_digests().get(name) {
            return Ok(Some(digest.clone()));
        }
        Ok(self.read_file(name)?.map(|content| sha256_hex(&content)))
    }

    /// Returns true if the objects of a file were read.
    pub(super) fn was_read(&self, name: &str) -> bool {
        self.lock_digests().contains_key(name)
    }

    /// Returns the files whose objects were read.
    pub(super) fn names_read(&self) -> Vec<String> {
        self.lock_digests().keys().cloned().collect()
    }

    fn lock_digests(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if users other than the owner can read or write a file. On systems without such permissions, returns false.
    pub(super) fn is_accessible_to_others(&self, name: &str) -> Result<bool, DirectoryError> {
        let metadata = self.dir.metadata(name).map_err(|error| self.file_error(name, error))?;
        #[cfg(unix)]
        let others = metadata.mode() & 0o066 != 0;
        #[cfg(not(unix))]
        let others = {
            drop(metadata);
            false
        };
        Ok(others)
    }

    /// Writes a file that only we can read. Readers see either the old content or the new, nothing in between.
    pub(super) fn write_file(&self, name: &str, content: &[u8]) -> Result<(), DirectoryError> {
        let temporary = format!("{TEMPORARY}{}", Uuid::new_v4().simple());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let written = self
            .dir
            .open_with(&temporary, &options)
            .and_then(|mut file| file.write_all(content))
            .and_then(|()| self.dir.rename(&temporary, &self.dir, name));
        written.map_err(|error| {
            // Best effort: `remove_temporary_files` removes leftovers.
            drop(self.dir.remove_file(&temporary));
            self.file_error(name, error)
        })
    }

    /// Removes a file; a missing one is no error.
    pub(super) fn remove(&self, name: &str) -> Result<(), DirectoryError> {
        match self.dir.remove_file(name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(self.file_error(name, error)),
            _ => Ok(()),
        }
    }

    /// Removes half-written files of an interrupted run.
    pub(super) fn remove_temporary_files(&self) -> Result<(), DirectoryError> {
        for entry in self.dir.entries().map_err(|error| io_error(&self.path, error))? {
            let name = entry.map_err(|error| io_error(&self.path, error))?.file_name();
            if let Some(name) = name.to_str().filter(|name| name.starts_with(TEMPORARY)) {
                self.remove(name)?;
            }
        }
        Ok(())
    }

    /// Removes the encrypted files of objects, except those to keep.
    pub(super) fn remove_encrypted(&self, keep: impl Fn(&str) -> bool) -> Result<(), DirectoryError> {
        let names = self.list_files()?;
        names
            .iter()
            .filter(|name| is_encrypted_object(name) && !keep(name))
            .try_for_each(|name| self.remove(name))
    }

    /// Waits until a file's content is on disk.
    pub(super) fn sync_file(&self, name: &str) -> Result<(), DirectoryError> {
        self.dir.open(name).and_then(|file| file.sync_all()).map_err(|error| self.file_error(name, error))
    }

    /// Waits until the names are on disk.
    pub(super) fn sync_names(&self) -> Result<(), DirectoryError> {
        // The handle itself may be one that can't be synced (O_PATH).
        let synced = self.dir.open(".").and_then(|dir| dir.sync_all());
        synced.map_err(|error| io_error(&self.path, error))
    }

    fn file_error(&self, name: &str, error: std::io::Error) -> DirectoryError {
        io_error(&format!("{}/{name}", self.path), error)
    }
}

fn io_error(path: &str, error: std::io::Error) -> DirectoryError {
    DirectoryError::Io { path: path.to_owned(), source: error }
}

/// Returns the SHA-256 of a file's bytes, as 64 digits.
pub(super) fn sha256_hex(content: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(content).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns true if this could be the name of an object's encrypted file.
pub(super) fn is_encrypted_object(name: &str) -> bool {
    !name.contains('/') && plain_name(name) != name && plain_name(name).ends_with(".json")
}

/// Returns the name that a file had before it was encrypted.
pub(super) fn plain_name(name: &str) -> &str {
    name.strip_suffix(ENDING).unwrap_or(name)
}

/// Returns the name of an object's file. Different objects have different files, even on a case-insensitive file system.
pub(super) fn object_file_name(key: &Key) -> String {
    let kind = &key.group_kind;
    let namespace = key.namespace.as_deref().unwrap_or_default();
    let full = format!("{kind}_{}_{}", escape_name(namespace), escape_name(&key.name));
    match full.get(..MAX_NAME_BYTES) {
        None => format!("{full}.json"),
        Some(start) => {
            format!("{start}_{}.json", Uuid::new_v5(&Uuid::NAMESPACE_OID, full.as_bytes()).simple())
        }
    }
}

/// Escapes a name. Kubernetes names stay unchanged, except for the rare colon or capital.
fn escape_name(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use pivot_core::GroupKind;

    use super::*;

    // proves: W13
    #[test]
    fn w13_file_names_distinguish_all_keys() {
        let named = |group, namespace, object: &str| {
            object_file_name(&Key::new(GroupKind::new(group, "IPPool"), namespace, object))
        };
        assert_eq!(named("ipam.metal3.io", Some("a"), "p"), "IPPool.ipam.metal3.io_a_p.json");
        assert_eq!(named("", None, "p"), "IPPool__p.json");
        assert_eq!(named("", None, "system:A_b"), "IPPool__system%3a%41%5fb.json");
        let long = "x".repeat(253);
        let (one, other) = (named("g", Some("a"), &long), named("g", Some("a"), &format!("{long}y")));
        assert_ne!(one, other);
        assert!(one.len() < 255);
    }
}
