//! What takes long about agents' links, in whole; the tests of the stage `scenarios` do a sample of it.

use anyhow::{Result, bail};

use crate::executables::{build_test, build_tested_pivot_host};
use crate::shell::{cargo, must, root, target};

/// The test binary, and what of it takes long.
const TEST: &str = "controller";
const WHOLE: [&str; 2] = ["killed::", "soak::"];

/// `cargo xtask links`, `cargo xtask links distance`
pub(crate) fn run(typed: &[&str]) -> Result<()> {
    match typed {
        [] => {
            let program = build_tested_pivot_host()?;
            WHOLE.iter().try_for_each(|part| {
                let mut test = build_test(TEST)?;
                test.env("PIVOT_HOST_BIN", &program).env("PIVOT_HOST_NIGHTLY", "1");
                must(test.args([part, "--nocapture", "--test-threads=1"]))
            })
        }
        ["distance"] => {
            must(&mut cargo(&["build", "--release", "--package", "pivot-host"])?)?;
            let program = target()?.join("release/pivot-host");
            let mut measure = cargo(&["run", "--package", "pivot-scenarios", "--example", "distance", "--"])?;
            must(measure.env("PIVOT_HOST_BIN", program).arg(root()?.join("docs/benchmarks-links.md")))
        }
        other => bail!("links takes distance or nothing, not {:?}", other.join(" ")),
    }
}
