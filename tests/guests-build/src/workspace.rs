//! What to build, and the cache key for exactly that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::toolchain::Target;

/// To be changed when this crate builds something different from the same sources.
const RECIPE: &str = "2";

/// One plugin.
pub(crate) struct Guest {
    pub(crate) name: String,
    pub(crate) target: Target,
}

/// A cargo workspace of plugins.
pub(crate) struct Workspace {
    pub(crate) path: PathBuf,
    pub(crate) guests: Vec<Guest>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    targets: Vec<Built>,
    metadata: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Built {
    crate_types: Vec<String>,
}

impl Workspace {
    /// Every member that is built as a `cdylib` is a plugin.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let path = path.canonicalize().with_context(|| format!("find {}", path.display()))?;
        let mut command = Command::new("cargo");
        command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(&path);
        let output = command.output().context("start cargo metadata")?;
        if !output.status.success() {
            bail!("{} is no workspace:\n{}", path.display(), String::from_utf8_lossy(&output.stderr));
        }
        let metadata: Metadata = serde_json::from_slice(&output.stdout).context("read cargo metadata")?;
        let mut guests = Vec::new();
        for package in metadata.packages {
            let cdylib = |built: &Built| built.crate_types.iter().any(|kind| kind == "cdylib");
            if !package.targets.iter().any(cdylib) {
                continue;
            }
            let wanted = package.metadata.as_ref().and_then(|m| m.pointer("/guest/target")?.as_str());
            let target = wanted.map_or(Ok(Target::default()), str::parse)?;
            guests.push(Guest { name: package.name, target });
        }
        Ok(Self { path, guests })
    }

    /// The cache key of the sources, the compiler and the recipe.
    pub(crate) fn key(
        &self,
        inputs: &[&Path],
        version: &str,
        target: Target,
        names: &[&str],
    ) -> Result<String> {
        let mut hasher = Sha256::new();
        for word in [RECIPE, version, target.triple()].iter().chain(names) {
            hasher.update(word);
            hasher.update([0]);
        }
        for root in std::iter::once(self.path.as_path()).chain(inputs.iter().copied()) {
            for file in files(root)? {
                hasher.update(file.strip_prefix(root).unwrap_or(&file).as_os_str().as_encoded_bytes());
                hasher.update([0]);
                hasher.update(Sha256::digest(fs::read(&file)?));
            }
        }
        let digest = hasher.finalize();
        Ok(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }
}

/// All files below a path, sorted, except build output and hidden files.
pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect(path, &mut files)?;
    files.sort();
    Ok(files)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path).with_context(|| format!("read {}", path.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name == "dist" || name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        collect(&entry.path(), files)?;
    }
    Ok(())
}
