//! What a move leaves beside the objects of a directory, if somebody changed it: `manifest.json`, and the note of a move that
//! has not finished.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::case::{Case, write};
use crate::directories::{cluster, served};
use crate::judge::WORDS;

const PLAN: &str = "plan --from-directory copy -A";
const ONTO: &str = "move --from-directory from --to-directory copy -A";
const MANIFEST: &str = "copy/manifest.json";
const NOTE: &str = "copy/.pivot-host.json";
const REFUSED: [i32; 1] = [3];
/// What is for people, or is only warned of.
const FINE: [i32; 1] = [0];
const EITHER: [i32; 2] = [0, 3];

pub(crate) fn cases() -> Vec<Case> {
    [fields(), files(), texts(), notes(), onto()].concat()
}

/// A directory that a move wrote, and the one that it was moved from.
fn moved() -> &'static Path {
    static MOVED: OnceLock<TempDir> = OnceLock::new();
    let dir = MOVED.get_or_init(|| {
        let dir = TempDir::new().unwrap();
        served(dir.path());
        write(dir.path(), "from/object.json", cluster().to_string().as_bytes());
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        let line = ["move", "--from-directory", "from", "--to-directory", "copy", "-A"];
        let output = command.env_clear().current_dir(dir.path()).args(line).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        dir
    });
    dir.path()
}

fn manifest() -> Value {
    serde_json::from_slice(&fs::read(moved().join(MANIFEST)).unwrap()).unwrap()
}

fn copied(folder: &Path) {
    for below in ["from", "copy"] {
        for entry in fs::read_dir(moved().join(below)).unwrap() {
            let entry = entry.unwrap();
            write(
                folder,
                &format!("{below}/{}", entry.file_name().to_str().unwrap()),
                &fs::read(entry.path()).unwrap(),
            );
        }
    }
}

/// With this for a manifest.
fn with(name: impl std::fmt::Display, codes: &[i32], content: impl Into<Vec<u8>>) -> Case {
    let content = content.into();
    Case::new(name.to_string(), PLAN, codes).fed(copied).fed(move |folder| write(folder, MANIFEST, &content))
}

/// With this in the manifest.
fn field(name: impl std::fmt::Display, codes: &[i32], path: &str, value: Value) -> Case {
    let mut manifest = manifest();
    let (parent, last) = path.rsplit_once('/').unwrap();
    let parent = manifest.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
        other => other[last] = value,
    }
    with(name, codes, manifest.to_string())
}

/// One of each sort; `places: contradictory_manifest_is_refused` has others.
fn fields() -> Vec<Case> {
    let digest = "/files/Cluster.cluster.x-k8s.io_ns_a.json";
    let kind = manifest()["kinds"][0].clone();
    vec![
        field("a field of another type", &REFUSED, "/kinds", json!({"a": {}})),
        field("a field more that forges", &REFUSED, &format!("/{}", WORDS.replace('/', "-")), json!(1)),
        field("a version of the future", &REFUSED, "/apiVersion", "pivot-host.io/v2".into()),
        field("a move of 10 megabytes", &REFUSED, "/moveId", "a".repeat(10_000_000).into()),
        field("a digest that forges", &FINE, digest, WORDS.into()).says("changed since the move wrote it"),
        field("a kind 20000 times", &EITHER, "/kinds", vec![kind; 20_000].into()),
    ]
}

/// With these files in the manifest, counted.
fn listing(name: impl std::fmt::Display, files: Value) -> Case {
    let mut manifest = manifest();
    manifest["count"] = files.as_object().unwrap().len().into();
    manifest["files"] = files;
    with(name, &REFUSED, manifest.to_string())
}

