//! What runs until it is stopped: a controller, and an agent that it is called by. The doc comments are the help texts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use pivot_core::objects::names::RECORD_NAMESPACE;
use pivot_core::objects::selector::Part;
use pivot_core::request::network::Network;
use pivot_core::request::selector_syntax;
use pivot_link::check_address;

use super::plugins::PluginArgs;
use super::side::OneSide;
use super::values;

/// A controller of Pivots.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Controlled {
    /// Kubeconfig of the cluster with the Pivots; by default KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Its context; by default the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) kubeconfig_context: Option<String>,
    /// Namespace of the controller's Lease and Secrets
    #[arg(short, long, value_name = "NAME", default_value = CONTROLLER_NAMESPACE)]
    pub(crate) namespace: String,
    /// Name of this controller in the Lease; a controller that restarts under the same name leads at once. Unique by default
    #[arg(long, value_name = "NAME")]
    pub(crate) lease_identity: Option<String>,
    /// Namespace in which leases and records of moves are kept, on both sides
    #[arg(long, value_name = "NAME", default_value = RECORD_NAMESPACE)]
    pub(crate) record_namespace: String,
    /// The most moves at once
    ///
    /// A fifth of them is kept for moves that have begun. As many moves again may wait for a pause, a check or a takeover.
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1_000), help_heading = "Moves")]
    pub(crate) at_once: u16,
    /// The longest wait that a Pivot may ask for
    ///
    /// Limits pauseTimeoutSeconds, checkTimeoutSeconds and takeoverTimeoutSeconds: a move that waits has its source paused, and holds what it
    /// has read.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = longest_wait)]
    pub(crate) longest_wait: Duration,
    /// Also copy these objects with every move out of the cluster, and keep them
    ///
    /// KIND.group, KIND.group/NS/NAME, KIND.group:LABEL=VALUE or KIND.group/NS/*:LABEL=VALUE; can be repeated. A Pivot can do this for
    /// objects in its namespace. Use this flag for others that each cluster needs: credentials, classes and policies.
    #[arg(long, value_name = "PART", value_parser = selector_syntax::parse_part, help_heading = "Moves")]
    pub(crate) also_copy: Vec<Part>,
    /// Allow kubeconfigs in Secrets to use this network of special addresses (127.0.0.0/8); can be repeated
    ///
    /// By default, they can't use loopback and link-local addresses or a cloud's metadata service.
    #[arg(long, value_name = "NETWORK", help_heading = "Moves")]
    pub(crate) allow_special_network: Vec<Network>,
    /// Serve /metrics, /healthz and /readyz here (127.0.0.1:8080)
    #[arg(long, value_name = "ADDRESS", help_heading = "Endpoints")]
    pub(crate) listen: Option<SocketAddr>,
    /// Serve the same here, for probes alone (127.0.0.1:8081)
    #[arg(long, value_name = "ADDRESS", help_heading = "Endpoints")]
    pub(crate) health: Option<SocketAddr>,
    /// Accept agents at this address (0.0.0.0:8443)
    #[arg(long, value_name = "ADDRESS", requires = "agents_known", help_heading = "Agents")]
    pub(crate) agents: Option<SocketAddr>,
    /// Host name under which invited agents reach this controller; can be repeated
    #[arg(long, value_name = "HOST", requires = "agents", group = "agents_known", help_heading = "Agents")]
    pub(crate) agents_host: Vec<String>,
    /// Accept agents with certificates of another authority: a directory with tls.crt, tls.key and ca.crt
    #[arg(long, value_name = "DIR", requires = "agents", group = "agents_known", help_heading = "Agents")]
    pub(crate) agents_tls: Option<PathBuf>,
    /// Create a suspended Pivot in this namespace for each Cluster that an agent of the namespace offers; can be repeated
    #[arg(long, value_name = "NAMESPACE", requires = "agents", help_heading = "Agents")]
    pub(crate) accept_returns: Vec<String>,
    #[command(flatten)]
    pub(crate) with: PluginArgs,
}

/// The namespace that the printed manifests have, unless another is named.
const CONTROLLER_NAMESPACE: &str = "pivot-host-system";

