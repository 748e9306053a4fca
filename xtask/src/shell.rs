//! Runs programs, and prints what is going on.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// One or more lines to stdout. If the reader is gone, that is no reason to stop.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", text.trim_end_matches('\n')).and_then(|()| out.flush());
}

/// The work tree.
pub(crate) fn root() -> Result<PathBuf> {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Ok(Path::new(&here).parent().context("xtask lies in the work tree")?.to_owned())
}

/// Cargo's target directory.
pub(crate) fn target() -> Result<PathBuf> {
    Ok(match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root()?.join(dir),
        None => root()?.join("target"),
    })
}

/// The folder for what outlives a checkout: `$PIVOT_HOST_CACHE`, else `~/.cache/pivot-host`.
pub(crate) fn cache() -> Result<PathBuf> {
    let named = std::env::var_os("PIVOT_HOST_CACHE").map(PathBuf::from);
    let shared = std::env::var_os("XDG_CACHE_HOME").map(|dir| PathBuf::from(dir).join("pivot-host"));
    let home = || std::env::home_dir().map(|home| home.join(".cache/pivot-host"));
    named
        .or(shared)
        .or_else(home)
        .context("no place for a cache: set PIVOT_HOST_CACHE, XDG_CACHE_HOME or HOME")
}

/// The cargo that runs this program.
pub(crate) fn cargo(arguments: &[&str]) -> Result<Command> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(root()?);
    // Variables that the running cargo sets about xtask. Some build scripts read them (ring's does), so the same crates would be
    // rebuilt whenever a command of xtask follows one of cargo.
    let about_us = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(about_us)) {
        command.env_remove(name);
    }
    Ok(command)
}

/// Runs a program that shows its own output.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.status().with_context(|| format!("start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// What a program prints.
pub(crate) fn said(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a program starts and succeeds.
pub(crate) fn works(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
