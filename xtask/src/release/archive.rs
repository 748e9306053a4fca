//! The archive: its files lie as they will below `/usr/local`, and its bytes depend on nothing but those files and the commit.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::files::{VERSION, commit_time, copy, put, sha256, tar_command};
use super::part::Parts;
use super::place::copy_folder;
use super::{deployment, licences, linked, sbom};
use crate::shell::{must, root, said, say, target};
use crate::{book, plugins};

/// The names under which kubectl and clusterctl call the program.
pub(super) const LINKS: [&str; 3] = ["kubectl-pivot", "clusterctl-pivot", "kubectl_complete-pivot"];
/// Paths at which each shell finds completions; bash by the name of the command.
pub(super) const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/pivot-host"),
    ("zsh", "share/zsh/site-functions/_pivot-host"),
    ("fish", "share/fish/vendor_completions.d/pivot-host.fish"),
];
pub(super) const MANUAL: &str = "share/man";
/// Folder into which the archive is unpacked, below the root directory.
pub(super) const PREFIX: &str = "usr/local";
pub(super) const PLUGINS: &str = "share/pivot-host/plugins";
/// Folder of charts and bases for kustomize.
pub(super) const DEPLOYMENT: &str = "share/pivot-host";
pub(super) const CONTAINERFILE: &str = "share/pivot-host/Containerfile";
/// Folder of the contract, as text and as a package.
pub(super) const CONTRACT: &str = "share/pivot-host/wit";
pub(super) const DOCUMENTS: &str = "share/doc/pivot-host";
/// Folder of the book, below the documents.
pub(super) const BOOK: &str = "book";
pub(super) const LICENCES: &str = "THIRD-PARTY-LICENSES.txt";
pub(super) const PARTS: &str = "sbom.cdx.json";
/// Ending of the lists of plugins.
pub(super) const PARTS_OF_PLUGIN: &str = "cdx.json";

/// Returns the folder into which a release installs the bundled plugins.
pub(crate) fn installed_plugins() -> String {
    format!("/{PREFIX}/{PLUGINS}")
}

/// A packed program with all that belongs to it.
#[derive(Debug)]
pub(super) struct Archive {
    /// Name of the folder in it, and of the archive without its ending.
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// The folder that was packed.
    pub(super) tree: PathBuf,
    pub(super) architecture: String,
    /// Command that compresses its files.
    pub(super) compression: &'static str,
}

/// Compression of releases, without names and times.
pub(super) const SMALLEST: &str = "gzip -9n";
/// Compression of files that no user loads.
pub(super) const FASTEST: &str = "gzip -1n";

impl Archive {
    /// Returns the name of the file.
    pub(super) fn file_name(&self) -> String {
        format!("{}.tar.gz", self.name)
    }
}

/// Packs a program for the target `triple`. `maker` is a program of this machine with the same sources, which prints the texts.
pub(super) fn write(
    program: &Path,
    maker: &Path,
    triple: &str,
    compression: &'static str,
    out: &Path,
) -> Result<Archive> {
    let architecture = architecture_of(triple);
    let name = format!("pivot-host-{VERSION}-linux-{architecture}");
    let trees = target()?.join("release-tree");
    let tree = trees.join(&name);
    if tree.exists() {
        fs::remove_dir_all(&tree).with_context(|| format!("remove {}", tree.display()))?;
    }
    say(&format!("== Gathering {name}"));
    let installed = programs(program, &tree)?;
    for (shell, file) in COMPLETIONS {
        put(&tree.join(file), &said(Command::new(maker).args(["completion", shell]))?)?;
    }
    for name in ["kubectl-pivot", "clusterctl-pivot"] {
        symlink("pivot-host", tree.join("share/bash-completion/completions").join(name))?;
    }
    said(Command::new(maker).arg("man").arg(tree.join(MANUAL)))?;
    plugins::bundle(maker, &tree.join(PLUGINS))?;
    parts_of_plugins(&tree.join(PLUGINS))?;
    contract(&tree.join(CONTRACT))?;
    copy(&root()?.join("packaging/Containerfile"), &tree.join(CONTAINERFILE))?;
    deployment::write(maker, &tree.join(DEPLOYMENT))?;
    documents(&installed, triple, &tree.join(DOCUMENTS))?;
    let path = pack(&trees, &name, compression, out)?;
    Ok(Archive { name, path, tree, architecture: architecture.to_owned(), compression })
}

/// Returns the name that packages and images have for the architecture of a target.
pub(super) fn architecture_of(triple: &str) -> &str {
    match triple.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        other => other.unwrap_or(triple),
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
    let (sha256, time) = (sha256(file)?, commit_time("%Y-%m-%dT%H:%M:%SZ")?);
    Ok(sbom::document(parts, &sbom::About { name, version, time: &time, sha256: &sha256 }))
}

fn pack(trees: &Path, name: &str, compression: &str, out: &Path) -> Result<PathBuf> {
    let mut changed = Command::new("git");
    changed.args(["status", "--porcelain", "--untracked-files=no"]).current_dir(root()?);
    if !said(&mut changed)?.is_empty() {
        say("note: the work tree has changes that no commit has: don't publish this archive");
    }
    fs::create_dir_all(out).with_context(|| format!("create {}", out.display()))?;
    let out = out.canonicalize()?;
    let archive = out.join(format!("{name}.tar.gz"));
    let mut tar = tar_command(&archive)?;
    tar.arg(format!("--use-compress-program={compression}")).arg("--directory").arg(trees).arg(name);
    must(&mut tar)?;
    Ok(archive)
}
