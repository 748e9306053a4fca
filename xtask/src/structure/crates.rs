//! Finds the crates, and the files that cargo compiles as their roots.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folders of all crates below some folders of a work tree, sorted, relative to it.
pub(super) fn below(root: &Path, folders: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders {
        visit(&root.join(folder), &mut |file| {
            if file.file_name().is_some_and(|name| name == "Cargo.toml") {
                let manifest = fs::read_to_string(file)?;
                // A workspace's own manifest need not be a crate's.
                if manifest.lines().any(|line| line.trim() == "[package]") {
                    found.extend(
                        file.parent().and_then(|dir| dir.strip_prefix(root).ok()).map(Path::to_owned),
                    );
                }
            }
            Ok(())
        })?;
    }
    found.sort();
    Ok(found)
}

/// All Rust files below a folder, sorted.
pub(super) fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    visit(folder, &mut |file| {
        if file.extension().is_some_and(|end| end == "rs") {
            found.push(file.to_owned());
        }
        Ok(())
    })?;
    found.sort();
    Ok(found)
}

/// All files of a work tree, except built and hidden ones.
pub(super) fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    visit(root, &mut |file| {
        found.push(file.to_owned());
        Ok(())
    })?;
    Ok(found)
}

/// The roots of a crate's targets, as cargo finds them: the library, the binary, the build script, integration tests. If one
/// integration test declares the others as its modules, they are found twice, which does no harm.
pub(super) fn targets(package: &Path) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> =
        ["src/lib.rs", "src/main.rs", "build.rs"].iter().map(|file| package.join(file)).collect();
    for folder in ["src/bin", "tests", "benches", "examples"].map(|folder| package.join(folder)) {
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
            let path = entry?.path();
            let is_file = path.extension().is_some_and(|end| end == "rs");
            found.push(if is_file { path } else { path.join("main.rs") });
        }
    }
    found.retain(|file| file.is_file());
    Ok(found)
}

/// Calls `each` for the files below a folder, except built and hidden ones.
fn visit(folder: &Path, each: &mut dyn FnMut(&Path) -> Result<()>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if !entry.file_type()?.is_dir() {
            each(&path)?;
        } else if name != "target" && !name.to_string_lossy().starts_with('.') {
            visit(&path, each)?;
        }
    }
    Ok(())
}
