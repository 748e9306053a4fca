//! From a kubeconfig to connections.
//!
//! The rules are kubectl's: an explicit file, else the files of `KUBECONFIG` that exist, else
//! `~/.kube/config`, else the service account of the pod we run in.

use std::path::PathBuf;
use std::time::Duration;

use ::kube::client::{Body, ClientBuilder, ConfigExt};
use ::kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};
use http::HeaderValue;
use http::header::USER_AGENT;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use jiff::Timestamp;
use tower::{BoxError, ServiceBuilder};

use super::{KubePlace, certificate, transport::chain};

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// After this silence a connection is probed, so that a watch notices a server that vanished.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Which cluster, as whom. What is not given is taken from the kubeconfig.
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
    /// What the place is called; by default the context and the server.
    pub label: Option<String>,
}

/// Why there is no connection to try. Carries no credentials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The file is not there or can't be read.
    #[error("kubeconfig {file}: {reason}")]
    Kubeconfig {
        /// Which file.
        file: String,
        /// What is wrong with it.
        reason: String,
        /// What said so; none where its words may quote credentials.
        source: Option<BoxError>,
    },
    /// No file was named and none was found.
    #[error("no kubeconfig: {looked} is not there")]
    Missing {
        /// Where it was looked for.
        looked: String,
    },
    /// No context was named and the file names none.
    #[error("kubeconfig {file} has no current context; there are: {}", listed(.known))]
    NoContext {
        /// Which file.
        file: String,
        /// The contexts there are.
        known: Vec<String>,
    },
    /// The file has no such entry.
    #[error("kubeconfig {file} has no {what} {name:?}; there are: {}", listed(.known))]
    Unknown {
        /// Which file.
        file: String,
        /// `context`, `cluster` or `user`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The context says nothing of who we are, or names a user that isn't there. Going on would be going on as nobody.
    #[error("kubeconfig {file}, context {context:?}: {}; there are: {}", nobody(.user), listed(.known))]
    NoUser {
        /// Which file.
        file: String,
        /// Which context.
        context: String,
        /// The user that it names.
        user: Option<String>,
        /// The users there are.
        known: Vec<String>,
    },
    /// The certificate that says who we are is no longer valid.
    #[error("kubeconfig {file}, context {context:?}: the client certificate expired at {end}")]
    Expired {
        /// Which file.
        file: String,
        /// Which context.
        context: String,
        /// When.
        end: Timestamp,
    },
    /// Something else is wrong with the context.
    #[error("kubeconfig {file}, context {context:?}: {reason}")]
    Context {
        /// Which file.
        file: String,
        /// Which context.
        context: String,
        /// What is wrong with it.
        reason: String,
        /// What said so; none where its words may quote credentials.
        source: Option<BoxError>,
    },
}

fn listed(known: &[String]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}

fn nobody(user: &Option<String>) -> String {
    user.as_ref()
        .map_or_else(|| "it names no user".to_owned(), |user| format!("its user {user:?} is not there"))
}

/// What was read, and from where.
struct Loaded {
    file: String,
    kubeconfig: Kubeconfig,
}

impl KubePlace {
    /// Finds the server and the credentials, and checks what can be checked without asking the server.
    pub async fn connect(options: ConnectOptions) -> Result<Self, ConnectError> {
        let ConnectOptions { kubeconfig, context, cluster, user, impersonate, impersonate_groups, label } =
            options;
        let chosen = KubeConfigOptions { context, cluster, user };
        let (file, context, mut config) = match load(kubeconfig)? {
            Some(loaded) => resolve(loaded, chosen).await?,
            None => in_cluster()?,
        };
        let broken = |reason, source| {
            let (file, context) = (file.clone(), context.clone());
            ConnectError::Context { file, context, reason, source }
        };

        let end = certificate::end(&config.auth_info);
        if let Some(end) = end.filter(|end| *end < Timestamp::now()) {
            return Err(ConnectError::Expired { file, context, end });
        }
        if impersonate.is_some() {
            config.auth_info.impersonate = impersonate;
        }
        if !impersonate_groups.is_empty() {
            config.auth_info.impersonate_groups = Some(impersonate_groups);
        }
        // Whether to try again, and how often, is the engine's business.
        config.default_retry = false;
        let agent = HeaderValue::from_static(concat!("pivot-host/", env!("CARGO_PKG_VERSION")));
        config.headers.push((USER_AGENT, agent));

        let label = label.unwrap_or_else(|| format!("{context} ({})", config.cluster_url));
        let named_in = format!("kubeconfig {file}, context {context:?}");
        let credentials = match end {
            Some(end) => format!("{named_in}; the client certificate ends at {end}"),
            None => named_in.clone(),
        };
        // A credential plugin runs here, and may ask the user to log in: not on a thread that others wait for.
        let client = tokio::task::spawn_blocking(move || client(config))
            .await
            // The error's own words quote a panic, which may quote the configuration.
            .map_err(|_| broken("the task that makes the client panicked".to_owned(), None))?
            .map_err(|error| match error {
                // It may hold what a credential plugin printed.
                ::kube::Error::Auth(_) => broken(chain(&error), None),
                _ => broken(chain(&error), Some(error.into())),
            })?;
        Ok(Self::new(client, label, named_in, credentials))
    }
}

