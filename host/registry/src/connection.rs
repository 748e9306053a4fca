//! One request over one connection: a bundle is a dozen requests, and a pool would be more code than it saves.
//!
//! Redirects are returned, never followed here; who asked decides about them. Whatever arrives is bounded in size and time.

use std::env;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, Error};
use tower::ServiceExt;

use crate::error::RegistryError;

/// Limits on the silence of a registry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Until a connection stands.
    pub(crate) connect: Duration,
    /// Until an answer begins, and between two pieces of it.
    pub(crate) silence: Duration,
    /// For a whole answer of no size.
    pub(crate) whole: Duration,
    /// Bytes that extend the time for a whole answer by one second. This is the slowest useful speed.
    pub(crate) rate: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(15), silence: seconds(30), whole: seconds(60), rate: 64 << 10 }
    }
}

/// Connects to registries.
pub(crate) struct Connections {
    tls: TlsConnector,
    /// Reads the environment.
    variable: fn(&str) -> Option<String>,
    pub(crate) timeouts: Timeouts,
}

/// An answer, with no more of a body than was allowed.
pub(crate) struct RegistryAnswer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl RegistryAnswer {
    pub(crate) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

impl Connections {
    /// Trusts the authorities that the machine trusts; `SSL_CERT_FILE` replaces them. `HTTPS_PROXY` and `NO_PROXY` hold.
    pub(crate) fn new(timeouts: Timeouts) -> Result<Self, RegistryError> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_platform_verifier());
        let config = config.map_err(|error| RegistryError::Unreachable {
            host: "a registry".into(),
            why: format!("no TLS: {error}"),
        })?;
        let tls = TlsConnector::from(Arc::new(config.with_no_client_auth()));
        Ok(Self { tls, variable: |name| env::var(name).ok(), timeouts })
    }

    /// Sends a request, and reads an answer of at most so many bytes.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        most: u64,
        sent: u64,
    ) -> Result<RegistryAnswer, RegistryError> {
        let host = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let bytes = |count: u64| Duration::from_secs(count / self.timeouts.rate);
        let sending = self.timeouts.silence + bytes(sent);
        let asked = timeout(
            self.timeouts.whole + bytes(most + sent),
            self.send_without_limit(&host, request, most, sending),
        );
        asked.await.map_err(|_| slow_error(&host, "all of it"))?
    }

    async fn send_without_limit(
        &self,
        host: &str,
        mut request: Request<Full<Bytes>>,
        most: u64,
        sending: Duration,
    ) -> Result<RegistryAnswer, RegistryError> {
        let uri = request.uri().clone();
        let stream =
            wait_at_most(self.timeouts.connect, host, "a connection", self.connect(host, &uri)).await??;
        let value = header::HeaderValue::from_str(host);
        request
            .headers_mut()
            .insert(header::HOST, value.map_err(|_| unreachable_error(host, "its name is no text"))?);
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = path.parse().map_err(|_| unreachable_error(host, "no such path"))?;
        if uri.scheme_str() == Some("https") {
            let name = uri.host().unwrap_or_default().to_owned();
            let name = ServerName::try_from(name)
                .map_err(|_| unreachable_error(host, "its name is none that a certificate could have"))?;
            let tls = self.tls.connect(name, stream.into_inner());
            let tls = wait_at_most(self.timeouts.connect, host, "TLS", tls).await?;
            let tls = tls.map_err(|error| unreachable_error(host, describe_tls_error(&error)))?;
            return self.exchange(host, TokioIo::new(tls), request, (most, sending)).await;
        }
        self.exchange(host, stream, request, (most, sending)).await
    }

    /// A connection, through the proxy that the environment names for it.
    async fn connect(&self, host: &str, uri: &Uri) -> Result<TokioIo<TcpStream>, RegistryError> {
        let mut direct = HttpConnector::new();
        direct.enforce_http(false);
        match self.proxy_for(host, uri)? {
            Some(proxy) => {
                // Any other is spoken to in plain HTTP, too, and would be sent the password in clear.
                if proxy.uri().scheme_str() != Some("http") {
                    let why =
                        "HTTPS_PROXY names a proxy that is not http://, and no other kind is spoken here";
                    return Err(unreachable_error(host, why));
                }
                let mut tunnel = Tunnel::new(proxy.uri().clone(), direct);
                if let Some(auth) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(auth.clone());
                }
                let through = tunnel.oneshot(with_default_port(uri)).await;
                through.map_err(|error| unreachable_error(host, format!("through the proxy: {error}")))
            }
            None => direct.oneshot(uri.clone()).await.map_err(|error| unreachable_error(host, error)),
        }
    }

    /// The proxy for an address, with the credentials in its own address. Only HTTPS goes through one.
    fn proxy_for(&self, host: &str, uri: &Uri) -> Result<Option<Intercept>, RegistryError> {
        if uri.scheme_str() != Some("https") {
            return Ok(None);
        }
        let chosen = pivot_places::choose_proxy(uri, None, self.variable)
            .map_err(|_| unreachable_error(host, "HTTPS_PROXY is no address"))?;
        Ok(chosen.and_then(|proxy| Matcher::builder().all(proxy.to_string()).build().intercept(uri)))
    }

    async fn exchange<S>(
        &self,
        host: &str,
        stream: S,
        request: Request<Full<Bytes>>,
        (most, sending): (u64, Duration),
    ) -> Result<RegistryAnswer, RegistryError>
    where
        S: Read + Write + Unpin,
    {
        let failed = |error: hyper::Error| unreachable_error(host, error);
        let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
            .max_headers(100)
            .max_buf_size(64 << 10)
            .handshake(stream)
            .await
            .map_err(failed)?;
        let exchange = async {
            let answer = wait_at_most(sending, host, "an answer", sender.send_request(request)).await?;
            let answer = answer.map_err(failed)?;
            let (parts, body) = answer.into_parts();
            let body = self.read_body(host, body, most).await?;
            Ok(RegistryAnswer { status: parts.status.as_u16(), headers: parts.headers, body })
        };
        let (mut exchange, mut connection) = (pin!(exchange), pin!(connection));
        tokio::select! {
            biased;
            answer = &mut exchange => answer,
            // It may end once the answer is there.
            ended = &mut connection => match exchange.await {
                Err(RegistryError::Unreachable { .. }) if ended.is_err() => {
                    Err(ended.map_or_else(failed, |()| unreachable_error(host, "it hung up")))
                }
                answer => answer,
            },
        }
    }

    async fn read_body(&self, host: &str, mut body: Incoming, most: u64) -> Result<Bytes, RegistryError> {
        let mut all = BytesMut::new();
        loop {
            let next =
                wait_at_most(self.timeouts.silence, host, "the rest of an answer", body.frame()).await?;
            let Some(frame) = next else { return Ok(all.freeze()) };
            let frame = frame.map_err(|error| unreachable_error(host, error))?;
            if let Some(data) = frame.data_ref() {
                if (all.len() + data.len()) as u64 > most {
                    return Err(RegistryError::bad_answer(host, format!("more than {most} bytes")));
                }
                all.extend_from_slice(data);
            }
        }
    }
}

