//! A directory, held against what the move that wrote it said of it: for a site that was handed one, before any cluster is near.

use std::collections::BTreeMap;
use std::path::Path;

use pivot_core::GroupKind;

use super::files::Files;
use super::manifest::{self, Compared};
use super::{DirectoryError, Identities, Manifest, complete};

/// What a directory is. What can't be read at all, or is incomplete, is an error.
#[derive(Debug)]
pub struct Examined {
    /// Where it is.
    pub path: String,
    /// What the move that wrote it says; none where no move did, and nobody can say whether all is there.
    pub manifest: Option<Manifest>,
    /// Whether its files are encrypted.
    pub encrypted: bool,
    /// The number of its objects: as the manifest has it, if the files can't be read.
    pub count: usize,
    /// Its objects, by kind; none if the files are encrypted and no identity was given.
    pub objects: Option<BTreeMap<GroupKind, usize>>,
    /// Files that are no longer as they were written.
    pub changed: Vec<String>,
    /// Files that somebody added.
    pub added: Vec<String>,
    /// Files with data of Secrets that others than their owner can read.
    pub exposed: Vec<String>,
}

impl Examined {
    /// Looks at a directory; into encrypted files with identities. Nothing in it is changed.
    pub fn of(path: &Path, identities: Option<Identities>) -> Result<Self, DirectoryError> {
        let files = Files::open(path)?.opened_by(identities);
        let manifest = manifest::read(&files)?;
        manifest::complete(&files, manifest.as_ref())?;
        let encrypted = manifest::encrypted(&files, &files.list()?, manifest.as_ref())?;
        let contents = match &manifest {
            // The checksums are those of the files as they are.
            Some(_) if encrypted && !files.has_identities() => None,
            _ => Some(complete::contents(&files, manifest.as_ref())?),
        };
        let Compared { changed, added } = match &manifest {
            Some(manifest) => manifest.compare(&files)?,
            None => Compared::default(),
        };
        let mut exposed = Vec::new();
        let objects = match contents {
            None => None,
            Some(contents) => {
                let mut objects: BTreeMap<GroupKind, usize> = BTreeMap::new();
                for (key, entry) in &contents.entries {
                    *objects.entry(key.group_kind.clone()).or_default() += 1;
                    if !encrypted && key.group_kind.is_secret() && files.others_can_read(&entry.file)? {
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
            encrypted,
            count,
            objects,
            changed,
            added,
            exposed,
        })
    }
}
