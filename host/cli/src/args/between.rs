//! The two ends of a move: which flags name them, and which of those exclude each other.

use pivot_core::Side;
use std::path::{Path, PathBuf};

use pivot_places::ConnectOptions;

use super::flags::{ConnectionArgs, FromCluster, ToCluster, ToDirectory};
use super::usage::{Result, usage};
use super::workload::Workload;

/// The two ends of a move.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    pub(crate) source: SourceEnd,
    pub(crate) target: TargetEnd,
}

impl Ends {
    /// Whether one of them is a directory: nothing in the source is deleted.
    pub(crate) fn of_files(&self) -> bool {
        matches!(self.source, SourceEnd::Directory(_)) || matches!(self.target, TargetEnd::Directory(_))
    }
}

/// A directory as an end.
#[derive(Clone, Debug)]
pub(crate) struct DirectoryEnd {
    pub(crate) path: PathBuf,
    /// The file of keys, if it is encrypted: of identities in order to read it, of recipients in order to write it.
    pub(crate) keys: Option<PathBuf>,
}

/// Where the objects are.
#[derive(Clone, Debug)]
pub(crate) enum SourceEnd {
    Kube(ConnectOptions),
    Directory(DirectoryEnd),
    /// The source can't be reached any more.
    Gone,
}

/// Where the objects go.
#[derive(Clone, Debug)]
pub(crate) enum TargetEnd {
    Kube(ConnectOptions),
    Directory(DirectoryEnd),
    /// The source has its kubeconfig.
    Workload(Workload),
    /// No target given; a source is enough for commands that only look.
    None,
    /// The target can't be reached any more.
    Gone,
}

const GROUP_WITHOUT_USER: &str = "--as-group needs --as, and --to-as-group needs --to-as";

/// Resolves the end that is read from its flags.
pub(super) fn source_end(connection: &ConnectionArgs, gone: Option<Side>) -> Result<SourceEnd> {
    let ConnectionArgs { from, from_directory, identity, .. } = connection;
    let FromCluster { kubeconfig, kubeconfig_context, as_user, as_group, record_namespace: _ } = from;
    let from_kube =
        kubeconfig.is_some() || kubeconfig_context.is_some() || as_user.is_some() || !as_group.is_empty();
    if !as_group.is_empty() && as_user.is_none() {
        return usage(GROUP_WITHOUT_USER);
    }
    if identity.is_some() && from_directory.is_none() {
        return usage("--identity opens a directory, so it needs --from-directory");
    }
    match from_directory {
        Some(_) if from_kube => usage(
            "--from-directory excludes --kubeconfig, --kubeconfig-context and --as: the source is one or the other",
        ),
        Some(_) if gone == Some(Side::Source) => Ok(SourceEnd::Gone),
        Some(path) => Ok(SourceEnd::Directory(directory(path, identity))),
        None if gone == Some(Side::Source) => Ok(SourceEnd::Gone),
        None => Ok(SourceEnd::Kube(kube(kubeconfig, kubeconfig_context, as_user, as_group))),
    }
}

fn directory(path: &Path, keys: &Option<PathBuf>) -> DirectoryEnd {
    DirectoryEnd { path: path.to_owned(), keys: keys.clone() }
}

fn kube(
    file: &Option<PathBuf>,
    context: &Option<String>,
    user: &Option<String>,
    groups: &[String],
) -> ConnectOptions {
    ConnectOptions {
        kubeconfig: file.clone(),
        context: context.clone(),
        impersonate: user.clone(),
        impersonate_groups: groups.to_vec(),
        ..ConnectOptions::default()
    }
}

/// Resolves both ends from their flags.
pub(super) fn ends(connection: &ConnectionArgs, gone: Option<Side>) -> Result<Ends> {
    let ConnectionArgs { from, to, from_directory: _, identity: _, to_files } = connection;
    let FromCluster { kubeconfig, record_namespace, .. } = from;
    let ToCluster { to_kubeconfig, to_kubeconfig_context, to_workload, to_as, to_as_group } = to;
    let ToDirectory { to_directory, encrypt_to } = to_files;
    if record_namespace.is_empty() {
        return usage("--record-namespace is empty");
    }
    let to_kube = to_kubeconfig.is_some() || to_kubeconfig_context.is_some();
    if !to_as_group.is_empty() && to_as.is_none() {
        return usage(GROUP_WITHOUT_USER);
    }
    let source = source_end(connection, gone)?;
    if encrypt_to.is_some() && to_directory.is_none() {
        return usage("--encrypt-to is for the files of a directory, so it needs --to-directory");
    }
    let by_source = to_workload.as_deref().map(Workload::parse).transpose()?;
    if by_source.is_some() {
        if to_kube || to_directory.is_some() {
            return usage(
                "--to-workload excludes --to-kubeconfig, --to-kubeconfig-context and --to-directory: the target is one of them",
            );
        }
        if !matches!(source, SourceEnd::Kube(_)) {
            return usage(
                "--to-workload reads a kubeconfig from the source cluster, so --from-directory and --without-source need --to-kubeconfig",
            );
        }
    }
    let target = match to_directory {
        _ if gone == Some(Side::Target) => TargetEnd::Gone,
        Some(_) if to_kube || to_as.is_some() => {
            return usage(
                "--to-directory excludes --to-kubeconfig, --to-kubeconfig-context and --to-as: the target is one or the other",
            );
        }
        Some(path) => TargetEnd::Directory(directory(path, encrypt_to)),
        None if to_kube => {
            // A context given without a kubeconfig belongs to the source's file.
            let file = if to_kubeconfig.is_some() { to_kubeconfig } else { kubeconfig };
            TargetEnd::Kube(kube(file, to_kubeconfig_context, to_as, to_as_group))
        }
        None => match by_source {
            Some(workload) => {
                TargetEnd::Workload(Workload { options: kube(&None, &None, to_as, to_as_group), ..workload })
            }
            None if to_as.is_some() => return usage("--to-as needs --to-kubeconfig or --to-workload"),
            None => TargetEnd::None,
        },
    };
    Ok(Ends { source, target })
}

/// Whether any flag names a target.
pub(super) fn names_target(connection: &ConnectionArgs) -> bool {
    let ConnectionArgs { to, to_files, .. } = connection;
    to.to_kubeconfig.is_some()
        || to.to_kubeconfig_context.is_some()
        || to.to_workload.is_some()
        || to_files.to_directory.is_some()
}
