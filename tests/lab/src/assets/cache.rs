//! One build at a time, and never a half-written binary.
//!
//! Test binaries run as parallel processes, and each needs the same files. The first takes a file lock and builds into a
//! temporary directory beside the cache entry; a rename publishes the result, so readers never see a partial file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use super::recipes::Recipe;
use crate::say;

/// A directory of finished assets, named `<name>-<version>`.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    dir: PathBuf,
}

impl Cache {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The asset's path; builds it first if it is missing.
    pub(super) async fn get(&self, recipe: Recipe) -> Result<PathBuf> {
        let path = self.dir.join(recipe.entry());
        if path.exists() {
            return Ok(path);
        }
        let cache = self.clone();
        // Compilers run for minutes: not on a runtime thread.
        tokio::task::spawn_blocking(move || cache.build(&recipe)).await.context("the build was cancelled")?
    }

    fn build(&self, recipe: &Recipe) -> Result<PathBuf> {
        let entry = recipe.entry();
        let path = self.dir.join(&entry);
        // One lock for everything: two concurrent Go builds take longer than two sequential ones, and more memory.
        let lock = File::create(self.dir.join(".lock")).context("create the lab's build lock")?;
        lock.lock().context("wait for the lab's build lock")?;
        if path.exists() {
            return Ok(path);
        }
        say(format_args!("building {entry}: {} is not there yet", path.display()));
        let start = Instant::now();
        let work = tempfile::Builder::new().prefix(".build-").tempdir_in(&self.dir)?;
        let output = work.path().join("output");
        recipe.make(work.path(), &output).with_context(|| format!("build {entry}"))?;
        fs::rename(&output, &path).with_context(|| format!("publish {}", path.display()))?;
        say(format_args!("built {entry} in {:.0} s", start.elapsed().as_secs_f64()));
        Ok(path)
    }
}
