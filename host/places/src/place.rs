//! The verbs every place has, and what can go wrong with them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use pivot_core::{Key, Kind, Meta, Object, Uid};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a place answers.
pub type Result<T, E = PlaceError> = std::result::Result<T, E>;

/// What a place can do. The engine asks this and never what sort of place it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// A move can keep its record there.
    pub keeps_state: bool,
    /// It has Leases, so that one run can keep others out.
    pub has_leases: bool,
    /// Controllers act on its objects: they are paused, resumed, waited for, and can do harm.
    pub has_controllers: bool,
    /// Status belongs to the controllers there: a create drops it.
    pub owns_status: bool,
    /// Objects of it can be deleted once they were moved.
    pub deletes: bool,
    /// What it has may be run by a management cluster elsewhere: files of one that was not paused for good.
    pub may_live_on: bool,
    /// It judges requests before they are made: which kinds it serves, what a user may do, what a create would become.
    pub judges: bool,
}

impl Capabilities {
    /// Those of an API server.
    pub const API_SERVER: Self = Self {
        keeps_state: true,
        has_leases: true,
        has_controllers: true,
        owns_status: true,
        deletes: true,
        may_live_on: false,
        judges: true,
    };
    /// Those of files that nothing acts on.
    pub const FILES: Self = Self {
        keeps_state: false,
        has_leases: false,
        has_controllers: false,
        owns_status: false,
        deletes: false,
        may_live_on: false,
        judges: false,
    };
}

/// A move that is about to write to a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opening {
    /// The move's id.
    pub move_id: String,
    /// Whether a record says that it is under way.
    pub begun: bool,
}

/// How a move that wrote to a place is done with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Closing {
    /// All is there. `handover`: the source was left for this place to take over; otherwise it is still live.
    Complete {
        /// See above.
        handover: bool,
    },
    /// The move did not come about; what it wrote was removed, or it wrote nothing.
    Abandoned,
}

/// Tells one place from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// The UID of the namespace kube-system: the same cluster under two names has the same.
    Cluster(Uid),
    /// The place can't tell (kube-system may not be read).
    Unknown,
    /// Files.
    Directory {
        /// Where, by its canonical path.
        path: String,
        /// What is in it, wherever it lies; none where it is written.
        contents: Option<Uid>,
    },
}

/// One complete list, and the version it was true at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Listing {
    /// The objects.
    pub objects: Vec<Object>,
    /// Where a watch goes on from.
    pub resource_version: String,
}

/// As [`Listing`], metadata only.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MetaListing {
    /// The objects' metadata.
    pub metas: Vec<Meta>,
    /// Where a watch goes on from.
    pub resource_version: String,
}

/// Which part of an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subresource {
    /// The object itself.
    None,
    /// Its status.
    Status,
}

/// A merge patch of one object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Patch {
    /// The JSON merge patch. A `metadata.resourceVersion` (and `uid`) in it is a precondition.
    pub body: Value,
    /// What it is for.
    pub subresource: Subresource,
    /// Really, or only asked.
    pub change: Change,
}

/// What must still be true for a delete to happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preconditions {
    /// It is this object, not another of the same name.
    pub uid: Option<Uid>,
    /// It is in this state.
    pub resource_version: Option<String>,
}

/// What a watch tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Event {
    /// Added or changed.
    Applied(Object),
    /// Gone; the last state.
    Deleted(Object),
}

/// An access that is asked for before it is needed.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Really do it.
    Real,
    /// Ask the server what it would do.
    DryRun,
}

/// Why a place did not do what it was asked. Messages never carry an object's body.
///
/// A value, since a place may be at the far end of a connection: it has no source, and causes are part of the text. Those of
/// connections are put there whole, by `kube/transport.rs:chain`; of servers' answers, which may quote the object, only what
/// `kube/status.rs` lets through.
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
    #[error("the server asks for fewer requests")]
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
    Unsupported(Cow<'static, str>, Cow<'static, str>),
}

impl PlaceError {
    /// A verb that a sort of place does not have.
    pub const fn unsupported(place: &'static str, verb: &'static str) -> Self {
        Self::Unsupported(Cow::Borrowed(place), Cow::Borrowed(verb))
    }

    /// Whether the same request may succeed a moment later.
    pub fn transient(&self) -> bool {
        matches!(self, Self::TooManyRequests { .. } | Self::Unavailable(_))
    }
}

/// How many requests a place asked to slow down for, counted by those who sent them.
pub type Throttled = Arc<AtomicU64>;

/// A path of a service inside a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServicePath {
    /// The service's namespace.
    pub namespace: String,
    /// The service.
    pub service: String,
    /// Its port: a number or a name.
    pub port: String,
    /// The path, with its query.
    pub path: String,
}

/// A place that holds objects.
///
/// Every verb is asynchronous and may fail, and what it takes and gives is owned and serialisable: a place may be at the
/// far end of a connection.
#[async_trait]
pub trait Place: Send + Sync + 'static {
    /// What people call it: a context and server, or a path.
    fn label(&self) -> &str;

    /// Where the user named it: a kubeconfig and a context. None where the label says all there is.
    fn named_in(&self) -> Option<&str> {
        None
    }

    /// What it can do; known before anything is asked of it.
    fn can(&self) -> Capabilities;

    /// The count of requests that it turned away. It is the place's and not a run's: runs that were given the same place slow
    /// down together. A place that never asks to slow down needs none to share.
    fn throttled(&self) -> Throttled {
        Throttled::default()
    }

    /// Which place it is.
    async fn identify(&self) -> Result<Identity>;

    /// Every listable kind, with the labels of its definition. Asked once per run.
    async fn kinds(&self) -> Result<Vec<Arc<Kind>>>;

    /// All objects of a kind, in one namespace or in all, whole bodies.
    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing>;

    /// As [`Place::list`], of one namespace, only the objects that carry a label.
    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing>;

    /// As [`Place::list`], metadata only.
    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing>;

    /// One object, or none.
    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>>;

    /// Creates an object; unknown fields are refused, not dropped.
    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object>;

    /// Merge-patches an object.
    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object>;

    /// Deletes an object, in the background.
    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()>;

    /// What happens to a kind's objects from a version on. Ends, or fails with `Expired`, when it must start anew.
    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>>;

    /// Told which kinds are about to be written. A place that knows its own kinds has no use for that.
    async fn learn(&self, _kinds: &[Arc<Kind>]) -> Result<()> {
        Ok(())
    }

    /// A move is about to write. A place without records refuses any other move than the one it was opened for first.
    async fn open(&self, _opening: &Opening) -> Result<()> {
        Ok(())
    }

    /// A move is done with the place. Until then nobody takes a part for the whole. Asked again it answers the same.
    async fn close(&self, _closing: &Closing) -> Result<()> {
        Ok(())
    }

    /// An HTTP GET of a service inside the place, through its API server; the answer's code and body, up to a limit.
    async fn proxy_get(&self, _service: &ServicePath, _limit: usize) -> Result<(u16, Vec<u8>)> {
        Err(PlaceError::unsupported("this place", "ask services"))
    }

    /// Which of these the user may not do.
    async fn denied(&self, asked: &[Access]) -> Result<Vec<Access>>;
}
