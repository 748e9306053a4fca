//! Test executables: cargo builds them, xtask runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::shell::{cargo, must, shown, target};

/// Arguments of every build of tests. They select the libraries of all packages, because cargo gives each selection of packages
/// features of its own, and for another one would compile half of the dependencies once more.
const ALL_PACKAGES: [&str; 3] = ["test", "--workspace", "--no-run"];

/// Has tests play as many seeds, and explore as many states, as a landing must: more than `cargo test` does.
pub(crate) const LANDING: (&str, &str) = ("PIVOT_HOST_LANDING", "1");

/// A built test executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Executable {
    /// Package and target, such as `pivot-engine moves`, or the package alone for the tests beside its code.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The folder of the package, in which cargo would run it.
    package: PathBuf,
}

impl Executable {
    /// A command that runs the tests as cargo does.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.package).env("CARGO_MANIFEST_DIR", &self.package);
        command.env(LANDING.0, LANDING.1);
        command
    }

    /// Reads a line of cargo's messages. None if the line is about something else than a test executable.
    fn from_message(message: &Value) -> Option<Self> {
        let text = |pointer| message.pointer(pointer).and_then(Value::as_str);
        if message.pointer("/profile/test").and_then(Value::as_bool) != Some(true) {
            return None;
        }
        let (path, package) = (text("/executable")?, Path::new(text("/manifest_path")?).parent()?);
        let folder = package.file_name()?.to_string_lossy();
        let target = text("/target/name")?;
        let name = match text("/target/kind/0")? {
            "test" => format!("{folder} {target}"),
            "bin" => format!("{folder} (program)"),
            _ => folder.into_owned(),
        };
        Some(Self { name, path: path.into(), package: package.into() })
    }
}

/// Builds the tests that `cargo test` would run.
pub(crate) fn build_default_tests() -> Result<Vec<Executable>> {
    build(cargo(&ALL_PACKAGES)?)
}

/// Builds integration tests by name, in this order.
pub(crate) fn build_tests(names: &[&str]) -> Result<Vec<Executable>> {
    let mut command = cargo(&ALL_PACKAGES)?;
    command.arg("--lib").args(names.iter().flat_map(|name| ["--test", name]));
    let built = build(command)?;
    let find = |name: &&str| {
        let end = format!(" {name}");
        let found = built.iter().find(|test| test.name.ends_with(&end)).cloned();
        found.with_context(|| format!("cargo built no test {name}"))
    };
    names.iter().map(find).collect()
}

/// Builds one integration test, ready to run.
pub(crate) fn build_test(name: &str) -> Result<Command> {
    let tests = build_tests(&[name])?;
    Ok(tests.first().with_context(|| format!("cargo built no test {name}"))?.command())
}

fn build(mut command: Command) -> Result<Vec<Executable>> {
    command.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
    let output = command.output().context("start cargo")?;
    if !output.status.success() {
        bail!("`{}` failed ({})", shown(&command), output.status);
    }
    let mut tests = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value = serde_json::from_str(line).context("read a message of cargo")?;
        tests.extend(Executable::from_message(&message));
    }
    Ok(tests)
}

/// Builds the program as `cargo build` does, and returns its path.
pub(crate) fn build_pivot_host() -> Result<PathBuf> {
    must(&mut cargo(&["build", "--package", "pivot-host"])?)?;
    built_pivot_host()
}

/// Builds the program that its own tests run, and returns its path.
pub(crate) fn build_tested_pivot_host() -> Result<PathBuf> {
    must(cargo(&ALL_PACKAGES)?.args(["--lib", "--test", "binary"]))?;
    built_pivot_host()
}

/// Builds an example that the tests build, too.
pub(crate) fn build_tested_example(name: &str) -> Result<PathBuf> {
    must(cargo(&ALL_PACKAGES)?.args(["--lib", "--example", name]))?;
    Ok(target()?.join("debug/examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

fn built_pivot_host() -> Result<PathBuf> {
    let binary = target()?.join("debug").join(format!("pivot-host{}", std::env::consts::EXE_SUFFIX));
    if !binary.is_file() {
        bail!("cargo built pivot-host, but it is not at {}", binary.display());
    }
    Ok(binary)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_about_tests_name_package_and_target() {
        let message = |kind: &str, test: bool| {
            json!({
                "reason": "compiler-artifact", "manifest_path": "/tree/host/engine/Cargo.toml",
                "target": {"kind": [kind], "name": "moves"}, "profile": {"test": test},
                "executable": "/target/debug/deps/moves-1",
            })
        };
        let name = |kind| Executable::from_message(&message(kind, true)).unwrap().name;
        assert_eq!([name("test"), name("lib"), name("bin")], ["engine moves", "engine", "engine (program)"]);
        assert_eq!(Executable::from_message(&message("bin", false)), None);
        assert_eq!(Executable::from_message(&json!({"reason": "build-finished"})), None);
    }
}
