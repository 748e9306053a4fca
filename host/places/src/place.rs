//! The verbs of every place, and their errors.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use pivot_core::records::backup::BackupFacts;
use pivot_core::records::plugin_set::PluginSet;
use pivot_core::records::route::EndKind;
use pivot_core::{Key, Kind, Meta, Object, Uid};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The result of a verb.
pub type Result<T, E = PlaceError> = std::result::Result<T, E>;

/// The abilities of a place's server. The engine asks for these and for [`Place::end_kind`], and never for the type of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// The server's controllers own the status: a create drops it.
    pub owns_status: bool,
    /// The server can judge requests before they are made: by its kinds, by the user's permissions, and by dry runs.
    pub judges: bool,
    /// Only the holders of chosen keys can read the written objects.
    pub encrypts: bool,
}

impl Capabilities {
    /// The capabilities of an API server.
    pub const API_SERVER: Self = Self { owns_status: true, judges: true, encrypts: false };
    /// The capabilities of files, on which nothing acts.
    pub const FILES: Self = Self { owns_status: false, judges: false, encrypts: false };
}

/// The start of a move's writes to a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opening {
    /// The move's id.
    pub move_id: String,
    /// Progress of the move, according to its record.
    pub begun: Begun,
}

/// The progress of a move with a place that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Begun {
    /// There is no record yet.
    No,
    /// The move is under way.
    UnderWay,
    /// There is no record, and files of an earlier run of the move are removed: they were read at another version.
    Overwrite,
    /// Everything was written, and was about to be closed. The place is opened only if this move left it unclosed: once closed it
    /// may have been carried elsewhere, and is not changed again.
    Written,
}

/// The way in which a move finishes with a place that it wrote to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Closing {
    /// Everything is there. `handover`: the source was left paused for this place to take over; otherwise it is still live.
    Complete {
        /// See above.
        handover: bool,
        /// Facts about a backup, for later readers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        backup: Option<Box<BackupFacts>>,
    },
    /// The move was cancelled; what it wrote was removed, or it wrote nothing.
    Abandoned,
}

/// Distinguishes places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// The UID of the namespace kube-system: the same for one cluster under two names.
    Cluster(Uid),
    /// Not known (the user can't read kube-system).
    Unknown,
    /// Files.
    Directory {
        /// Canonical path of the directory.
        path: String,
        /// Identifies its contents, wherever they are; none if it is being written.
        contents: Option<Uid>,
    },
}

/// One complete list, and its version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Listing {
    /// The objects.
    pub objects: Vec<Object>,
    /// The version from which a watch continues.
    pub resource_version: String,
}

/// Differences between the first lists of a place and later ones.
#[derive(Clone, Debug, Default)]
pub struct ChangedObjects {
    /// Objects that are new, or have another version.
    pub changed: Vec<(Key, Meta)>,
    /// Objects that are gone.
    pub gone: Vec<Key>,
}

/// Like [`Listing`], metadata only.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MetaListing {
    /// The objects' metadata.
    pub metas: Vec<Meta>,
    /// The version from which a watch continues.
    pub resource_version: String,
}

/// The part of an object that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subresource {
    /// The object itself.
    None,
    /// The object's status.
    Status,
}

/// A merge patch of one object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Patch {
    /// The JSON merge patch. A `metadata.resourceVersion` (and `uid`) in it is a precondition.
    pub body: Value,
    /// The part of the object it changes.
    pub subresource: Subresource,
    /// Whether to apply it or only try it.
    pub change: Change,
}

/// Conditions under which a delete takes effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preconditions {
    /// The object has this UID, so it isn't another of the same name.
    pub uid: Option<Uid>,
    /// The object has this version.
    pub resource_version: Option<String>,
}

/// An event of a watch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Event {
    /// Added or changed.
    Applied(Object),
    /// Deleted; the last state.
    Deleted(Object),
}

/// A permission that is checked before it is needed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Access {
    /// `create`, `patch`, `delete`, `list`, …
    pub verb: Cow<'static, str>,
    /// API group.
    pub group: String,
    /// Resource name (plural).
    pub resource: String,
    /// Empty, or `status`.
    pub subresource: Cow<'static, str>,
    /// Namespace; none for all, or for cluster-scoped kinds.
    pub namespace: Option<String>,
}

impl Access {
    /// Returns the resource with its group and subresource: `machines.cluster.x-k8s.io/status`.
    pub fn full_resource(&self) -> String {
        let parts = [(".", self.group.as_str()), ("/", &self.subresource)].into_iter();
        let parts =
            parts.filter(|(_, part)| !part.is_empty()).map(|(before, part)| format!("{before}{part}"));
        [self.resource.clone()].into_iter().chain(parts).collect()
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.full_resource())?;
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => write!(f, " in the whole cluster"),
        }
    }
}

