//! Connects to the server of a kubeconfig.
//!
//! The rules are kubectl's: an explicit file, else the files of `KUBECONFIG` that exist, else `~/.kube/config`, else the service
//! account of the pod we run in. A kubeconfig from a Secret has its own rules (`inline.rs`).

use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use ::kube::client::{ConfigExt, RustlsTlsError};
use ::kube::config::{
    AuthInfo, Cluster, Config, Context, ExecAuthCluster, KubeConfigOptions, KubeconfigError,
};
use http::header::USER_AGENT;
use http::{HeaderValue, Uri};
use hyper::rt::{Read, Write};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use jiff::Timestamp;
use pem::Pem;
use pivot_core::Object;
use pivot_core::messages::safe_text;
use pivot_core::request::network::Network;
use tower::timeout::Timeout;
use tower::util::MapFuture;
use tower::{BoxError, Service, ServiceBuilder};

use super::caught::{Unsendable, catch_unsendable};
use super::error::ConnectError;
use super::kubeconfig::{self, LoadedKubeconfig};
use super::resolver::{self, Resolver};
use super::split::Split;
use super::transport::{ServerDescription, error_chain};
use super::{KubePlace, certificate, inline, proxy};
use crate::budget::Budget;
use crate::place::KubeContext;

/// Longest label of a place. It is stored with each move that ends, and the author of a kubeconfig chooses it.
const MAX_LABEL: usize = 500;
/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time until requests can be sent on a new connection, with the proxy's answer and the TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);
/// An HTTP/2 connection with open requests is probed after being idle for this long, and closed if no answer comes in the same time:
/// earlier than a run loses its lease.
const PROBE_INTERVAL: Duration = Duration::from_secs(3);
/// A connection is probed after being idle for this long, so that a watch notices a server that vanished.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Bytes of one HTTP/2 answer that a server may send before they are read. A list of 500 objects takes three round trips.
const STREAM_WINDOW: u32 = 1 << 20;
/// Bytes that a server may send on a connection before they are read. Enough for many answers that are not read for a while, so
/// that they don't hold other requests up.
const CONNECTION_WINDOW: u32 = 64 << 20;

/// The TLS library's word for a certificate of X.509 version 1.
const OLD_CERTIFICATE: &str = "UnsupportedCertVersion";

/// The cluster to connect to, and the user. Fields that aren't set are taken from the kubeconfig.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// The kubeconfig file.
    pub kubeconfig: Option<PathBuf>,
    /// The context.
    pub context: Option<String>,
    /// The cluster, instead of the context's.
    pub cluster: Option<String>,
    /// The user, instead of the context's.
    pub user: Option<String>,
    /// The user to act as.
    pub impersonate: Option<String>,
    /// The groups to act as a member of.
    pub impersonate_groups: Vec<String>,
    /// The name of the place; by default the context and the server.
    pub label: Option<String>,
    /// Bounds what is held of its answers.
    pub budget: Option<Budget>,
    /// Set if the author of the kubeconfig must not choose connections from here: the server may have a special address
    /// ([`pivot_core::request::network`]) only in one of these networks, and errors don't tell why there is no connection.
    pub foreign: Option<Vec<Network>>,
}

impl KubePlace {
    /// Finds the server and the credentials, and checks what can be checked without a request.
    pub async fn connect(mut options: ConnectOptions) -> Result<Self, ConnectError> {
        let kubeconfig = options.kubeconfig.take();
        Self::connect_with(options, || kubeconfig::load_kubeconfig(kubeconfig)).await
    }

    /// Connects by the kubeconfig in an entry of a Secret's data. Only a kubeconfig that contains all that it needs is accepted:
    /// no file, no program, no other user, no proxy, and a server whose certificate is checked.
    pub async fn connect_by_secret(
        secret: Object,
        entry: &str,
        options: ConnectOptions,
    ) -> Result<Self, ConnectError> {
        let entry = entry.to_owned();
        Self::connect_with(options, move || inline::load_from_secret(&secret, &entry).map(Some)).await
    }

