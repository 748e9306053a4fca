//! A directory of plugins whose requests were all granted, and a file of objects.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::host::{err, host};

/// A site. Tests add methods for the commands that they run there.
pub(crate) struct Site(TempDir);

impl Site {
    /// Adds components to a new site. `file` is the place of the objects.
    pub(crate) fn new(components: &[PathBuf], grants: &str, file: &str, objects: &str) -> Self {
        let site = Self(TempDir::new().unwrap());
        fs::create_dir(site.path("plugins")).unwrap();
        fs::create_dir_all(site.path(file).parent().unwrap()).unwrap();
        fs::write(site.path(file), objects).unwrap();
        if !grants.is_empty() {
            fs::write(site.path("plugins/plugins.toml"), grants).unwrap();
        }
        for component in components {
            let there = site.path("plugins").join(component.file_name().unwrap());
            fs::copy(component, &there).unwrap();
            let added = host(&["plugin", "add", "--grant", there.to_str().unwrap()]).output().unwrap();
            assert!(added.status.success(), "{}", err(&added));
        }
        site
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }
}
