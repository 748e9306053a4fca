//! The minimum that any move has to send: each object's create, release patch and delete, and nothing else. Secrets and
//! ConfigMaps without finalizers need no release patch.
//!
//! Bodies are prepared before the clock starts, nothing is read, nothing waits for an owner or for another answer; the number of
//! concurrent requests is the fastest one. A move that verifies its work can't be faster than this; the difference is the cost of
//! that care. Each concurrent request has its own connection: HTTP/1.1, kept connections, no Nagle delay.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt};
use pivot_lab::{Server, kubeconfig};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tower::{BoxError, ServiceBuilder};

use crate::contender::Took;

/// The prefix of its user agent.
pub(crate) const AGENT: &str = "pivot-floor";

struct Ask {
    method: Method,
    path: String,
    content_type: &'static str,
    body: Bytes,
}

/// Everything to be sent, ready.
pub(crate) struct Floor {
    creates: Arc<Vec<Ask>>,
    patches: Arc<Vec<Ask>>,
    deletes: Arc<Vec<Ask>>,
}

impl Floor {
    /// Prepares the requests that move a namespace of `source`.
    pub(crate) async fn prepare(source: &Server, namespace: &str) -> Result<Self> {
        let kinds = source.kinds().await?;
        let kinds: BTreeMap<_, _> = kinds.iter().map(|kind| (kind.name(), &kind.resource)).collect();
        let mut objects = Vec::new();
        for (key, object) in source.dump(&[namespace]).await? {
            let Some(resource) = kinds.get(&key.kind).filter(|_| key.namespace == namespace) else {
                continue;
            };
            let root = if resource.group.is_empty() { "/api" } else { "/apis" };
            let list = format!("{root}/{}/namespaces/{namespace}/{}", resource.api_version, resource.plural);
            objects.push((list, key.name, object));
        }
        // Dependents first, so that the garbage collector has nothing to do.
        let depths = depths(objects.iter().map(|(_, _, object)| object));
        objects.sort_by_key(|(_, _, object)| std::cmp::Reverse(depths.get(text(object, "uid")).copied()));
        let (mut creates, mut patches, mut deletes) = (Vec::new(), Vec::new(), Vec::new());
        for (list, name, object) in objects {
            let (path, uid) = (format!("{list}/{name}"), text(&object, "uid").to_owned());
            let release = json!({"metadata": {
                "uid": uid, "resourceVersion": text(&object, "resourceVersion"), "finalizers": null,
                "annotations": {"clusterctl.cluster.x-k8s.io/delete-for-move": ""},
            }});
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}});
            // Of the core group.
            let core = list.starts_with("/api/");
            if !core || object.pointer("/metadata/finalizers").is_some() {
                patches.push(ask(Method::PATCH, path.clone(), "application/merge-patch+json", &release));
            }
            creates.push(ask(Method::POST, list, "application/json", &creation(object)));
            deletes.push(ask(Method::DELETE, path, "application/json", &options));
        }
        Ok(Self { creates: creates.into(), patches: patches.into(), deletes: deletes.into() })
    }

    /// How many objects it moves.
    pub(crate) fn objects(&self) -> usize {
        self.creates.len()
    }

    /// Sends everything, with so many concurrent requests; from the first connection to the last answer.
    pub(crate) async fn run(&self, source: &Path, target: &Path, side_by_side: usize) -> Result<Took> {
        let start = Instant::now();
        let (source, target) = (Wire::new(source).await?, Wire::new(target).await?);
        let mut phases = Vec::new();
        for (name, wire, asks) in [
            ("Created", &target, &self.creates),
            ("Patched", &source, &self.patches),
            ("Deleted", &source, &self.deletes),
        ] {
            let begun = Instant::now();
            wire.send_all(asks, side_by_side).await.context(name)?;
            phases.push((name.to_owned(), begun.elapsed().as_millis().try_into()?));
        }
        Ok(Took { wall: start.elapsed(), phases, ..Took::default() })
    }
}

fn ask(method: Method, path: String, content_type: &'static str, body: &Value) -> Ask {
    Ask { method, path, content_type, body: body.to_string().into() }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.pointer("/metadata").and_then(|metadata| metadata.get(field)?.as_str()).unwrap_or_default()
}

/// How many owners are above an object, by UID.
fn depths<'a>(objects: impl Iterator<Item = &'a Value>) -> BTreeMap<String, usize> {
    let owner = |object: &Value| {
        object.pointer("/metadata/ownerReferences/0/uid").and_then(Value::as_str).map(str::to_owned)
    };
    let owners: BTreeMap<String, Option<String>> =
        objects.map(|object| (text(object, "uid").to_owned(), owner(object))).collect();
    let depth = |uid: &String| {
        let up = |uid: &String| owners.get(uid).cloned().flatten();
        std::iter::successors(Some(uid.clone()), up).take(owners.len()).count()
    };
    owners.keys().map(|uid| (uid.clone(), depth(uid))).collect()
}

/// The body of a copy. Without owners: their UIDs are unknown before the run.
fn creation(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| {
            ["name", "namespace", "labels", "annotations", "finalizers"].contains(&field.as_str())
        });
    }
    object
}

/// Connections to one server.
#[derive(Clone)]
struct Wire {
    client: kube::Client,
}

impl Wire {
    async fn new(kubeconfig: &Path) -> Result<Self> {
        let config = kubeconfig::config(kubeconfig).await?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let https = config.rustls_https_connector_with_connector(tcp)?;
        let http: Client<_, Body> =
            Client::builder(TokioExecutor::new()).pool_max_idle_per_host(usize::MAX).build(https);
        let service =
            ServiceBuilder::new().layer(config.base_uri_layer()).map_err(BoxError::from).service(http);
        Ok(Self { client: kube::Client::new(service, config.default_namespace) })
    }

    async fn send_all(&self, asks: &Arc<Vec<Ask>>, side_by_side: usize) -> Result<()> {
        let next = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..side_by_side {
            let (wire, asks, next) = (self.clone(), asks.clone(), next.clone());
            tasks.spawn(async move {
                while let Some(ask) = asks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    wire.send(ask).await.with_context(|| ask.path.clone())?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(())
    }

    async fn send(&self, ask: &Ask) -> Result<()> {
        let request = Request::builder()
            .method(ask.method.clone())
            .uri(&ask.path)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, ask.content_type)
            .header(USER_AGENT, AGENT)
            .body(Body::from(ask.body.clone()))?;
        let response = self.client.send(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        // Nothing waits for an owner, so the garbage collector may be faster.
        let is_gone = ask.method == Method::DELETE && status == StatusCode::NOT_FOUND;
        ensure!(status.is_success() || is_gone, "{status}: {}", String::from_utf8_lossy(&body));
        Ok(())
    }
}
