//! Draws the pictures of a terminal in `docs/pictures`, from what the program prints between real API servers.

use anyhow::Result;

use crate::executables::build_pivot_host;
use crate::shell::{cargo, must, root, say};

pub(crate) fn run() -> Result<()> {
    say("== Building pivot-host, and moving clusters between two API servers");
    let (binary, out) = (build_pivot_host()?, root()?.join("docs/pictures"));
    let mut draw = cargo(&["run", "--package", "pivot-scenarios", "--example", "pictures", "--"])?;
    must(draw.arg(out).env("PIVOT_HOST_BIN", binary))
}
