//! A directory, held against what the move that wrote it said of it: for a site that was handed one, before any cluster is near.

use std::collections::BTreeMap;
use std::path::Path;

use pivot_core::GroupKind;

use super::files::Files;
use super::manifest::{self, Compared};
use super::{DirectoryError, Manifest, complete};

/// What a directory is. What can't be read at all, or is incomplete, is an error.
#[derive(Debug)]
pub struct Examined {
    /// Where it is.
    pub path: String,
    /// What the move that wrote it says; none where no move did, and nobody can say whether all is there.
    pub manifest: Option<Manifest>,
    /// Its objects, by kind.
    pub objects: BTreeMap<GroupKind, usize>,
    /// Files that are no longer as they were written.
    pub changed: Vec<String>,
    /// Files that somebody added.
    pub added: Vec<String>,
    /// Files with data of Secrets that others than their owner can read.
    pub exposed: Vec<String>,
}

impl Examined {
    /// Looks at a directory. Nothing in it is changed.
    pub fn of(path: &Path) -> Result<Self, DirectoryError> {
        let files = Files::open(path)?;
        let manifest = manifest::read(&files)?;
        manifest::complete(&files, manifest.as_ref())?;
        let contents = complete::contents(&files, manifest.as_ref())?;
        let Compared { changed, added } = match &manifest {
            Some(manifest) => manifest.compare(&files)?,
            None => Compared::default(),
        };
        let mut objects: BTreeMap<GroupKind, usize> = BTreeMap::new();
        let mut exposed = Vec::new();
        for (key, entry) in &contents.entries {
            *objects.entry(key.group_kind.clone()).or_default() += 1;
            if key.group_kind.is_secret() && files.others_can_read(&entry.file)? {
                exposed.push(entry.file.clone());
            }
        }
        exposed.sort();
        exposed.dedup();
        Ok(Self { path: files.path().to_owned(), manifest, objects, changed, added, exposed })
    }
}
