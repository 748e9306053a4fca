//! Measures pivot-host against clusterctl, and its plugins against bare wasmtime, with the binary that users get.
//!
//! `tests/bench` defines what is measured and how; this builds it. Everything is built as a release is: the comparison must not
//! favour pivot-host.

use std::process::Command;

use anyhow::{Result, bail};

use crate::shell::{cargo, must, root, target};

/// `cargo xtask bench [plugins] [--quick]`; a full run writes `docs/benchmarks.md`, or `docs/benchmarks-plugins.md`. `--large` prints
/// the largest scenario alone.
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
        ["--quick" | "--large"] => (false, typed.first()),
        ["plugins"] => (true, None),
        ["plugins", "--quick"] => (true, typed.last()),
        other => bail!("bench takes planning, --large, or plugins and --quick, not {:?}", other.join(" ")),
    };
    let build = ["build", "--profile", "dist", "--package", "pivot-host", "--package", "pivot-bench"];
    must(&mut cargo(&build)?)?;
    let release = target()?.join("dist");
    let suffix = std::env::consts::EXE_SUFFIX;
    let mut command = Command::new(release.join(format!("pivot-bench{suffix}")));
    let page = if plugins {
        components(command.arg("plugins"))?;
        "docs/benchmarks-plugins.md"
    } else {
        "docs/benchmarks.md"
    };
    command.arg("--pivot-host").arg(release.join(format!("pivot-host{suffix}")));
    if let Some(part) = part {
        command.arg(part);
    } else {
        command.arg("--write").arg(root()?.join(page));
    }
    must(&mut command)
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
