//! Shows a move without a cluster: the example management cluster, from files into files, with the bundled plugins.
//!
//! It is what an operator does: plan, save the plan, look at it in a browser, move as planned, look at the report and at the copy.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::plugins::{self, DIST, GRANTS};
use crate::shell::{must, root, say, shown};

const EXAMPLE: &str = "examples/metal3";
/// Everything that the demo writes.
const DEMO: &str = "target/demo";
const SITE: &str = "target/demo/plugins";
const PLAN: &str = "target/demo/plan.json";
const PAGE: &str = "target/demo/plan.html";
const DIRECTORY: &str = "target/demo/cluster";
const REPORT: &str = "target/demo/report.html";
/// A plugin that stops a move unless the target runs Ironic.
const NEEDS_IRONIC: &str = "metal3-endpoints";
/// How many file names are printed.
const SHOWN: usize = 8;

pub(crate) fn run() -> Result<()> {
    say("== A move without a cluster");
    say(&format!(
        "{EXAMPLE} is a Metal3 management cluster written down as files: a cluster on six hosts and, beside it, one \
         made from a ClusterClass. pivot-host reads it as it would read an API server, and moves it into {DIRECTORY}."
    ));
    say("\n== Building pivot-host and the bundled plugins (some minutes the first time, seconds after that)");
    let binary = plugins::with_program()?;

    let fresh = root()?.join(DEMO);
    if fresh.exists() {
        fs::remove_dir_all(&fresh).with_context(|| format!("remove {}", fresh.display()))?;
    }
    fs::create_dir_all(&fresh).with_context(|| format!("create {}", fresh.display()))?;

    say(&format!(
        "\n== The plugins, copied to {SITE} as a site does that changes grants. {NEEDS_IRONIC} asks the target's Ironic \
         for its state, and a directory runs none: this copy has it disabled.\n"
    ));
    site(&root()?.join(DIST), &root()?.join(SITE))?;
    show(&mut host(&binary, &["plugin", "list", SITE])?)?;

    let source = ["--from-directory", EXAMPLE, "--all-namespaces"];
    let target = ["--to-directory", DIRECTORY, "--plugins", SITE];
    let plan = [&["plan"][..], &source, &target].concat();
    say(
        "\n== The plan: what would move, what stays and why. It changes nothing; --out saves it, to be approved.\n",
    );
    show(host(&binary, &plan)?.args(["--out", PLAN]))?;

    say(
        "\n== What plugins have to do with it. metal3-hosts brought settings of hosts and a Secret into the plan that nobody else \
         knows to belong to them, and writes on each host how it was, so that its state is not lost.\n",
    );
    lines(&mut host(&binary, &["plan", "show", PLAN])?, "plugin")?;

    say("\n== The same plan as a page: one file, no network.\n");
    page(host(&binary, &plan)?.args(["--quiet", "-o", "html"]))?;

    say("\n== The move, exactly as planned: progress on stderr, the result on stdout, and a report.\n");
    let planned = ["move", "--from-directory", EXAMPLE];
    show(host(&binary, &planned)?.args(target).args(["--plan", PLAN, "--report", REPORT]))?;

    say("\n== A Cluster of the copy, as `clusterctl describe cluster` would show it\n");
    let edge = ["describe", "cluster", "edge", "-n", "metal3"];
    show(host(&binary, &edge)?.args(["--from-directory", DIRECTORY]))?;

    say("\n== What lies in the directory now: one file per object, readable by you alone, and a manifest\n");
    list(&root()?.join(DIRECTORY))?;

    say("\n== To open in a browser: the plan, and the report of the move\n");
    for page in [PAGE, REPORT] {
        say(&format!("  {}", root()?.join(page).display()));
    }
    Ok(())
}

/// The program with some words, in the work tree.
fn host(binary: &Path, words: &[&str]) -> Result<Command> {
    let mut command = Command::new(binary);
    command.args(words).current_dir(root()?);
    Ok(command)
}

fn show(command: &mut Command) -> Result<()> {
    say(&format!("$ {}\n", shown(command)));
    must(command)
}

/// Runs a command, and shows the lines that have a word.
fn lines(command: &mut Command, word: &str) -> Result<()> {
    say(&format!("$ {} | grep {word}\n", shown(command)));
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("`{}` failed ({})", shown(command), output.status);
    }
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains(word)).for_each(say);
    Ok(())
}

/// Runs a command whose output is a page.
fn page(command: &mut Command) -> Result<()> {
    say(&format!("$ {} > {PAGE}\n", shown(command)));
    must(command.stdout(File::create(root()?.join(PAGE))?))
}

/// Copies the plugins, without what a directory can't satisfy.
fn site(dist: &Path, site: &Path) -> Result<()> {
    fs::create_dir(site).with_context(|| format!("create {}", site.display()))?;
    for entry in fs::read_dir(dist).with_context(|| format!("read {}", dist.display()))? {
        let entry = entry?;
        fs::copy(entry.path(), site.join(entry.file_name()))
            .with_context(|| format!("copy {}", entry.path().display()))?;
    }
    let grants = fs::read_to_string(dist.join(GRANTS))?;
    let grants =
        disabled(&grants, NEEDS_IRONIC).with_context(|| format!("{GRANTS} has no {NEEDS_IRONIC}"))?;
    fs::write(site.join(GRANTS), grants).with_context(|| format!("write {GRANTS} in {}", site.display()))
}

/// The grants with one plugin disabled. `None` if they have no section for it.
fn disabled(grants: &str, plugin: &str) -> Option<String> {
    let (before, section) = grants.split_once(&format!("[plugins.{plugin}]\n"))?;
    Some(format!("{before}[plugins.{plugin}]\nenabled = false\n{section}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_disabled_in_its_own_section() {
        let grants = "[plugins.a]\nhooks = []\n[plugins.b]\nhooks = [\"check\"]\n";
        let without_b = "[plugins.a]\nhooks = []\n[plugins.b]\nenabled = false\nhooks = [\"check\"]\n";
        assert_eq!(disabled(grants, "b").as_deref(), Some(without_b));
        assert_eq!(disabled(grants, "c"), None);
        assert!(disabled(include_str!("../../plugins/plugins.toml"), NEEDS_IRONIC).is_some());
    }
}
