//! Recordings of calls without a move: of plugins that repeat everything they see, and of answers that don't fit.

use std::fs;
use std::sync::Arc;

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Relation, Settlement, Severity};
use pivot_core::{GroupKind, Object, Side};
use pivot_engine::Hooks;
use pivot_engine::hooks::{HookError, MoveContext, Read, Services};
use pivot_runtime::{Answer, Probe, Query, ServiceError};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::super::sample_objects::build_object;
use super::super::asked_questions::{AskedQuestions, Omission, QuestionRecorder};
use super::super::{CallRecorder, RecordingFile};
use super::{SECRET_DATA, parse_calls};
use crate::args::LogFormat;
use crate::output::testing::output;

/// Repeats the text of each object that it sees: in its questions, in its answers and in its errors.
struct Echo {
    description: Description,
    reads: Vec<Read>,
    fails: bool,
}

impl Echo {
    fn create(name: &str, secret_data: bool, kinds: &[&str], fails: bool) -> (Arc<dyn Hooks>, bool) {
        let description = Description {
            name: name.into(),
            version: "1.0.0".into(),
            digest: "d".into(),
            kinds: kinds.iter().map(|kind| GroupKind::new("test.io", *kind)).collect(),
            hooks: Hook::ALL.to_vec(),
            secret_data,
            ..Description::default()
        };
        (Arc::new(Self { description, reads: Vec::new(), fails }), false)
    }

    /// Returns a plugin without the data of Secrets, which changes objects of one kind and reads another.
    fn create_relay(name: &str, changed: &str, read: &str) -> (Arc<dyn Hooks>, bool) {
        let read = Read { kind: GroupKind::new("test.io", read), side: Side::Target, namespace: None };
        let kinds = vec![GroupKind::new("test.io", changed)];
        let description =
            Description { name: name.into(), kinds, hooks: Hook::ALL.to_vec(), ..Description::default() };
        (Arc::new(Self { description, reads: vec![read], fails: false }), false)
    }

    /// The runtime restricts the codes and withholds the words of a plugin that sees the data of Secrets.
    fn answer<T>(&self, text: String, answer: impl FnOnce(String) -> T) -> Result<T, HookError> {
        match (self.fails, self.description.secret_data) {
            (true, true) => Err(HookError { code: "failed".into(), message: text }),
            (true, false) => Err(HookError { code: text.clone(), message: text }),
            (false, true) => Ok(answer(String::new())),
            (false, false) => Ok(answer(text)),
        }
    }

    fn annotate(&self, object: &Object) -> Result<Option<Value>, HookError> {
        let text = describe(object);
        if self.fails {
            return self.answer(text, |_| None);
        }
        Ok(Some(json!({"metadata": {"annotations": {"echo": text}}})))
    }

    async fn ask(&self, services: &Arc<dyn Services>, kind: &str, name: Option<String>) -> String {
        let kind = GroupKind::new("test.io", kind);
        let query = Query { side: Side::Source, kind, namespace: name.clone(), name, confined: true };
        match services.read(&self.description.name, query).await {
            Ok(objects) => objects.first().map(describe).unwrap_or_default(),
            Err(error) => error.message,
        }
    }
}

/// Returns the beginning of an object's text.
fn describe(object: &Object) -> String {
    String::from_utf8_lossy(object.raw()).chars().take(300).collect()
}

fn finding(message: String) -> Finding {
    Finding { severity: Severity::Note, code: "echo".into(), message, object: None, remedy: String::new() }
}

#[async_trait]
impl Hooks for Echo {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn reads(&self) -> &[Read] {
        &self.reads
    }

    async fn relate(&self, object: &Object) -> Result<Vec<Relation>, HookError> {
        self.answer(describe(object), |text| vec![Relation::Keep(text)])
    }

    async fn check(
        &self,
        _point: Point,
        _context: &MoveContext,
        services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        let seen = self.ask(&services, "Host", None).await;
        self.ask(&services, "Rack", Some(seen.clone())).await;
        self.answer(seen, |text| vec![finding(text)])
    }

    async fn hold(&self, object: &Object) -> Result<Option<Value>, HookError> {
        self.annotate(object)
    }

    async fn adapt(&self, object: &Object) -> Result<Option<Value>, HookError> {
        self.annotate(object)
    }

    async fn restore(&self, _source: &Object, created: &Object) -> Result<Option<Value>, HookError> {
        self.annotate(created)
    }

    async fn settle(
        &self,
        object: &Object,
        _written: bool,
        services: Arc<dyn Services>,
    ) -> Result<Settlement, HookError> {
        self.ask(&services, "Rack", Some(describe(object))).await;
        self.answer(describe(object), |text| Settlement::Wait(finding(text)))
    }
}

/// Answers a question for hosts with these. Other questions fail, and the error quotes them.
struct Hosts(Vec<Object>);

