//! Where built components are cached: `$PIVOT_HOST_CACHE`, else `$XDG_CACHE_HOME/pivot-host`, else
//! `~/.cache/pivot-host`, in `guests/`.
//!
//! Test binaries run concurrently and need the same components. The first takes a lock and builds into a directory
//! beside the entry; a rename publishes it, so an entry that exists is complete.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

pub(crate) struct Cache {
    dir: PathBuf,
}

impl Cache {
    pub(crate) fn open() -> Result<Self> {
        let dir = |name: &str| env::var_os(name).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let base = dir("PIVOT_HOST_CACHE")
            .or_else(|| dir("XDG_CACHE_HOME").map(|dir| dir.join("pivot-host")))
            .or_else(|| dir("HOME").map(|dir| dir.join(".cache/pivot-host")))
            .context("no place for a cache: set PIVOT_HOST_CACHE or HOME")?;
        let dir = base.join("guests");
        fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
        Ok(Self { dir })
    }

    pub(crate) fn entry(&self, key: &str) -> PathBuf {
        self.dir.join(key)
    }

    /// One builder at a time. The lock is released when the file is dropped.
    pub(crate) fn lock(&self) -> Result<File> {
        let lock = File::create(self.dir.join(".lock")).context("create the guests' build lock")?;
        lock.lock().context("wait for the guests' build lock")?;
        Ok(lock)
    }

    /// The target directory: one for each workspace and toolchain, so that a changed guest is recompiled without the
    /// standard library.
    pub(crate) fn target_dir(&self, workspace: &Path, toolchain: &str) -> PathBuf {
        let digest = Sha256::digest(workspace.as_os_str().as_encoded_bytes());
        let id: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        self.dir.join(format!("build-{toolchain}-{id}"))
    }

    /// Fills a fresh directory and publishes it as the entry.
    pub(crate) fn publish(&self, entry: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let fresh = self.dir.join(format!(".new-{}", std::process::id()));
        if fresh.exists() {
            fs::remove_dir_all(&fresh)?;
        }
        fs::create_dir_all(&fresh)?;
        fill(&fresh)?;
        fs::rename(&fresh, entry).with_context(|| format!("publish {}", entry.display()))
    }
}
