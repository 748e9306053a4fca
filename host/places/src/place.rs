//! The verbs every place has, and what can go wrong with them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use pivot_core::{Key, Kind, Meta, Object, Uid};
use serde_json::Value;

/// What a place answers.
pub type Result<T, E = PlaceError> = std::result::Result<T, E>;

/// What sort of place it is, where that changes what a move may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// An API server: objects live there, controllers act on them.
    Live,
    /// A directory of files: nothing acts on them.
    Directory,
}

/// Tells one place from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The UID of the namespace kube-system: the same cluster under two names has the same.
    Cluster(Uid),
    /// The place can't tell (kube-system may not be read).
    Unknown,
    /// A directory, by its canonical path.
    Directory(String),
}

/// One complete list, and the version it was true at.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The objects.
    pub objects: Vec<Object>,
    /// Where a watch goes on from.
    pub resource_version: String,
}

/// As [`Listing`], metadata only.
#[derive(Clone, Debug)]
pub struct MetaListing {
    /// The objects' metadata.
    pub metas: Vec<Meta>,
    /// Where a watch goes on from.
    pub resource_version: String,
}

/// Which part of an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// The object itself.
    None,
    /// Its status.
    Status,
}

/// A merge patch of one object.
#[derive(Clone, Debug)]
pub struct Patch<'a> {
    /// The JSON merge patch. A `metadata.resourceVersion` (and `uid`) in it is a precondition.
    pub body: &'a Value,
    /// What it is for.
    pub subresource: Subresource,
    /// Really, or only asked.
    pub change: Change,
}

/// What must still be true for a delete to happen.
#[derive(Clone, Debug, Default)]
pub struct Preconditions {
    /// It is this object, not another of the same name.
    pub uid: Option<Uid>,
    /// It is in this state.
    pub resource_version: Option<String>,
}

/// What a watch tells.
#[derive(Clone, Debug)]
pub enum Event {
    /// Added or changed.
    Applied(Object),
    /// Gone; the last state.
    Deleted(Object),
}

/// An access that is asked for before it is needed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// `create`, `patch`, `delete`, `list`, …
    pub verb: &'static str,
    /// API group.
    pub group: String,
    /// Resource name (plural).
    pub resource: String,
    /// Empty, or `status`.
    pub subresource: &'static str,
    /// Namespace; none for all, or for cluster-scoped kinds.
    pub namespace: Option<String>,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => write!(f, " in the whole cluster"),
        }
    }
}

/// Whether a write is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Really do it.
    Real,
    /// Ask the server what it would do.
    DryRun,
}

/// Why a place did not do what it was asked. Messages never carry an object's body.
#[derive(Clone, Debug, thiserror::Error)]
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
    /// The user may not.
    #[error("forbidden: {0}")]
    Forbidden(String),
    /// The server knows neither the user nor the certificate.
    #[error("not authenticated: {0}")]
    Unauthorized(String),
    /// Refused for good: schema, admission, unknown field.
    #[error("refused: {0}")]
    Invalid(String),
    /// The list or watch must start anew.
    #[error("expired: {0}")]
    Expired(String),
    /// The server asks for patience.
    #[error("the server asks to slow down")]
    TooManyRequests {
        /// How long, if it said so.
        retry_after: Option<Duration>,
    },
    /// Not reached, answered with a 5xx or not in time: whether a write happened is not known.
    #[error("no answer: {0}")]
    Unavailable(String),
    /// An answer that is none.
    #[error("unreadable answer: {0}")]
    Unreadable(String),
    /// This sort of place has no such verb.
    #[error("{0} can't {1}")]
    Unsupported(&'static str, &'static str),
}

impl PlaceError {
    /// Whether the same request may succeed a moment later.
    pub fn transient(&self) -> bool {
        matches!(self, Self::TooManyRequests { .. } | Self::Unavailable(_))
    }
}

/// A path of a service inside a cluster.
#[derive(Clone, Copy, Debug)]
pub struct ServicePath<'a> {
    /// The service's namespace.
    pub namespace: &'a str,
    /// The service.
    pub service: &'a str,
    /// Its port: a number or a name.
    pub port: &'a str,
    /// The path, with its query.
    pub path: &'a str,
}

/// A place that holds objects.
#[async_trait]
pub trait Place: Send + Sync + 'static {
    /// What people call it: a context and server, or a path.
    fn label(&self) -> &str;

    /// What sort of place it is.
    fn sort(&self) -> PlaceKind;

    /// Which place it is.
    async fn identify(&self) -> Result<Identity>;

    /// Every listable kind, with the labels of its definition. Asked once per run.
    async fn kinds(&self) -> Result<Vec<Arc<Kind>>>;

    /// All objects of a kind, in one namespace or in all, whole bodies.
    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing>;

    /// As [`Place::list`], metadata only.
    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing>;

    /// One object, or none.
    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>>;

    /// Creates an object; unknown fields are refused, not dropped.
    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object>;

    /// Merge-patches an object.
    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: Patch<'_>) -> Result<Object>;

    /// Deletes an object, in the background.
    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: Preconditions) -> Result<()>;

    /// What happens to a kind's objects from a version on. Ends, or fails with `Expired`, when it must start anew.
    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>>;

    /// Told which kinds are about to be written. A place that knows its own kinds has no use for that.
    fn learn(&self, _kinds: &[Arc<Kind>]) {}

    /// An HTTP GET of a service inside the place, through its API server; the answer's code and body, up to a limit.
    async fn proxy_get(&self, _service: ServicePath<'_>, _limit: usize) -> Result<(u16, Vec<u8>)> {
        Err(PlaceError::Unsupported("this place", "ask services"))
    }

    /// Which of these the user may not do.
    async fn denied(&self, asked: &[Access]) -> Result<Vec<Access>>;
}
