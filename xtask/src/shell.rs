//! Runs programs, and prints what is going on.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// One or more lines to stdout. If the reader is gone, that is no reason to stop.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", text.trim_end_matches('\n')).and_then(|()| out.flush());
}

/// The work tree.
pub(crate) fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.parent().context("xtask lies in the work tree")?.to_owned())
}

/// Cargo's target directory.
pub(crate) fn target() -> Result<PathBuf> {
    Ok(match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root()?.join(dir),
        None => root()?.join("target"),
    })
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

/// Builds the program as `cargo build` does, and returns its path.
pub(crate) fn pivot_host() -> Result<PathBuf> {
    must(&mut cargo(&["build", "--package", "pivot-host"])?)?;
    built()
}

/// Builds without running anything, whatever is named after it. It selects the libraries of all packages, because cargo gives each
/// selection of packages features of its own, and for another one would compile half of the dependencies once more.
const AS_TESTED: [&str; 4] = ["test", "--workspace", "--lib", "--no-run"];

/// The program that its own tests run.
pub(crate) fn tested_pivot_host() -> Result<PathBuf> {
    must(cargo(&AS_TESTED)?.args(["--test", "binary"]))?;
    built()
}

/// An example that the tests build, too.
pub(crate) fn tested_example(name: &str) -> Result<PathBuf> {
    must(cargo(&AS_TESTED)?.args(["--example", name]))?;
    Ok(target()?.join("debug/examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// A test that is asked for by name, ready to run.
pub(crate) fn built_test(name: &str) -> Result<Command> {
    let mut build = cargo(&AS_TESTED)?;
    build.args(["--test", name, "--message-format", "json-render-diagnostics"]);
    let said = build.stderr(Stdio::inherit()).output().context("start cargo")?;
    if !said.status.success() {
        bail!("`{}` failed ({})", shown(&build), said.status);
    }
    for line in String::from_utf8_lossy(&said.stdout).lines() {
        let built: Value = serde_json::from_str(line).context("read what cargo has built")?;
        let word = |path| built.pointer(path).and_then(Value::as_str);
        let is_it = word("/target/name") == Some(name) && word("/target/kind/0") == Some("test");
        if let (true, Some(executable), Some(manifest)) = (is_it, word("/executable"), word("/manifest_path"))
        {
            let mut command = Command::new(executable);
            // As cargo runs it.
            command.current_dir(Path::new(manifest).parent().context("a manifest is in a folder")?);
            return Ok(command);
        }
    }
    bail!("cargo built no test {name}")
}

fn built() -> Result<PathBuf> {
    let binary = target()?.join("debug").join(format!("pivot-host{}", std::env::consts::EXE_SUFFIX));
    if !binary.is_file() {
        bail!("cargo built pivot-host, but it is not at {}", binary.display());
    }
    Ok(binary)
}

/// A command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
