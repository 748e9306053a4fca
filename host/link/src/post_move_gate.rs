//! The gate of an agent after a move into its cluster has ended. From then on, the agent answers only that it is alive, and how
//! the move ended.
//!
//! The cluster's own records show the end; the agent keeps nothing else. It reads them when the link begins, after each write
//! over the link that may have ended a move, and periodically. An end is final while the agent runs: a later move by the
//! cluster's own users opens nothing for the other side.

use std::sync::Arc;
use std::time::Duration;

use pivot_core::objects::names::{FINISHED, LOCK, RECORD, ROLLED_BACK};
use pivot_core::{Kind, Object};
use pivot_places::{Place, PlaceError, Result, builtin_kinds};
use tokio::sync::{Mutex, watch};
use tokio::time::sleep;

use crate::link_request::LinkRequest;
use crate::requested_access::{OURS, requested_access};
use crate::role::Role;

/// Pause between two reads of the records, which others may write too.
const AGAIN: Duration = Duration::from_secs(10);

/// The state of the cluster's records.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RecordState {
    /// The records were not read.
    Nothing,
    /// No move into the cluster has ended, or one is being committed.
    Open,
    /// All have; the summary of the last.
    Ended(String),
}

/// The cluster's records.
#[derive(Clone)]
pub(crate) struct PostMoveGate(Arc<Records>);

struct Records {
    place: Arc<dyn Place>,
    kind: Arc<Kind>,
    namespace: String,
    said: watch::Sender<RecordState>,
    /// One reading at a time: an older one must not come last.
    reading: Mutex<()>,
}

impl PostMoveGate {
    /// Those that a place keeps in a namespace.
    pub(crate) fn new(place: Arc<dyn Place>, namespace: &str) -> Option<Self> {
        let kind = builtin_kinds().into_iter().find(|kind| kind.group_kind.kind == "ConfigMap")?;
        let (kind, said) = (Arc::new(kind), watch::Sender::new(RecordState::Nothing));
        let records = Records { place, kind, namespace: namespace.to_owned(), said, reading: Mutex::new(()) };
        Some(Self(Arc::new(records)))
    }

    /// Reads them again and again, until a move has ended.
    pub(crate) async fn follow(self) {
        loop {
            match self.read_records().await {
                Ok(RecordState::Ended(_)) => return,
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "the records of moves can't be read"),
            }
            sleep(AGAIN).await;
        }
    }

    /// Forgets the state that an earlier connection read, unless a move has ended.
    pub(crate) fn invalidate(&self) {
        self.0.said.send_if_modified(|said| {
            let open = matches!(said, RecordState::Open);
            if open {
                *said = RecordState::Nothing;
            }
            open
        });
    }

    /// When the last move has ended.
    pub(crate) async fn wait_for_end(self) {
        let mut said = self.0.said.subscribe();
        // It lives as long as this does.
        drop(said.wait_for(|said| matches!(said, RecordState::Ended(_))).await);
    }

    /// Returns the error for a request that is no longer answered.
    pub(crate) async fn refusal(&self, ask: &LinkRequest) -> Option<PlaceError> {
        if is_allowed_after_end(ask, &self.0.namespace) {
            return None;
        }
        let known = self.0.said.borrow().clone();
        let said = match known {
            RecordState::Nothing => self.read_records().await,
            said => Ok(said),
        };
        let name = match said {
            Ok(RecordState::Ended(name)) => name,
            Ok(_) => return None,
            Err(error) => return Some(error),
        };
        let why = format!(
            "a move into this cluster has ended (ConfigMap {}/{name}), so its agent accepts no more requests; start the agent with --keep-answering for another move into it, or with --role source for a move out of it",
            self.0.namespace
        );
        Some(match ask {
            // The write that ended the move, asked again because its answer was lost.
            LinkRequest::Patch { .. } if is_about_record(ask, &self.0.namespace) => PlaceError::Conflict(why),
            _ => PlaceError::Forbidden(why),
        })
    }

    /// Returns true if a request may end a move.
    pub(crate) fn may_end_a_move(&self, ask: &LinkRequest) -> bool {
        matches!(ask, LinkRequest::Patch { .. } | LinkRequest::Delete { .. })
            && is_about_record(ask, &self.0.namespace)
    }

    /// Reads the records again. A failure is retried before the next request.
    pub(crate) async fn read_again(&self) {
        if self.read_records().await.is_err() {
            // Before the next question it is tried again.
            self.invalidate();
        }
    }

    async fn read_records(&self) -> Result<RecordState> {
        let Records { place, kind, namespace, said, reading } = &*self.0;
        let _one = reading.lock().await;
        if let ended @ RecordState::Ended(_) = &*said.borrow() {
            return Ok(ended.clone());
        }
        let list = |label| place.list_labelled(kind, namespace, label);
        let (under_way, ended) = tokio::try_join!(list(RECORD), list(FINISHED))?;
        let into = |label, object: &Object| Role::Target.has_record(label, &object.meta);
        let ended = ended.objects.iter().filter(|object| into(FINISHED, object));
        let last = ended.max_by(|a, b| a.meta.creation_timestamp.cmp(&b.meta.creation_timestamp));
        let now = match last {
            Some(last) if !under_way.objects.iter().any(|object| into(RECORD, object)) => {
                RecordState::Ended(last.meta.name.clone())
            }
            _ => RecordState::Open,
        };
        said.send_replace(now.clone());
        Ok(now)
    }
}

