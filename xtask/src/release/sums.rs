//! Checksums of the files of a release.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::files::put;
use crate::shell::said;

/// Name of the file with the checksums.
pub(super) const SUMS: &str = "SHA256SUMS";

/// Writes the checksums of files of a folder, in a form that `sha256sum --check` reads.
pub(super) fn write(folder: &Path, files: &[String]) -> Result<()> {
    let sums = said(Command::new("sha256sum").args(files).current_dir(folder))?;
    put(&folder.join(SUMS), &sums)
}