/// Commands about a controller.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ControllerVerb {
    /// Carry out the Pivots of a cluster, in it or from outside, until it is stopped
    Run(Box<Controlled>),
}

/// A controller to install.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(next_help_heading = "Installation")]
pub(crate) struct ControllerManifests {
    /// The image of the controller
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: String,
    /// The namespace to install it in
    #[arg(short, long, value_name = "NAME", default_value = CONTROLLER_NAMESPACE)]
    pub(crate) namespace: String,
    /// Number of replicas; one works at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    pub(crate) replicas: u32,
    #[command(flatten)]
    pub(crate) mounts: MountArgs,
    /// Also print a PodMonitor. The cluster needs Prometheus's operator
    #[arg(long, help_heading = "Installation")]
    pub(crate) pod_monitor: bool,
    /// Host name under which invited agents reach the controller; can be repeated
    #[arg(
        long,
        value_name = "HOST",
        conflicts_with = "agents_secret",
        group = "agents_known",
        help_heading = "Agents"
    )]
    pub(crate) agents_host: Vec<String>,
    /// Accept agents, with the certificate in this Secret of the controller's namespace
    #[arg(long, value_name = "SECRET", group = "agents_known", help_heading = "Agents")]
    pub(crate) agents_secret: Option<String>,
    /// Create a suspended Pivot in this namespace for each Cluster that an agent of the namespace offers; can be repeated
    #[arg(long, value_name = "NAMESPACE", requires = "agents_known", help_heading = "Agents")]
    pub(crate) accept_returns: Vec<String>,
    /// Also copy these objects with every move out of the cluster; can be repeated
    #[arg(long, value_name = "PART", value_parser = selector_syntax::parse_part, help_heading = "Moves")]
    pub(crate) also_copy: Vec<Part>,
}

/// Files that pods read from the cluster instead of their image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Installation")]
pub(crate) struct MountArgs {
    /// Mount this PersistentVolumeClaim over the plugins of the image: a directory with plugins.toml and plugins.lock, on a volume that several nodes can mount
    #[arg(long, value_name = "CLAIM")]
    pub(crate) plugins_claim: Option<String>,
    /// Mount this ConfigMap as /etc/pivot-host: trust.toml and the keys that it names. Without it, no pod starts
    #[arg(long, value_name = "CONFIGMAP")]
    pub(crate) trust_config_map: Option<String>,
}

/// An agent.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Answering {
    /// Kubeconfig of the cluster that the agent is for; by default KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Its context; by default the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) kubeconfig_context: Option<String>,
    /// The Secret of this cluster that `agent invite` printed; the agent keeps its key and certificate in it
    #[arg(
        long,
        value_name = "NAMESPACE/NAME",
        value_parser = secret,
        required_unless_present = "tls",
        conflicts_with = "tls",
        help_heading = "Controller"
    )]
    pub(crate) credentials: Option<SecretName>,
    /// Certificate of the agent by another authority: a directory with tls.crt, tls.key and ca.crt
    #[arg(long, value_name = "DIR", help_heading = "Controller")]
    pub(crate) tls: Option<PathBuf>,
    /// Namespace in which leases and records of moves are kept, on both sides
    #[arg(long, value_name = "NAME", default_value = RECORD_NAMESPACE)]
    pub(crate) record_namespace: String,
    /// Serve /healthz and /readyz here, for probes (127.0.0.1:8081). The agent is ready while it is linked
    #[arg(long, value_name = "ADDRESS", help_heading = "Endpoints")]
    pub(crate) health: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) called: AgentCallArgs,
}

/// A Secret of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SecretName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

fn secret(text: &str) -> Result<SecretName, String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(SecretName { namespace: namespace.to_owned(), name: name.to_owned() })
        }
        _ => Err("a namespace, a slash and a name are needed".to_owned()),
    }
}

