//! The files of the project: those that git tracks, and nothing else that lies in the work tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::shell::said;

/// The tracked files below a folder that are there, sorted, relative to it.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let listed = said(Command::new("git").args(["ls-files", "-z"]).current_dir(folder))?;
    let mut files: Vec<PathBuf> =
        listed.split('\0').map(PathBuf::from).filter(|file| folder.join(file).is_file()).collect();
    files.sort();
    files.dedup();
    Ok(files)
}
