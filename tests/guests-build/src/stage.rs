//! A copy of what is built, below one root of its own.
//!
//! Cargo names the crates of a workspace by where they lie below its root, and other crates by their whole path; symbols, and so
//! the order of functions, follow from the names. The bundled plugins lie beside the SDK: with both below one root, two checkouts
//! give the same bytes. Remapping paths is not enough, because the names are made before the compiler sees them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use crate::workspace::{Workspace, files};

/// Copies a workspace and what lies beside it to `root`; returns where to build. A workspace whose inputs lie elsewhere, or that
/// has none, is built in its place: nothing of it is outside of its root.
pub(crate) fn stage(workspace: &Workspace, inputs: &[&Path], root: &Path) -> Result<PathBuf> {
    let beside = |input: &&Path| {
        input.canonicalize().ok().as_deref().and_then(Path::parent) == workspace.path.parent()
    };
    if inputs.is_empty() || !inputs.iter().all(beside) {
        return Ok(workspace.path.clone());
    }
    if root.exists() {
        fs::remove_dir_all(root).with_context(|| format!("clear {}", root.display()))?;
    }
    for from in std::iter::once(workspace.path.as_path()).chain(inputs.iter().copied()) {
        let to = root.join(name(from)?);
        for file in files(from)? {
            copy(&file, &to.join(file.strip_prefix(from)?))?;
        }
    }
    let name = name(&workspace.path)?.to_str().context("the workspace's name is no text")?;
    let manifest = root.join(name).join("Cargo.toml");
    let text = fs::read_to_string(&manifest).with_context(|| format!("read {}", manifest.display()))?;
    fs::write(root.join("Cargo.toml"), raised(&text, name)?)?;
    fs::remove_file(&manifest)?;
    fs::rename(root.join(name).join("Cargo.lock"), root.join("Cargo.lock")).context("raise the lock file")?;
    Ok(root.to_owned())
}

fn name(path: &Path) -> Result<&OsStr> {
    path.file_name().with_context(|| format!("{} has no name", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let parent = to.parent().with_context(|| format!("{} has no parent", to.display()))?;
    fs::create_dir_all(parent)?;
    fs::copy(from, to).with_context(|| format!("copy {}", from.display()))?;
    Ok(())
}

/// A workspace's manifest as that of the folder above it.
fn raised(text: &str, name: &str) -> Result<String> {
    let mut manifest: Table = text.parse().context("read the workspace's manifest")?;
    let Some(Value::Table(workspace)) = manifest.get_mut("workspace") else {
        bail!("the manifest has no [workspace]");
    };
    for list in ["members", "exclude"] {
        for path in workspace.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let raised = path.as_str().map(|path| format!("{name}/{path}"));
            *path = raised.with_context(|| format!("{list} has {path}"))?.into();
        }
    }
    let dependencies = workspace.get_mut("dependencies").and_then(Value::as_table_mut);
    for (_, dependency) in dependencies.into_iter().flatten() {
        if let Some(path) = dependency.get_mut("path") {
            let raised = path.as_str().map(|path| match path.strip_prefix("../") {
                Some(beside) => beside.to_owned(),
                None => format!("{name}/{path}"),
            });
            *path = raised.with_context(|| format!("a path is {path}"))?.into();
        }
    }
    Ok(manifest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_manifest_finds_its_members_and_what_lies_beside_them() {
        let text = "[workspace]\nmembers = ['*']\nexclude = ['dist']\n[workspace.dependencies]\n\
                    sdk = { path = '../sdk' }\nown = { path = 'own' }\nserde = '1'\n[profile.release]\nlto = true\n";
        let raised: Table = raised(text, "plugins").unwrap().parse().unwrap();
        let workspace = &raised["workspace"];
        assert_eq!(workspace["members"][0].as_str(), Some("plugins/*"));
        assert_eq!(workspace["exclude"][0].as_str(), Some("plugins/dist"));
        assert_eq!(workspace["dependencies"]["sdk"]["path"].as_str(), Some("sdk"));
        assert_eq!(workspace["dependencies"]["own"]["path"].as_str(), Some("plugins/own"));
        assert_eq!(workspace["dependencies"]["serde"].as_str(), Some("1"));
        assert_eq!(raised["profile"]["release"]["lto"].as_bool(), Some(true));
    }
}