/// Whom an agent calls, and what it may be asked there.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(next_help_heading = "Controller")]
pub(crate) struct AgentCallArgs {
    /// The controller's address for agents
    #[arg(long, value_name = "HOST:PORT", required = true, value_parser = parse_address)]
    pub(crate) call: Option<String>,
    /// Namespace in which the controller may write objects and read Secrets; can be repeated
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "allow_all_namespaces",
        conflicts_with = "allow_all_namespaces",
        help_heading = "Permissions"
    )]
    pub(crate) allow_namespace: Vec<String>,
    /// Allow all namespaces
    #[arg(long, help_heading = "Permissions")]
    pub(crate) allow_all_namespaces: bool,
    /// target: objects move into this cluster, and only those are changed. source: objects move out of it
    #[arg(long, value_enum, value_name = "ROLE", default_value = "target", help_heading = "Permissions")]
    pub(crate) role: OneSide,
    /// Keep answering after a move into this cluster has ended. A source always does
    #[arg(long, help_heading = "Moves")]
    pub(crate) keep_answering: bool,
    /// Let a Cluster move back to the controller's cluster once it has the annotation pivot-host.io/return=requested, which users of
    /// this cluster set
    #[arg(long, help_heading = "Moves")]
    pub(crate) allow_return: bool,
    /// If the controller is unreachable for this long, finish a committed move without it. The Pivot must set whenAway: Finish, and the
    /// agent must have the same plugins
    #[arg(long, value_name = "DURATION", value_parser = without_link, help_heading = "Moves")]
    pub(crate) finish_alone_after: Option<Duration>,
    #[command(flatten)]
    pub(crate) with: PluginArgs,
}

fn parse_address(text: &str) -> Result<String, String> {
    check_address(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

fn longest_wait(text: &str) -> Result<Duration, String> {
    values::timeout("--longest-wait", text).map_err(|error| error.0)
}

fn without_link(text: &str) -> Result<Duration, String> {
    let after = values::duration("--finish-alone-after", text).map_err(|error| error.0)?;
    match after.as_secs() {
        0 => Err("it would finish alone whenever it calls again: give it some minutes".to_owned()),
        _ => Ok(after),
    }
}

/// The cluster of the controller that an agent calls.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(next_help_heading = "Controller")]
pub(crate) struct OfController {
    /// Kubeconfig of the controller's cluster; by default KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Its context; by default the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) kubeconfig_context: Option<String>,
    /// The controller's own namespace
    #[arg(long, value_name = "NAME", default_value = CONTROLLER_NAMESPACE)]
    pub(crate) controller_namespace: String,
    /// The namespace of the Pivots that may use the agent
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: String,
}

/// Commands about an agent.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum AgentVerb {
    /// Call a controller in another cluster and answer its requests, until stopped
    Run(Box<Answering>),
    /// Let an agent enrol, once, within 24 hours; prints what to install in its cluster, with a token that is shown nowhere else
    Invite(AgentInvitation),
    /// End the link of an invited agent, and refuse its calls
    Remove {
        /// Name of the agent
        name: String,
        #[command(flatten)]
        of: OfController,
    },
}

/// An agent to invite.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct AgentInvitation {
    /// Name of the agent, as Pivots use it
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) of: OfController,
    /// The image of the agent
    #[arg(long, value_name = "IMAGE", help_heading = "Installation")]
    pub(crate) image: String,
    /// The namespace to install it in, in its own cluster
    #[arg(long, value_name = "NAME", default_value = CONTROLLER_NAMESPACE, help_heading = "Installation")]
    pub(crate) install_namespace: String,
    #[command(flatten)]
    pub(crate) called: AgentCallArgs,
}

/// An agent to install, with a certificate of another authority.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(next_help_heading = "Installation")]
pub(crate) struct AgentManifests {
    /// The image of the agent
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: String,
    /// The namespace to install it in
    #[arg(short, long, value_name = "NAME", default_value = CONTROLLER_NAMESPACE)]
    pub(crate) namespace: String,
    /// The Secret of that namespace that has its certificate
    #[arg(long, value_name = "SECRET", default_value = "pivot-host-agent-tls")]
    pub(crate) secret: String,
    /// Instead of a certificate, use the Secret of that namespace that `agent invite` printed, and leave it out
    #[arg(long, value_name = "SECRET", conflicts_with = "secret")]
    pub(crate) invitation: Option<String>,
    #[command(flatten)]
    pub(crate) mounts: MountArgs,
    #[command(flatten)]
    pub(crate) called: AgentCallArgs,
}