    async fn connect_with(
        options: ConnectOptions,
        load: impl FnOnce() -> Result<Option<LoadedKubeconfig>, ConnectError> + Send + 'static,
    ) -> Result<Self, ConnectError> {
        let ConnectOptions {
            kubeconfig: _,
            context,
            cluster,
            user,
            impersonate,
            impersonate_groups,
            label,
            budget,
            foreign,
        } = options;
        let chosen = KubeConfigOptions { context, cluster, user };
        // This reads files, including those that the kubeconfig names: not on a thread that other tasks need.
        let (path, file, context, mut config, end) = tokio::task::spawn_blocking(move || {
            let (path, (file, context, config)) = match load()? {
                Some(loaded) => (loaded.path.clone(), resolve_context(loaded, chosen)?),
                None => (None, pod_config()?),
            };
            let end = certificate::expiry_time(&config.auth_info);
            Ok((path, file, context, config, end))
        })
        .await
        .unwrap_or_else(|_| Err(panic_error()))?;
        let broken = |reason, source| {
            let (file, context) = (file.clone(), context.clone());
            ConnectError::Context { file, context, reason, source }
        };

        if let Some(why) =
            foreign.as_deref().and_then(|named| resolver::refusal_reason(&config.cluster_url, named))
        {
            return Err(broken(why, None));
        }
        if let Some(end) = end.filter(|end| *end < Timestamp::now()) {
            return Err(ConnectError::Expired { file, context, end });
        }
        if impersonate.is_some() {
            config.auth_info.impersonate = impersonate;
        }
        if !impersonate_groups.is_empty() {
            config.auth_info.impersonate_groups = Some(impersonate_groups);
        }
        // The engine decides whether and how often to retry.
        config.default_retry = false;
        let agent = HeaderValue::from_static(concat!("pivot-host/", env!("CARGO_PKG_VERSION")));
        config.headers.push((USER_AGENT, agent));

        let label = label.unwrap_or_else(|| format!("{context} ({})", config.cluster_url));
        let label = safe_text::to_line(&label, MAX_LABEL);
        let named_in = format!("kubeconfig {file}, context {context:?}");
        let server = format!("{} of {named_in}", config.cluster_url);
        let credentials = match end {
            Some(end) => format!("{named_in}; the client certificate expires at {end}"),
            None => named_in.clone(),
        };
        // A credential plugin runs here, and may ask the user to log in: not on a thread that other tasks need.
        let (is_foreign, resolver) = (foreign.is_some(), Resolver::new(foreign));
        let client = tokio::task::spawn_blocking(move || catch_unsendable(|| build_client(config, resolver)))
            .await
            // The error's own text quotes the panic, which may quote the configuration.
            .map_err(|_| broken("the task that makes the client panicked".to_owned(), None))?
            .map_err(|Unsendable| {
                let reason = "the token that its credential plugin printed has characters that can't be sent";
                broken(reason.to_owned(), None)
            })?
            .map_err(|error| match error {
                // The error may contain output of a credential plugin.
                ::kube::Error::Auth(_) => broken(error_chain(&error), None),
                _ if error_chain(&error).contains(OLD_CERTIFICATE) => broken(
                    "its client certificate has X.509 version 1, and only version 3 is accepted: sign it again with an extension \
                     (openssl x509 -req … -extfile FILE, where FILE says basicConstraints = CA:FALSE)"
                        .to_owned(),
                    None,
                ),
                _ => broken(error_chain(&error), Some(error.into())),
            })?;
        let described = ServerDescription { credentials, server, is_foreign };
        let place = Self::new(client, label, named_in, described, budget);
        Ok(Self { context: path.map(|kubeconfig| KubeContext { kubeconfig, name: context }), ..place })
    }
}

/// Returns an error without the panic's text, which may quote the configuration.
fn panic_error() -> ConnectError {
    let reason = "the task that reads it panicked".to_owned();
    ConnectError::Kubeconfig { file: "of this command".to_owned(), reason, source: None }
}