/// Returns true if a request is about a record of a move, or about the summary of one.
fn is_about_record(ask: &LinkRequest, namespace: &str) -> bool {
    classify_state_object(ask, namespace) == Some(StateObject::Record)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StateObject {
    Record,
    Lock,
}

/// Classifies a request that targets a move record or a lease, by the path of the equivalent API request.
fn classify_state_object(ask: &LinkRequest, namespace: &str) -> Option<StateObject> {
    let deed = requested_access(ask)?;
    if deed.access.namespace.as_deref() != Some(namespace) {
        return None;
    }
    let named = deed.name.as_ref().is_none_or(|name| name.starts_with(OURS));
    match (&*deed.access.group, &*deed.access.resource) {
        ("", "configmaps") if named => Some(StateObject::Record),
        ("coordination.k8s.io", "leases") if named => Some(StateObject::Lock),
        _ => None,
    }
}

/// Returns true if a request is answered even after the move has ended.
fn is_allowed_after_end(ask: &LinkRequest, namespace: &str) -> bool {
    match ask {
        LinkRequest::Hello { .. }
        | LinkRequest::Identify
        | LinkRequest::Kinds
        | LinkRequest::Learn { .. }
        | LinkRequest::Denied { .. } => true,
        LinkRequest::ListLabelled { label, .. } => match classify_state_object(ask, namespace) {
            Some(StateObject::Record) => [RECORD, FINISHED, ROLLED_BACK].contains(&label.as_str()),
            Some(StateObject::Lock) => label == LOCK,
            None => false,
        },
        LinkRequest::Get { .. } => classify_state_object(ask, namespace).is_some(),
        // The run that ended gives back what it holds.
        LinkRequest::Delete { .. } => classify_state_object(ask, namespace) == Some(StateObject::Lock),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use pivot_core::Key;
    use pivot_memory::MemoryPlace;
    use pivot_places::{Change, Patch, Preconditions, Subresource};
    use serde_json::{Value, json};

    use super::*;

    fn kind(name: &str) -> Kind {
        builtin_kinds().into_iter().find(|kind| kind.group_kind.kind == name).unwrap()
    }

    fn key(kind: &Kind, namespace: &str, name: &str) -> Key {
        Key::new(kind.group_kind.clone(), Some(namespace), name)
    }

    fn labelled(name: &str, namespace: &str, label: &str) -> LinkRequest {
        LinkRequest::ListLabelled {
            kind: kind(name),
            namespace: namespace.to_owned(),
            label: label.to_owned(),
        }
    }

    fn get(name: &str, namespace: &str, object: &str) -> LinkRequest {
        let kind = kind(name);
        LinkRequest::Get { key: key(&kind, namespace, object), kind }
    }

    fn delete(name: &str, namespace: &str, object: &str) -> LinkRequest {
        let kind = kind(name);
        LinkRequest::Delete {
            key: key(&kind, namespace, object),
            kind,
            preconditions: Preconditions::default(),
        }
    }

    fn patch(name: &str, namespace: &str, object: &str) -> LinkRequest {
        let kind = kind(name);
        let patch = Patch { body: json!({}), subresource: Subresource::None, change: Change::Real };
        LinkRequest::Patch { key: key(&kind, namespace, object), kind, patch }
    }

    fn create(name: &str, namespace: &str, object: &str, change: Change) -> LinkRequest {
        let body = json!({"metadata": {"name": object, "namespace": namespace}});
        LinkRequest::Create { kind: kind(name), body, change }
    }

    // proves: T55
    #[test]
    fn ended_move_allows_only_status_and_locks() {
        let ns = "pivot-host-records";
        let told = [
            LinkRequest::Hello { oldest: 1, newest: 1 },
            LinkRequest::Identify,
            LinkRequest::Kinds,
            LinkRequest::Denied { asked: Vec::new() },
            labelled("ConfigMap", ns, RECORD),
            labelled("ConfigMap", ns, FINISHED),
            labelled("ConfigMap", ns, ROLLED_BACK),
            labelled("Lease", ns, LOCK),
            get("ConfigMap", ns, "pivot-host-target-1"),
            get("Lease", ns, "pivot-host.ns.shop"),
            delete("Lease", ns, "pivot-host.ns.shop"),
        ];
        for ask in told {
            assert!(is_allowed_after_end(&ask, ns), "{ask:?}");
        }
        let everything = Kind { namespaced: false, ..kind("ConfigMap") };
        let (secret, machine) = (kind("Secret"), kind("ConfigMap"));
        let service = pivot_places::ServicePath {
            namespace: "shop".to_owned(),
            service: "ironic".to_owned(),
            port: "80".to_owned(),
            path: "v1".to_owned(),
        };
        let version = "1".to_owned();
        let untold = [
            labelled("ConfigMap", ns, "app"),
            labelled("ConfigMap", "shop", RECORD),
            labelled("Secret", ns, RECORD),
            LinkRequest::ListLabelled {
                kind: everything,
                namespace: ns.to_owned(),
                label: RECORD.to_owned(),
            },
            LinkRequest::List { kind: machine.clone(), namespace: Some(ns.to_owned()) },
            LinkRequest::ListMeta { kind: machine.clone(), namespace: None },
            LinkRequest::ListIdentities { kind: machine.clone(), namespace: None },
            LinkRequest::Watch {
                kind: secret,
                namespace: Some("shop".to_owned()),
                resource_version: version,
            },
            get("ConfigMap", ns, "coredns"),
            get("ConfigMap", "shop", "pivot-host-target-1"),
            get("Secret", ns, "pivot-host"),
            delete("ConfigMap", ns, "pivot-host-target-1"),
            delete("Lease", "shop", "pivot-host"),
            patch("ConfigMap", ns, "pivot-host-target-1"),
            patch("Lease", ns, "pivot-host.ns.shop"),
            create("Lease", ns, "pivot-host.ns.shop", Change::Real),
            create("ConfigMap", ns, "pivot-host-target-2", Change::Real),
            create("Secret", "shop", "s", Change::DryRun),
            LinkRequest::ProxyGet { service, limit: 1 },
        ];
        for ask in untold {
            assert!(!is_allowed_after_end(&ask, ns), "{ask:?}");
        }
    }

    fn record(place: &MemoryPlace, name: &str, labels: Value) {
        let metadata = json!({"name": name, "namespace": "pivot-host-records", "labels": labels});
        place.insert(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).unwrap();
    }

    // proves: T55
    #[tokio::test]
    async fn move_end_is_recognised_and_final() {
        let place = MemoryPlace::new("far");
        let agent = || PostMoveGate::new(Arc::new(place.clone()), "pivot-host-records").unwrap();
        let ended = agent();
        let said = async || ended.read_records().await.unwrap();
        assert_eq!(said().await, RecordState::Open);
        record(&place, "pivot-host-source-0", json!({FINISHED: "source"}));
        record(&place, "pivot-host-source-1", json!({FINISHED: "target"}));
        assert_eq!(said().await, RecordState::Open);
        record(&place, "pivot-host-target-1", json!({RECORD: "target"}));
        record(&place, "pivot-host-target-2", json!({FINISHED: "target"}));
        assert_eq!(said().await, RecordState::Open);
        let kind = kind("ConfigMap");
        place.remove(&key(&kind, "pivot-host-records", "pivot-host-target-1")).unwrap();
        let end = RecordState::Ended("pivot-host-target-2".to_owned());
        assert_eq!(said().await, end);
        // A move out of it, and for an agent that knows of the end already, one into it.
        record(&place, "pivot-host-source-3", json!({RECORD: "source"}));
        // In the role of a source, the side that asks can set any label.
        record(&place, "pivot-host-source-4", json!({RECORD: "target"}));
        assert_eq!(agent().read_records().await.unwrap(), end);
        record(&place, "pivot-host-target-4", json!({RECORD: "target"}));
        assert_eq!(said().await, end);
        // A user deletes the records: only an agent that has seen the end still knows of it.
        for name in ["pivot-host-target-4", "pivot-host-target-2"] {
            place.remove(&key(&kind, "pivot-host-records", name)).unwrap();
        }
        assert_eq!(said().await, end);
        assert_eq!(agent().read_records().await.unwrap(), RecordState::Open);
    }

    // proves: T55
    #[tokio::test]
    async fn unreadable_records_block_every_request() {
        let place = MemoryPlace::new("far");
        let ended = PostMoveGate::new(Arc::new(place.clone()), "pivot-host-records").unwrap();
        let away = PlaceError::Unavailable("away".to_owned());
        place.on_call({
            let away = away.clone();
            move |_, _| Some(pivot_memory::Fault::Before(away.clone()))
        });
        assert_eq!(ended.refusal(&get("Secret", "shop", "s")).await, Some(away));
        assert_eq!(ended.refusal(&LinkRequest::Identify).await, None);
        place.on_call(|_, _| None);
        assert_eq!(ended.refusal(&get("Secret", "shop", "s")).await, None);
    }
}
