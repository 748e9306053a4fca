//! Recordings of moves in memory.

mod direct_calls;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Relation, Settlement};
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::request::scope::Namespaces;
use pivot_core::{GroupKind, Object, Side};
use pivot_engine::hooks::{HookError, MoveContext, Services};
use pivot_engine::{Hooks, NoWatcher};
use pivot_places::cluster_of_file;
use pivot_runtime::Query;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::rehearse::stage::Scene;
use super::format::{OmittedCall, RecordingEntry, RecordingHeader};
use super::{CallRecorder, RecordingFile};
use crate::args::LogFormat;
use crate::output::testing::output;

/// Data of a Secret as text, as base64, and as an author's tool keeps a copy of it.
const SECRET_DATA: [&str; 2] = ["hunter2", "aHVudGVyMg"];

const OBJECTS: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hosts.test.io, labels: {clusterctl.cluster.x-k8s.io: '', clusterctl.cluster.x-k8s.io/move: ''}}
spec:
  group: test.io
  names: {kind: Host, plural: hosts}
  scope: Namespaced
  versions: [{name: v2, served: true, storage: true, subresources: {status: {}}}]
---
{apiVersion: test.io/v2, kind: Host, metadata: {name: a, namespace: lab}, spec: {image: stable}, status: {state: ready}}
---
apiVersion: v1
kind: Secret
metadata:
  name: bmc
  namespace: lab
  labels: {clusterctl.cluster.x-k8s.io/move: ''}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"data":{"password":"aHVudGVyMg=="}}'
    cluster.x-k8s.io/paused: ''
data: {password: aHVudGVyMg==}
stringData: {user: hunter2}
"#;

/// Sees Secrets and hosts. With the data of Secrets, it copies the data wherever it can.
struct Copier {
    description: Description,
    /// Kinds that its patches change.
    changed: Vec<&'static str>,
}

impl Copier {
    fn create(name: &str, secret_data: bool, changed: &[&'static str]) -> (Arc<dyn Hooks>, bool) {
        let description = Description {
            name: name.into(),
            version: "1.0.0".into(),
            digest: "d".into(),
            kinds: vec![GroupKind::new("", "Secret"), GroupKind::new("test.io", "Host")],
            hooks: Hook::ALL.to_vec(),
            secret_data,
            ..Description::default()
        };
        (Arc::new(Self { description, changed: changed.to_vec() }), false)
    }

    /// Returns the text that the plugin passes on.
    fn text(&self) -> &'static str {
        if self.description.secret_data { "hunter2 aHVudGVyMg" } else { "seen" }
    }

    fn annotate(&self, object: &Object, hook: &str) -> Option<Value> {
        let name = format!("{}.pivot-host.io/{hook}", self.description.name);
        (!object.meta.has_annotation(&name))
            .then(|| json!({"metadata": {"annotations": {name: self.text()}}}))
    }
}

#[async_trait]
impl Hooks for Copier {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn changes(&self, _hook: Hook, kind: &GroupKind) -> bool {
        self.changed.contains(&&*kind.kind)
    }

    async fn relate(&self, _object: &Object) -> Result<Vec<Relation>, HookError> {
        Ok(Vec::new())
    }

    async fn check(
        &self,
        _point: Point,
        _context: &MoveContext,
        services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        for kind in [GroupKind::new("", "Secret"), GroupKind::new("test.io", "Host")] {
            let query = Query { side: Side::Source, kind, namespace: None, name: None, confined: true };
            let found = services.read(&self.description.name, query).await;
            assert_eq!(found.map(|objects| objects.len()), Ok(1));
        }
        Ok(Vec::new())
    }

    async fn hold(&self, object: &Object) -> Result<Option<Value>, HookError> {
        Ok(self.annotate(object, "hold"))
    }

    async fn adapt(&self, _object: &Object) -> Result<Option<Value>, HookError> {
        Ok(Some(json!({"spec": {"adapted": self.text()}})))
    }

    async fn restore(&self, _source: &Object, _created: &Object) -> Result<Option<Value>, HookError> {
        Ok(Some(json!({"status": {"restored": self.text()}})))
    }

    async fn settle(
        &self,
        object: &Object,
        _written: bool,
        _services: Arc<dyn Services>,
    ) -> Result<Settlement, HookError> {
        Ok(self.annotate(object, "settle").map_or(Settlement::Done, Settlement::Patch))
    }
}

/// Moves the objects with these plugins, and returns the recording.
async fn record(plugins: Vec<(Arc<dyn Hooks>, bool)>) -> String {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("move.jsonl");
    let (output, _, _) = output(0, LogFormat::Text);
    move_recorded(plugins, &RecordingFile::create(&path, &output).unwrap()).await;
    fs::read_to_string(path).unwrap()
}

async fn move_recorded(plugins: Vec<(Arc<dyn Hooks>, bool)>, file: &Arc<RecordingFile>) {
    let dir = TempDir::new().unwrap();
    let objects = dir.path().join("objects.yaml");
    fs::write(&objects, OBJECTS).unwrap();
    let scene = Scene {
        source: cluster_of_file(&objects).unwrap(),
        target: None,
        namespaces: Namespaces::All,
        namespace_map: NamespaceMap::default(),
    };
    let plugins = CallRecorder::record_all(plugins, file);
    let outcome = scene.move_objects(plugins, Arc::new(NoWatcher), false).await;
    assert!(outcome.result.is_ok(), "{}", outcome.result.err().unwrap());
}

