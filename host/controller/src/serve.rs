//! `/metrics`, `/healthz` and `/readyz`, over plain HTTP. Nothing that is shown there is secret, and nothing can be done.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::metrics::Metrics;

/// How long a client may take to ask.
const ASKING: Duration = Duration::from_secs(10);
/// The most clients at once.
const CLIENTS: usize = 64;

/// Where metrics and health are served.
pub struct Server {
    listener: TcpListener,
    metrics: Arc<Metrics>,
}

impl Server {
    /// Listens.
    pub async fn bind(address: SocketAddr, metrics: Arc<Metrics>) -> std::io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, metrics })
    }

    /// The address, with the port that was chosen.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until it is dropped.
    pub async fn run(self) -> Infallible {
        let clients = Arc::new(Semaphore::new(CLIENTS));
        loop {
            // It is never closed.
            let Ok(client) = clients.clone().acquire_owned().await else { continue };
            let Ok((stream, _)) = self.listener.accept().await else {
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            let metrics = self.metrics.clone();
            tokio::spawn(async move {
                let answer = service_fn(|request: Request<Incoming>| {
                    let answer = answer(request.method(), request.uri().path(), &metrics);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let mut server = http1::Builder::new();
                server.timer(TokioTimer::new()).header_read_timeout(ASKING);
                let served = server.serve_connection(TokioIo::new(stream), answer).await;
                if let Err(error) = served {
                    tracing::debug!(%error, "a client of the metrics");
                }
                drop(client);
            });
        }
    }
}

fn answer(method: &Method, path: &str, metrics: &Metrics) -> Response<Full<Bytes>> {
    let (status, body) = match (method, path) {
        (&Method::GET, "/metrics") => (StatusCode::OK, metrics.page()),
        // Which of several controllers leads doesn't make the others unhealthy.
        (&Method::GET, "/healthz" | "/readyz") => (StatusCode::OK, "ok\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "there are /metrics, /healthz and /readyz\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response
}
