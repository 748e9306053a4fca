//! The requests of a link: the verbs of [`Place`](pivot_places::Place) as values.

use std::collections::BTreeSet;

use pivot_core::records::plugin_set::PluginSet;
use pivot_core::{Key, Kind};
use pivot_places::{Access, Change, Closing, Identity, Opening, Patch, Preconditions, ServicePath};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The versions of the protocol that this build speaks.
pub(crate) const OLDEST: u32 = 1;
pub(crate) const NEWEST: u32 = 1;

/// One request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum LinkRequest {
    /// Versions that the asking side speaks; the first request on each connection.
    Hello {
        oldest: u32,
        newest: u32,
    },
    Identify,
    Kinds,
    List {
        kind: Kind,
        namespace: Option<String>,
    },
    ListLabelled {
        kind: Kind,
        namespace: String,
        label: String,
    },
    ListMeta {
        kind: Kind,
        namespace: Option<String>,
    },
    ListIdentities {
        kind: Kind,
        namespace: Option<String>,
    },
    Get {
        kind: Kind,
        key: Key,
    },
    Create {
        kind: Kind,
        body: Value,
        change: Change,
    },
    Patch {
        kind: Kind,
        key: Key,
        patch: Patch,
    },
    Delete {
        kind: Kind,
        key: Key,
        preconditions: Preconditions,
    },
    Watch {
        kind: Kind,
        namespace: Option<String>,
        resource_version: String,
    },
    Learn {
        kinds: Vec<Kind>,
    },
    Open {
        opening: Opening,
    },
    Close {
        closing: Closing,
    },
    ProxyGet {
        service: ServicePath,
        limit: usize,
    },
    Denied {
        asked: Vec<Access>,
    },
}

/// The agent's description of itself and of its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Hello {
    /// The newest version that both sides speak.
    pub(crate) version: u32,
    /// The build, for people.
    pub(crate) build: String,
    /// The place's name for people.
    pub(crate) label: String,
    pub(crate) identity: Identity,
    /// Plugins with which the agent finishes a move alone; none if it finishes no move, or is of a release that doesn't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finishes_with: Option<PluginSet>,
    /// Clusters that users of the place want to move back.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) offers: BTreeSet<OfferedCluster>,
}

/// A Cluster that users of an agent's cluster want to move back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OfferedCluster {
    /// Namespace in the agent's cluster.
    pub namespace: String,
    /// Name of the Cluster.
    pub name: String,
}
