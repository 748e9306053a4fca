//! A target that is named by its Cluster in the source.

use pivot_places::ConnectOptions;

use super::clusters::Namespace;
use super::usage::{Result, usage};

/// The workload cluster of a Cluster.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) within: Within,
    /// The Cluster's name.
    pub(crate) name: String,
    /// Whether the Cluster must exist: where a move begins. Later it may have moved, and its kubeconfig is enough.
    pub(crate) must_exist: bool,
    /// As which user to connect.
    pub(crate) options: ConnectOptions,
}

/// Where the Cluster is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    Namespace(String),
    /// The namespace of the source's context.
    OfContext,
    /// Wherever there is one of that name.
    Any,
}

impl Workload {
    /// Parses `NAME` or `NAMESPACE/NAME`.
    pub(super) fn parse(typed: &str) -> Result<Self> {
        let (namespace, name) = match typed.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, typed),
        };
        let end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_name = |name: &str| {
            name.len() <= 253
                && name.chars().all(|c| end(c) || c == '-' || c == '.')
                && name.starts_with(end)
                && name.ends_with(end)
        };
        if !(is_name(name) && namespace.is_none_or(is_name)) {
            return usage(format!(
                "--to-workload: {typed:?} is not a valid name of a Cluster; write NAME or NAMESPACE/NAME"
            ));
        }
        let within = namespace.map_or(Within::Any, |namespace| Within::Namespace(namespace.to_owned()));
        Ok(Self { within, name: name.to_owned(), must_exist: false, options: ConnectOptions::default() })
    }

    /// Searches the namespace that moves, unless the Cluster's own namespace was typed.
    pub(super) fn search_moved_namespace(&mut self, moved: &Namespace) {
        self.within = match (&self.within, moved) {
            (Within::Any, Namespace::Named(name)) => Within::Namespace(name.clone()),
            (Within::Any, Namespace::OfContext) => Within::OfContext,
            (typed, _) => typed.clone(),
        };
    }

    /// `NAMESPACE/NAME` as far as that is known.
    pub(crate) fn display_name(&self) -> String {
        match &self.within {
            Within::Namespace(namespace) => format!("{namespace}/{}", self.name),
            Within::OfContext | Within::Any => self.name.clone(),
        }
    }
}
