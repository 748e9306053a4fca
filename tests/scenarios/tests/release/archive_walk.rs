//! The way of a new user with nothing but the archive: docs/install.md and docs/first-hour.md, typed in a root directory that has a shell
//! and the archive. A run is killed halfway, and the move goes on by the words of the pages alone.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use pivot_lab::assets::CLUSTER_API;
use pivot_lab::observer::{Side, check};
use pivot_lab::{Dump, Observer, Rules};
use pivot_scenarios::host::binary;
use pivot_scenarios::secrets::ensure_no_secret;
use pivot_scenarios::state::dangling;

use super::typed::type_commands;
use super::world::{NAMESPACE, World, conditions};
use super::{released, released_archive};

/// Two Clusters, one of them by a class.
const OBJECTS: &str = include_str!("../managers/world.yaml");
/// The shell, and the programs that commands of the pages start.
const TOOLS: [&str; 6] = ["sh", "grep", "gzip", "sha256sum", "sleep", "tar"];
const INSTALL: &str = "docs/install.md";
/// Page in the installed archive.
const FIRST_HOUR: &str = "usr/local/share/doc/pivot-host/docs/first-hour.md";
const PATH: &str = "/usr/local/bin:/usr/bin:/usr/sbin";

/// Returns a program's path and its libraries.
fn find_tool(name: &str) -> (PathBuf, BTreeSet<PathBuf>) {
    let path = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
    let path = path.into_iter().find(|path| path.is_file()).unwrap_or_else(|| panic!("no {name}"));
    let libraries = libraries(&path);
    (path, libraries)
}

/// Returns the libraries of a program, with the program that loads them.
fn libraries(program: &Path) -> BTreeSet<PathBuf> {
    let needed = Command::new("ldd").arg(program).output().unwrap();
    let needed = String::from_utf8(needed.stdout).unwrap();
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    needed.lines().filter_map(path).collect()
}

/// Makes a root directory with a shell, the files of the release, and the libraries of the tests' program, which is not static.
fn make_root(root: &Path) {
    let (bin, dev) = (root.join("usr/bin"), root.join("dev"));
    [&bin, &dev, &root.join("usr/local")].into_iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
    symlink("usr/bin", root.join("bin")).unwrap();
    // A shell reads it for commands in the background.
    fs::write(dev.join("null"), "").unwrap();
    let mut needed = libraries(&binary().unwrap());
    for name in TOOLS {
        let (path, libraries) = find_tool(name);
        fs::copy(path, bin.join(name)).unwrap();
        needed.extend(libraries);
    }
    for library in needed {
        let there = root.join(library.strip_prefix("/").unwrap());
        fs::create_dir_all(there.parent().unwrap()).unwrap();
        fs::copy(library, there).unwrap();
    }
    for file in [&*released_archive(), "SHA256SUMS"] {
        fs::copy(released(file), root.join(file)).unwrap();
    }
}

/// Returns the section of docs/install.md that installs the archive, with the name of this machine's archive.
fn installation() -> String {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(INSTALL)).unwrap();
    let (_, section) = page.split_once("\n## From an archive\n").unwrap();
    let (section, _) = section.split_once("\n### ").unwrap();
    assert!(section.contains("\ntar -xzf ") && section.contains("\nsha256sum "), "{section}");
    let written = section.split_whitespace().find(|word| word.ends_with("linux-amd64.tar.gz")).unwrap();
    section.replace(written, &released_archive())
}

/// Returns what controllers report about each object.
fn reported(dump: &Dump) -> Vec<String> {
    dump.iter().map(|(key, object)| format!("{key}: {:?}", conditions(object))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archive_alone_moves_and_recovers() {
    let mut world = World::start(CLUSTER_API).await.unwrap();
    world.fill(OBJECTS, 5).await.unwrap();
    let before = world.until_quiet(Side::Source).await.unwrap();
    let (source, target) = (world.server(Side::Source), world.server(Side::Target));
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    make_root(&root);
    for (server, name) in [(source, "boot.kubeconfig"), (target, "prod.kubeconfig")] {
        fs::copy(server.kubeconfig(), root.join(name)).unwrap();
    }
    let observer = Observer::start(source, target, &[NAMESPACE]).await.unwrap();
    let typing = tokio::task::spawn_blocking(move || {
        let shell = ["chroot", root.to_str().unwrap(), "sh"];
        let installed = type_commands(&installation(), &shell, &root, PATH);
        let page = fs::read_to_string(root.join(FIRST_HOUR)).unwrap();
        installed + &type_commands(&page, &shell, &root, PATH)
    });
    ensure_no_secret("the pages' commands", &typing.await.unwrap()).unwrap();

    let wanted = reported(&before);
    let after = world.until(Side::Target, |dump| reported(dump) == wanted).await.unwrap();
    let log = observer.finish_log().await.unwrap();
    let broken: Vec<_> =
        check(&log, &Rules::new().target_at_work()).iter().map(ToString::to_string).collect();
    assert_eq!(broken, Vec::<String>::new());
    assert!(world.server(Side::Source).dump(&[NAMESPACE]).await.unwrap().is_empty());
    assert_eq!(reported(&after), wanted);
    assert_eq!(dangling(&after), Vec::<String>::new());
    assert_eq!(world.torn_down().unwrap(), Vec::<String>::new());
}
