//! The archive: its files lie as they will below `/usr/local`, and its bytes depend on nothing but those files and the commit.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::part::Parts;
use super::place::copy_folder;
use super::{licences, linked, sbom};
use crate::shell::{must, root, said, say, target};
use crate::{book, plugins};

pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Where checksums are, beside the archive.
pub(super) const SUMS: &str = "SHA256SUMS";
/// The names under which kubectl and clusterctl call the program.
pub(super) const LINKS: [&str; 3] = ["kubectl-pivot", "clusterctl-pivot", "kubectl_complete-pivot"];
/// Where each shell looks for completions; bash by the name of the command.
pub(super) const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/pivot-host"),
    ("zsh", "share/zsh/site-functions/_pivot-host"),
    ("fish", "share/fish/vendor_completions.d/pivot-host.fish"),
];
pub(super) const MANUAL: &str = "share/man";
/// Where the archive is unpacked, below the root directory.
pub(super) const PREFIX: &str = "usr/local";
pub(super) const PLUGINS: &str = "share/pivot-host/plugins";
pub(super) const CONTAINERFILE: &str = "share/pivot-host/Containerfile";
/// Folder of the contract, as text and as a package.
pub(super) const CONTRACT: &str = "share/pivot-host/wit";
pub(super) const DOCUMENTS: &str = "share/doc/pivot-host";
/// Folder of the book, below the documents.
pub(super) const BOOK: &str = "book";
pub(super) const LICENCES: &str = "THIRD-PARTY-LICENSES.txt";
pub(super) const PARTS: &str = "sbom.cdx.json";
/// How the names of those of plugins end.
pub(super) const PARTS_OF_PLUGIN: &str = "cdx.json";

/// Returns the folder into which a release installs the bundled plugins.
pub(crate) fn installed_plugins() -> String {
    format!("/{PREFIX}/{PLUGINS}")
}

/// Packs the program with all that belongs to it, and returns the archive's path.
pub(super) fn write(program: &Path, triple: &str, out: &Path) -> Result<PathBuf> {
    let name = format!("pivot-host-{VERSION}-linux-{}", architecture());
    let trees = target()?.join("release-tree");
    let tree = trees.join(&name);
    if tree.exists() {
        fs::remove_dir_all(&tree).with_context(|| format!("remove {}", tree.display()))?;
    }
    say(&format!("== Gathering {name}"));
    let installed = programs(program, &tree)?;
    for (shell, file) in COMPLETIONS {
        put(&tree.join(file), &said(Command::new(&installed).args(["completion", shell]))?)?;
    }
    for name in ["kubectl-pivot", "clusterctl-pivot"] {
        symlink("pivot-host", tree.join("share/bash-completion/completions").join(name))?;
    }
    said(Command::new(&installed).arg("man").arg(tree.join(MANUAL)))?;
    plugins::bundle(&installed, &tree.join(PLUGINS))?;
    parts_of_plugins(&tree.join(PLUGINS))?;
    contract(&tree.join(CONTRACT))?;
    copy(&root()?.join("packaging/Containerfile"), &tree.join(CONTAINERFILE))?;
    documents(&installed, triple, &tree.join(DOCUMENTS))?;
    pack(&trees, &name, out)
}

/// As people who write packages call it.
pub(super) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn programs(program: &Path, tree: &Path) -> Result<PathBuf> {
    let installed = tree.join("bin/pivot-host");
    copy(program, &installed)?;
    for name in LINKS {
        symlink("pivot-host", tree.join("bin").join(name))?;
    }
    Ok(installed)
}

fn contract(folder: &Path) -> Result<()> {
    let wit = root()?.join("wit");
    copy(&wit.join("provider.wit"), &folder.join("provider.wit"))?;
    let (file, package) = pivot_guests::encode_contract(&wit)?;
    fs::write(folder.join(&file), package).with_context(|| format!("write {file}"))
}

fn documents(program: &Path, triple: &str, folder: &Path) -> Result<()> {
    let book = book::render()?;
    copy_folder(&book.pages, folder)?;
    copy_folder(&book.html, &folder.join(BOOK))?;
    let parts = linked::parts(triple)?;
    put(&folder.join(LICENCES), &licences::text(&parts)?)?;
    put(&folder.join(PARTS), &list("pivot-host", VERSION, program, &parts)?)
}

/// A list of its own beside each bundled plugin, which goes with it into bundles and registries.
fn parts_of_plugins(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let component = entry?.path();
        if component.extension().is_none_or(|ending| ending != "wasm") {
            continue;
        }
        let name = component.file_stem().and_then(|stem| stem.to_str()).context("a plugin has no name")?;
        let parts = linked::parts_of_plugin(name)?;
        let own = parts.values().find(|part| part.name == name).context("a plugin is none of its parts")?;
        put(&component.with_extension(PARTS_OF_PLUGIN), &list(name, &own.version, &component, &parts)?)?;
    }
    Ok(())
}

/// The list of parts of a file.
fn list(name: &str, version: &str, file: &Path, parts: &Parts) -> Result<String> {
    let sha256 = said(Command::new("sha256sum").arg("--binary").arg(file))?;
    let (sha256, _) = sha256.split_once(' ').context("sha256sum prints a digest")?;
    let time = commit("%Y-%m-%dT%H:%M:%SZ")?;
    Ok(sbom::document(parts, &sbom::About { name, version, time: &time, sha256 }))
}

/// When the sources were committed.
fn commit(format: &str) -> Result<String> {
    let mut log = Command::new("git");
    log.args(["log", "-1", "--format=%cd", &format!("--date=format-local:{format}")]);
    Ok(said(log.env("TZ", "UTC").current_dir(root()?))?.trim().to_owned())
}

fn pack(trees: &Path, name: &str, out: &Path) -> Result<PathBuf> {
    let mut changed = Command::new("git");
    changed.args(["status", "--porcelain", "--untracked-files=no"]).current_dir(root()?);
    if !said(&mut changed)?.is_empty() {
        say("note: the work tree has changes that no commit has: don't publish this archive");
    }
    fs::create_dir_all(out).with_context(|| format!("create {}", out.display()))?;
    let out = out.canonicalize()?;
    let file = format!("{name}.tar.gz");
    let archive = out.join(&file);
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args([
        "--mode=u+rwX,go+rX,go-w",
        &format!("--mtime=@{}", commit("%s")?),
        "--use-compress-program=gzip -9n",
    ]);
    tar.arg("--file").arg(&archive).arg("--directory").arg(trees).arg(name);
    must(&mut tar)?;
    let sums = said(Command::new("sha256sum").arg(&file).current_dir(&out))?;
    put(&out.join(SUMS), &sums)?;
    Ok(archive)
}

fn put(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
    fs::copy(from, to).with_context(|| format!("copy {} to {}", from.display(), to.display()))?;
    Ok(())
}
