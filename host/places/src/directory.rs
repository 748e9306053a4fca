//! A directory of files as a place: a backup, a transfer into an air-gapped site, a cluster written by hand.
//!
//! A directory that is read ([`DirectoryPlace::to_read`]) may hold any YAML or JSON that kubectl accepts. One that is written
//! ([`DirectoryPlace::to_write`], then opened for a move) holds one JSON file per object: YAML would be more readable, but its
//! parsers disagree on what `012`, `1_000` or `no` mean, while all of them read JSON identically. Files hold the complete object
//! with its status, so that a later restore can use it.
//!
//! All files are opened below one directory handle: no name and no link leads out of it.
//!
//! Files may be encrypted ([`encryption`]), all of them except the manifest. A writer needs no key that opens them. So a resumed
//! move can't read what its earlier run wrote. It writes everything again, as long as the source still has it.

mod additions;
mod complete;
mod contents;
mod definitions;
mod documents;
mod encryption;
mod error;
mod examine;
mod files;
mod loose;
mod manifest;
mod verbs;
mod whole_file;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pivot_core::records::backup::BackupFacts;
use pivot_core::{Key, Kind, Object, Uid};
use serde_json::Value;

pub use additions::additions_of_files;
pub use encryption::{Encryption, Identities, Recipients};
pub use error::DirectoryError;
pub use examine::Examined;
pub use loose::{documents_of_content, objects_of_file};
pub use manifest::Manifest;
pub use whole_file::{ClusterInFile, cluster_of_file};

use crate::body::set_metadata;
use crate::place::{Begun, Opening, PlaceError, Result};
use contents::{DirectoryContents, ObjectInFile};
use files::DirectoryHandle;
use manifest::{Differences, Writer};

/// The error of every write to a directory that is read.
const READ_ONLY: PlaceError = PlaceError::unsupported("a directory that is read", "be written to");

/// A directory of objects.
pub struct DirectoryPlace {
    shared: Arc<Shared>,
}

struct Shared {
    label: String,
    files: DirectoryHandle,
    /// Keys of the readers; without keys, files are not encrypted.
    recipients: Option<Recipients>,
    manifest: Option<Manifest>,
    /// SHA-256 of the manifest, if the files are exactly those that it lists.
    digest: Option<String>,
    mode: Mutex<Mode>,
    contents: Mutex<DirectoryContents>,
}

/// The use of a directory.
#[derive(Clone)]
enum Mode {
    Read,
    /// To be written, but no move has opened it yet.
    Unopened,
    /// This move writes it.
    Written(String),
}

impl DirectoryPlace {
    /// Opens a directory to read from. Nothing in it is changed.
    pub fn to_read(path: &Path) -> Result<Self, DirectoryError> {
        Self::open_to_read(DirectoryHandle::open(path)?)
    }

    /// Opens a directory of encrypted files to read from.
    pub fn to_decrypt(path: &Path, identities: Identities) -> Result<Self, DirectoryError> {
        Self::open_to_read(DirectoryHandle::open(path)?.with_identities(Some(identities)))
    }

    fn open_to_read(files: DirectoryHandle) -> Result<Self, DirectoryError> {
        let (manifest, digest) = manifest::read_with_digest(&files)?.unzip();
        manifest::check_complete(&files, manifest.as_ref())?;
        let mut contents = complete::read_contents(&files, manifest.as_ref())?;
        contents.unpause_all(manifest.as_ref().map(|manifest| manifest.move_id.as_str()))?;
        let mut is_as_written = false;
        if let Some(manifest) = &manifest {
            let Differences { missing, changed, added } = manifest.compare_read(&files)?;
            if !missing.is_empty() {
                return Err(DirectoryError::Missing { path: files.path().to_owned(), files: missing });
            }
            is_as_written = changed.is_empty() && added.is_empty();
            changed.iter().for_each(|file| tracing::warn!(file, "changed since the move wrote it"));
            added.iter().for_each(|file| tracing::warn!(file, "not of the move that wrote the others"));
        }
        let digest = digest.filter(|_| is_as_written);
        Ok(Self::new(files, None, (manifest, digest), Mode::Read, contents))
    }

    /// Opens a directory to write to, once a move opens it. The directory is created if it doesn't exist.
    pub fn to_write(path: &Path) -> Result<Self, DirectoryError> {
        Self::open_to_write(path, None)
    }

    /// Opens a directory to write to, with every object encrypted.
    pub fn to_encrypt(path: &Path, recipients: Recipients) -> Result<Self, DirectoryError> {
        Self::open_to_write(path, Some(recipients))
    }

    fn open_to_write(path: &Path, recipients: Option<Recipients>) -> Result<Self, DirectoryError> {
        let place = Self::new(
            DirectoryHandle::create(path)?,
            recipients,
            (None, None),
            Mode::Unopened,
            DirectoryContents::default(),
        );
        let Shared { files, .. } = &*place.shared;
        // Checked here, because nothing is paused yet. A mark alone counts for nothing: any move may begin there.
        if let (Some(writer), Some(_)) =
            (manifest::read_unfinished(files)?, files.first_foreign_name(manifest::UNFINISHED_FILE)?)
        {
            writer.check_same_encryption(files, place.shared.encryption())?;
        }
        Ok(place)
    }

