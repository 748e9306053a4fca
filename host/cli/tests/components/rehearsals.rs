//! `plugin rehearse`: whole moves in memory, with the bundled plugins and with faulty ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::host::{err, host};
use crate::schemas;
use crate::site::Site;

/// A kind whose objects move alone, two hosts, and the Secret that plugin `faulty` shares.
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
{apiVersion: test.io/v2, kind: Host, metadata: {name: a, namespace: lab}, status: {state: ready}}
---
{apiVersion: test.io/v2, kind: Host, metadata: {name: b, namespace: lab}}
---
{apiVersion: v1, kind: Secret, metadata: {name: credentials, namespace: elsewhere}, data: {password: aHVudGVyMg==}}
";

/// Answers of Metal3's Ironic.
const IRONIC: &str = r#"
http http://172.22.0.2:6385/v1/: {body: '{"id": "v1", "version": {"id": "v1", "version": "1.109", "min_version": "1.1"}}'}
http http://172.22.0.2:6385/v1/drivers: {body: '{"drivers": [{"name": "redfish"}]}'}
"#;

/// The file of the objects that are rehearsed.
const OBJECTS: &str = "objects.yaml";

impl Site {
    fn rehearse(&self, more: &[&str]) -> Output {
        let (plugins, objects) = (self.path("plugins"), self.path("objects.yaml"));
        let mut arguments = vec!["plugin", "rehearse", "--plugins", plugins.to_str().unwrap()];
        arguments.extend(["--objects", objects.to_str().unwrap()]);
        arguments.extend(more);
        host(&arguments).output().unwrap()
    }

    fn document(&self, more: &[&str], code: i32) -> Value {
        let output = self.rehearse(&[&["-o", "json"][..], more].concat());
        let document: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", err(&output)));
        assert_eq!(output.status.code(), Some(code), "{}\n{document:#}", err(&output));
        schemas::check(&document);
        document
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Metal3 management cluster of the examples, as one file.
fn metal3() -> String {
    let folders = ["examples/metal3", "examples/metal3/crds"].map(|folder| root().join(folder));
    let files =
        folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|file| file.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|end| end == "yaml"));
    files.map(|file| fs::read_to_string(file).unwrap()).collect::<Vec<_>>().join("\n---\n")
}

fn calls<'a>(document: &'a Value, plugin: &str, hook: &str) -> Vec<&'a Value> {
    let calls = document["calls"].as_array().unwrap().iter();
    calls.filter(|call| call["plugin"] == plugin && call["hook"] == hook).collect()
}

#[test]
fn bundled_plugins_move_metal3_example() {
    let (inputs, out) = ([root().join("wit"), root().join("sdk")], TempDir::new().unwrap());
    let inputs = inputs.each_ref().map(PathBuf::as_path);
    let bundled = pivot_guests::build_guests(&root().join("plugins"), &inputs, out.path()).unwrap();
    let grants = fs::read_to_string(root().join("plugins/plugins.toml")).unwrap();
    let label = "config.patch = [{ kind = 'Cluster.cluster.x-k8s.io', merge = { metadata = { labels = { moved = '' } } } }]";
    let grants = grants.replace("[plugins.patches]\nenabled = false", &format!("[plugins.patches]\n{label}"));
    let endpoint = "[plugins.metal3-endpoints]\nconfig = { endpoint = 'http://172.22.0.2:6385/v1/' }";
    let grants = grants.replace("[plugins.metal3-endpoints]", endpoint);
    let site = Site::new(&bundled, &grants, OBJECTS, &metal3());
    let answers = site.path("answers.yaml");
    fs::write(&answers, IRONIC).unwrap();
    let document = site.document(&["--namespace", "metal3", "--answers", answers.to_str().unwrap()], 0);
    assert_eq!(document["outcome"], "Moved");
    let label = json!({"metadata": {"labels": {"moved": ""}}});
    let patched = |call: &&Value| call["answer"] == label && call["object"]["name"] == "edge";
    assert!(calls(&document, "patches", "adapt").iter().any(patched), "{document:#}");
    assert!(!calls(&document, "metal3-hosts", "restore").is_empty());
    // Without plugins, the example doesn't move.
    let bare = document["errorWithoutPlugins"].as_str().unwrap();
    assert!(bare.contains("would stay") && document["changes"] == json!([]), "{bare}");
    assert!(!calls(&document, "metal3-hosts", "settle").is_empty());
    assert_eq!(document["neverCalled"], json!([]));
}

#[test]
fn trap_fails_test_case_of_its_object() {
    let grants = String::from_utf8(
        host(&["plugin", "inspect", pivot_guests::guest("faulty").unwrap().to_str().unwrap()])
            .output()
            .unwrap()
            .stdout,
    );
    let grants = grants.unwrap().split_once("review it:\n\n").unwrap().1.to_owned();
    let grants = format!("{grants}\nconfig = {{ defect = 'no-status' }}\n");
    let site = Site::new(&[pivot_guests::guest("faulty").unwrap()], &grants, OBJECTS, HOSTS);
    let document = site.document(&[], 3);
    assert_eq!(document["outcome"], "Stopped");
    let held = calls(&document, "faulty", "hold");
    let failed: Vec<_> = held.iter().filter(|call| call["error"] != Value::Null).collect();
    assert!(failed.iter().all(|call| call["object"]["name"] == "b") && !failed.is_empty(), "{held:#?}");
    let report = String::from_utf8(site.rehearse(&["-o", "junit"]).stdout).unwrap();
    assert!(
        report.contains("<testcase classname=\"faulty\" name=\"hold Host lab/b\"><failure type=\"trap\""),
        "{report}"
    );
    assert!(report.contains("name=\"settle\"><skipped message=\"never called\"/>"), "{report}");
    assert!(!report.contains("hunter2") && !report.contains("aHVudGVyMg"), "{report}");
}

#[test]
fn hook_without_objects_is_never_called() {
    let objects = HOSTS.replace("Host,", "Tower,").replace("hosts", "towers");
    let site = Site::new(&[pivot_guests::guest("idle").unwrap()], "", OBJECTS, &objects);
    let document = site.document(&["--map-namespace", "lab=m"], 0);
    assert_eq!(document["copies"], 2);
    assert_eq!(document["neverCalled"], json!([{"plugin": "idle", "hook": "hold", "point": null}]));
    let report = String::from_utf8(site.rehearse(&["-o", "junit"]).stdout).unwrap();
    assert!(report.contains("failures=\"0\" errors=\"0\" skipped=\"1\""), "{report}");
    let verify =
        ["plugin", "verify", site.path("plugins").to_str().unwrap(), "-o", "junit"].map(str::to_owned);
    assert_eq!(host(&verify.each_ref().map(|word| &**word)).output().unwrap().status.code(), Some(2));
}
