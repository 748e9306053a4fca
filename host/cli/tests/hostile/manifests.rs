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
use crate::words::WORDS;

const PLAN: &str = "plan --from-directory copy -A";
const ONTO: &str = "move --from-directory from --to-directory copy -A";
const MANIFEST: &str = "copy/manifest.json";
const NOTE: &str = "copy/.pivot-host.json";
const REFUSED: [i32; 1] = [3];
/// What is for people, or is only warned of.
const FINE: [i32; 1] = [0];
const EITHER: [i32; 2] = [0, 3];

pub(crate) fn cases() -> Vec<Case> {
    [types(), words(), files(), kinds(), texts(), notes(), onto()].concat()
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

fn types() -> Vec<Case> {
    let values = [
        ("nothing", json!(null)),
        ("a number", json!(1)),
        ("a number below nothing", json!(-1)),
        ("a number beyond counting", json!(1e300)),
        ("yes", json!(true)),
        ("words", json!("FORGED")),
        ("a list", json!([])),
        ("a list of lists", json!([[]])),
        ("a map", json!({})),
        ("a map of maps", json!({"a": {}})),
    ];
    let fields: [(&str, &[&str]); 14] = [
        ("/apiVersion", &[]),
        ("/kind", &[]),
        ("/moveId", &["words"]),
        ("/handover", &["yes"]),
        ("/encryption", &["nothing"]),
        ("/count", &[]),
        ("/kinds", &["a list"]),
        ("/kinds/0", &[]),
        ("/kinds/0/groupKind", &[]),
        ("/kinds/0/version", &["words"]),
        ("/kinds/0/served", &["a list"]),
        ("/kinds/0/labels", &[]),
        ("/files", &[]),
        ("/files/Cluster.cluster.x-k8s.io_ns_a.json", &["words"]),
    ];
    let mut cases = Vec::new();
    for (at, right) in fields {
        for (sort, value) in &values {
            // One object is what there is.
            if (at, *sort) == ("/count", "a number") {
                continue;
            }
            let codes = if right.contains(sort) { FINE } else { REFUSED };
            cases.push(field(format!("{at} is {sort}"), &codes, at, value.clone()));
        }
    }
    cases
}

fn words() -> Vec<Case> {
    let mut cases = Vec::new();
    for (sort, words) in WORDS {
        for (at, codes) in
            [("/apiVersion", REFUSED), ("/kind", REFUSED), ("/moveId", REFUSED), ("/more", REFUSED)]
        {
            cases.push(field(format!("{at} is {sort}"), &codes, at, words.into()));
        }
        let digest = field(
            format!("a digest is {sort}"),
            &FINE,
            "/files/Cluster.cluster.x-k8s.io_ns_a.json",
            words.into(),
        );
        cases.push(digest.says("changed since the move wrote it"));
        cases.push(field(
            format!("a field is called {sort}"),
            &REFUSED,
            &format!("/{}", words.replace('/', "-")),
            json!(1),
        ));
    }
    for version in
        ["pivot-host.io/v1", "pivot-host.io/v1alpha2", "pivot-host.io/v2", "pivot-host.io/", "v1alpha1", ""]
    {
        cases.push(field(format!("version {version}"), &REFUSED, "/apiVersion", version.into()));
    }
    for id in ["", "..", "a/b", "a b", &"a".repeat(65), &"a".repeat(10_000_000)] {
        cases.push(field(
            format!("a move of {} bytes called {:.20}", id.len(), id),
            &REFUSED,
            "/moveId",
            id.into(),
        ));
    }
    cases
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
    let places = [
        "../from/object.json",
        "../../../../etc/passwd",
        "/etc/passwd",
        "copy/../../etc/passwd",
        "gone.json",
        "",
        ".",
        "..",
        "/",
        "a/b/c",
        "manifest.json/x",
        "a\0b",
        "\u{202e}gone",
        "gone\nerror: FORGED",
        "~/.ssh/id_rsa",
        "/dev/zero",
        "/proc/self/environ",
    ];
    for place in places {
        let mut files = manifest()["files"].clone();
        files[place] = "0".repeat(64).into();
        cases.push(listing(format!("a file called {place:?}"), files));
    }
    let long: serde_json::Map<String, Value> = [("x".repeat(5_000_000), json!("0"))].into_iter().collect();
    cases.push(listing("a file with a name of 5 megabytes", long.into()));
    let many: serde_json::Map<String, Value> =
        (0..100_000).map(|n| (format!("gone-{n}"), json!("0"))).collect();
    cases.push(listing("100000 files that are not there", many.into()));
    for count in [0_u64, 2, 100_000_000, u64::MAX] {
        cases.push(field(format!("a count of {count}"), &REFUSED, "/count", count.into()));
    }
    let wrong = manifest()
        .to_string()
        .replace("Cluster.cluster.x-k8s.io_ns_a.json", "cluster.cluster.x-k8s.io_ns_a.json");
    cases.push(with("a file whose name differs in case", &REFUSED, wrong));
    let more = |name: &str, content: &'static str, codes: &[i32]| {
        Case::new(format!("beside it: {name}"), PLAN, codes)
            .fed(copied)
            .fed(move |folder| write(folder, "copy/more.json", content.as_bytes()))
    };
    cases.push(more("a Secret of somebody else", "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\"},\"stringData\":{\"a\":\"hunter2\"}}", &FINE));
    cases.push(more("the same object once more", "{\"apiVersion\":\"cluster.x-k8s.io/v1beta1\",\"kind\":\"Cluster\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"}}", &REFUSED));
    cases.push(more(
        "another manifest",
        "{\"apiVersion\":\"pivot-host.io/v9\",\"kind\":\"Manifest\",\"moveId\":\"x\"}",
        &EITHER,
    ));
    cases.push(more("half an object", "{\"apiVersion\":", &REFUSED));
    cases
}

