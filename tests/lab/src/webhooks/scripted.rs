//! A webhook that answers as a test wants it to.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::WebhookEndpoint;
use crate::server::Server;

const PATH: &str = "/admit";

/// An answer to an admission review.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// The request is allowed.
    Allow,
    /// The request is refused, with a code that the webhook chooses.
    Refuse(u16),
    /// The request is allowed after that time. A server waits one second.
    Delay(Duration),
    /// The request is allowed with these operations of a JSON patch.
    Mutate(Value),
}

type Script = Box<dyn FnMut(&Value) -> Verdict + Send>;

/// A webhook that a server calls for each write to one resource. It ends when it is dropped, and writes are refused from then on.
pub struct ScriptedWebhook {
    script: Arc<Mutex<Script>>,
    // Aborted when dropped.
    _tasks: JoinSet<()>,
}

impl ScriptedWebhook {
    /// Starts a webhook that allows everything, and registers it.
    pub async fn start(server: &Server, group: &str, resource: &str) -> Result<Self> {
        let endpoint = WebhookEndpoint::of_manager(server, &format!("scripted-{resource}"))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, endpoint.port())).await?;
        let acceptor = acceptor(&endpoint)?;
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(Box::new(|_| Verdict::Allow)));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, acceptor, script.clone()));
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "webhooks"},
            "webhooks": [{
                "name": "scripted.lab.pivot-host.io",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "timeoutSeconds": 1,
                "clientConfig": {"service": {"namespace": "lab", "name": "lab", "path": PATH}},
                "rules": [{
                    "apiGroups": [group], "apiVersions": ["*"], "resources": [resource],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                }],
            }],
        });
        server.register(&endpoint, vec![configuration]).await?;
        Ok(Self { script, _tasks: tasks })
    }

    /// Decides by the `request` of an admission review from now on.
    pub fn decide(&self, script: impl FnMut(&Value) -> Verdict + Send + 'static) {
        *self.script.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(script);
    }
}

fn acceptor(endpoint: &WebhookEndpoint) -> Result<TlsAcceptor> {
    let key = std::fs::read(endpoint.certificates().join("tls.key"))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(endpoint.certificate.as_bytes())?],
            PrivateKeyDer::from_pem_slice(&key)?,
        )?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, script: Arc<Mutex<Script>>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        while connections.try_join_next().is_some() {}
        let (acceptor, script) = (acceptor.clone(), script.clone());
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(|request| answer(request, script.clone()));
            // The API server notices how its connection ends.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(request: Request<Incoming>, script: Arc<Mutex<Script>>) -> Result<Response<Full<Bytes>>> {
    if request.uri().path() != PATH {
        return Ok(Response::builder().status(StatusCode::NOT_FOUND).body(Full::default())?);
    }
    let body = request.into_body().collect().await?.to_bytes();
    let review: Value = serde_json::from_slice(&body).context("read an admission review")?;
    let request = review.get("request").context("an admission review without a request")?;
    let verdict = (script.lock().unwrap_or_else(PoisonError::into_inner))(request);
    if let Verdict::Delay(time) = verdict {
        tokio::time::sleep(time).await;
    }
    let uid = request.get("uid");
    let response = match verdict {
        Verdict::Allow | Verdict::Delay(_) => json!({"uid": uid, "allowed": true}),
        Verdict::Refuse(code) => {
            let status = json!({"code": code, "message": "the script says so"});
            json!({"uid": uid, "allowed": false, "status": status})
        }
        Verdict::Mutate(operations) => {
            let patch = STANDARD.encode(operations.to_string());
            json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": patch})
        }
    };
    let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    Ok(Response::builder()
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(Full::from(body.to_string()))?)
}