/// Returns the configuration of the chosen context.
fn resolve_context(
    LoadedKubeconfig { file, path: _, kubeconfig }: LoadedKubeconfig,
    chosen: KubeConfigOptions,
) -> Result<(String, String, Config), ConnectError> {
    let contexts: Vec<String> = kubeconfig.contexts.iter().map(|named| named.name.clone()).collect();
    let clusters: Vec<String> = kubeconfig.clusters.iter().map(|named| named.name.clone()).collect();
    let users: Vec<String> = kubeconfig.auth_infos.iter().map(|named| named.name.clone()).collect();
    let current = kubeconfig.current_context.clone().filter(|name| !name.is_empty());
    let Some(context) = chosen.context.clone().or(current) else {
        return Err(ConnectError::NoContext { file, known: contexts });
    };
    let wanted = [
        ("context", Some(&context), contexts),
        ("cluster", chosen.cluster.as_ref(), clusters),
        ("user", chosen.user.as_ref(), users.clone()),
    ];
    for (what, name, known) in wanted {
        if let Some(name) = name.filter(|name| !known.contains(name)) {
            return Err(ConnectError::Unknown { file, what, name: name.clone(), known });
        }
    }
    let found = kubeconfig
        .contexts
        .iter()
        .find(|named| named.name == context)
        .and_then(|named| named.context.as_ref());
    let user = found.and_then(|found| found.user.clone()).filter(|user| !user.is_empty());
    if chosen.user.is_none() && !user.as_ref().is_some_and(|user| users.contains(user)) {
        return Err(ConnectError::NoUser { file, context, user, known: users });
    }
    let named = found.map(|found| chosen.cluster.clone().unwrap_or_else(|| found.cluster.clone()));
    let cluster = kubeconfig
        .clusters
        .iter()
        .find(|there| Some(&there.name) == named.as_ref())
        .and_then(|named| named.cluster.as_ref());
    let user = chosen.user.as_ref().or(user.as_ref());
    let user = kubeconfig
        .auth_infos
        .iter()
        .find(|named| Some(&named.name) == user)
        .and_then(|named| named.auth_info.as_ref());
    if let Some((named, error)) = kubeconfig::find_unreadable_file(cluster, user) {
        let reason = format!("{named}: {error}");
        return Err(ConnectError::Context { file, context, reason, source: Some(error.into()) });
    }
    let config = match (found, cluster) {
        (None, _) => Err(KubeconfigError::LoadContext(context.clone())),
        (_, None) => Err(KubeconfigError::LoadClusterOfContext(named.unwrap_or_default())),
        (Some(found), Some(cluster)) => build_config(found, cluster, user),
    };
    match config.map(|config| (kubeconfig::odd_config(&config), config)) {
        Ok((None, config)) => Ok((file, context, config)),
        Ok((Some(reason), _)) => Err(ConnectError::Context { file, context, reason, source: None }),
        Err(error) => {
            let reason = error_chain(&error);
            Err(ConnectError::Context { file, context, reason, source: Some(error.into()) })
        }
    }
}

/// Returns the configuration of a context. kube's own loader isn't used, because it chooses the proxy, too.
fn build_config(
    context: &Context,
    cluster: &Cluster,
    user: Option<&AuthInfo>,
) -> Result<Config, KubeconfigError> {
    let server = cluster.server.as_ref().ok_or(KubeconfigError::MissingClusterUrl)?;
    let mut config = Config::new(server.parse().map_err(KubeconfigError::ParseClusterUrl)?);
    // Reads the certificate authority, from the kubeconfig or from its file.
    let described = ExecAuthCluster::try_from(cluster)?;
    config.root_cert = described.certificate_authority_data.as_deref().map(parse_certificates).transpose()?;
    config.auth_info = user.cloned().unwrap_or_default();
    if let Some(exec) = config.auth_info.exec.as_mut().filter(|exec| exec.provide_cluster_info) {
        exec.cluster = Some(described);
    }
    if let Some(namespace) = &context.namespace {
        config.default_namespace.clone_from(namespace);
    }
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.disable_compression = cluster.disable_compression.unwrap_or(false);
    config.tls_server_name.clone_from(&cluster.tls_server_name);
    config.proxy_url = proxy::choose_proxy(&config.cluster_url, cluster.proxy_url.as_deref(), |name| {
        std::env::var(name).ok()
    })
    .map_err(KubeconfigError::ParseProxyUrl)?;
    Ok(config)
}