fn kinds() -> Vec<Case> {
    let mut cases = Vec::new();
    for (at, odd) in
        [("group", "../x"), ("group", "a b"), ("kind", "../Secret"), ("kind", ""), ("kind", "a\0")]
    {
        let mut kind = manifest()["kinds"][0].clone();
        kind["groupKind"][at] = odd.into();
        cases.push(field(format!("a kind whose {at} is {odd:?}"), &REFUSED, "/kinds", json!([kind])));
    }
    for (sort, words) in WORDS {
        for at in ["version", "plural"] {
            let mut kind = manifest()["kinds"][0].clone();
            kind[at] = words.into();
            cases.push(field(format!("a kind whose {at} is {sort}"), &REFUSED, "/kinds", json!([kind])));
        }
        let mut kind = manifest()["kinds"][0].clone();
        kind["served"] = json!([words]);
        cases.push(field(format!("a kind that is served as {sort}"), &REFUSED, "/kinds", json!([kind])));
    }
    let kind = manifest()["kinds"][0].clone();
    cases.push(field("a kind 20000 times", &EITHER, "/kinds", vec![kind; 20_000].into()));
    cases
}

fn texts() -> Vec<Case> {
    let good = manifest().to_string();
    let texts: [(&str, Vec<u8>, &[i32]); 15] = [
        ("nothing", vec![], &REFUSED),
        ("a word", b"hunter2".to_vec(), &REFUSED),
        ("a list", b"[]".to_vec(), &REFUSED),
        (
            "a list in place of a map",
            format!("{:?}", ["pivot-host.io/v1alpha1", "Manifest", "m"]).into(),
            &REFUSED,
        ),
        ("half of it", good[..good.len() / 2].into(), &REFUSED),
        ("itself twice", good.repeat(2).into(), &REFUSED),
        ("a byte order mark", format!("\u{feff}{good}").into(), &REFUSED),
        (
            "not UTF-8",
            good.replace("Manifest", "Q")
                .into_bytes()
                .iter()
                .map(|b| if *b == b'Q' { 0xff } else { *b })
                .collect(),
            &REFUSED,
        ),
        ("a name twice", good.replacen('{', "{\"moveId\":\"x\",", 1).into(), &REFUSED),
        ("YAML", b"apiVersion: pivot-host.io/v1alpha1\nkind: Manifest\nmoveId: hunter2\n".to_vec(), &REFUSED),
        ("another object", cluster().to_string().into(), &REFUSED),
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
    for target in ["/dev/zero", "/etc/passwd", "manifest.json", "gone", "../from/object.json"] {
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
        for (sort, words) in WORDS {
            cases.push(note(
                &format!("a note of a move called {sort}, {verb}"),
                line,
                json!({"moveId": words}).to_string().into(),
            ));
        }
        for (name, content) in [
            ("nothing", ""),
            ("a word", "hunter2"),
            ("a list", "[]"),
            ("a list of a word", "[\"m\"]"),
            ("a map of nothing", "{}"),
            ("a number", "{\"moveId\": 1}"),
            ("a move that is there", "{\"moveId\": \"m\"}"),
            ("a field more", "{\"moveId\": \"m\", \"more\": \"FORGED\"}"),
        ] {
            cases.push(note(&format!("a note that is {name}, {verb}"), line, content.into()));
        }
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
    for (sort, words) in WORDS {
        let file = format!("f{}", words.replace(['/', '\0'], "-"));
        let feed = move |folder: &Path| {
            fs::remove_dir_all(folder.join("copy")).unwrap();
            fs::create_dir(folder.join("copy")).unwrap();
            fs::write(folder.join("copy").join(&file), "").unwrap();
        };
        cases.push(
            Case::new(format!("onto a folder with a file called {sort}"), ONTO, &REFUSED)
                .fed(copied)
                .fed(feed),
        );
    }
    for (place, codes) in [
        ("from", REFUSED),
        ("/dev/null", REFUSED),
        ("from/object.json", REFUSED),
        ("/proc/self", REFUSED),
        ("/proc", REFUSED),
    ] {
        let line = format!("move --from-directory from --to-directory {place} -A");
        cases.push(Case::new(format!("onto {place}"), &line, &codes).fed(copied));
    }
    cases
}
