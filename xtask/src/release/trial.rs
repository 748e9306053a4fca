//! Tries the archive as a user has it: unpacked where there is nothing else, no shell and no library; then as a container has it, with
//! a root directory that can't be written and a user who is nobody.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::archive::{
    Archive, BOOK, COMPLETIONS, CONTRACT, DOCUMENTS, LICENCES, LINKS, MANUAL, PARTS, PARTS_OF_PLUGIN,
    PLUGINS, PREFIX, architecture_of, installed_plugins,
};
use super::cross;
use super::files::VERSION;
use super::oci;
use super::place::{Place, copy_folder};
use super::privileges;
use super::sums::SUMS;
use crate::shell::{must, root, said, say, target};

/// Fails on the first thing that is not as a user needs it. Returns the folder with the unpacked archive of this machine.
pub(super) fn run(folder: &Path, archives: &[Archive], libraries: &[PathBuf]) -> Result<PathBuf> {
    if said(Command::new("id").arg("-u"))?.trim() != "0" {
        bail!("only root can change the root directory, so nothing was tried: run this as root");
    }
    said(Command::new("sha256sum").args(["--check", "--strict", SUMS]).current_dir(folder))?;
    let trials = target()?.join("release-trial");
    if trials.exists() {
        fs::remove_dir_all(&trials).with_context(|| format!("remove {}", trials.display()))?;
    }
    let own = architecture_of(std::env::consts::ARCH);
    let image = folder.join(oci::file_name());
    for archive in archives {
        if archive.architecture != own {
            cross::enable_emulator()?;
        }
        run_one(archive, &image, &trials.join(&archive.architecture), libraries)?;
    }
    say("== It works there");
    Ok(trials.join(own).join("empty").join(PREFIX))
}

fn run_one(archive: &Archive, image: &Path, trials: &Path, libraries: &[PathBuf]) -> Result<()> {
    say(&format!("== Trying {} in an empty root directory", archive.name));
    let empty = Place::new(trials.join("empty"), &format!("/{PREFIX}/bin/pivot-host"), libraries)?;
    let prefix = empty.root.join(PREFIX);
    fs::create_dir_all(&prefix)?;
    install(archive, &prefix)?;
    is_complete(&prefix, &empty)?;
    moves(&empty, &installed_plugins())?;
    finds_servers_by_name(&empty)?;
    say("== Trying its image: nothing can be written, and the user isn't root and has no capabilities");
    let root = trials.join("container");
    fs::create_dir_all(&root)?;
    let image = oci::unpack(image, &archive.architecture, &root)?;
    let container = Place::new(root, &image.program, libraries)?.read_only(&image.user)?;
    moves(&container, "/plugins")?;
    container.fails(&["man", "/manual"], 1, "Read-only file system")?;
    fs::write(container.root.join("authority.pem"), AUTHORITY)?;
    privileges::ensure_none(&container, &KUBECONFIG.replace("management.test:1", "127.0.0.1:PORT"))?;
    reads_private_kubeconfigs(container)
}

/// Page whose section types the commands that install an archive.
const INSTALL: &str = "docs/install.md";
const FROM_ARCHIVE: &str = "## From an archive";

/// Installs an archive by the commands of the page, below another folder than theirs.
fn install(archive: &Archive, prefix: &Path) -> Result<()> {
    let folder = archive.path.parent().context("an archive lies in a folder")?;
    let page = read(&root()?.join(INSTALL))?;
    let section = page.split_once(FROM_ARCHIVE).map(|(_, rest)| rest);
    let commands = section.and_then(|text| text.split("```").nth(1)).context("the page has no commands")?;
    has(INSTALL, commands, SUMS)?;
    let commands = commands.replace("amd64", &archive.architecture);
    let commands = commands.replace(&format!("/{PREFIX}"), &prefix.display().to_string());
    must(Command::new("sh").args(["-e", "-c", &commands]).current_dir(folder))
}

/// The libraries that a program needs, and the one that loads them.
pub(super) fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let needed = said(Command::new("ldd").arg(program))?;
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    Ok(needed.lines().filter_map(path).collect())
}

const BUNDLED: [&str; 12] = [
    "aws",
    "azure",
    "gcp",
    "helm-addon",
    "ipam-in-cluster",
    "metal3-endpoints",
    "metal3-hosts",
    "openstack",
    "patches",
    "readiness",
    "secrets",
    "vsphere",
];

/// The program starts under each of its names, and all that belongs to it is there and was made by it.
fn is_complete(prefix: &Path, empty: &Place) -> Result<()> {
    same("version", &empty.says(&["version"])?, &format!("pivot-host {VERSION}\n"))?;
    for (shell, file) in COMPLETIONS {
        same(file, &read(&prefix.join(file))?, &empty.says(&["completion", shell])?)?;
    }
    for name in LINKS {
        let link = format!("/{PREFIX}/bin/{name}");
        let (words, part) = match name {
            "kubectl_complete-pivot" => (["verif"], "verify\t"),
            _ => (["--help"], &*format!("\nUsage: {} ", name.replace('-', " "))),
        };
        has(&link, &empty.runs_as(&link, &words)?, part)?;
    }
    for page in ["pivot-host", "pivot-host-move", "pivot-host-plan-show", "kubectl-pivot"] {
        let page = prefix.join(MANUAL).join(format!("man1/{page}.1"));
        has(
            &page.to_string_lossy(),
            &read(&page)?,
            if page.ends_with("kubectl-pivot.1") { ".so " } else { ".SH NAME" },
        )?;
    }
    let documents = prefix.join(DOCUMENTS);
    has("the README", &read(&documents.join("README.md"))?, "# pivot-host")?;
    has("the changes", &read(&documents.join("CHANGELOG.md"))?, "# Changelog")?;
    has("the licence", &read(&documents.join("LICENSE"))?, "Apache License")?;
    has("the page for vendors", &read(&documents.join("docs/go-plugin.md"))?, "\npivot-host plugin bundle ")?;
    has("the runbook", &read(&documents.join(BOOK).join("docs/runbook.html"))?, "id=\"by-exit-code\"")?;
    has("the licences of others", &read(&documents.join(LICENCES))?, "\n  wasmtime ")?;
    let contract = prefix.join(CONTRACT);
    has("the contract", &read(&contract.join("provider.wit"))?, "\npackage pivot:provider@")?;
    let mut files = fs::read_dir(&contract)?.flatten().map(|entry| entry.file_name());
    if !files.any(|name| name.as_encoded_bytes().ends_with(b".wasm")) {
        bail!("{} has no package", contract.display());
    }
    lists(&documents.join(PARTS), &prefix.join("bin/pivot-host"), "wasmtime")?;
    for plugin in BUNDLED {
        let component = prefix.join(PLUGINS).join(format!("{plugin}.wasm"));
        lists(&component.with_extension(PARTS_OF_PLUGIN), &component, "pivot-sdk")?;
    }
    Ok(())
}

