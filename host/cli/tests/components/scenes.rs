//! `plugin test`: answers are compared with those that a scene expects.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::host::{err, host};
use crate::{bundled, schemas};

const SCENE: &str = "apiVersion: pivot-host.io/v1alpha1
kind: PluginScene
name: a host
source:
- {apiVersion: test.io/v2, kind: Host, metadata: {name: h, namespace: lab}}
# Comments stay.
calls:
- hook: hold
  object: Host lab/h
- {hook: check, point: before-pause}
- {hook: settle, object: Host lab/h}
";

/// Runs `plugin test` on the component with defects.
fn test(scene: &Path, flags: &[&str]) -> Output {
    let component = pivot_guests::guest("faulty").unwrap();
    let words = ["plugin", "test", component.to_str().unwrap(), scene.to_str().unwrap()];
    host(&[&words, flags].concat()).output().unwrap()
}

fn write_scene(dir: &TempDir, text: &str) -> std::path::PathBuf {
    let file = dir.path().join("scene.yaml");
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn bundled_plugins_answer_as_natively() {
    for component in bundled::components() {
        let name = component.file_stem().unwrap().to_str().unwrap();
        let scene = bundled::root().join("plugins").join(name).join("scene.json");
        schemas::check(&serde_json::from_slice(&fs::read(&scene).unwrap()).unwrap());
        let config = bundled::root().join("plugins/plugins.toml");
        let [component, scene, config] =
            [component, &scene, &config].map(|path| path.to_str().unwrap().to_owned());
        let words = ["plugin", "test", &component, &scene, "--config", &config, "-o", "json"];
        let output = host(&words).output().unwrap();
        let document: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", err(&output)));
        assert_eq!(output.status.code(), Some(0), "{document:#}");
        schemas::check(&document);
        let calls = document["calls"].as_array().unwrap();
        let asked: BTreeSet<String> =
            calls.iter().map(|call| call["hook"].as_str().unwrap().to_owned()).collect();
        let inspected = host(&["plugin", "inspect", &component, "-o", "json"]).output().unwrap();
        let inspected: Value = serde_json::from_slice(&inspected.stdout).unwrap();
        let hooks: BTreeSet<String> = serde_json::from_value(inspected["hooks"].clone()).unwrap();
        assert_eq!(asked, hooks, "{name}: its scene leaves a hook out");
    }
}

#[test]
fn update_writes_answers_that_then_hold() {
    let dir = TempDir::new().unwrap();
    let file = write_scene(&dir, SCENE);
    let missing = test(&file, &[]);
    assert_eq!(missing.status.code(), Some(2), "{}", err(&missing));
    assert!(
        err(&missing).contains("calls[0] has no `expect`; write it, or set --update"),
        "{}",
        err(&missing)
    );
    let updated = test(&file, &["--update"]);
    assert_eq!(updated.status.code(), Some(0), "{}", err(&updated));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(SCENE.split_once("calls:").unwrap().0), "{text}");
    assert!(text.contains("test.io/frozen: moving"), "{text}");
    let same = test(&file, &[]);
    assert_eq!(String::from_utf8_lossy(&same.stdout), "faulty: 3 calls answered as expected\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn differing_answers_are_shown_by_path() {
    let dir = TempDir::new().unwrap();
    let file = write_scene(&dir, SCENE);
    test(&file, &["--update"]);
    let text = fs::read_to_string(&file).unwrap().replace("moving", "going");
    let file = write_scene(&dir, &text);
    let output = test(&file, &[]);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let line = "  /metadata/annotations/test.io~1frozen: expected \"going\", got \"moving\"\n";
    let expected = format!("{}: hold Host lab/h\n{line}", file.display());
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    assert!(err(&output).contains("1 of 3 calls differ from their scenes"), "{}", err(&output));
    let junit = String::from_utf8(test(&file, &["-o", "junit"]).stdout).unwrap();
    assert!(
        junit.contains("tests=\"3\" failures=\"1\"")
            && junit.contains("<failure type=\"differs\" message=\"/metadata"),
        "{junit}"
    );
    let document: Value = serde_json::from_slice(&test(&file, &["-o", "json"]).stdout).unwrap();
    schemas::check(&document);
    assert_eq!(document["calls"][0]["differences"][0]["actual"], "moving");
}

#[test]
fn update_keeps_answers_if_the_configuration_is_refused() {
    let dir = TempDir::new().unwrap();
    let file = write_scene(&dir, SCENE);
    test(&file, &["--update"]);
    let text = format!("config: {{defct: typo}}\n{}", fs::read_to_string(&file).unwrap());
    let file = write_scene(&dir, &text);
    let output = test(&file, &["--update"]);
    assert_eq!(output.status.code(), Some(6), "{}", err(&output));
    assert!(err(&output).contains("was not updated"), "{}", err(&output));
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn failures_and_refusals_can_be_expected() {
    let dir = TempDir::new().unwrap();
    let cases = [
        ("config: {defect: no-status}", "hold", "trap"),
        ("config: {defect: status}", "hold", "out-of-bounds"),
        ("config: {defct: typo}", "hold", "configuration"),
        ("config: {defect: memory}\ngrants: {limits: {memory: 8MiB}}", "hold", "out-of-memory"),
        ("grants: {limits: {memory: 8}}", "hold", "operator-file"),
    ];
    for (fields, hook, code) in cases {
        let text = format!(
            "apiVersion: pivot-host.io/v1alpha1\nkind: PluginScene\n{fields}\nsource:\n\
             - {{apiVersion: test.io/v2, kind: Host, metadata: {{name: h, namespace: lab}}}}\n\
             calls:\n- {{hook: {hook}, object: Host lab/h, expect: {{error: {code}}}}}\n"
        );
        let output = test(&write_scene(&dir, &text), &[]);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{fields}: {shown}{}", err(&output));
    }
}

#[test]
fn run_tells_the_plugin_its_kind() {
    let dir = TempDir::new().unwrap();
    for run in ["plan", "handover"] {
        let text = format!(
            "apiVersion: pivot-host.io/v1alpha1\nkind: PluginScene\nrun: {run}\nconfig: {{defect: repeat}}\n\
             grants: {{hooks: [relate, check, hold, adapt, restore, settle]}}\nsource:\n\
             - {{apiVersion: test.io/v2, kind: Host, metadata: {{name: h, namespace: lab}}}}\ncalls:\n\
             - hook: hold\n  object: Host lab/h\n"
        );
        let file = write_scene(&dir, &text);
        test(&file, &["--update"]);
        assert!(fs::read_to_string(&file).unwrap().contains(&format!("test.io/run: {run}")), "{run}");
    }
}

#[test]
fn scene_comes_from_standard_input() {
    let component = pivot_guests::guest("faulty").unwrap();
    let component = component.to_str().unwrap();
    let scene = SCENE.replace("object: Host lab/h\n-", "object: Host lab/h\n  expect: null\n-");
    let scene =
        scene.replace("before-pause}", "before-pause, expect: []}").replace("lab/h}", "lab/h, expect: done}");
    let objects =
        json!({"apiVersion": "test.io/v2", "kind": "Host", "metadata": {"name": "h", "namespace": "lab"}});
    for (words, input, code, shown) in [
        (vec!["plugin", "test", component, "-"], scene.clone(), 3, "-: hold Host lab/h\n"),
        (
            vec!["plugin", "run", component, "--hook", "hold", "--objects", "-"],
            objects.to_string(),
            0,
            "hold Host lab/h",
        ),
        (vec!["plugin", "run", component, "--hook", "hold", "--scene", "-"], scene, 0, "hold Host lab/h"),
        (vec!["plugin", "check", component, "--objects", "-"], objects.to_string(), 0, "faulty: no findings"),
    ] {
        let mut running =
            host(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        running.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = running.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", err(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with(shown), "{words:?}: {text}");
    }
}
