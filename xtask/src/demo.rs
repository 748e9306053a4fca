//! Shows a move without a cluster: the example management cluster, from files into files.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{must, pivot_host, root, say, shown};

const EXAMPLE: &str = "examples/metal3";
const DIRECTORY: &str = "target/demo/cluster";
/// How many file names are printed.
const SHOWN: usize = 8;

pub(crate) fn run() -> Result<()> {
    say("== A move without a cluster");
    say(&format!(
        "{EXAMPLE} is a Metal3 management cluster written down as files: a cluster on six hosts and, beside it, one \
         made from a ClusterClass. pivot-host reads it as it would read an API server, and moves it into {DIRECTORY}."
    ));
    say("\n== Building pivot-host (a few minutes the first time, seconds after that)");
    let binary = pivot_host()?;

    let fresh = root()?.join("target/demo");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).with_context(|| format!("remove {}", fresh.display()))?;
    }

    say(
        "\n== The plan: what would move, what stays and why; --tree names each object. It changes nothing.\n",
    );
    host(&binary, &["plan"])?;

    say("\n== The move: progress on stderr, the result on stdout.\n");
    host(&binary, &["move", "--to-directory", DIRECTORY])?;

    say("\n== What lies in the directory now: one file per object, readable by you alone, and a manifest.\n");
    list(&root()?.join(DIRECTORY))
}

fn host(binary: &Path, verb: &[&str]) -> Result<()> {
    let mut command = Command::new(binary);
    command.args(verb).args(["--from-directory", EXAMPLE, "--all-namespaces"]).current_dir(root()?);
    say(&format!("$ {}\n", shown(&command)));
    must(&mut command)
}

fn list(directory: &Path) -> Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| format!("read {}", directory.display()))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    // Spread over all of them, to show more than one kind.
    for name in names.iter().step_by(names.len().div_ceil(SHOWN).max(1)) {
        say(&format!("  {DIRECTORY}/{name}"));
    }
    say(&format!("  ({} files in all)", names.len()));
    Ok(())
}