/// Whether a write takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Apply it.
    Real,
    /// Ask the server what it would do.
    DryRun,
}

/// The namespace for dry runs and permission checks of objects whose own namespace doesn't exist yet. Every cluster has it.
pub const STAND_IN_NAMESPACE: &str = "default";

/// The error of a call. Messages never contain an object's body.
///
/// A plain value, since a place may be at the far end of a connection: it has no source, and causes are part of the text. The
/// causes of connection errors are included in full, by `kube/transport.rs:error_chain`; of servers' answers, which may quote the
/// object, only what `kube/status.rs` lets through.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum PlaceError {
    /// No such object, kind or namespace.
    #[error("not found: {0}")]
    NotFound(String),
    /// The name is taken.
    #[error("already exists: {0}")]
    AlreadyExists(String),
    /// The object changed since it was read, or a precondition failed.
    #[error("conflict: {0}")]
    Conflict(String),
    /// The user lacks the permission.
    #[error("forbidden: {0}")]
    Forbidden(String),
    /// The server knows neither the user nor the certificate.
    #[error("not authenticated: {0}")]
    Unauthorized(String),
    /// The server's certificate is not one that the kubeconfig trusts.
    #[error("the server's certificate is not trusted: {0}")]
    Untrusted(String),
    /// Permanently refused: schema, admission, unknown field.
    #[error("refused: {0}")]
    Invalid(String),
    /// The list or watch must start over.
    #[error("expired: {0}")]
    Expired(String),
    /// The server asks clients to slow down.
    #[error("the server asks for fewer requests")]
    TooManyRequests {
        /// For how long, if it said so.
        retry_after: Option<Duration>,
    },
    /// Not reached, a 5xx answer or a timeout. It is unknown whether a write has taken effect.
    #[error("no answer: {0}")]
    Unavailable(String),
    /// An answer that can't be parsed.
    #[error("unreadable answer: {0}")]
    Unreadable(String),
    /// This type of place doesn't support the verb.
    #[error("{0} can't {1}")]
    Unsupported(Cow<'static, str>, Cow<'static, str>),
}

impl PlaceError {
    /// Returns the error for a verb that a type of place doesn't support.
    pub const fn unsupported(place: &'static str, verb: &'static str) -> Self {
        Self::Unsupported(Cow::Borrowed(place), Cow::Borrowed(verb))
    }

    /// Returns true if the same request may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::TooManyRequests { .. } | Self::Unavailable(_))
    }

    /// Returns true if an admission webhook refused the request. The texts are the API server's.
    pub fn is_webhook_refusal(&self) -> bool {
        matches!(self, Self::Forbidden(text) | Self::Invalid(text) if text.contains("admission webhook \""))
    }

    /// Returns true if the API server could not call a webhook that its answer depends on. The texts are the API server's.
    pub fn is_webhook_outage(&self) -> bool {
        let texts = ["failed calling webhook \"", "conversion webhook for "];
        matches!(self, Self::Unavailable(text) if texts.iter().any(|outage| text.contains(outage)))
    }

    /// Returns true if the server refused the version that a list asked for. The texts are the API server's.
    pub fn is_version_refusal(&self) -> bool {
        matches!(self, Self::Invalid(text) if text.contains("resourceVersion") || text.contains("resource version"))
    }

    /// Returns the pause that the server asks for before the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyRequests { retry_after } => *retry_after,
            _ => None,
        }
    }
}

/// The ability that a snapshot needs, in errors.
pub(crate) const EXACT_LISTS: &str = "list all kinds at one version";

/// Returns the error of a place that can't list objects as they were at one version.
pub(crate) fn lacks_exact_lists(label: &str) -> PlaceError {
    PlaceError::Unsupported(label.to_owned().into(), EXACT_LISTS.into())
}

/// The number of requests that a place has throttled, counted by the clients.
pub type Throttled = Arc<AtomicU64>;

/// A path of a service inside a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServicePath {
    /// The service's namespace.
    pub namespace: String,
    /// The service.
    pub service: String,
    /// Port of the service: a number or a name.
    pub port: String,
    /// The path, with its query.
    pub path: String,
}

/// A context of a kubeconfig file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeContext {
    /// The file.
    pub kubeconfig: PathBuf,
    /// The name of the context.
    pub name: String,
}

/// The agent that answers for a place, as it describes itself. It may lie, so this decides only whether its own move begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentDescription {
    /// Plugins with which it finishes a move alone; `None` if it finishes none.
    pub finishes_with: Option<PluginSet>,
}

