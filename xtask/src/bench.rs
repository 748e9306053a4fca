//! Measures pivot-host against clusterctl, and its plugins against bare wasmtime, with the binary that users get.
//!
//! `tests/bench` defines what is measured and how; this builds it. Everything is built as a release is: the comparison must not
//! favour pivot-host.

use std::process::Command;

use anyhow::{Result, bail};

use crate::shell::{cargo, must, root, target};

/// `cargo xtask bench [plugins] [--quick]`; a full run writes `docs/benchmarks.md`, or `docs/benchmarks-plugins.md`. `--large` prints
/// the move of 20,000 objects alone, `--huge` the moves of 20,000 and of 100,000 objects.
/// `cargo xtask bench planning` writes `docs/benchmarks-planning.md`.
pub(crate) fn run(typed: &[&str]) -> Result<()> {
    if typed == ["planning"] {
        let mut planning = cargo(&[
            "bench",
            "--profile",
            "dist",
            "--package",
            "pivot-core",
            "--bench",
            "planning",
            "--",
            "--write",
        ])?;
        return must(planning.arg(root()?.join("docs/benchmarks-planning.md")));
    }
    let (plugins, part) = match typed {
        [] => (false, None),
        ["--quick" | "--large" | "--huge"] => (false, typed.first()),
        ["plugins"] => (true, None),
        ["plugins", "--quick"] => (true, typed.last()),
        other => {
            bail!("bench takes planning, --large, --huge, or plugins and --quick, not {:?}", other.join(" "))
        }
    };
    must(&mut cargo(&["build", "--profile", "dist", "--package", "pivot-host"])?)?;
    let mut command = measuring()?;
    let page = if plugins {
        components(command.arg("plugins"))?;
        "docs/benchmarks-plugins.md"
    } else {
        "docs/benchmarks.md"
    };
    let program = format!("pivot-host{}", std::env::consts::EXE_SUFFIX);
    command.arg("--pivot-host").arg(target()?.join("dist").join(program));
    if let Some(part) = part {
        command.arg(part);
    } else {
        command.arg("--write").arg(root()?.join(page));
    }
    must(&mut command)
}

/// Builds and tests what measures, in the workspace of its own: nothing else runs its tests.
fn measuring() -> Result<Command> {
    let (workspace, beside) = (root()?.join("tests/bench"), target()?.join("beside"));
    for verb in ["test", "build"] {
        let mut build = cargo(&[verb, "--profile", "dist"])?;
        must(build.current_dir(&workspace).env("CARGO_TARGET_DIR", &beside))?;
    }
    Ok(Command::new(beside.join("dist").join(format!("pivot-bench{}", std::env::consts::EXE_SUFFIX))))
}

/// Builds the components that are measured, and passes on where they are.
fn components(command: &mut Command) -> Result<()> {
    let (root, out) = (root()?, target()?.join("bench-plugins"));
    let (wit, sdk) = (root.join("wit"), root.join("sdk"));
    pivot_guests::build_guests(&root.join("plugins"), &[&wit, &sdk], &out.join("plugins"))?;
    pivot_guests::build_guests(&root.join("tests/guests"), &[&wit], &out.join("guests"))?;
    command.arg("--components").arg(out);
    Ok(())
}
