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
mod files;
mod manifest;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use pivot_core::{GroupKind, Key, Kind, Object, merge};
use serde_json::Value;
use uuid::Uuid;

pub use manifest::Manifest;

use crate::body::{drop_empty, key_of, patched, require, set, text};
use crate::place::{
    Access, Change, Event, Identity, Listing, MetaListing, Patch, Place, PlaceError, PlaceKind,
    Preconditions, Result,
};
use files::Files;

/// What the verbs of a change have in common where they are refused.
const READ_ONLY: PlaceError = PlaceError::Unsupported("a directory that is read", "be written to");

/// Why a directory can't be used. Carries no part of a file's content but names.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The file system says no.
    #[error("{path}: {reason}")]
    Io {
        /// Which file or directory.
        path: String,
        /// What it says.
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
    #[error("{path} is not empty ({found} is there): nothing in it is overwritten; name a new directory")]
    NotEmpty {
        /// Which directory.
        path: String,
        /// What is in it.
        found: String,
    },
    /// The directory belongs to another move.
    #[error("{path} belongs to move {found}; name a new directory")]
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
    #[error("{path}: the manifest names files that are not there: {}", files.join(", "))]
    Missing {
        /// Which directory.
        path: String,
        /// Which files.
        files: Vec<String>,
    },
}

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

    /// Takes over what the other side knows about its kinds: a directory has room for every kind, and the
    /// manifest keeps their names, scopes and labels for whoever reads it.
    pub fn learn(&self, kinds: &[Arc<Kind>]) {
        let mut contents = self.shared.contents();
        for kind in kinds {
            contents.kinds.entry(kind.group_kind.clone()).or_insert_with(|| Arc::clone(kind));
        }
    }

    /// Says that all is there: writes everything through to the disk, then the manifest.
    pub async fn finish(&self, handover: bool) -> Result<Manifest, DirectoryError> {
        let shared = Arc::clone(&self.shared);
        let path = shared.files.path().to_owned();
        tokio::task::spawn_blocking(move || shared.finish(handover))
            .await
            .map_err(|error| DirectoryError::Io { path, reason: error.to_string() })?
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

#[async_trait]
impl Place for DirectoryPlace {
    fn label(&self) -> &str {
        &self.shared.label
    }

    fn sort(&self) -> PlaceKind {
        PlaceKind::Directory
    }

    async fn identify(&self) -> Result<Identity> {
        Ok(Identity::Directory(self.shared.files.path().to_owned()))
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        Ok(self.shared.contents().kinds.values().cloned().collect())
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        let contents = self.shared.contents();
        let objects = contents.list(kind, namespace).cloned().collect();
        Ok(Listing { objects, resource_version: contents.version.to_string() })
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        let contents = self.shared.contents();
        let metas = contents.list(kind, namespace).map(|object| object.meta.clone()).collect();
        Ok(MetaListing { metas, resource_version: contents.version.to_string() })
    }

    async fn get(&self, _kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        Ok(self.shared.contents().entries.get(key).map(|entry| entry.object.clone()))
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        self.writable()?;
        let key = key_of(kind, body)?;
        let mut contents = self.shared.contents();
        if contents.entries.contains_key(&key) {
            return Err(PlaceError::AlreadyExists(key.to_string()));
        }
        if text(body, "resourceVersion").is_some_and(|version| !version.is_empty()) {
            let text = format!("{key}: resourceVersion should not be set on objects to be created");
            return Err(PlaceError::Invalid(text));
        }
        let mut new = body.clone();
        set(&mut new, "uid", Uuid::new_v4().to_string().into());
        drop_empty(&mut new);
        match change {
            Change::DryRun => object(kind, &new),
            Change::Real => self.shared.store(&mut contents, kind, &key, new),
        }
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: Patch<'_>) -> Result<Object> {
        self.writable()?;
        let mut contents = self.shared.contents();
        let entry = contents.entries.get(key).ok_or_else(|| PlaceError::NotFound(key.to_string()))?;
        let old = entry.object.value().map_err(|error| PlaceError::Unreadable(error.to_string()))?;
        let Patch { body, subresource, change } = patch;
        let mut new = patched(kind, key, &old, |object| merge::apply(object, body), subresource, &[])?;
        drop_empty(&mut new);
        match change {
            _ if new == old => Ok(entry.object.clone()),
            Change::DryRun => object(kind, &new),
            Change::Real => self.shared.store(&mut contents, kind, key, new),
        }
    }

    async fn delete(&self, _kind: &Arc<Kind>, key: &Key, preconditions: Preconditions) -> Result<()> {
        self.writable()?;
        let mut contents = self.shared.contents();
        let entry = contents.entries.get(key).ok_or_else(|| PlaceError::NotFound(key.to_string()))?;
        let old = entry.object.value().map_err(|error| PlaceError::Unreadable(error.to_string()))?;
        require(key, &old, &preconditions)?;
        self.shared.files.remove(&entry.file).map_err(unwritten)?;
        contents.entries.remove(key);
        Ok(())
    }

    /// Nothing acts on files, so nothing ever happens.
    async fn watch(
        &self,
        _kind: &Arc<Kind>,
        _namespace: Option<&str>,
        _resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        Ok(stream::pending().boxed())
    }

    async fn denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        let read_only = self.writable().is_err();
        let reads = |access: &Access| matches!(access.verb, "get" | "list" | "watch");
        Ok(asked.iter().filter(|access| read_only && !reads(access)).cloned().collect())
    }
}

#[cfg(test)]
mod tests;