/// The kubeconfig by the usual rules; none where there is none but a pod's service account is.
fn load(explicit: Option<PathBuf>) -> Result<Option<Loaded>, ConnectError> {
    if let Some(path) = explicit.filter(|path| !path.as_os_str().is_empty()) {
        return read(&[path]).map(Some);
    }
    let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let mut paths: Vec<PathBuf> =
        std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect();
    if paths.is_empty() {
        paths.extend(std::env::home_dir().map(|home| home.join(".kube").join("config")));
    }
    // As kubectl does: files of the list that are not there (yet) are no error.
    let (there, missing): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.exists());
    if !there.is_empty() {
        return read(&there).map(Some);
    }
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return Ok(None);
    }
    Err(ConnectError::Missing { looked: names(&missing) })
}

fn read(paths: &[PathBuf]) -> Result<Loaded, ConnectError> {
    let mut kubeconfig = Kubeconfig::default();
    for path in paths {
        kubeconfig =
            Kubeconfig::read_from(path).and_then(|next| kubeconfig.merge(next)).map_err(|error| {
                let (reason, source): (_, Option<BoxError>) = match error {
                    KubeconfigError::ReadConfig(error, _) => (error.to_string(), Some(error.into())),
                    // The parser's own words quote lines of the file, keys and tokens included.
                    KubeconfigError::Parse(error) => match error.location() {
                        Some(at) => {
                            let (line, column) = (at.line(), at.column());
                            (format!("not readable as YAML at line {line}, column {column}"), None)
                        }
                        None => ("not readable as YAML".to_owned(), None),
                    },
                    other => (other.to_string(), Some(other.into())),
                };
                ConnectError::Kubeconfig { file: path.display().to_string(), reason, source }
            })?;
    }
    Ok(Loaded { file: names(paths), kubeconfig })
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The configuration of the chosen context.
async fn resolve(
    Loaded { file, kubeconfig }: Loaded,
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
    let cluster = found.map(|found| chosen.cluster.clone().unwrap_or_else(|| found.cluster.clone()));
    let own_proxy = kubeconfig
        .clusters
        .iter()
        .find(|named| Some(&named.name) == cluster.as_ref())
        .and_then(|named| named.cluster.as_ref()?.proxy_url.as_ref())
        .is_some_and(|url| !url.is_empty());
    match Config::from_custom_kubeconfig(kubeconfig, &chosen).await {
        Ok(mut config) => {
            // kube takes HTTPS_PROXY for every server; others leave out loopback addresses and NO_PROXY.
            if !own_proxy && !proxied(&config.cluster_url) {
                config.proxy_url = None;
            }
            Ok((file, context, config))
        }
        Err(error) => {
            let reason = chain(&error);
            Err(ConnectError::Context { file, context, reason, source: Some(error.into()) })
        }
    }
}

/// Whether the environment's proxy is meant for this server.
fn proxied(server: &http::Uri) -> bool {
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    let near = host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    !near && Matcher::from_env().intercept(server).is_some()
}

fn in_cluster() -> Result<(String, String, Config), ConnectError> {
    let (file, context) = ("of the pod".to_owned(), "service account".to_owned());
    match Config::incluster() {
        Ok(config) => Ok((file, context, config)),
        Err(error) => {
            let reason = chain(&error);
            Err(ConnectError::Kubeconfig { file, reason, source: Some(error.into()) })
        }
    }
}

/// A client that keeps every connection it opened, so that parallel requests don't dial again.
fn client(config: Config) -> Result<::kube::Client, ::kube::Error> {
    if config.proxy_url.is_some() {
        return Ok(ClientBuilder::try_from(config)?.build());
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT));
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE));
    tcp.set_keepalive_retries(Some(3));
    // kube's own connector leaves Nagle's algorithm on, which holds the tail of a body back for up to 40 ms.
    tcp.set_nodelay(true);
    let https = config.rustls_https_connector_with_connector(tcp)?;
    let http: Client<_, Body> = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(60))
        .pool_max_idle_per_host(usize::MAX)
        .build(https);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(::kube::Client::new(service, config.default_namespace))
}
