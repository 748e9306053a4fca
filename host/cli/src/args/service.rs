//! What runs until it is stopped: a controller, and an agent that it is called by. The doc comments are the help texts.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::plugins::With;

/// A controller of Pivots.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct Controlled {
    /// Kubeconfig of the cluster that the Pivots live in; by default KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Its context; by default the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) kubeconfig_context: Option<String>,
    /// The controller's own namespace, for its Lease and for what it keeps of moves under way
    #[arg(short, long, value_name = "NAME", default_value = CONTROLLER_NAMESPACE)]
    pub(crate) namespace: String,
    /// Namespace in which leases and records of moves are kept, on both sides
    #[arg(long, value_name = "NAME", default_value = "kube-system")]
    pub(crate) record_namespace: String,
    /// The most moves at once
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) at_once: u16,
    /// Serve /metrics, /healthz and /readyz at this address, for example 127.0.0.1:8080
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// Take the calls of agents at this address, for example 0.0.0.0:8443
    #[arg(long, value_name = "ADDRESS", requires = "agents_tls")]
    pub(crate) agents: Option<SocketAddr>,
    /// Who the controller is to agents, and whose agents it takes: a directory with tls.crt, tls.key and ca.crt
    #[arg(long, value_name = "DIR", requires = "agents")]
    pub(crate) agents_tls: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) with: With,
    #[command(subcommand)]
    pub(crate) verb: Option<ControllerVerb>,
}

/// The namespace that the printed manifests have, unless another is named.
const CONTROLLER_NAMESPACE: &str = "pivot-host-system";

/// What can be done about a controller.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum ControllerVerb {
    /// Print what to install in a cluster: the definition of Pivots, the controller and its roles; needs no cluster
    Manifests {
        /// The image of the controller
        #[arg(long, value_name = "IMAGE")]
        image: String,
        /// The namespace to install it in
        #[arg(short, long, value_name = "NAME", default_value = CONTROLLER_NAMESPACE)]
        namespace: String,
        /// How many of it; one works at a time
        #[arg(long, value_name = "NUMBER", default_value_t = 2)]
        replicas: u32,
        /// Let it take the calls of agents, with the certificate in this Secret of its namespace
        #[arg(long, value_name = "SECRET")]
        agents_secret: Option<String>,
    },
}

/// An agent.
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct Answering {
    #[command(flatten)]
    pub(crate) called: Called,
    /// Kubeconfig of the cluster that the agent is for; by default KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Its context; by default the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) kubeconfig_context: Option<String>,
    /// Who the agent is, and whose controllers it answers: a directory with tls.crt, tls.key and ca.crt
    #[arg(long, value_name = "DIR", required = true)]
    pub(crate) tls: Option<PathBuf>,
    /// Namespace in which leases and records of moves are kept, on both sides
    #[arg(long, value_name = "NAME", default_value = "kube-system")]
    pub(crate) record_namespace: String,
    #[command(subcommand)]
    pub(crate) verb: Option<AgentVerb>,
}

/// Whom an agent calls, and what it may be asked there.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct Called {
    /// The controller's address for agents
    #[arg(long, value_name = "HOST:PORT", required = true)]
    pub(crate) call: Option<String>,
    /// A namespace whose objects a controller may write, and whose Secrets it may read; several times for several
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "allow_all_namespaces",
        conflicts_with = "allow_all_namespaces"
    )]
    pub(crate) allow_namespace: Vec<String>,
    /// The same for all of them
    #[arg(long)]
    pub(crate) allow_all_namespaces: bool,
    /// Go on answering once a move into this cluster has ended: for another move, or for taking the cluster back
    #[arg(long)]
    pub(crate) keep_answering: bool,
}

/// What can be done about an agent.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum AgentVerb {
    /// Print what to install in a cluster for an agent; needs no cluster. Its roles are printed by `rbac`
    Manifests {
        /// The image of the agent
        #[arg(long, value_name = "IMAGE")]
        image: String,
        /// The namespace to install it in
        #[arg(short, long, value_name = "NAME", default_value = CONTROLLER_NAMESPACE)]
        namespace: String,
        /// The Secret of that namespace that has its certificate
        #[arg(long, value_name = "SECRET", default_value = "pivot-host-agent-tls")]
        secret: String,
        #[command(flatten)]
        called: Called,
    },
}
