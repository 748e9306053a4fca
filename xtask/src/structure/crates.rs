//! Finds the crates, and the files that cargo compiles as their roots.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::tracked::files_below;

/// The folders of all crates below some folders of a work tree, sorted, relative to it.
pub(super) fn below(root: &Path, folders: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let is_within = |file: &PathBuf| folders.iter().any(|folder| file.starts_with(folder));
    let is_manifest = |file: &PathBuf| file.file_name().is_some_and(|name| name == "Cargo.toml");
    for file in files(root)?.into_iter().filter(|file| is_within(file) && is_manifest(file)) {
        let manifest = fs::read_to_string(root.join(&file))?;
        // A workspace's own manifest need not be a crate's.
        if manifest.lines().any(|line| line.trim() == "[package]") {
            found.extend(file.parent().map(Path::to_owned));
        }
    }
    found.sort();
    Ok(found)
}

/// The Rust files below a folder, sorted.
pub(super) fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_rust = |file: &PathBuf| file.extension().is_some_and(|end| end == "rs");
    Ok(files_below(folder)?.into_iter().filter(is_rust).map(|file| folder.join(file)).collect())
}

/// Modules in a `mod.rs` instead of a file that has the name of their folder, sorted.
///
/// Modules that integration tests share are allowed: cargo would compile a file directly below `tests` as a test.
pub(super) fn misplaced_modules(root: &Path, folders: &[&str]) -> Result<Vec<PathBuf>> {
    let is_misplaced = |file: &PathBuf| {
        let below = folders.iter().any(|folder| file.starts_with(folder));
        let folder = file.parent().and_then(Path::parent);
        below && file.ends_with("mod.rs") && !folder.is_some_and(|folder| folder.ends_with("tests"))
    };
    let mut found: Vec<PathBuf> = files(root)?.into_iter().filter(is_misplaced).collect();
    found.sort();
    Ok(found)
}

/// The files of a work tree, except hidden ones, relative to it.
pub(super) fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let is_hidden = |file: &PathBuf| {
        file.parent().is_some_and(|folder| folder.iter().any(|part| part.to_string_lossy().starts_with('.')))
    };
    Ok(files_below(root)?.into_iter().filter(|file| !is_hidden(file)).collect())
}

/// The roots of a crate's targets, as cargo finds them: the library, the binary, the build script, integration tests. If one
/// integration test declares the others as its modules, they are found twice, which does no harm.
pub(super) fn targets(package: &Path) -> Result<Vec<PathBuf>> {
    Ok(files_below(package)?.iter().filter(|file| is_root(file)).map(|file| package.join(file)).collect())
}

/// Whether cargo compiles a file of a package as the root of a target.
fn is_root(file: &Path) -> bool {
    if ["src/lib.rs", "src/main.rs", "build.rs"].iter().any(|root| file == Path::new(root)) {
        return true;
    }
    let below =
        ["src/bin", "tests", "benches", "examples"].iter().find_map(|folder| file.strip_prefix(folder).ok());
    let is_rust = file.extension().is_some_and(|end| end == "rs");
    below.is_some_and(|below| match below.iter().count() {
        1 => is_rust,
        2 => below.ends_with("main.rs"),
        _ => false,
    })
}
