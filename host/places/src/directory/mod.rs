//! A directory of files as a place: a backup, the way into an air-gapped site, a cluster written by hand.
//!
//! A directory that is read ([`DirectoryPlace::open`]) takes any YAML or JSON that kubectl takes. One that is
//! written ([`DirectoryPlace::create`]) holds one JSON file per object: YAML would read better, but its
//! readers disagree on what `012`, `1_000` or `no` mean, and every one of them reads JSON the same. Files
//! hold the complete object with its status, so that a later restore can use it.
//!
//! All files are opened below one directory handle: no name and no link leads out of it.

mod complete;
mod definitions;
mod documents;
mod error;
mod files;
mod loose;
mod manifest;
mod verbs;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pivot_core::{GroupKind, Key, Kind, Object};
use serde_json::Value;

pub use error::DirectoryError;
pub use loose::objects_of_file;
pub use manifest::Manifest;

use crate::body::set;
use crate::place::{PlaceError, Result};
use files::Files;

/// What the verbs of a change have in common where they are refused.
const READ_ONLY: PlaceError = PlaceError::Unsupported("a directory that is read", "be written to");

/// An object and where it is kept.
struct Entry {
    file: String,
    object: Object,
}

#[derive(Default)]
struct Contents {
    kinds: BTreeMap<GroupKind, Arc<Kind>>,
    entries: BTreeMap<Key, Entry>,
    version: u64,
}

/// A directory of objects.
pub struct DirectoryPlace {
    shared: Arc<Shared>,
}

struct Shared {
    label: String,
    files: Files,
    manifest: Option<Manifest>,
    /// Whose directory this is, where it is written to.
    move_id: Option<String>,
    contents: Mutex<Contents>,
}

impl DirectoryPlace {
    /// Opens a directory to read from; nothing in it is changed.
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        let files = Files::open(path)?;
        let manifest = manifest::read(&files)?;
        if let (None, Some(move_id)) = (&manifest, manifest::unfinished(&files)?) {
            return Err(DirectoryError::Incomplete { path: files.path().to_owned(), move_id });
        }
        let contents = complete::contents(&files, manifest.as_ref())?;
        if let Some(manifest) = &manifest {
            manifest.check(&files)?;
        }
        Ok(Self::new(files, manifest, None, contents))
    }

    /// Opens a directory to write to, for one move: it does not exist, is empty, or was begun by the same
    /// move before.
    pub fn create(path: &Path, move_id: &str) -> Result<Self, DirectoryError> {
        let files = Files::create(path)?;
        let before = manifest::read(&files)?;
        let owner = match &before {
            Some(manifest) => Some(manifest.move_id.clone()),
            None => manifest::unfinished(&files)?,
        };
        match owner {
            Some(found) if found != move_id => {
                return Err(DirectoryError::OtherMove { path: files.path().to_owned(), found });
            }
            None => {
                if let Some(found) = files.first()? {
                    return Err(DirectoryError::NotEmpty { path: files.path().to_owned(), found });
                }
            }
            Some(_) => {}
        }
        // From here on the directory is incomplete, until `finish`.
        manifest::begin(&files, move_id)?;
        files.sweep()?;
        let contents = complete::contents(&files, before.as_ref())?;
        Ok(Self::new(files, before, Some(move_id.to_owned()), contents))
    }

    fn new(files: Files, manifest: Option<Manifest>, move_id: Option<String>, contents: Contents) -> Self {
        let label = format!("directory {}", files.path());
        let contents = Mutex::new(contents);
        Self { shared: Arc::new(Shared { label, files, manifest, move_id, contents }) }
    }

    /// What the move that wrote the directory said about it at its end.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.shared.manifest.as_ref()
    }

    /// Says that all is there: writes everything through to the disk, then the manifest.
    pub async fn finish(&self, handover: bool) -> Result<Manifest, DirectoryError> {
        let shared = Arc::clone(&self.shared);
        let path = shared.files.path().to_owned();
        tokio::task::spawn_blocking(move || shared.finish(handover))
            .await
            .map_err(|error| DirectoryError::Io { path, reason: error.to_string() })?
    }

    /// For a move that did not come about: where nothing was written, the directory is free for another one. Says
    /// whether that is so.
    pub fn give_up(&self) -> Result<bool, DirectoryError> {
        let free = self.shared.contents().entries.is_empty();
        if free && self.shared.move_id.is_some() {
            manifest::give_up(&self.shared.files)?;
        }
        Ok(free)
    }

    fn writable(&self) -> Result<()> {
        if self.shared.move_id.is_some() { Ok(()) } else { Err(READ_ONLY) }
    }
}

impl Shared {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, handover: bool) -> Result<Manifest, DirectoryError> {
        let contents = self.contents();
        let used = contents.entries.keys().map(|key| &key.group_kind);
        let kinds = used.filter_map(|kind| Some((kind.clone(), Kind::clone(contents.kinds.get(kind)?))));
        let kinds: BTreeMap<_, _> = kinds.collect();
        let names = contents.entries.values().map(|entry| entry.file.as_str());
        let move_id = self.move_id.as_deref().unwrap_or_default();
        manifest::finish(&self.files, move_id, handover, kinds.into_values().collect(), names)
    }

    /// Writes an object at a new version.
    fn store(&self, contents: &mut Contents, kind: &Arc<Kind>, key: &Key, mut body: Value) -> Result<Object> {
        contents.version += 1;
        set(&mut body, "resourceVersion", contents.version.to_string().into());
        let object = object(kind, &body)?;
        let file = match contents.entries.get(key) {
            Some(entry) => entry.file.clone(),
            None => files::name(key),
        };
        // Writing is quick: it goes to the page cache, and to the disk in `finish`.
        self.files.write(&file, &pretty(&body)?).map_err(unwritten)?;
        contents.kinds.entry(kind.group_kind.clone()).or_insert_with(|| Arc::clone(kind));
        contents.entries.insert(key.clone(), Entry { file, object: object.clone() });
        Ok(object)
    }
}

impl Contents {
    fn list(&self, kind: &Kind, namespace: Option<&str>) -> impl Iterator<Item = &Object> {
        let namespace = namespace.filter(|_| kind.namespaced).map(str::to_owned);
        let group_kind = kind.group_kind.clone();
        self.entries
            .iter()
            .filter(move |(key, _)| {
                key.group_kind == group_kind && (namespace.is_none() || key.namespace == namespace)
            })
            .map(|(_, entry)| &entry.object)
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

/// A disk that is full stays full: another try does not help, and the run can be resumed.
fn unwritten(error: DirectoryError) -> PlaceError {
    PlaceError::Invalid(error.to_string())
}

#[cfg(test)]
mod tests;
