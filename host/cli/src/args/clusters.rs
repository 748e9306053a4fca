//! Which namespace moves, and which Clusters in it.

use std::collections::BTreeSet;

use pivot_core::request::scope::{ClusterName, Namespaces};
use pivot_core::request::validate::find_name_error;

use super::usage::{Result, usage};

/// The namespace, as far as it is known before the kubeconfig is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Namespace {
    All,
    Named(String),
    OfContext,
}

/// A Cluster as it was typed: `NAME` or `NAMESPACE/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cluster {
    namespace: Option<String>,
    name: String,
}

impl Cluster {
    fn parse(typed: &str) -> Result<Self> {
        let (namespace, name) = typed.split_once('/').map_or((None, typed), |(ns, name)| (Some(ns), name));
        match namespace.and_then(find_name_error).or_else(|| find_name_error(name)) {
            Some(odd) => usage(format!("--cluster {typed:?}: {odd}; write NAME or NAMESPACE/NAME")),
            None => Ok(Self { namespace: namespace.map(str::to_owned), name: name.to_owned() }),
        }
    }

    /// Its full name; without a namespace, it is in the one that moves.
    pub(super) fn full_name(&self, namespaces: &Namespaces) -> Option<ClusterName> {
        let one = match namespaces {
            Namespaces::All => None,
            Namespaces::One(one) => Some(one),
        };
        Some(ClusterName::new(self.namespace.as_ref().or(one)?, &self.name))
    }
}

/// Clusters that are named with their namespaces.
pub(super) fn full_names(flag: &str, typed: &[String]) -> Result<BTreeSet<ClusterName>> {
    let names = typed.iter().map(|typed| match typed.split_once('/') {
        Some((namespace, name)) if find_name_error(namespace).or_else(|| find_name_error(name)).is_none() => {
            Ok(ClusterName::new(namespace, name))
        }
        _ => usage(format!("{flag} {typed:?}: write NAMESPACE/NAME")),
    });
    names.collect()
}

/// Returns the words that name these Clusters with these flags.
pub(super) fn name_with_flags(named: &[(&str, &BTreeSet<ClusterName>)]) -> Vec<String> {
    let words = named.iter().flat_map(|(flag, clusters)| {
        clusters.iter().flat_map(move |cluster| [(*flag).to_owned(), cluster.to_string()])
    });
    words.collect()
}

/// The Clusters, and the namespace that moves: unless one was given, it is theirs.
pub(super) fn clusters(typed: &[String], namespace: Namespace) -> Result<(Namespace, Vec<Cluster>)> {
    let clusters: Vec<Cluster> = typed.iter().map(|typed| Cluster::parse(typed)).collect::<Result<_>>()?;
    let namespace = match (namespace, clusters.iter().find_map(|cluster| cluster.namespace.clone())) {
        (Namespace::OfContext, Some(theirs)) => {
            if let Some(Cluster { name, .. }) = clusters.iter().find(|cluster| cluster.namespace.is_none()) {
                return usage(format!(
                    "--cluster {name}: write NAMESPACE/NAME like the others, or add --namespace"
                ));
            }
            if let Some(other) = clusters.iter().find(|cluster| cluster.namespace.as_ref() != Some(&theirs)) {
                let other = other.namespace.as_deref().unwrap_or_default();
                return usage(format!(
                    "Clusters of several namespaces ({theirs}, {other}) need --all-namespaces"
                ));
            }
            Namespace::Named(theirs)
        }
        (namespace, _) => namespace,
    };
    for Cluster { namespace: of, name } in &clusters {
        match (&namespace, of) {
            (Namespace::All, None) => {
                return usage(format!("--cluster {name}: with --all-namespaces, write it as NAMESPACE/NAME"));
            }
            (Namespace::Named(one), Some(of)) if of != one => {
                return usage(format!(
                    "--cluster {of}/{name} is not in namespace {one}, which is the one that moves"
                ));
            }
            _ => {}
        }
    }
    Ok((namespace, clusters))
}
