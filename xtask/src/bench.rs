//! Measures pivot-host beside clusterctl, with the binary that users get.
//!
//! What is measured and how is in `tests/bench`; here it is built. Both are release builds: the generator that is compared with
//! must not be the slower program.

use anyhow::{Result, bail};

use crate::shell::{cargo, must, root, target};

/// `cargo xtask bench [--quick]`; a full run writes `docs/benchmarks.md`.
pub(crate) fn run(typed: &[&str]) -> Result<()> {
    let quick = match typed {
        [] => false,
        ["--quick"] => true,
        other => bail!("bench takes --quick and nothing else, not {:?}", other.join(" ")),
    };
    must(&mut cargo(&["build", "--release", "--package", "pivot-host", "--package", "pivot-bench"])?)?;
    let release = target()?.join("release");
    let suffix = std::env::consts::EXE_SUFFIX;
    let mut command = std::process::Command::new(release.join(format!("pivot-bench{suffix}")));
    command.arg("--pivot-host").arg(release.join(format!("pivot-host{suffix}")));
    if quick {
        command.arg("--quick");
    } else {
        command.arg("--write").arg(root()?.join("docs/benchmarks.md"));
    }
    must(&mut command)
}
