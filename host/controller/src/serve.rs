//! `/metrics`, `/healthz` and `/readyz` of a controller or an agent, over plain HTTP. The pages contain no secrets, and requests change
//! nothing.
//!
//! Any client that reaches the port may connect. A connection serves one request and lasts some seconds. A new connection above
//! the limit displaces the oldest one of the address with most connections, so that no client keeps a probe from its answer.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use pivot_link::Newcomers;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Time that a client may take to send a request, and to read the answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The most clients at once.
const MAX_CLIENTS: usize = 256;
/// The format of the metrics: Prometheus reads no page without one.
const METRICS_CONTENT_TYPE: &str = "text/plain; version=0.0.4";
const TEXT_CONTENT_TYPE: &str = "text/plain";

/// The content of the pages.
pub trait Pages: Send + Sync + 'static {
    /// Returns the page of metrics, if the process has metrics.
    fn metrics(&self) -> Option<String>;

    /// Returns the obstacles to the work of the process. With an obstacle, it isn't ready.
    fn obstacles(&self) -> Vec<String>;
}

/// Serves metrics and health.
pub struct Server {
    listener: TcpListener,
    pages: Arc<dyn Pages>,
}

impl Server {
    /// Listens at an address.
    pub async fn bind(address: SocketAddr, pages: Arc<dyn Pages>) -> std::io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, pages })
    }

    /// Returns the address, with the port that was chosen.
    pub fn local_address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests until the future is dropped.
    pub async fn run(self) -> Infallible {
        let clients = Newcomers::new(MAX_CLIENTS);
        // Dropped with this.
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok((stream, from)) = self.listener.accept().await else {
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (pages, mut client) = (self.pages.clone(), clients.admit(from.ip()));
            connections.spawn(async move {
                let answer = service_fn(|request: Request<Incoming>| {
                    let answer = answer_request(request.method(), request.uri().path(), &*pages);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let mut server = http1::Builder::new();
                server.timer(TokioTimer::new()).header_read_timeout(REQUEST_TIMEOUT).keep_alive(false);
                tokio::select! {
                    served = timeout(REQUEST_TIMEOUT, server.serve_connection(TokioIo::new(stream), answer)) => {
                        tracing::debug!(?served, "a client of the metrics");
                    }
                    () = client.wait_until_displaced() => tracing::debug!("a client of the metrics was displaced"),
                }
            });
        }
    }
}

fn answer_request(method: &Method, path: &str, pages: &dyn Pages) -> Response<Full<Bytes>> {
    // The server sends no body in answer to HEAD.
    let reads = [Method::GET, Method::HEAD].contains(method);
    let metrics = pages.metrics();
    let (status, content_type, body) = match (path, &metrics) {
        ("/metrics", Some(page)) if reads => (StatusCode::OK, METRICS_CONTENT_TYPE, page.clone()),
        ("/healthz", _) if reads => (StatusCode::OK, TEXT_CONTENT_TYPE, "ok\n".to_owned()),
        ("/readyz", _) if reads => match pages.obstacles() {
            blocked if blocked.is_empty() => (StatusCode::OK, TEXT_CONTENT_TYPE, "ok\n".to_owned()),
            blocked => {
                (StatusCode::SERVICE_UNAVAILABLE, TEXT_CONTENT_TYPE, format!("{}\n", blocked.join("\n")))
            }
        },
        (_, Some(_)) => not_found("there are /metrics, /healthz and /readyz\n"),
        (_, None) => not_found("there are /healthz and /readyz\n"),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn not_found(text: &str) -> (StatusCode, &'static str, String) {
    (StatusCode::NOT_FOUND, TEXT_CONTENT_TYPE, text.to_owned())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::metrics::{LEASE_UNUSABLE, Metrics};

    /// The head of an answer, in lower case, and its body.
    async fn ask(address: SocketAddr, method: &str, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_lowercase(), body.to_owned())
    }

    // proves: T145
    #[tokio::test]
    async fn silent_clients_block_no_probe() {
        let server = Server::bind(([127, 0, 0, 1], 0).into(), Arc::<Metrics>::default()).await.unwrap();
        let address = server.local_address().unwrap();
        let server = tokio::spawn(server.run());
        let mut silent = Vec::new();
        for n in 0..2 * MAX_CLIENTS {
            let mut stream = TcpStream::connect(address).await.unwrap();
            // Some ask, again and again, and never read.
            if n % 2 == 0 {
                stream
                    .write_all("GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n".repeat(9).as_bytes())
                    .await
                    .unwrap();
            }
            silent.push(stream);
        }
        let (head, _) = timeout(Duration::from_secs(1), ask(address, "GET", "/healthz")).await.unwrap();
        assert!(head.starts_with("http/1.1 200"), "{head}");
        server.abort();
    }

    #[tokio::test]
    async fn every_page_has_a_type_and_answers_head() {
        let server = Server::bind(([127, 0, 0, 1], 0).into(), Arc::<Metrics>::default()).await.unwrap();
        let address = server.local_address().unwrap();
        let server = tokio::spawn(server.run());
        for (path, status, of) in [
            ("/metrics", "200 ok", "text/plain; version=0.0.4"),
            ("/healthz", "200 ok", "text/plain"),
            ("/readyz", "200 ok", "text/plain"),
            ("/", "404 not found", "text/plain"),
        ] {
            let (head, body) = ask(address, "GET", path).await;
            assert!(head.starts_with(&format!("http/1.1 {status}\r\n")), "{path}: {head}");
            assert!(head.contains(&format!("\r\ncontent-type: {of}\r\n")), "{path}: {head}");
            assert!(!body.is_empty(), "{path}");
            let (only_head, body) = ask(address, "HEAD", path).await;
            let undated = |head: &str| {
                head.lines().filter(|line| !line.starts_with("date:")).map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!((undated(&only_head), body.as_str()), (undated(&head), ""), "{path}");
        }
        server.abort();
    }

    #[tokio::test]
    async fn controller_with_an_obstacle_is_unready() {
        let metrics = Arc::new(Metrics::default());
        let server = Server::bind(([127, 0, 0, 1], 0).into(), metrics.clone()).await.unwrap();
        let address = server.local_address().unwrap();
        let server = tokio::spawn(server.run());
        metrics.add_obstacle(LEASE_UNUSABLE, "forbidden: create Lease".to_owned());
        let (head, body) = ask(address, "GET", "/readyz").await;
        assert!(head.starts_with("http/1.1 503 "), "{head}");
        assert!(body.contains("forbidden: create Lease"), "{body}");
        assert!(ask(address, "GET", "/healthz").await.0.starts_with("http/1.1 200 "));
        metrics.remove_obstacle(LEASE_UNUSABLE);
        assert!(ask(address, "GET", "/readyz").await.0.starts_with("http/1.1 200 "));
        server.abort();
    }

    #[tokio::test]
    async fn process_without_metrics_serves_probes() {
        struct Ready;
        impl Pages for Ready {
            fn metrics(&self) -> Option<String> {
                None
            }
            fn obstacles(&self) -> Vec<String> {
                Vec::new()
            }
        }
        let server = Server::bind(([127, 0, 0, 1], 0).into(), Arc::new(Ready)).await.unwrap();
        let address = server.local_address().unwrap();
        let server = tokio::spawn(server.run());
        for (path, expected) in [("/healthz", 200), ("/readyz", 200), ("/metrics", 404)] {
            let (head, body) = ask(address, "GET", path).await;
            assert!(head.starts_with(&format!("http/1.1 {expected} ")), "{path}: {head}");
            assert!(!body.contains("/metrics"), "{path}: {body}");
        }
        server.abort();
    }
}
