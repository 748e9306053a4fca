//! A directory of files as a place: a backup, a transfer into an air-gapped site, a cluster written by hand.
//!
//! A directory that is read ([`DirectoryPlace::to_read`]) may hold any YAML or JSON that kubectl accepts. One that is written
//! ([`DirectoryPlace::to_write`], then opened for a move) holds one JSON file per object: YAML would be more readable, but its
//! parsers disagree on what `012`, `1_000` or `no` mean, while all of them read JSON identically. Files hold the complete object
//! with its status, so that a later restore can use it.
//!
//! All files are opened below one directory handle: no name and no link leads out of it.
//!
//! Files may be encrypted ([`encryption`]), all of them but the manifest. Whoever writes them needs no key that opens them. So a
//! move that continues can't read what its earlier run wrote; it writes everything again, as long as the source still has it.

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

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pivot_core::{Key, Kind, Object, Uid};
use serde_json::Value;

pub use additions::additions_of_files;
pub use encryption::{Encryption, Identities, Recipients};
pub use error::DirectoryError;
pub use examine::Examined;
pub use loose::objects_of_file;
pub use manifest::Manifest;

use crate::body::set;
use crate::place::{Begun, Opening, PlaceError, Result};
use contents::{Contents, Entry};
use files::Files;
use manifest::{Compared, Writer};

/// The error of every write to a directory that is read.
const READ_ONLY: PlaceError = PlaceError::unsupported("a directory that is read", "be written to");

/// A directory of objects.
pub struct DirectoryPlace {
    shared: Arc<Shared>,
}

struct Shared {
    label: String,
    files: Files,
    /// Those who can read what is written; everybody if there are none.
    recipients: Option<Recipients>,
    manifest: Option<Manifest>,
    /// SHA-256 of the manifest, if all files are those that it lists, as it lists them.
    digest: Option<String>,
    mode: Mutex<Mode>,
    contents: Mutex<Contents>,
}

/// How a directory is used.
#[derive(Clone)]
enum Mode {
    Read,
    /// To be written, but no move has opened it yet.
    Unopened,
    /// This move writes it.
    Written(String),
}

impl DirectoryPlace {
    /// A directory to read from; nothing in it is changed.
    pub fn to_read(path: &Path) -> Result<Self, DirectoryError> {
        Self::reading(Files::open(path)?)
    }

    /// The same where all files are encrypted.
    pub fn to_decrypt(path: &Path, identities: Identities) -> Result<Self, DirectoryError> {
        Self::reading(Files::open(path)?.opened_by(Some(identities)))
    }

