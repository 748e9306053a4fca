//! A server on loopback that says what a case wants: enough of an API server for a plan, and anything else instead.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::judge::SECRET;

/// What was asked: verb, path with query, body.
pub(crate) struct Asked {
    pub(crate) verb: String,
    pub(crate) path: String,
    pub(crate) body: String,
}

/// What is answered: bytes as they go over the wire, and how often the last of them comes again.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) head: Vec<u8>,
    pub(crate) body: Arc<Vec<u8>>,
    pub(crate) times: usize,
}

pub(crate) type Answers = Arc<dyn Fn(&Asked) -> Answer + Send + Sync>;

impl Answer {
    pub(crate) fn new(code: u16, more: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let head = format!(
            "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\nconnection: close\r\n{more}content-length: {}\r\n\r\n",
            body.len()
        );
        Self { head: head.into_bytes(), body: Arc::new(body), times: 1 }
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::new(200, "", body.to_string())
    }

    pub(crate) fn status(code: u16, reason: &str, message: &str) -> Self {
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
            "message": message});
        Self::new(code, "", status.to_string())
    }

    /// Without a length: as much as is taken.
    pub(crate) fn endless(begin: &str, again: &[u8], times: usize) -> Self {
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{begin}");
        Self { head: head.into_bytes(), body: Arc::new(again.to_vec()), times }
    }

    /// What isn't HTTP, perhaps.
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { head: bytes.into(), body: Arc::default(), times: 0 }
    }
}

pub(crate) struct Server {
    port: u16,
    over: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let over = Arc::new(AtomicBool::new(false));
        let done = over.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                let answers = answers.clone();
                // Whoever hangs up early is no fault of the server's.
                thread::spawn(move || drop(answered(stream, &answers)));
            }
        });
        Self { port, over }
    }

    /// `127.0.0.1:PORT`.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn kubeconfig(&self) -> String {
        let server = format!("http://{}", self.address());
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": server}}],
            "users": [{"name": "a", "user": {"token": SECRET}}],
        })
        .to_string()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the listener, which then sees that it is over.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

/// What TLS begins with, and how it says no.
const HANDSHAKE: u8 = 0x16;
const ALERT: &[u8] = &[0x15, 3, 3, 0, 2, 2, 40];

fn answered(stream: TcpStream, answers: &Answers) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.set_write_timeout(Some(Duration::from_secs(60)))?;
    let mut first = [0];
    stream.peek(&mut first)?;
    if first == [HANDSHAKE] {
        return (&stream).write_all(ALERT);
    }
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (verb, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(text) = header.strip_prefix("content-length:") {
            length = text.trim().parse().unwrap_or(0);
        }
    }
    let mut body = String::new();
    reader.take(length).read_to_string(&mut body)?;
    let Answer { head, body, times } = answers(&Asked { verb, path, body });
    let mut stream = stream;
    stream.write_all(&head)?;
    for _ in 0..times {
        stream.write_all(&body)?;
    }
    stream.shutdown(Shutdown::Write)
}

/// Group, plural and kind of what is served, and whether it is in namespaces.
const KINDS: [(&str, &str, &str, bool); 6] = [
    ("", "namespaces", "Namespace", false),
    ("", "secrets", "Secret", true),
    ("", "configmaps", "ConfigMap", true),
    ("coordination.k8s.io", "leases", "Lease", true),
    ("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", false),
    ("cluster.x-k8s.io", "clusters", "Cluster", true),
];

/// A management cluster with one Cluster in it, `ns/a`, and these ConfigMaps.
pub(crate) fn well(asked: &Asked, config_maps: &[Value]) -> Answer {
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    let list = |items: Vec<Value>| {
        Answer::json(
            &json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}),
        )
    };
    let reviewed = || {
        let mut review: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        review["status"] = json!({"allowed": true});
        Answer::json(&review)
    };
    let last = path.rsplit('/').next().unwrap_or_default();
    match (asked.verb.as_str(), path) {
        ("GET", "/api") => Answer::json(&discovery(true)),
        ("GET", "/apis") => Answer::json(&discovery(false)),
        ("GET", "/api/v1/namespaces/kube-system") => Answer::json(&namespace("kube-system")),
        ("GET", "/api/v1/namespaces/ns") => Answer::json(&namespace("ns")),
        ("POST", _) if last == "selfsubjectaccessreviews" => reviewed(),
        ("GET", _) => match last {
            "namespaces" => list(vec![namespace("kube-system"), namespace("ns")]),
            "customresourcedefinitions" => list(vec![definition()]),
            "clusters" => list(vec![cluster()]),
            "configmaps" if query.contains("labelSelector=") => {
                let label = if query.contains("finished") {
                    "pivot-host.io/finished"
                } else {
                    "pivot-host.io/record"
                };
                let labelled = |map: &&Value| map["metadata"]["labels"].get(label).is_some();
                list(config_maps.iter().filter(labelled).cloned().collect())
            }
            "configmaps" => list(config_maps.to_vec()),
            "secrets" | "leases" => list(vec![]),
            name => {
                let found = config_maps.iter().find(|map| map["metadata"]["name"] == name);
                found.map_or_else(|| Answer::status(404, "NotFound", "it is not there"), Answer::json)
            }
        },
        _ => Answer::status(403, "Forbidden", "nothing is to be changed"),
    }
}

fn discovery(core: bool) -> Value {
    let of = |group: &str| {
        let kinds = KINDS.iter().filter(|(there, ..)| *there == group);
        let resources: Vec<Value> = kinds
            .map(|(group, plural, kind, namespaced)| {
                json!({"resource": plural, "responseKind": {"group": group, "kind": kind, "version": "v1"},
                    "scope": if *namespaced { "Namespaced" } else { "Cluster" },
                    "verbs": ["get", "list", "create", "delete", "patch", "watch"],
                    "subresources": [{"subresource": "status"}]})
            })
            .collect();
        json!({"metadata": {"name": group}, "versions": [{"version": "v1", "resources": resources}]})
    };
    let groups = ["coordination.k8s.io", "apiextensions.k8s.io", "cluster.x-k8s.io"];
    let items: Vec<Value> = if core { vec![of("")] } else { groups.into_iter().map(of).collect() };
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "uid": format!("n-{name}"), "resourceVersion": "1"}})
}

fn definition() -> Value {
    let labels = json!({"clusterctl.cluster.x-k8s.io": "", "cluster.x-k8s.io/provider": "cluster-api"});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusters.cluster.x-k8s.io", "uid": "d", "resourceVersion": "1", "labels": labels}})
}

pub(crate) fn cluster() -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1", "kind": "Cluster",
        "metadata": {"name": "a", "namespace": "ns", "uid": "c", "resourceVersion": "1"},
        "status": {"infrastructureReady": true, "controlPlaneReady": true,
                   "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]}})
}
