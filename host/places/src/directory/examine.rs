//! Compares a directory with the manifest of the move that wrote it: for a site that received it, before any cluster is near.

use std::collections::BTreeMap;
use std::path::Path;

use pivot_core::GroupKind;

use super::files::DirectoryHandle;
use super::manifest::{self, Differences};
use super::{DirectoryError, Identities, Manifest, complete, documents};
use crate::expansion::Expansion;

/// The state of a directory, with all problems of its files. A directory that can't be read at all, or is incomplete, is an
/// error.
#[derive(Debug)]
pub struct Examined {
    /// Path of the directory.
    pub path: String,
    /// Manifest of the move that wrote the directory. Without one, it is unknown whether files are missing.
    pub manifest: Option<Manifest>,
    /// SHA-256 of the manifest.
    manifest_digest: Option<String>,
    /// Whether the files are encrypted.
    pub encrypted: bool,
    /// Number of objects: as the manifest has it, if the files can't be read.
    pub count: usize,
    /// Objects by kind; none if the files are encrypted and there is no identity.
    pub objects: Option<BTreeMap<GroupKind, usize>>,
    /// Files that the manifest lists, and that are gone.
    pub missing: Vec<String>,
    /// Errors of files, or documents in them, that can't be read as objects.
    pub unreadable: Vec<String>,
    /// Files that are no longer as they were written.
    pub changed: Vec<String>,
    /// Files that the move did not write.
    pub added: Vec<String>,
    /// Files with data of Secrets that users other than the owner can read.
    pub exposed: Vec<String>,
}

/// Returns the error of each file that can't be read. If each file can be read alone, returns the error of all together.
fn describe_unreadable_files(
    files: &DirectoryHandle,
    all: &DirectoryError,
) -> Result<Vec<String>, DirectoryError> {
    let mut errors = Vec::new();
    for file in files.list_files()? {
        let read = documents::read_file(files, &file, &mut Expansion::default(), &mut Vec::new());
        errors.extend(read.err().map(|error| error.to_string()));
    }
    if errors.is_empty() {
        errors.push(all.to_string());
    }
    Ok(errors)
}

impl Examined {
    /// Returns true if the files have no problems. Without a manifest, it is unknown whether files are missing.
    pub fn is_whole(&self) -> bool {
        let Self { missing, unreadable, changed, added, .. } = self;
        [missing, unreadable, changed, added].into_iter().all(Vec::is_empty)
    }

    /// Returns the SHA-256 of the manifest, if the directory is as the move wrote it.
    pub fn digest(&self) -> Option<&str> {
        self.manifest_digest.as_deref().filter(|_| self.is_whole())
    }

    /// Examines a directory, and encrypted files with identities. Nothing in it is changed.
    pub fn examine(path: &Path, identities: Option<Identities>) -> Result<Self, DirectoryError> {
        let files = DirectoryHandle::open(path)?.with_identities(identities);
        let (manifest, manifest_digest) = manifest::read_with_digest(&files)?.unzip();
        manifest::check_complete(&files, manifest.as_ref())?;
        let encrypted = manifest::is_encrypted(&files, &files.list_files()?, manifest.as_ref())?;
        let (contents, unreadable) = match &manifest {
            // The checksums are of the encrypted files.
            Some(_) if encrypted && !files.has_identities() => (None, Vec::new()),
            _ => match complete::read_contents(&files, manifest.as_ref()) {
                Ok(contents) => (Some(contents), Vec::new()),
                Err(
                    error @ (DirectoryError::Document { .. }
                    | DirectoryError::Unusable { .. }
                    | DirectoryError::Twice { .. }),
                ) => (None, describe_unreadable_files(&files, &error)?),
                Err(error) => return Err(error),
            },
        };
        let Differences { missing, changed, added } = match &manifest {
            Some(manifest) => manifest.compare_files(&files)?,
            None => Differences::default(),
        };
        let mut exposed = Vec::new();
        let objects = match contents {
            None => None,
            Some(contents) => {
                let mut objects: BTreeMap<GroupKind, usize> = BTreeMap::new();
                for (key, entry) in &contents.entries {
                    *objects.entry(key.group_kind.clone()).or_default() += 1;
                    if !encrypted
                        && key.group_kind.is_secret()
                        && files.is_accessible_to_others(&entry.file)?
                    {
                        exposed.push(entry.file.clone());
                    }
                }
                Some(objects)
            }
        };
        exposed.sort();
        exposed.dedup();
        let counted = manifest.as_ref().map(|manifest| manifest.count).unwrap_or_default();
        let count = objects.as_ref().map_or(counted, |objects| objects.values().sum());
        Ok(Self {
            path: files.path().to_owned(),
            manifest,
            manifest_digest,
            encrypted,
            count,
            objects,
            missing,
            unreadable,
            changed,
            added,
            exposed,
        })
    }
}