#[async_trait]
impl Services for Hosts {
    async fn read(&self, _plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError> {
        if query.kind.kind == "Host" {
            return Ok(self.0.clone());
        }
        Err(ServiceError::new("no-such-kind", format!("not found: {query:?}")))
    }

    async fn probe(&self, _plugin: &str, _probe: Probe) -> Result<Answer, ServiceError> {
        Err(ServiceError::new("unreachable", "no answer in time"))
    }
}

fn object(kind: &str, text: &str) -> Object {
    let metadata = json!({"name": "a", "namespace": "lab"});
    let body =
        json!({"apiVersion": "test.io/v2", "kind": kind, "metadata": metadata, "spec": {"text": text}});
    build_object(&body).unwrap()
}

/// Calls each hook of the last plugin for a host with data of a Secret, and one for a rack without. Returns the recording.
async fn record(plugins: Vec<(Arc<dyn Hooks>, bool)>) -> String {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("move.jsonl");
    let (output, _, _) = output(0, LogFormat::Text);
    let file = RecordingFile::create(&path, &output).unwrap();
    let plugin = CallRecorder::record_all(plugins, &file).pop().unwrap();
    let (host, rack) = (object("Host", &SECRET_DATA.join(" ")), object("Rack", "clean"));
    let services: Arc<dyn Services> = Arc::new(Hosts(vec![host.clone()]));
    let _ = plugin.relate(&host).await;
    let _ = plugin.check(Point::BeforePause, &MoveContext::default(), services.clone()).await;
    let _ = plugin.hold(&host).await;
    let _ = plugin.adapt(&host).await;
    let _ = plugin.restore(&host, &host).await;
    let _ = plugin.settle(&host, true, services).await;
    let _ = plugin.hold(&rack).await;
    fs::read_to_string(path).unwrap()
}

// proves: I8, T184
#[tokio::test]
async fn questions_of_secret_readers_are_left_out() {
    for fails in [true, false] {
        let recording = record(vec![Echo::create("reader", true, &["Host"], fails)]).await;
        for data in SECRET_DATA {
            assert!(!recording.contains(data), "{recording}");
        }
        let calls = parse_calls(&recording);
        assert_eq!(calls.len(), 6, "{recording}");
        for call in calls.iter().filter(|call| ["check", "settle"].contains(&call["hook"].as_str().unwrap()))
        {
            assert_eq!(call["questions"], Value::Null);
            assert_eq!(call["redacted"], json!({"input": true, "answer": false}));
        }
        let errors = calls.iter().filter(|call| call["expect"] == json!({"error": "failed"})).count();
        assert_eq!(errors, if fails { 6 } else { 0 }, "{recording}");
    }
}

// proves: I8, T184
#[tokio::test]
async fn answers_from_exposed_objects_are_left_out() {
    for fails in [true, false] {
        let reader = Echo::create("reader", true, &["Host"], false);
        let other = Echo::create("other", false, &["Host", "Rack"], fails);
        let recording = record(vec![reader, other]).await;
        for data in SECRET_DATA {
            assert!(!recording.contains(data), "{recording}");
        }
        let mut calls = parse_calls(&recording);
        let of_rack = calls.pop().unwrap();
        assert_eq!(calls.len(), 6, "{recording}");
        for call in calls {
            assert_eq!((&call["questions"], &call["expect"]), (&Value::Null, &json!("(redacted)")));
            assert_eq!(call["redacted"], json!({"input": true, "answer": true}));
        }
        // The rack has no data of Secrets, so its call is complete.
        assert_eq!((&of_rack["source"]["kind"], &of_rack["redacted"]), (&json!("Rack"), &Value::Null));
        assert!(of_rack["expect"].to_string().contains("clean"), "{of_rack}");
    }
}

// proves: T184
#[tokio::test]
async fn objects_that_relays_change_are_exposed() {
    let is_exposed = async |kinds: [&str; 2]| {
        let [read_by_one, read_by_other] = kinds;
        let recording = record(vec![
            Echo::create_relay("other-relay", "Rack", read_by_other),
            Echo::create_relay("relay", "Shelf", read_by_one),
            Echo::create("reader", true, &["Host"], false),
            Echo::create("last", false, &["Rack"], false),
        ]);
        let calls = parse_calls(&recording.await);
        calls.last().unwrap()["expect"] == "(redacted)"
    };
    assert!(is_exposed(["Host", "Shelf"]).await);
    assert!(is_exposed(["*", "*"]).await);
    assert!(!is_exposed(["Cabinet", "Shelf"]).await);
    assert!(!is_exposed(["Host", "Cabinet"]).await);
}

#[tokio::test]
async fn call_that_exceeds_a_line_is_omitted() {
    let big = object("Host", &"x".repeat(1 << 20));
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("move.jsonl");
    let (output, _, err) = output(0, LogFormat::Text);
    let file = RecordingFile::create(&path, &output).unwrap();
    let plugin =
        CallRecorder::record_all(vec![Echo::create("other", false, &[], false)], &file).pop().unwrap();
    for count in [17, 1] {
        let services = Arc::new(Hosts(vec![big.clone(); count]));
        plugin.check(Point::BeforePause, &MoveContext::default(), services).await.unwrap();
    }
    let recording = fs::read_to_string(path).unwrap();
    let omitted = r#"{"omitted":{"plugin":"other","hook":"check"}}"#;
    assert_eq!(recording.lines().nth(1), Some(omitted));
    assert_eq!(parse_calls(&recording).len(), 1);
    file.report_end();
    assert!(err.text().contains("1 calls of plugins did not fit"), "{}", err.text());
}

#[tokio::test]
async fn answers_of_a_call_share_one_limit() {
    let (plugin, _) = Echo::create("other", false, &[], false);
    let big = object("Host", &"x".repeat(1 << 20));
    let services: Arc<dyn Services> = Arc::new(Hosts(vec![big; 3]));
    for (questions, kept, reason) in
        [(5, 5, None), (6, 0, Some(Omission::Size)), (7, 0, Some(Omission::Size))]
    {
        let recorder = QuestionRecorder::new(services.clone(), &plugin, &Arc::default(), None);
        for _ in 0..questions {
            let kind = GroupKind::new("test.io", "Host");
            let query = Query { side: Side::Source, kind, namespace: None, name: None, confined: true };
            assert_eq!(recorder.read("other", query).await.unwrap().len(), 3);
        }
        let AskedQuestions { questions, omission, .. } = recorder.take();
        assert_eq!((questions.len(), omission), (kept, reason));
    }
}
