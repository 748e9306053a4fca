//! Flags that name the source and the target.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Args};
use pivot_core::objects::names::RECORD_NAMESPACE;

/// A source that is a cluster.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source and target")]
pub(crate) struct FromCluster {
    /// Kubeconfig of the source; by default KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Kubeconfig context of the source; by default the current one
    #[arg(long, alias = "context", value_name = "NAME")]
    pub(crate) kubeconfig_context: Option<String>,
    /// Impersonate this user in the source
    #[arg(long = "as", value_name = "USER")]
    pub(crate) as_user: Option<String>,
    /// Impersonate this group in the source; can be repeated
    #[arg(long, value_name = "GROUP", action = ArgAction::Append)]
    pub(crate) as_group: Vec<String>,
    /// Namespace of leases and records of moves, on both sides; a move creates it if it is missing
    #[arg(long, value_name = "NAME", default_value = RECORD_NAMESPACE)]
    pub(crate) record_namespace: String,
}

/// A target that is a cluster.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source and target")]
pub(crate) struct ToCluster {
    /// Kubeconfig of the target
    #[arg(long, value_name = "FILE")]
    pub(crate) to_kubeconfig: Option<PathBuf>,
    /// Kubeconfig context of the target; without --to-kubeconfig, a context of the source's kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) to_kubeconfig_context: Option<String>,
    /// Move into the workload cluster of this Cluster of the source
    ///
    /// NAME, or NAMESPACE/NAME. Its kubeconfig is in the Secret NAME-kubeconfig of the same namespace.
    #[arg(long, value_name = "NAME")]
    pub(crate) to_workload: Option<String>,
    /// Impersonate this user in the target
    #[arg(long, value_name = "USER")]
    pub(crate) to_as: Option<String>,
    /// Impersonate this group in the target; can be repeated
    #[arg(long, value_name = "GROUP", action = ArgAction::Append)]
    pub(crate) to_as_group: Vec<String>,
}

/// A target that is a directory.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source and target")]
pub(crate) struct ToDirectory {
    /// Copy into a directory; the source is unpaused afterwards
    #[arg(long, value_name = "DIR")]
    pub(crate) to_directory: Option<PathBuf>,
    /// Encrypt --to-directory to the age recipients (public keys) in this file, one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) encrypt_to: Option<PathBuf>,
}

/// The two ends of a move. Also what `next:` lines repeat.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source and target")]
pub(crate) struct ConnectionArgs {
    #[command(flatten)]
    pub(crate) from: FromCluster,
    #[command(flatten)]
    pub(crate) to: ToCluster,
    /// Read the source from a directory of manifests
    #[arg(long, value_name = "DIR")]
    pub(crate) from_directory: Option<PathBuf>,
    /// Decrypt --from-directory with the age identities (secret keys) in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) to_files: ToDirectory,
}

/// Describes the directory to commands that continue a move.
pub(super) fn describe_directory(directory: Arg) -> Arg {
    directory.help("Directory that the move copies into")
}

/// Describes the keys of the directory to commands that continue a move.
pub(super) fn describe_keys(keys: Arg) -> Arg {
    keys.help("File of age recipients (public keys) that the move encrypts --to-directory to")
}
