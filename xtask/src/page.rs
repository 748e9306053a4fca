//! The page of `plan -o html` and of reports: builds it from `host/cli/src/output/page`, and opens it in a browser.
//!
//! What is built is committed, so that building pivot-host needs neither npm nor a network. That it is what the sources give is
//! checked by the stage `page` of `cargo xtask test`, not by a unit test: the check needs npm, as the browser does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::executables::{build_tested_example, build_tested_pivot_host};
use crate::shell::{must, root, say, target};

const SOURCES: &str = "host/cli/src/output/page";
/// What is built, and committed.
const BUILT: [&str; 2] = ["page.html", "LICENSES.txt"];
/// How many objects the management clusters have whose plans and reports are opened.
const SIZES: [&str; 4] = ["43", "1000", "5000", "20000"];

/// Builds the page, and puts it beside its sources.
pub(crate) fn run() -> Result<()> {
    let built = build()?;
    for name in BUILT {
        fs::copy(built.join(name), root()?.join(SOURCES).join(name))
            .with_context(|| format!("copy {name}"))?;
    }
    say(&format!("built {} in {SOURCES}", BUILT.join(" and ")));
    Ok(())
}

/// Fails unless the committed page is what its sources give, and does in a browser what it should.
pub(crate) fn check() -> Result<()> {
    let built = build()?;
    for name in BUILT {
        let read = |path: &Path| fs::read(path).with_context(|| path.display().to_string());
        if read(&built.join(name))? != read(&root()?.join(SOURCES).join(name))? {
            bail!("{SOURCES}/{name} is not what its sources give: `cargo xtask page` builds it");
        }
    }
    let pages = pages(&built)?;
    let mut look = Command::new("node");
    look.current_dir(&built).args(["check.mjs", "pictures"]).args(pages);
    must(&mut look)
}

/// Builds in cargo's target directory, so that the work tree has no modules of npm. Returns where.
fn build() -> Result<PathBuf> {
    let (from, to) = (root()?.join(SOURCES), target()?.join("page"));
    fs::create_dir_all(to.join("src"))?;
    for name in ["package.json", "package-lock.json", ".npmrc", "build.mjs", "check.mjs", "scenes.mjs"] {
        fs::copy(from.join(name), to.join(name)).with_context(|| format!("copy {name}"))?;
    }
    for entry in fs::read_dir(from.join("src"))? {
        let entry = entry?;
        fs::copy(entry.path(), to.join("src").join(entry.file_name()))?;
    }
    must(Command::new("npm").args(["ci", "--ignore-scripts"]).current_dir(&to))?;
    must(Command::new("node").args(["build.mjs", "."]).current_dir(&to))?;
    Ok(to)
}

/// Pages that the program writes about generated management clusters: plans, and reports of moves that ended or stopped.
fn pages(within: &Path) -> Result<Vec<PathBuf>> {
    let program = build_tested_pivot_host()?;
    let worlds = build_tested_example("directory")?;
    let mut pages = Vec::new();
    for size in SIZES {
        let at = |what: &str| within.join(format!("{what}-{size}"));
        let html = |what: &str| within.join(format!("{what}-{size}.html"));
        for what in ["world", "copy"] {
            if at(what).exists() {
                fs::remove_dir_all(at(what))?;
            }
        }
        must(Command::new(&worlds).arg(size).arg(at("world")))?;
        let host = |verb: &str| {
            let mut command = Command::new(&program);
            command.args([verb, "--quiet", "--from-directory"]).arg(at("world"));
            command
        };
        let plan = host("plan").args(["-o", "html"]).output().context("start pivot-host")?;
        if !plan.status.success() {
            bail!("the plan of {size} objects failed: {}", String::from_utf8_lossy(&plan.stderr));
        }
        fs::write(html("plan"), plan.stdout)?;
        pages.push(html("plan"));
        let report = |what: &str, fails: bool| {
            let mut run = host("move");
            run.arg("--to-directory").arg(at("copy")).arg("--report").arg(html(what));
            let ended = run.output().context("start pivot-host")?;
            match ended.status.success() == fails {
                true => bail!("a move of {size} objects: {}", String::from_utf8_lossy(&ended.stderr)),
                false => anyhow::Ok(html(what)),
            }
        };
        pages.push(report("report", false)?);
        // Once more into the same directory, of which one file is missing.
        let first = fs::read_dir(at("copy"))?.next().context("the copy is empty")??;
        fs::remove_file(first.path())?;
        pages.push(report("stopped", true)?);
    }
    Ok(pages)
}