fn parse_calls(recording: &str) -> Vec<Value> {
    let lines = recording.lines().skip(1).map(|line| serde_json::from_str(line).unwrap());
    lines.filter_map(|line: Value| line.get("call").cloned()).collect()
}

// proves: I8, T184
#[tokio::test(start_paused = true)]
async fn recording_has_no_secret_data() {
    let reader = Copier::create("reader", true, &["Host"]);
    let recording = record(vec![reader, Copier::create("other", false, &["Secret"])]).await;
    for data in SECRET_DATA {
        assert!(!recording.contains(data), "{recording}");
    }
    let calls = parse_calls(&recording);
    let hooks = |plugin: &str, kind: &str| {
        let mine = calls.iter().filter(|call| call["plugin"] == plugin);
        let object = |call: &&Value| [&call["source"], &call["copy"]].iter().any(|one| one["kind"] == kind);
        mine.filter(object).map(|call| call["hook"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for hook in ["relate", "hold", "adapt", "restore", "settle"] {
        assert!(hooks("reader", "Host").contains(&hook.to_owned()), "{hook}: {recording}");
    }
    let secret = calls.iter().find(|call| call["plugin"] == "other" && call["hook"] == "adapt").unwrap();
    // Keys stay, and annotations of Cluster API.
    assert_eq!(secret["source"]["data"], json!({"password": null}));
    assert_eq!(secret["source"]["metadata"]["annotations"]["cluster.x-k8s.io/paused"], "");
    // Nothing is lost that the plugin saw.
    assert_eq!(secret["redacted"], Value::Null);
    let adapted = calls.iter().find(|call| call["plugin"] == "reader" && call["hook"] == "adapt").unwrap();
    assert_eq!(adapted["expect"], "(redacted)");
    assert_eq!(adapted["redacted"], json!({"input": true, "answer": true}));
}

#[tokio::test(start_paused = true)]
async fn recording_has_questions_answers_and_whole_objects() {
    let recording = record(vec![Copier::create("other", false, &["Host"])]).await;
    let header: RecordingHeader = serde_json::from_str(recording.lines().next().unwrap()).unwrap();
    assert_eq!(header.kind, "PluginRecording");
    for line in recording.lines().skip(1) {
        let entry: RecordingEntry = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_value(entry).unwrap(), serde_json::from_str::<Value>(line).unwrap());
    }
    let calls = parse_calls(&recording);
    let restored = calls.iter().find(|call| call["hook"] == "restore").unwrap();
    assert_eq!(restored["source"]["status"], json!({"state": "ready"}));
    assert_eq!(restored["copy"]["spec"], json!({"image": "stable", "adapted": "seen"}));
    assert_eq!(restored["expect"], json!({"status": {"restored": "seen"}}));
    let check = calls.iter().find(|call| call["point"] == "before-pause").unwrap();
    assert_eq!(check["moving"]["namespaces"], json!([{"source": "lab", "target": "lab"}]));
    assert_eq!(check["questions"][1]["question"]["read"]["kind"], "Host");
    assert_eq!(check["questions"][1]["answer"]["objects"][0]["spec"]["image"], "stable");
    let settled: Vec<_> = calls.iter().filter(|call| call["hook"] == "settle").collect();
    assert_eq!(settled.last().unwrap()["expect"], "done");
}

// proves: T184
#[test]
fn recording_overwrites_no_file() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("move.jsonl");
    let (output, _, _) = output(0, LogFormat::Text);
    drop(RecordingFile::create(&path, &output).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let before = fs::read_to_string(&path).unwrap();
    let refused = RecordingFile::create(&path, &output).err().unwrap();
    assert!(refused.starts_with(&format!("the recording can't be written to {}: ", path.display())));
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn recording_without_calls_is_removed() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("move.jsonl");
    let (output, _, _) = output(0, LogFormat::Text);
    let file = RecordingFile::create(&path, &output).unwrap();
    let plugin = json!({
        "name": "p", "version": "1.0.0", "digest": "d", "hasConfig": false, "run": "move", "moveId": "1",
        "kubectl": {"source": null, "target": null},
    });
    file.write(&serde_json::from_value(json!({"plugin": plugin})).unwrap());
    file.remove_if_empty();
    assert!(!path.exists());
    let file = RecordingFile::create(&path, &output).unwrap();
    file.write(&RecordingEntry::Omitted(OmittedCall { plugin: "p".into(), hook: Hook::Hold }));
    file.remove_if_empty();
    assert!(path.exists());
    // Another file took its place.
    let other = dir.path().join("other.jsonl");
    let file = RecordingFile::create(&other, &output).unwrap();
    fs::rename(&path, &other).unwrap();
    file.remove_if_empty();
    assert!(other.exists());
}

#[tokio::test(start_paused = true)]
async fn full_disk_ends_the_recording_alone() {
    let (output, _, err) = output(0, LogFormat::Text);
    // Every write to this device fails.
    let file = RecordingFile::new(
        fs::OpenOptions::new().write(true).open("/dev/full").unwrap(),
        Path::new("f"),
        &output,
    );
    move_recorded(vec![Copier::create("other", false, &["Host"])], &file).await;
    file.report_end();
    let told = err.text();
    assert_eq!(told.matches("the recording in f ends here").count(), 1, "{told}");
    assert!(told.contains("did not fit into the recording"), "{told}");
}