async fn wait_at_most<F: Future>(
    limit: Duration,
    host: &str,
    what: &'static str,
    future: F,
) -> Result<F::Output, RegistryError> {
    timeout(limit, future).await.map_err(|_| slow_error(host, what))
}

/// A tunnel has to be told the port.
fn with_default_port(uri: &Uri) -> Uri {
    let Some(host) = uri.host().filter(|_| uri.port().is_none()) else { return uri.clone() };
    let whole = format!("https://{host}:443{}", uri.path());
    whole.parse().unwrap_or_else(|_| uri.clone())
}

fn slow_error(host: &str, what: &'static str) -> RegistryError {
    RegistryError::Slow { host: host.to_owned(), what }
}

/// Builds the error for an unreachable registry from a chain of reasons.
fn unreachable_error(host: &str, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> RegistryError {
    let error = why.into();
    let mut why = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        why = format!("{why}: {cause}");
        next = cause.source();
    }
    RegistryError::Unreachable {
        host: host.to_owned(),
        why: pivot_core::messages::safe_text::to_line(&why, 300),
    }
}

/// Describes why TLS failed. A server without TLS answers with bytes that aren't a TLS message.
fn describe_tls_error(error: &std::io::Error) -> String {
    let corrupt = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    match corrupt {
        Some(Error::InvalidMessage(_)) => {
            "it doesn't speak TLS; for a registry on this machine: --plain-http".to_owned()
        }
        _ => format!("TLS failed: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(variable: fn(&str) -> Option<String>) -> Connections {
        Connections { variable, ..Connections::new(Timeouts::default()).unwrap() }
    }

    async fn error(connections: &Connections, address: &str) -> String {
        let request = Request::get(address).body(Full::default()).unwrap();
        connections.send(request, 1, 0).await.err().unwrap().to_string()
    }

    #[tokio::test]
    async fn only_http_proxies_are_used() {
        let variables: [fn(&str) -> Option<String>; 2] = [
            |name| (name == "HTTPS_PROXY").then(|| "https://me:hidden@127.0.0.1:1".to_owned()),
            |name| (name == "https_proxy").then(|| "socks5://me:hidden@127.0.0.1:1".to_owned()),
        ];
        for variable in variables {
            let why = error(&connections(variable), "https://r.example/v2/").await;
            assert!(why.contains("no other kind is spoken here") && !why.contains("hidden"), "{why}");
        }
    }

    #[test]
    fn registries_have_the_proxy_that_servers_have() {
        let connections = connections(|name| match name {
            "HTTPS_PROXY" => Some("me:hidden@10.0.0.9:3128".to_owned()),
            // An empty element, and a name with a port.
            "NO_PROXY" => Some("a,,registry.example.com:5000".to_owned()),
            _ => None,
        });
        let proxy = |address: &str| connections.proxy_for("r", &address.parse().unwrap()).unwrap();
        let proxied = proxy("https://other.example.com/v2/").unwrap();
        assert_eq!(proxied.uri().to_string(), "http://10.0.0.9:3128/");
        assert!(proxied.basic_auth().is_some());
        for direct in
            ["https://registry.example.com:5000/v2/", "https://localhost:5000/", "http://other.example.com/"]
        {
            assert!(proxy(direct).is_none(), "{direct}");
        }
    }
}
