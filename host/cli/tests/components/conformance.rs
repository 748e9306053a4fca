//! `plugin check`: each rule finds the component that breaks it, and none finds anything in the bundled plugins.

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::host::{err, host};
use crate::{bundled, schemas};

/// The component, the section's additions, and the code and hook of its only finding.
type Defect = (&'static str, &'static str, &'static str, Option<&'static str>);

const DEFECTS: [Defect; 22] = [
    ("faulty", "config = { defect = 'undeclared-import' }", "denied", Some("check")),
    ("faulty", "config = { defect = 'undeclared-kind' }", "denied", Some("check")),
    ("faulty", "config = { defect = 'namespace' }", "denied", Some("check")),
    ("faulty", "config = { defect = 'severity' }", "trap", Some("check")),
    ("faulty", "config = { defect = 'code' }", "invalid-code", Some("check")),
    ("faulty", "config = { defect = 'repeat' }", "unsteady", Some("hold")),
    ("faulty", "config = { defect = 'endless' }", "not-idempotent", Some("hold")),
    ("faulty", "config = { defect = 'status' }", "out-of-bounds", Some("hold")),
    ("faulty", "config = { defect = 'no-status' }", "trap", Some("hold")),
    ("faulty", "config = { defect = 'unknown-fields' }", "trap", Some("hold")),
    ("faulty", "config = { defect = 'memory' }\nlimits = { memory = '8MiB' }", "out-of-memory", Some("hold")),
    ("faulty", "config = { defect = 'time' }\nlimits = { time = '500ms' }", "timeout", Some("hold")),
    ("faulty", "config = { defect = 'bounds' }", "out-of-bounds", Some("adapt")),
    ("faulty", "config = { defect = 'generation' }", "stale-generation", Some("restore")),
    ("faulty", "config = { defect = 'integer' }", "integer-changed", Some("restore")),
    ("faulty", "config = { defect = 'pause' }", "pause-removed", Some("settle")),
    ("faulty", "config = { defect = 'lax' }", "unchecked-configuration", None),
    ("faulty", "config = { defect = 'reach' }", "needless-reach", None),
    ("faulty", "config = { defct = 'typo' }", "configuration", None),
    ("idle", "", "idle-kind", None),
    ("secretive", "", "secret-data", Some("relate")),
    ("networked", "", "foreign-imports", None),
];

/// Runs `plugin check` and returns its document.
fn check(component: &Path, scenes: &Path, config: Option<&Path>, code: i32) -> Value {
    let mut arguments = vec!["plugin", "check", "-o", "json", component.to_str().unwrap()];
    arguments.extend(["--scenes", scenes.to_str().unwrap()]);
    arguments.extend(config.iter().flat_map(|file| ["--config", file.to_str().unwrap()]));
    let output = host(&arguments).output().unwrap();
    let document: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", err(&output)));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {document:#}");
    schemas::check(&document);
    document
}

/// A directory with a scene in which a host needs a Secret of another namespace.
fn scenes() -> TempDir {
    let dir = TempDir::new().unwrap();
    let host =
        json!({"apiVersion": "test.io/v2", "kind": "Host", "metadata": {"name": "h", "namespace": "n"}});
    fs::write(dir.path().join("one.json"), json!({"source": [host]}).to_string()).unwrap();
    dir
}

/// The section that grants a component all it asks for.
fn section(component: &Path) -> String {
    let inspected = host(&["plugin", "inspect", component.to_str().unwrap()]).output().unwrap();
    let text = String::from_utf8(inspected.stdout).unwrap();
    text.split_once("review it:\n\n").unwrap().1.to_owned()
}

#[test]
fn each_defect_is_the_only_finding() {
    let (dir, faulty) = (scenes(), section(&pivot_guests::guest("faulty").unwrap()));
    let find = |(index, (name, additions, code, hook)): (usize, Defect)| {
        let component = pivot_guests::guest(name).unwrap();
        let config = dir.path().join(format!("{index}.toml"));
        fs::write(&config, format!("{faulty}\n{additions}\n")).unwrap();
        let config = Some(config.as_path()).filter(|_| !additions.is_empty());
        let document = check(&component, dir.path(), config, 3);
        let found = document["findings"].as_array().unwrap();
        let found: Vec<_> = found.iter().map(|one| (one["code"].as_str(), one["hook"].as_str())).collect();
        assert_eq!(found, [(Some(code), hook)], "{name} {additions}: {document:#}");
    };
    let all: Vec<_> = DEFECTS.into_iter().enumerate().collect();
    thread::scope(|scope| {
        for half in all.chunks(all.len().div_ceil(2)) {
            scope.spawn(move || half.iter().copied().for_each(find));
        }
    });
}

#[test]
fn plugin_without_defects_has_no_findings() {
    let (component, dir) = (pivot_guests::guest("faulty").unwrap(), scenes());
    assert_eq!(check(&component, dir.path(), None, 0)["findings"], json!([]));
    let text = host(&["plugin", "check", component.to_str().unwrap()]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.starts_with("faulty: no findings in "), "{text}");
}

#[test]
fn bundled_plugins_have_no_findings() {
    let root = bundled::root();
    for component in bundled::components() {
        let scenes = root.join("plugins").join(component.file_stem().unwrap());
        check(component, &scenes, Some(&root.join("plugins/plugins.toml")), 0);
    }
}