/// A place that holds objects.
///
/// Every verb is asynchronous and may fail, and its arguments and results are owned and serialisable: a place may be at the far
/// end of a connection.
#[async_trait]
pub trait Place: Send + Sync + 'static {
    /// Returns the place's name for people: a context and server, or a path.
    fn label(&self) -> &str;

    /// Returns the kubeconfig file and the context of an API server; `None` for other places, and if there is not exactly one
    /// file.
    fn context(&self) -> Option<&KubeContext> {
        None
    }

    /// Returns the kubeconfig and the context in which the user named the place. None if the label contains everything.
    fn kubeconfig_and_context(&self) -> Option<&str> {
        None
    }

    /// Returns the place's capabilities; known without a request.
    fn capabilities(&self) -> Capabilities;

    /// Returns the kind of the place, as the user named it, or as the manifest of a directory says. Never the word of a program
    /// at the other end of a connection.
    fn end_kind(&self) -> EndKind;

    /// Returns the count of requests that the place throttled. It belongs to the place and not to a run: runs that share a place
    /// slow down together. A place that never throttles has none to share.
    fn throttled_requests(&self) -> Throttled {
        Throttled::default()
    }

    /// Returns the facts about a backup that the place is, from the manifest of its files.
    fn backup_facts(&self) -> Option<&BackupFacts> {
        None
    }

    /// Returns the identity of the place.
    async fn identify(&self) -> Result<Identity>;

    /// Returns true if the place's administrators vouch for its kinds. An agent may be compromised, so it vouches for none.
    fn vouches_for_kinds(&self) -> bool {
        true
    }

    /// Returns what the agent that answers for the place says about itself, if one does.
    fn agent(&self) -> Option<AgentDescription> {
        None
    }

    /// Returns every listable kind, with the labels of its definition. Called once per run.
    async fn kinds(&self) -> Result<Vec<Arc<Kind>>>;

    /// Returns all objects of a kind, in one namespace or in all, with whole bodies.
    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing>;

    /// Returns the version of a plain list of a kind.
    async fn read_version(&self, _kind: &Arc<Kind>, _namespace: Option<&str>) -> Result<String> {
        Err(lacks_exact_lists(self.label()))
    }

    /// Like [`Place::list`], as the objects were at a version that [`Place::read_version`] returned. Fails with `Expired` if the place
    /// doesn't keep that version any more.
    async fn list_snapshot(
        &self,
        _kind: &Arc<Kind>,
        _namespace: Option<&str>,
        _version: &str,
    ) -> Result<Listing> {
        Err(lacks_exact_lists(self.label()))
    }

    /// Returns the objects that have changed since this place listed them first. A place that remembers no lists can't tell, and neither
    /// can a wrapper that doesn't forward the call.
    async fn find_changed(&self) -> Result<ChangedObjects> {
        let verb = "compare its lists with later ones";
        Err(PlaceError::Unsupported(self.label().to_owned().into(), verb.into()))
    }

    /// Like [`Place::list`], for one namespace, only the objects that carry a label.
    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing>;

    /// Like [`Place::list`], metadata only; who owns which fields may be missing.
    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing>;

    /// Like [`Place::list_meta`], [reduced](Meta::reduce_to_identity).
    async fn list_identities(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        let mut listing = self.list_meta(kind, namespace).await?;
        listing.metas.iter_mut().for_each(Meta::reduce_to_identity);
        Ok(listing)
    }

    /// Returns an object, or none.
    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>>;

    /// Creates an object; unknown fields are refused, not dropped.
    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object>;

    /// Merge-patches an object.
    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object>;

    /// Deletes an object, in the background.
    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()>;

    /// Returns the changes to a kind's objects since a version. Ends, or fails with `Expired`, when the watch must start over.
    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>>;

    /// Announces which kinds are about to be written. A place that knows its own kinds ignores it.
    async fn learn(&self, _kinds: &[Arc<Kind>]) -> Result<()> {
        Ok(())
    }

    /// Announces that a move is about to write. A place without records refuses any move but the one that opened it first.
    async fn open(&self, _opening: &Opening) -> Result<()> {
        Ok(())
    }

    /// Announces that a move is done with the place. Before that, no reader must mistake a part for the whole. Calling it again
    /// has no further effect.
    async fn close(&self, _closing: &Closing) -> Result<()> {
        Ok(())
    }

    /// Sends an HTTP GET to a service inside the place, through its API server. Returns the answer's code and body, up to a
    /// limit.
    async fn proxy_get(&self, _service: &ServicePath, _limit: usize) -> Result<(u16, Vec<u8>)> {
        Err(PlaceError::unsupported("this place", "ask services"))
    }

    /// Returns those of the permissions that the user lacks.
    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>>;

    /// Returns the permissions that requests so far needed, in the place's own names; none for a place without authorization.
    fn used_permissions(&self) -> BTreeSet<Access> {
        BTreeSet::new()
    }
}