    fn new(
        files: DirectoryHandle,
        recipients: Option<Recipients>,
        (manifest, digest): (Option<Manifest>, Option<String>),
        mode: Mode,
        contents: DirectoryContents,
    ) -> Self {
        let label = format!("directory {}", files.path());
        let (mode, contents) = (Mutex::new(mode), Mutex::new(contents));
        let shared = Shared { label, files, recipients, manifest, digest, mode, contents };
        Self { shared: Arc::new(shared) }
    }

    /// Returns the manifest of the move that wrote the directory, if the move finished.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.shared.manifest.as_ref()
    }

    /// Returns the SHA-256 of the manifest, if the directory is as the move wrote it: nothing is missing, changed or added. The
    /// digest stands for all that was read.
    pub fn digest(&self) -> Option<&str> {
        self.shared.digest.as_deref()
    }
}

impl Shared {
    fn lock_contents(&self) -> MutexGuard<'_, DirectoryContents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_mode(&self) -> MutexGuard<'_, Mode> {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the manifest says that the source was left paused, and the files are exactly those that it lists.
    fn is_handed_over(&self) -> bool {
        self.digest.is_some() && self.manifest.as_ref().is_some_and(|manifest| manifest.handover)
    }

    /// Returns the encryption of files that are written.
    fn encryption(&self) -> Option<Encryption> {
        self.recipients.as_ref().map(|_| Encryption::Age)
    }

    /// Returns the id of the move that is writing; an error if none is.
    fn writing_move(&self) -> Result<String> {
        match &*self.lock_mode() {
            Mode::Written(move_id) => Ok(move_id.clone()),
            Mode::Read => Err(READ_ONLY),
            Mode::Unopened => {
                Err(PlaceError::unsupported("a directory that no move opened", "be written to"))
            }
        }
    }

    /// Opens the directory for one move: it must be empty, or started by the same move before, or by a move that died before it
    /// wrote anything.
    fn open_for_move(&self, opening: &Opening) -> Result<(), DirectoryError> {
        let Opening { move_id, begun } = opening;
        let files = &self.files;
        if matches!(&*self.lock_mode(), Mode::Written(opened) if opened == move_id) {
            return Ok(());
        }
        let before = manifest::read_manifest(files)?;
        if *begun == Begun::Written {
            let unclosed = manifest::read_unfinished(files)?.is_some_and(|found| found.move_id == *move_id);
            if before.is_some() || !unclosed {
                return Err(DirectoryError::NotLeftUnclosed { path: files.path().to_owned() });
            }
        }
        let owner = match &before {
            Some(manifest) => Some(manifest.writer()),
            None => manifest::read_unfinished(files)?,
        };
        let writer = Writer { move_id: move_id.clone(), encryption: self.encryption() };
        match owner {
            // A complete copy is not changed again, except by a move whose record doesn't know yet that it is complete.
            Some(found) if before.is_some() && matches!(begun, Begun::No | Begun::Overwrite) => {
                return Err(self.other_move_error(found));
            }
            Some(found)
                if found.move_id != *move_id
                    && (before.is_some()
                        || files.first_foreign_name(manifest::UNFINISHED_FILE)?.is_some()) =>
            {
                return Err(self.other_move_error(found));
            }
            Some(found) if found.move_id == *move_id => {
                found.check_same_encryption(files, writer.encryption)?
            }
            None => {
                if let Some(found) = files.first_foreign_name(manifest::UNFINISHED_FILE)? {
                    return Err(DirectoryError::NotEmpty { path: files.path().to_owned(), found });
                }
            }
            Some(_) => {}
        }
        if self.recipients.is_some()
            && let Some(found) = self.find_foreign_file()?
        {
            return Err(DirectoryError::NotEmpty { path: files.path().to_owned(), found });
        }
        // From here on the directory is incomplete, until it is closed.
        manifest::mark_unfinished(files, &writer)?;
        files.remove_temporary_files()?;
        let learnt = std::mem::take(&mut self.lock_contents().kinds);
        let mut contents = match &self.recipients {
            // The files of an earlier run are encrypted and can't be read here. They stay until all of them are written again.
            Some(_) => DirectoryContents::default(),
            None => complete::read_contents(files, before.as_ref())?,
        };
        if *begun == Begun::Overwrite {
            for (key, entry) in std::mem::take(&mut contents.entries) {
                if entry.file != files::object_file_name(&key) {
                    return Err(DirectoryError::NotEmpty {
                        path: files.path().to_owned(),
                        found: entry.file,
                    });
                }
                files.remove(&entry.file)?;
            }
        }
        for (group_kind, kind) in learnt {
            contents.kinds.entry(group_kind).or_insert(kind);
        }
        *self.lock_contents() = contents;
        *self.lock_mode() = Mode::Written(move_id.clone());
        Ok(())
    }

    fn other_move_error(&self, found: Writer) -> DirectoryError {
        DirectoryError::OtherMove { path: self.files.path().to_owned(), found: found.move_id }
    }

    /// Returns a file that no encrypting move has written.
    fn find_foreign_file(&self) -> Result<Option<String>, DirectoryError> {
        let names = self.files.list_files()?.into_iter();
        Ok(names.filter(|name| name != manifest::MANIFEST_FILE && !files::is_encrypted_object(name)).min())
    }

    /// If nothing was written, frees the directory for another move; otherwise it stays with this move, or with the one that
    /// opened it later.
    fn abandon(&self) -> Result<(), DirectoryError> {
        let Ok(writer) = self.writing_move() else { return Ok(()) };
        if self.lock_contents().entries.is_empty() {
            if self.is_marked_by(&writer)? {
                if self.recipients.is_some() {
                    self.files.remove_encrypted(|_| false)?;
                }
                manifest::remove_mark(&self.files)?;
            }
            *self.lock_mode() = Mode::Unopened;
        }
        Ok(())
    }

    /// Returns true if the mark is still this move's: if two moves opened an empty directory at once, the later one has it.
    fn is_marked_by(&self, writer: &str) -> Result<bool, DirectoryError> {
        Ok(manifest::read_unfinished(&self.files)?.is_some_and(|found| found.move_id == writer))
    }

    /// Marks the copy as complete: flushes everything to disk, then writes the manifest.
    fn complete_copy(
        &self,
        move_id: &str,
        handover: bool,
        backup: Option<BackupFacts>,
    ) -> Result<(), DirectoryError> {
        let contents = self.lock_contents();
        let used = contents.entries.keys().map(|key| &key.group_kind);
        let kinds = used.filter_map(|kind| Some((kind.clone(), Kind::clone(contents.kinds.get(kind)?))));
        let kinds: BTreeMap<_, _> = kinds.collect();
        let entries = contents.entries.values();
        let names: BTreeMap<&str, Option<&str>> =
            entries.map(|entry| (entry.file.as_str(), entry.written.as_deref())).collect();
        if self.recipients.is_some() {
            // Files of an earlier run whose objects are gone from the source.
            self.files.remove_encrypted(|name| names.contains_key(name))?;
        }
        let writer = Writer { move_id: move_id.to_owned(), encryption: self.encryption() };
        let kinds = kinds.into_values().collect();
        manifest::finish_copy(&self.files, &writer, (handover, backup), kinds, &names).map(drop)
    }

    /// Returns the id of the contents for readers, now or once the move that writes them has closed the directory.
    fn contents_id(&self) -> Result<Option<Uid>, DirectoryError> {
        let mode = self.lock_mode().clone();
        match mode {
            Mode::Read => Ok(Some(self.lock_contents().content_id())),
            Mode::Unopened => Ok(None),
            Mode::Written(move_id) => self.lock_contents().content_id_as_read(&move_id).map(Some),
        }
    }

    /// Stores an object at a new version.
    fn store_object(
        &self,
        contents: &mut DirectoryContents,
        kind: &Arc<Kind>,
        key: &Key,
        mut body: Value,
    ) -> Result<Object> {
        if !self.is_marked_by(&self.writing_move()?).map_err(write_error)? {
            return Err(PlaceError::Invalid(format!("{} was opened by another move meanwhile", self.label)));
        }
        // No server counts this far, but anyone with an editor can. A version used twice would make two states indistinguishable.
        let next = contents.version.checked_add(1);
        contents.version = next.ok_or_else(|| {
            PlaceError::Invalid(format!(
                "{} has an object of the highest version there is: nothing comes after it",
                self.label
            ))
        })?;
        set_metadata(&mut body, "resourceVersion", contents.version.to_string().into());
        let object = parse_object(kind, &body)?;
        let file = match contents.entries.get(key) {
            Some(entry) => entry.file.clone(),
            None if self.recipients.is_some() => files::object_file_name(key) + encryption::ENDING,
            None => files::object_file_name(key),
        };
        let mut content = to_pretty_json(&body)?;
        if let Some(recipients) = &self.recipients {
            content = recipients
                .encrypt(&content)
                .map_err(|reason| PlaceError::Invalid(format!("{file}: {reason}")))?;
        }
        // Writes are fast: they go to the page cache, and to disk when the move closes the directory.
        self.files.write_file(&file, &content).map_err(write_error)?;
        contents.kinds.entry(kind.group_kind.clone()).or_insert_with(|| Arc::clone(kind));
        let written = Some(files::sha256_hex(&content));
        contents.entries.insert(key.clone(), ObjectInFile { file, written, object: object.clone() });
        Ok(object)
    }
}

fn parse_object(kind: &Arc<Kind>, body: &Value) -> Result<Object> {
    Object::from_value(Arc::clone(kind), body).map_err(|error| PlaceError::Invalid(error.to_string()))
}

fn to_pretty_json(body: &Value) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(body).map_err(|error| PlaceError::Invalid(error.to_string()))?;
    text.push(b'\n');
    Ok(text)
}

/// Retrying won't help if the disk is full, and the run can be resumed. The cause becomes part of the text: places return plain
/// values.
fn write_error(error: DirectoryError) -> PlaceError {
    PlaceError::Invalid(error.to_string())
}

#[cfg(test)]
mod tests;
