//! Builds the components of a workspace of plugins.
//!
//! There are two ways, because not every machine has rustup: its stock target, or Debian's compiler, which comes with the
//! standard library's source instead of a build for wasm ([`toolchain`]). For `wasm32-unknown-unknown`, which
//! imports no WASI at all, the compiler makes a core module and this crate turns it into a component; a crate that
//! needs `wasm32-wasip2` says so in its manifest (`[package.metadata.guest] target = "…"`).
//!
//! Components are cached outside the work tree, by a hash of the compiler's version and all sources: the next request
//! takes a few milliseconds, from any test and checkout.

mod cache;
mod contract;
mod stage;
mod toolchain;
mod workspace;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use wit_component::ComponentEncoder;

use cache::Cache;
use toolchain::Toolchain;
use workspace::{Guest, Workspace};

pub use contract::encode_contract;
pub use toolchain::Target;

/// Builds every plugin of the workspace, and writes the components to `out` as `<crate>.wasm`. Returns their paths, sorted.
///
/// `inputs` is what the plugins depend on besides the workspace itself: the contract, the SDK.
pub fn build_guests(workspace: &Path, inputs: &[&Path], out: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(out).with_context(|| format!("create {}", out.display()))?;
    let mut built = Vec::new();
    for component in components(workspace, inputs)? {
        let name = component.file_name().context("a component has no name")?;
        let path = out.join(name);
        fs::copy(&component, &path).with_context(|| format!("copy a component to {}", path.display()))?;
        built.push(path);
    }
    built.sort();
    Ok(built)
}

/// The path of a component of `tests/guests` in the cache: a test that changes it copies it first.
pub fn guest(name: &str) -> Result<PathBuf> {
    static BUILT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if built.is_empty() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        *built = components(&here.join("../guests"), &[&here.join("../../wit")])?;
    }
    let component = built.iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
    component.cloned().with_context(|| format!("tests/guests has no {name}"))
}

/// The paths of all plugins of the workspace in the cache.
fn components(workspace: &Path, inputs: &[&Path]) -> Result<Vec<PathBuf>> {
    let workspace = Workspace::read(workspace)?;
    let mut built = Vec::new();
    for target in Target::ALL {
        let guests: Vec<&Guest> = workspace.guests.iter().filter(|guest| guest.target == target).collect();
        if !guests.is_empty() {
            built.extend(cached(&workspace, inputs, target, &guests)?);
        }
    }
    Ok(built)
}

/// The components for one target, built now or cached.
fn cached(
    workspace: &Workspace,
    inputs: &[&Path],
    target: Target,
    guests: &[&Guest],
) -> Result<Vec<PathBuf>> {
    let toolchain = Toolchain::find(target)?;
    let names: Vec<&str> = guests.iter().map(|guest| guest.name.as_str()).collect();
    let key = workspace.key(inputs, &toolchain.version()?, target, &names)?;
    let cache = Cache::open()?;
    let entry = cache.entry(&key);
    let component = |name: &&str| entry.join(format!("{name}.wasm"));
    let list = names.join(", ");
    if entry.exists() {
        say(&format!("{list}: as built before with {}", toolchain.describe()));
        return Ok(names.iter().map(component).collect());
    }
    let _lock = cache.lock()?;
    if !entry.exists() {
        say(&format!("building {list} with {}", toolchain.describe()));
        let target_dir = cache.target_dir(&workspace.path, toolchain.word());
        let place = stage::stage(workspace, inputs, &target_dir.join("stage"))?;
        compile(&toolchain, &place, target, &names, &target_dir)?;
        let modules = target_dir.join(target.triple()).join("release");
        cache.publish(&entry, |fresh| {
            for name in &names {
                let module = modules.join(format!("{}.wasm", name.replace('-', "_")));
                let bytes = fs::read(&module).with_context(|| format!("read {}", module.display()))?;
                let component = as_component(&bytes).with_context(|| format!("make {name} a component"))?;
                fs::write(fresh.join(format!("{name}.wasm")), component)?;
            }
            Ok(())
        })?;
    }
    Ok(names.iter().map(component).collect())
}

fn compile(toolchain: &Toolchain, place: &Path, target: Target, names: &[&str], dir: &Path) -> Result<()> {
    let mut command: Command = toolchain.cargo(target, place)?;
    command.args(["build", "--release", "--target", target.triple()]);
    // A project that was just begun has no versions to keep to.
    if place.join("Cargo.lock").exists() {
        command.arg("--locked");
    }
    for name in names {
        command.args(["--package", name]);
    }
    command.current_dir(place).env("CARGO_TARGET_DIR", dir);
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Turns a core module with the contract in its custom sections into a component; leaves a component as it is.
fn as_component(bytes: &[u8]) -> Result<Vec<u8>> {
    // The second half of the version is the layer: 0 for a module, 1 for a component.
    if bytes.get(6) == Some(&1) {
        return Ok(bytes.to_vec());
    }
    ComponentEncoder::default().module(bytes)?.validate(true).encode()
}

#[allow(clippy::print_stderr, reason = "a build that takes a minute says so; tests show it when they fail")]
fn say(words: &str) {
    eprintln!("guests: {words}");
}