/// Returns the certificates in a PEM file, without other parts.
fn parse_certificates(authority: &[u8]) -> Result<Vec<Vec<u8>>, KubeconfigError> {
    let parts = pem::parse_many(authority).map_err(KubeconfigError::ParseCertificates)?;
    Ok(parts.into_iter().filter(|part| part.tag() == "CERTIFICATE").map(Pem::into_contents).collect())
}

fn pod_config() -> Result<(String, String, Config), ConnectError> {
    let (file, context) = ("of the pod".to_owned(), "service account".to_owned());
    match Config::incluster() {
        Ok(config) => Ok((file, context, config)),
        Err(error) => {
            let reason = error_chain(&error);
            Err(ConnectError::Kubeconfig { file, reason, source: Some(error.into()) })
        }
    }
}

/// Returns a client. Over TLS it offers HTTP/2, as kubectl does, and requests share a connection, except watches and leases; otherwise
/// every connection is kept open, so that parallel requests don't dial again.
fn build_client(config: Config, resolver: Resolver) -> Result<::kube::Client, ::kube::Error> {
    // The operator of pivot-host chose the proxy, which looks up the server's address itself.
    let resolver = if config.proxy_url.is_some() { Resolver::new(None) } else { resolver };
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_keepalive(Some(KEEPALIVE_INTERVAL));
    tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(3));
    // kube's own connector leaves Nagle's algorithm enabled, which delays the tail of a body by up to 40 ms.
    tcp.set_nodelay(true);
    let Some(proxy) = config.proxy_url.clone() else { return build_client_with_connector(&config, tcp) };
    match proxy.scheme_str() {
        Some("socks5") => build_client_with_connector(&config, SocksV5::new(proxy, tcp)),
        Some("https") => {
            let tls = config.rustls_https_connector_with_connector(tcp)?;
            build_client_with_connector(&config, proxy_tunnel(&proxy, tls))
        }
        _ => build_client_with_connector(&config, proxy_tunnel(&proxy, tcp)),
    }
}

/// Returns a connector that asks a proxy for a tunnel, with the credentials in the proxy's URL.
fn proxy_tunnel<C>(proxy: &Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    let described = Matcher::builder().all(proxy.to_string()).build().intercept(proxy);
    match described.as_ref().and_then(Intercept::basic_auth) {
        Some(credentials) => tunnel.with_auth(credentials.clone()),
        None => tunnel,
    }
}

/// Puts a future on the heap, where it may be moved.
type Boxed<F> = fn(F) -> Pin<Box<F>>;

fn build_client_with_connector<C>(config: &Config, connector: C) -> Result<::kube::Client, ::kube::Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    let tls = || -> Result<_, ::kube::Error> {
        let tls =
            HttpsConnectorBuilder::new().with_tls_config(config.rustls_client_config()?).https_or_http();
        let Some(name) = &config.tls_server_name else { return Ok(tls) };
        let name = name.clone().try_into().map_err(RustlsTlsError::InvalidServerName);
        let name = FixedServerNameResolver::new(name.map_err(::kube::Error::RustlsTls)?);
        Ok(tls.with_server_name_resolver(name))
    };
    let https =
        |tls: HttpsConnector<C>| MapFuture::new(Timeout::new(tls, HANDSHAKE_TIMEOUT), Box::pin as Boxed<_>);
    let mut http = Client::builder(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(60))
        .pool_max_idle_per_host(usize::MAX)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .http2_keep_alive_interval(PROBE_INTERVAL)
        .http2_keep_alive_timeout(PROBE_INTERVAL);
    let apart = http.build(https(tls()?.enable_http1().wrap_connector(connector.clone())));
    let shared = http.build(https(tls()?.enable_all_versions().wrap_connector(connector)));
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(Split { shared, apart });
    Ok(::kube::Client::new(service, config.default_namespace.clone()))
}
