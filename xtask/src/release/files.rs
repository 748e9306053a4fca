//! Writes, copies, packs and digests files of a release.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{root, said};

pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the time at which the sources were committed.
pub(super) fn commit_time(format: &str) -> Result<String> {
    let mut log = Command::new("git");
    log.args(["log", "-1", "--format=%cd", &format!("--date=format-local:{format}")]);
    Ok(said(log.env("TZ", "UTC").current_dir(root()?))?.trim().to_owned())
}

/// Returns a command that packs files into an archive. The same files give the same bytes.
pub(super) fn tar_command(archive: &Path) -> Result<Command> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--mode=u+rwX,go+rX,go-w", &format!("--mtime=@{}", commit_time("%s")?), "--file"]);
    tar.arg(archive);
    Ok(tar)
}

/// Writes a text, and the folders above it.
pub(super) fn put(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

/// Copies a file, and creates the folders above it.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
    fs::copy(from, to).with_context(|| format!("copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Returns the digest of a file.
pub(super) fn sha256(file: &Path) -> Result<String> {
    let line = said(Command::new("sha256sum").arg("--binary").arg(file))?;
    let (digest, _) = line.split_once(' ').context("sha256sum prints a digest")?;
    Ok(digest.to_owned())
}
