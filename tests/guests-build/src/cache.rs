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

    /// Lets one process build at a time.
    pub(crate) fn lock(&self) -> Result<File> {
        self.lock_file(".lock")
    }

    /// Waits for a lock with this name. The lock is released when the file is dropped.
    pub(crate) fn lock_file(&self, name: &str) -> Result<File> {
        let path = self.dir.join(name);
        let lock = File::create(&path).with_context(|| format!("create {}", path.display()))?;
        lock.lock().with_context(|| format!("wait for {}", path.display()))?;
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
