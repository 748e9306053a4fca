//! Builds a workspace of plugins: `pivot-guests WORKSPACE OUT [INPUT …]`.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let paths: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [workspace, out, inputs @ ..] = paths.as_slice() else {
        bail!("pivot-guests WORKSPACE OUT [INPUT …]");
    };
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    pivot_guests::build_guests(workspace, &inputs, out)?;
    Ok(())
}
