//! `move --record` and `plugin replay`: the calls of a real move, made to the same plugin and to one with a changed rule.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::bundled;
use crate::host::{err, host};
use crate::schemas;
use crate::site::Site;

/// A kind whose objects move alone, a host, and the Secret that plugin `faulty` shares.
const HOSTS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hosts.test.io, labels: {clusterctl.cluster.x-k8s.io: '', clusterctl.cluster.x-k8s.io/move: ''}}
spec:
  group: test.io
  names: {kind: Host, plural: hosts}
  scope: Namespaced
  versions: [{name: v2, served: true, storage: true, subresources: {status: {}}}]
---
{apiVersion: test.io/v2, kind: Host, metadata: {name: a, namespace: lab}, spec: {image: stable}}
---
apiVersion: v1
kind: Secret
metadata: {name: credentials, namespace: elsewhere, annotations: {copy: hunter2}}
data: {password: aHVudGVyMg==}
stringData: {user: hunter2}
";

/// The file of the objects that a move reads.
const OBJECTS: &str = "source/objects.yaml";

impl Site {
    fn run(&self, words: &[&str]) -> Output {
        let mut command = host(words);
        command.current_dir(self.root());
        command.output().unwrap()
    }

    /// Moves the objects, and returns the lines of the recording.
    fn record(&self, more: &[&str]) -> Vec<Value> {
        let words =
            ["move", "--from-directory", "source", "--to-directory", "target", "--plugins", "plugins"];
        let output = self.run(&[&words[..], &["--record", "move.jsonl"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert!(err(&output).contains("recording: move.jsonl ("), "{}", err(&output));
        let text = fs::read_to_string(self.path("move.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    /// Replaces the recording.
    fn write_recording(&self, lines: &[Value]) {
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(self.path("move.jsonl"), lines).unwrap();
    }

    fn replay(&self, component: &Path, more: &[&str]) -> Output {
        let words = ["plugin", "replay", "move.jsonl", component.to_str().unwrap()];
        self.run(&[&words[..], more].concat())
    }

    /// Replays the move, and returns the document.
    fn replay_document(&self, component: &Path, more: &[&str], code: i32) -> Value {
        let output = self.replay(component, &[&["-o", "json"][..], more].concat());
        let document: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", err(&output)));
        assert_eq!(output.status.code(), Some(code), "{}\n{document:#}", err(&output));
        schemas::check(&document);
        document
    }
}

/// Returns a component in which one text is another one of the same length.
fn change_rule(site: &Site, component: &Path, from: &str, to: &str) -> PathBuf {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(component).unwrap();
    let places: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|at| &bytes[*at..*at + from.len()] == from.as_bytes()).collect();
    assert!(!places.is_empty(), "the component has no {from:?}");
    places.iter().for_each(|at| bytes[*at..*at + to.len()].copy_from_slice(to.as_bytes()));
    let changed = site.path("changed.wasm");
    fs::write(&changed, bytes).unwrap();
    changed
}

fn faulty() -> PathBuf {
    pivot_guests::guest("faulty").unwrap()
}

// proves: T184
#[test]
fn replayed_move_needs_no_cluster_or_secrets() {
    let site = Site::new(&[faulty()], "", OBJECTS, HOSTS);
    let lines = site.record(&[]);
    let text = fs::read_to_string(site.path("move.jsonl")).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMg"), "{text}");
    // The plugin's relation shares the Secret: it is in the target, and not in the recording.
    let shared = fs::read_dir(site.path("target")).unwrap().count();
    assert!(shared > 0 && text.contains("\"name\":\"credentials\""), "{text}");
    for line in &lines {
        let mut whole = lines[0].clone();
        whole.as_object_mut().unwrap().extend(line.as_object().unwrap().clone());
        schemas::check(&whole);
    }
    fs::remove_dir_all(site.path("source")).unwrap();
    fs::remove_dir_all(site.path("target")).unwrap();
    let output = site.replay(&faulty(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let calls = lines.iter().filter(|line| line.get("call").is_some()).count();
    let expected = format!("faulty: {calls} calls answered as recorded\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    let document = site.replay_document(&faulty(), &[], 0);
    assert_eq!((&document["calls"], &document["complete"]), (&json!(calls), &json!(true)));
    assert_eq!(document["recorded"]["version"], "0.1.0");
}

#[test]
fn changed_rule_is_named_by_its_first_call() {
    let site = Site::new(&[faulty()], "", OBJECTS, HOSTS);
    site.record(&[]);
    let changed = change_rule(&site, &faulty(), "credentials", "certificate");
    let output = site.replay(&changed, &[]);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.starts_with("first difference: relate Host lab/a (line "), "{shown}");
    assert!(shown.contains("  /0/share/name: expected \"credentials\", got \"certificate\"\n"), "{shown}");
    assert!(err(&output).contains(" calls differ from the recording"), "{}", err(&output));
    let document = site.replay_document(&changed, &[], 3);
    assert_eq!(document["differences"][0]["hook"], "relate");
    let junit = String::from_utf8(site.replay(&changed, &["-o", "junit"]).stdout).unwrap();
    assert!(junit.contains("name=\"relate Host lab/a\"><failure type=\"differs\""), "{junit}");
}

#[test]
fn unrecorded_question_is_a_difference() {
    let site = Site::new(&[faulty()], "", OBJECTS, HOSTS);
    site.record(&[]);
    let text = fs::read_to_string(site.path("move.jsonl")).unwrap();
    let asked = "\"kind\":\"Host\",\"namespace\":null";
    let renamed = text.replace(asked, &asked.replace("Host", "Rack"));
    assert_ne!(renamed, text);
    fs::write(site.path("move.jsonl"), renamed).unwrap();
    let output = site.replay(&faulty(), &[]);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let shown = String::from_utf8_lossy(&output.stdout);
    let line = "  a question that was not recorded: read Host.test.io of the source in moving namespaces\n";
    assert!(
        shown.starts_with("first difference: check before-pause (line ") && shown.contains(line),
        "{shown}"
    );
}

#[test]
fn calls_with_withheld_questions_are_unjudged() {
    let site = Site::new(&[faulty()], "", OBJECTS, HOSTS);
    let mut lines = site.record(&[]);
    let mut withheld = 0;
    for call in lines.iter_mut().filter_map(|line| line.get_mut("call")?.as_object_mut()) {
        if call.remove("questions").is_some() {
            call.insert("redacted".to_owned(), json!({"input": true, "answer": false}));
            withheld += 1;
        }
    }
    assert_ne!(withheld, 0);
    site.write_recording(&lines);
    let document = site.replay_document(&faulty(), &[], 0);
    assert_eq!((&document["unjudged"], &document["differing"]), (&json!(withheld), &json!(0)));
}

// proves: T185
#[test]
fn report_about_hostile_answers_is_short() {
    let site = Site::new(&[faulty()], "", OBJECTS, HOSTS);
    let mut lines = site.record(&[]);
    let is_relation = |line: &&Value| line["call"]["hook"] == "relate";
    let mut call = lines.iter().find(is_relation).unwrap().clone();
    let long = "x".repeat(100_000);
    let mut expected = vec![json!({"long": long}); 10];
    expected.resize(5_000, json!(0));
    call["call"]["expect"] = json!(expected);
    lines.truncate(2);
    assert!(lines[1].get("plugin").is_some());
    let mut more = call.clone();
    more["call"]["expect"] = json!([1]);
    lines.push(call);
    lines.resize(122, more);
    site.write_recording(&lines);
    let document = site.replay_document(&faulty(), &[], 3);
    assert_eq!(document["differing"], 120);
    let listed = document["differences"].as_array().unwrap();
    assert_eq!((listed.len(), listed[0]["differences"].as_array().unwrap().len()), (100, 100));
    let text = document.to_string();
    assert!(text.len() < 1 << 20 && !text.contains(&"x".repeat(5_000)), "{} bytes", text.len());
    let junit = String::from_utf8(site.replay(&faulty(), &["-o", "junit"]).stdout).unwrap();
    assert_eq!(junit.matches("<testcase ").count(), 120);
    assert_eq!(junit.matches("the differences are listed for the first 100 calls that differ").count(), 20);
}

#[test]
fn recorded_configuration_must_be_passed_again() {
    let inspected = host(&["plugin", "inspect", faulty().to_str().unwrap()]).output().unwrap();
    let grants = String::from_utf8(inspected.stdout).unwrap();
    let grants =
        format!("{}\nconfig = {{ defect = 'code' }}\n", grants.split_once("review it:\n\n").unwrap().1);
    let site = Site::new(&[faulty()], &grants, OBJECTS, HOSTS);
    site.record(&[]);
    let recording = fs::read_to_string(site.path("move.jsonl")).unwrap();
    assert!(!recording.contains("defect"), "{recording}");
    let output = site.replay(&faulty(), &[]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("pass its plugins.toml with --config"), "{}", err(&output));
    let config = site.path("plugins/plugins.toml");
    site.replay_document(&faulty(), &["--config", config.to_str().unwrap()], 0);
    // With another configuration, the rule is another.
    fs::write(&config, grants.replace("'code'", "'reach'")).unwrap();
    let document = site.replay_document(&faulty(), &["--config", config.to_str().unwrap()], 3);
    assert_ne!(document["differing"], 0);
}

// proves: T185
#[test]
fn hostile_recordings_are_refused_by_line() {
    let site = Site::new(&[faulty()], "", OBJECTS, HOSTS);
    site.record(&[]);
    let text = fs::read_to_string(site.path("move.jsonl")).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let nested = format!("{header}\n{}\n", "[".repeat(100_000));
    let long = format!("{header}\n\"{}\"\n", "a".repeat(16 << 20));
    let other = text.replace("\"plugin\":\"faulty\"", "\"plugin\":\"other\"");
    let other = other.replace("\"name\":\"faulty\"", "\"name\":\"other\"");
    for (content, told) in [
        (String::new(), "its first line must have the apiVersion"),
        ("{}\n".to_owned(), "line 1: it is not a line of a recording"),
        (rest.to_owned(), "line 1: it is not a line of a recording"),
        (format!("{header}\nhunter2\n"), "line 2: it is not a line of a recording (column 1)"),
        (nested, "line 2: it is not a line of a recording"),
        (long, "line 2: it is longer than 16 MiB"),
        (header.replace("PluginRecording", "PluginScene") + "\n", "its first line must have the apiVersion"),
        (format!("{header}\n"), "it has no calls of plugin faulty; it has calls of no plugin"),
        (other, "it has no calls of plugin faulty; it has calls of other"),
    ] {
        fs::write(site.path("move.jsonl"), content).unwrap();
        let output = site.replay(&faulty(), &[]);
        assert_eq!(output.status.code(), Some(2), "{told}: {}", err(&output));
        assert!(err(&output).contains(&format!("recording move.jsonl: {told}")), "{}", err(&output));
        assert!(!err(&output).contains("hunter2"), "{}", err(&output));
    }
    let sparse = fs::File::create(site.path("move.jsonl")).unwrap();
    sparse.set_len((1 << 30) + 1).unwrap();
    let output = site.replay(&faulty(), &[]);
    assert!(err(&output).contains("it is larger than 1 GiB"), "{}", err(&output));
}

#[test]
fn killed_run_leaves_a_usable_recording() {
    let site = Site::new(&[faulty()], "", OBJECTS, HOSTS);
    site.record(&[]);
    let text = fs::read_to_string(site.path("move.jsonl")).unwrap();
    let cut = text.trim_end().rfind('\n').unwrap() + 20;
    fs::write(site.path("move.jsonl"), &text[..cut]).unwrap();
    let document = site.replay_document(&faulty(), &[], 0);
    assert_eq!(document["complete"], false);
    let shown = site.replay(&faulty(), &[]).stdout;
    assert!(String::from_utf8(shown).unwrap().contains("the last line of the recording is cut off"));
}

#[test]
fn recording_is_refused_before_anything_begins() {
    let site = Site::new(&[faulty()], "", OBJECTS, HOSTS);
    fs::write(site.path("move.jsonl"), "mine").unwrap();
    let words = ["move", "--from-directory", "source", "--to-directory", "target", "--record", "move.jsonl"];
    let there = site.run(&[&words[..], &["--plugins", "plugins"]].concat());
    assert_eq!(there.status.code(), Some(3), "{}", err(&there));
    assert!(err(&there).contains("the recording can't be written to move.jsonl: "), "{}", err(&there));
    assert_eq!(fs::read_to_string(site.path("move.jsonl")).unwrap(), "mine");
    assert!(!site.path("target").exists());
    for more in [&["--plugins", "plugins", "--dry-run"][..], &[]] {
        let refused = site.run(&[&words[..], more].concat());
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    }
}

#[test]
fn refused_run_leaves_no_recording() {
    let site = Site::new(&[faulty()], "", OBJECTS, HOSTS);
    let words = ["move", "--from-directory", "missing", "--to-directory", "target", "--record", "move.jsonl"];
    for _ in 0..2 {
        let refused = site.run(&[&words[..], &["--plugins", "plugins"]].concat());
        assert_ne!(refused.status.code(), Some(0));
        assert!(!err(&refused).contains("the recording can't be written"), "{}", err(&refused));
        assert!(!site.path("move.jsonl").exists(), "{}", err(&refused));
    }
    site.record(&[]);
}

#[test]
fn bundled_plugins_replay_metal3_example() {
    let folders = ["examples/metal3", "examples/metal3/crds"].map(|folder| bundled::root().join(folder));
    let files =
        folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|file| file.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|end| end == "yaml"));
    let objects: Vec<String> = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    let grants = fs::read_to_string(bundled::root().join("plugins/plugins.toml")).unwrap();
    let grants = grants.replace("[plugins.metal3-endpoints]", "[plugins.metal3-endpoints]\nenabled = false");
    let site = Site::new(bundled::components(), &grants, OBJECTS, &objects.join("\n---\n"));
    let lines = site.record(&["--namespace", "metal3"]);
    let replayed = |name: &str| {
        let component = site.path("plugins").join(format!("{name}.wasm"));
        let config = site.path("plugins/plugins.toml");
        site.replay_document(&component, &["--config", config.to_str().unwrap()], 0)
    };
    let mut plugins: Vec<&str> = lines.iter().filter_map(|line| line["plugin"]["name"].as_str()).collect();
    plugins.sort_unstable();
    plugins.dedup();
    assert!(plugins.contains(&"metal3-hosts"), "{plugins:?}");
    let calls = |document: Value| document["calls"].as_u64().unwrap();
    let all: u64 = plugins.iter().map(|name| calls(replayed(name))).sum();
    let recorded = lines.iter().filter(|line| line.get("call").is_some()).count();
    assert_eq!(all, recorded as u64);
}