    fn reading(files: Files) -> Result<Self, DirectoryError> {
        let (manifest, digest) = manifest::read_with_digest(&files)?.unzip();
        manifest::complete(&files, manifest.as_ref())?;
        let mut contents = complete::contents(&files, manifest.as_ref())?;
        contents.unpause(manifest.as_ref().map(|manifest| manifest.move_id.as_str()))?;
        let mut is_as_written = false;
        if let Some(manifest) = &manifest {
            let Compared { missing, changed, added } = manifest.compare_read(&files)?;
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

    /// A directory to write to, once a move opens it. It is created if it doesn't exist.
    pub fn to_write(path: &Path) -> Result<Self, DirectoryError> {
        Self::writing(path, None)
    }

    /// The same, with every object encrypted.
    pub fn to_encrypt(path: &Path, recipients: Recipients) -> Result<Self, DirectoryError> {
        Self::writing(path, Some(recipients))
    }

    fn writing(path: &Path, recipients: Option<Recipients>) -> Result<Self, DirectoryError> {
        let place =
            Self::new(Files::create(path)?, recipients, (None, None), Mode::Unopened, Contents::default());
        let Shared { files, .. } = &*place.shared;
        // Found out here, it is found out before anything is paused. A mark alone counts for nothing: any move may begin there.
        if let (Some(writer), Some(_)) = (manifest::unfinished(files)?, files.first(manifest::UNFINISHED)?) {
            writer.goes_on(files, place.shared.encryption())?;
        }
        Ok(place)
    }

    fn new(
        files: Files,
        recipients: Option<Recipients>,
        (manifest, digest): (Option<Manifest>, Option<String>),
        mode: Mode,
        contents: Contents,
    ) -> Self {
        let label = format!("directory {}", files.path());
        let (mode, contents) = (Mutex::new(mode), Mutex::new(contents));
        let shared = Shared { label, files, recipients, manifest, digest, mode, contents };
        Self { shared: Arc::new(shared) }
    }

    /// The manifest of the move that wrote the directory, if that finished.
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
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mode(&self) -> MutexGuard<'_, Mode> {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its manifest says that the source waits, paused, and all files are those that it lists.
    fn is_handed_over(&self) -> bool {
        self.digest.is_some() && self.manifest.as_ref().is_some_and(|manifest| manifest.handover)
    }

    /// How files are written.
    fn encryption(&self) -> Option<Encryption> {
        self.recipients.as_ref().map(|_| Encryption::Age)
    }

    /// The move that is writing; an error if none is.
    fn writer(&self) -> Result<String> {
        match &*self.mode() {
            Mode::Written(move_id) => Ok(move_id.clone()),
            Mode::Read => Err(READ_ONLY),
            Mode::Unopened => {
                Err(PlaceError::unsupported("a directory that no move opened", "be written to"))
            }
        }
    }

    /// Opens it for one move: it must be empty, or started by the same move before, or by one that died before it wrote anything.
    fn open(&self, opening: &Opening) -> Result<(), DirectoryError> {
        let Opening { move_id, begun } = opening;
        let files = &self.files;
        if matches!(&*self.mode(), Mode::Written(opened) if opened == move_id) {
            return Ok(());
        }
        let before = manifest::read(files)?;
        if *begun == Begun::Written {
            let unclosed = manifest::unfinished(files)?.is_some_and(|found| found.move_id == *move_id);
            if before.is_some() || !unclosed {
                return Err(DirectoryError::NotLeftUnclosed { path: files.path().to_owned() });
            }
        }
        let owner = match &before {
            Some(manifest) => Some(manifest.writer()),
            None => manifest::unfinished(files)?,
        };
        let writer = Writer { move_id: move_id.clone(), encryption: self.encryption() };
        match owner {
            // A complete copy is not changed again, except by a move whose record doesn't know yet that it is complete.
            Some(found) if before.is_some() && *begun == Begun::No => return Err(self.of_other(found)),
            Some(found)
                if found.move_id != *move_id
                    && (before.is_some() || files.first(manifest::UNFINISHED)?.is_some()) =>
            {
                return Err(self.of_other(found));
            }
            Some(found) if found.move_id == *move_id => found.goes_on(files, writer.encryption)?,
            None => {
                if let Some(found) = files.first(manifest::UNFINISHED)? {
                    return Err(DirectoryError::NotEmpty { path: files.path().to_owned(), found });
                }
            }
            Some(_) => {}
        }
        if self.recipients.is_some()
            && let Some(found) = self.foreign()?
        {
            return Err(DirectoryError::NotEmpty { path: files.path().to_owned(), found });
        }
        // From here on the directory is incomplete, until it is closed.
        manifest::begin(files, &writer)?;
        files.sweep()?;
        let learnt = std::mem::take(&mut self.contents().kinds);
        let mut contents = match &self.recipients {
            // What an earlier run encrypted can't be read here. It stays until all of it is written again.
            Some(_) => Contents::default(),
            None => complete::contents(files, before.as_ref())?,
        };
        for (group_kind, kind) in learnt {
            contents.kinds.entry(group_kind).or_insert(kind);
        }
        *self.contents() = contents;
        *self.mode() = Mode::Written(move_id.clone());
        Ok(())
    }

    fn of_other(&self, found: Writer) -> DirectoryError {
        DirectoryError::OtherMove { path: self.files.path().to_owned(), found: found.move_id }
    }

    /// A file that a move which encrypts did not write.
    fn foreign(&self) -> Result<Option<String>, DirectoryError> {
        let names = self.files.list()?.into_iter();
        Ok(names.filter(|name| name != manifest::FILE && !files::is_encrypted_object(name)).min())
    }

    /// If nothing was written, frees the directory for another move; otherwise it stays with this move, or with the one that
    /// opened it later.
    fn abandon(&self) -> Result<(), DirectoryError> {
        let Ok(writer) = self.writer() else { return Ok(()) };
        if self.contents().entries.is_empty() {
            if self.is_of(&writer)? {
                if self.recipients.is_some() {
                    self.files.remove_encrypted(|_| false)?;
                }
                manifest::give_up(&self.files)?;
            }
            *self.mode() = Mode::Unopened;
        }
        Ok(())
    }

    /// Whether the mark is still this move's: if two moves opened an empty directory at once, the later one has it.
    fn is_of(&self, writer: &str) -> Result<bool, DirectoryError> {
        Ok(manifest::unfinished(&self.files)?.is_some_and(|found| found.move_id == writer))
    }

    /// Marks the copy as complete: flushes everything to disk, then writes the manifest.
    fn complete(&self, move_id: &str, handover: bool) -> Result<(), DirectoryError> {
        let contents = self.contents();
        let used = contents.entries.keys().map(|key| &key.group_kind);
        let kinds = used.filter_map(|kind| Some((kind.clone(), Kind::clone(contents.kinds.get(kind)?))));
        let kinds: BTreeMap<_, _> = kinds.collect();
        let entries = contents.entries.values();
        let names: BTreeMap<&str, Option<&str>> =
            entries.map(|entry| (entry.file.as_str(), entry.written.as_deref())).collect();
        if self.recipients.is_some() {
            // Of an earlier run, and gone from the source since.
            self.files.remove_encrypted(|name| names.contains_key(name))?;
        }
        let writer = Writer { move_id: move_id.to_owned(), encryption: self.encryption() };
        let kinds = kinds.into_values().collect();
        manifest::finish(&self.files, &writer, handover, kinds, &names).map(drop)
    }

    /// What identifies the contents to those who read them, now or once the move that writes them has closed them.
    fn digest(&self) -> Result<Option<Uid>, DirectoryError> {
        let mode = self.mode().clone();
        match mode {
            Mode::Read => Ok(Some(self.contents().digest())),
            Mode::Unopened => Ok(None),
            Mode::Written(move_id) => self.contents().digest_as_read(&move_id).map(Some),
        }
    }

    /// Stores an object at a new version.
    fn store(&self, contents: &mut Contents, kind: &Arc<Kind>, key: &Key, mut body: Value) -> Result<Object> {
        if !self.is_of(&self.writer()?).map_err(unwritten)? {
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
        set(&mut body, "resourceVersion", contents.version.to_string().into());
        let object = object(kind, &body)?;
        let file = match contents.entries.get(key) {
            Some(entry) => entry.file.clone(),
            None if self.recipients.is_some() => files::name(key) + encryption::ENDING,
            None => files::name(key),
        };
        let mut content = pretty(&body)?;
        if let Some(recipients) = &self.recipients {
            content = recipients
                .encrypt(&content)
                .map_err(|reason| PlaceError::Invalid(format!("{file}: {reason}")))?;
        }
        // Writes are fast: they go to the page cache, and to disk when the move closes the directory.
        self.files.write(&file, &content).map_err(unwritten)?;
        contents.kinds.entry(kind.group_kind.clone()).or_insert_with(|| Arc::clone(kind));
        let written = Some(files::sha256(&content));
        contents.entries.insert(key.clone(), Entry { file, written, object: object.clone() });
        Ok(object)
    }
}

fn object(kind: &Arc<Kind>, body: &Value) -> Result<Object> {
    Object::from_value(Arc::clone(kind), body).map_err(|error| PlaceError::Invalid(error.to_string()))
}

fn pretty(body: &Value) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(body).map_err(|error| PlaceError::Invalid(error.to_string()))?;
    text.push(b'\n');
    Ok(text)
}

/// Retrying won't help if the disk is full, and the run can be resumed. The cause becomes part of the text: places return plain
/// values.
fn unwritten(error: DirectoryError) -> PlaceError {
    PlaceError::Invalid(error.to_string())
}

#[cfg(test)]
mod tests;