/// What is said of files.
fn files() -> Vec<Case> {
    let mut cases = Vec::new();
    for place in ["../../../../etc/passwd", "/dev/zero", "gone\nerror: FORGED"] {
        let mut files = manifest()["files"].clone();
        files[place] = "0".repeat(64).into();
        cases.push(listing(format!("a file called {place:?}"), files));
    }
    let long: serde_json::Map<String, Value> = [("x".repeat(5_000_000), json!("0"))].into_iter().collect();
    cases.push(listing("a file with a name of 5 megabytes", long.into()));
    let many: serde_json::Map<String, Value> =
        (0..100_000).map(|n| (format!("gone-{n}"), json!("0"))).collect();
    cases.push(listing("100000 files that are not there", many.into()));
    cases.push(field("a count beyond counting", &REFUSED, "/count", u64::MAX.into()));
    let more = |name: &str, content: &'static str, codes: &[i32]| {
        Case::new(format!("beside it: {name}"), PLAN, codes)
            .fed(copied)
            .fed(move |folder| write(folder, "copy/more.json", content.as_bytes()))
    };
    cases.push(more("a Secret of somebody else", "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\"},\"stringData\":{\"a\":\"hunter2\"}}", &FINE));
    cases.push(more("the same object once more", "{\"apiVersion\":\"cluster.x-k8s.io/v1beta1\",\"kind\":\"Cluster\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"}}", &REFUSED));
    cases
}

fn texts() -> Vec<Case> {
    let good = manifest().to_string();
    let texts: [(&str, Vec<u8>, &[i32]); 5] = [
        ("half of it", good[..good.len() / 2].into(), &REFUSED),
        ("lists in lists", "[".repeat(1_000_000).into(), &REFUSED),
        ("maps in maps", "{\"a\":".repeat(1_000_000).into(), &REFUSED),
        ("ten megabytes of spaces", format!("{}{good}", " ".repeat(10 << 20)).into(), &FINE),
        ("lines that look like ours", b"{\nerror: FORGED\nnext: FORGED".to_vec(), &REFUSED),
    ];
    let mut cases: Vec<Case> = texts
        .into_iter()
        .map(|(name, content, codes)| with(format!("a manifest that is {name}"), codes, content))
        .collect();
    let large = |folder: &Path| fs::File::create(folder.join(MANIFEST)).unwrap().set_len(1 << 40).unwrap();
    cases.push(Case::new("a manifest of a terabyte", PLAN, &REFUSED).fed(copied).fed(large));
    let folder = |folder: &Path| {
        fs::remove_file(folder.join(MANIFEST)).unwrap();
        fs::create_dir(folder.join(MANIFEST)).unwrap();
    };
    cases.push(Case::new("a manifest that is a folder", PLAN, &REFUSED).fed(copied).fed(folder));
    for target in ["/dev/zero", "../from/object.json"] {
        let link = move |folder: &Path| {
            fs::remove_file(folder.join(MANIFEST)).unwrap();
            std::os::unix::fs::symlink(target, folder.join(MANIFEST)).unwrap();
        };
        cases.push(
            Case::new(format!("a manifest that is a link to {target}"), PLAN, &REFUSED).fed(copied).fed(link),
        );
    }
    cases
}

/// A move that has not finished, as somebody says.
fn notes() -> Vec<Case> {
    let note = |name: &str, line: &str, content: Vec<u8>| {
        Case::new(name.to_owned(), line, &REFUSED).fed(copied).fed(move |folder| {
            fs::remove_file(folder.join(MANIFEST)).unwrap();
            write(folder, NOTE, &content);
        })
    };
    let mut cases = Vec::new();
    for (verb, line) in [("read", PLAN), ("written to", ONTO)] {
        cases.push(note(
            &format!("a note of a move that forges, {verb}"),
            line,
            json!({"moveId": WORDS}).to_string().into(),
        ));
        cases.push(note(
            &format!("a note of ten megabytes, {verb}"),
            line,
            json!({"moveId": "m".repeat(10 << 20)}).to_string().into(),
        ));
    }
    cases
}

/// Moves into a directory that is somebody's.
fn onto() -> Vec<Case> {
    let mut cases = vec![Case::new("onto a copy of another move", ONTO, &REFUSED).fed(copied)];
    let file = format!("f{}", WORDS.replace('/', "-"));
    let feed = move |folder: &Path| {
        fs::remove_dir_all(folder.join("copy")).unwrap();
        fs::create_dir(folder.join("copy")).unwrap();
        fs::write(folder.join("copy").join(&file), "").unwrap();
    };
    cases.push(Case::new("onto a folder with a file that forges", ONTO, &REFUSED).fed(copied).fed(feed));
    for place in ["from", "/proc"] {
        let line = format!("move --from-directory from --to-directory {place} -A");
        cases.push(Case::new(format!("onto {place}"), &line, &REFUSED).fed(copied));
    }
    cases
}
