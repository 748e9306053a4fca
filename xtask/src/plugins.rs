//! Builds the bundled plugins into a directory for `pivot-host move --plugins`: the components, their grants, and the lock.
//!
//! The lock is not in the repository, because it is tied to the exact bytes that were built: another compiler produces others. The
//! program that checks it writes it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::executables::build_pivot_host;
use crate::shell::{must, root, say, shown};

const PLUGINS: &str = "plugins";
/// Where they are built.
pub(crate) const DIST: &str = "plugins/dist";
/// What each is granted.
pub(crate) const GRANTS: &str = "plugins.toml";
const LOCK: &str = "plugins.lock";

pub(crate) fn run() -> Result<()> {
    say("== Building pivot-host, which admits the plugins");
    let binary = with_program()?;
    say("\n== What a move takes from there; one that is not enabled is locked and left out");
    let mut list = Command::new(&binary);
    list.args(["plugin", "list", DIST]).current_dir(root()?);
    must(&mut list)?;
    say(&format!("\nNext: pivot-host move --plugins {DIST} …"));
    Ok(())
}

/// Lets the program admit them with the grants of the repository.
fn granted(binary: &Path) -> Result<()> {
    say(&format!("== The bundled plugins, in {DIST}"));
    bundle(binary, &root()?.join(DIST))
}

/// Builds the program, and the plugins beside it: each leaves a processor idle now and then.
pub(crate) fn with_program() -> Result<PathBuf> {
    std::thread::scope(|scope| {
        let plugins = scope.spawn(|| components(&root()?.join(DIST)));
        let binary = build_pivot_host()?;
        match plugins.join() {
            Ok(built) => built?,
            Err(_) => bail!("the thread that builds the plugins panicked"),
        };
        granted(&binary)?;
        Ok(binary)
    })
}

/// Builds the plugins into a directory, granted, and locked by the program that is to run them.
pub(crate) fn bundle(binary: &Path, dist: &Path) -> Result<()> {
    let components = components(dist)?;
    clear(dist, &components)?;
    let grants = root()?.join(PLUGINS).join(GRANTS);
    fs::copy(&grants, dist.join(GRANTS)).with_context(|| format!("copy {}", grants.display()))?;
    components.iter().try_for_each(|component| admit(binary, component))
}

/// The components, built into a directory; from a cache if nothing has changed.
fn components(dist: &Path) -> Result<Vec<PathBuf>> {
    let root = root()?;
    let inputs = [root.join("wit"), root.join("sdk")];
    pivot_guests::build_guests(&root.join(PLUGINS), &inputs.each_ref().map(PathBuf::as_path), dist)
}

/// Removes an earlier build: a removed plugin would be missed, an old digest would stay admitted.
fn clear(dist: &Path, components: &[PathBuf]) -> Result<()> {
    match fs::remove_file(dist.join(LOCK)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).context("remove the old lock");
        }
        _ => {}
    }
    for entry in fs::read_dir(dist).with_context(|| format!("read {}", dist.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "wasm") && !components.contains(&path) {
            fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
        }
    }
    Ok(())
}

/// Like an operator who admits a reviewed file: the section that the bundled `plugins.toml` enables is for this very file.
fn admit(binary: &Path, component: &Path) -> Result<()> {
    let mut command = Command::new(binary);
    command.args(["plugin", "add", "--grant"]).arg(component).stdout(Stdio::null());
    let status = command.status().with_context(|| format!("start `{}`", shown(&command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", shown(&command));
    }
    say(&format!("  locked {}", component.file_name().unwrap_or_default().to_string_lossy()));
    Ok(())
}