/// A list of parts is about a file as it is, and has this part.
fn lists(list: &Path, file: &Path, part: &str) -> Result<()> {
    let text = read(list)?;
    let document: serde_json::Value = serde_json::from_str(&text)?;
    let digest = document.pointer("/metadata/component/hashes/0/content").and_then(serde_json::Value::as_str);
    let digest = digest.with_context(|| format!("{} has no digest", list.display()))?;
    has("the file's digest", &said(Command::new("sha256sum").arg(file))?, &format!("{digest} "))?;
    has("the list of parts", &text, &format!("\"name\": \"{part}\""))
}

/// Plans and moves the example with the bundled plugins, into a directory.
fn moves(place: &Place, plugins: &str) -> Result<()> {
    let list = place.says(&["plugin", "list", plugins])?;
    for plugin in BUNDLED {
        has("the list of plugins", &list, plugin)?;
    }
    site(place, plugins)?;
    let example = ["--from-directory", "/example", "--all-namespaces", "--plugins", "/site"];
    has("the plan", &place.says(&[&["plan"], &example[..]].concat())?, "Plan: ")?;
    let moved = place.says(&[&["move"], &example[..], &["--to-directory", "/out/copy"]].concat())?;
    has("the result of the move", &moved, "Copied")?;
    place.says(&["verify", "/out/copy"])?;
    has("the manifest", &read(&place.root.join("out/copy/manifest.json"))?, "BareMetalHost.metal3.io_")
}

/// Copies the plugins as a site does that adapts their grants, without the one that asks the target for its Ironic: a directory has
/// none. Its lock says of no plugin that it passed a trial, like the lock of another vendor's plugin. So the program starts itself
/// again to compile it on trial.
fn site(place: &Place, plugins: &str) -> Result<()> {
    const SECTION: &str = "[plugins.metal3-endpoints]\n";
    let (from, to) = (place.root.join(plugins.trim_start_matches('/')), place.root.join("site"));
    copy_folder(&from, &to)?;
    let grants = to.join("plugins.toml");
    let text = read(&grants)?;
    has("plugins.toml", &text, SECTION)?;
    fs::write(grants, text.replacen(SECTION, &format!("{SECTION}enabled = false\n"), 1))?;
    let lock = to.join("plugins.lock");
    let text = read(&lock)?;
    let untried = text.lines().filter(|line| !line.starts_with("passed = ")).collect::<Vec<_>>().join("\n");
    Ok(fs::write(lock, untried)?)
}

/// A kubeconfig that only its owner can read: the image's user can't, and the owner can, as the Containerfile says.
fn reads_private_kubeconfigs(container: Place) -> Result<()> {
    const OWNER: &str = "1000:1000";
    let file = container.root.join("kubeconfig");
    fs::write(&file, KUBECONFIG.replace("management.test", "127.0.0.1"))?;
    must(Command::new("chmod").arg("0600").arg(&file))?;
    must(Command::new("chown").arg(OWNER).arg(&file))?;
    let plan = ["plan", "--kubeconfig", "/kubeconfig", "-n", "metal3"];
    container.fails(&plan, 3, "ermission denied")?;
    container.read_only(OWNER)?.fails(&plan, 9, "Connection refused")
}

/// A server whose name is in the root's list of names, and where nobody listens: it is the connection that is refused.
fn finds_servers_by_name(empty: &Place) -> Result<()> {
    fs::create_dir_all(empty.root.join("etc"))?;
    fs::write(empty.root.join("etc/hosts"), "127.0.0.1 management.test\n")?;
    fs::write(empty.root.join("kubeconfig"), KUBECONFIG)?;
    fs::write(empty.root.join("authority.pem"), AUTHORITY)?;
    empty.fails(&["plan", "--kubeconfig", "/kubeconfig", "-n", "metal3"], 9, "Connection refused")
}

/// A certificate that nobody has the key of: without one, those of the system are asked for.
const AUTHORITY: &str = include_str!("authority.pem");
const KUBECONFIG: &str = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "a",
"contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}], "users": [{"name": "a", "user": {"token": "x"}}],
"clusters": [{"name": "a", "cluster": {"server": "https://management.test:1", "certificate-authority": "/authority.pem"}}]}
"#;

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

fn same(what: &str, found: &str, expected: &str) -> Result<()> {
    if found == expected { Ok(()) } else { bail!("{what} is not as expected:\n{found}") }
}

fn has(what: &str, text: &str, part: &str) -> Result<()> {
    if text.contains(part) { Ok(()) } else { bail!("{what} has no {part:?}:\n{text}") }
}
