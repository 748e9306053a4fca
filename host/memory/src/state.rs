//! The server's state, and how it is read and watched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::{GroupKind, Key, Kind, Object};
use pivot_places::{Access, Event, Listing, PlaceError, Result};
use serde_json::Value;

use super::Schema;
use crate::body::set_metadata;

/// The time of the clock that no test has set: tests compare objects.
const EPOCH: &str = "2026-01-01T00:00:00Z";

/// A past event.
struct PastEvent {
    version: u64,
    key: Key,
    body: Value,
    deleted: bool,
}

/// One call that changes something, as requested.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// `create`, `patch`, `patch-status`, `delete`; prefixed with `dry-run ` for dry runs.
    pub verb: String,
    /// The object.
    pub key: Key,
    /// Body of the request; null for a delete.
    pub body: Value,
    /// Whether the server carried it out.
    pub done: bool,
}

/// The server's state.
#[derive(Default)]
pub(super) struct State {
    pub(super) kinds: BTreeMap<GroupKind, Arc<Kind>>,
    pub(super) schemas: BTreeMap<GroupKind, Schema>,
    pub(super) objects: BTreeMap<Key, Value>,
    pub(super) denied: BTreeSet<Access>,
    /// Permissions that reads needed.
    pub(super) used: BTreeSet<Access>,
    pub(super) journal: Vec<Call>,
    history: Vec<PastEvent>,
    version: u64,
    /// The time to which a test set the clock.
    pub(super) time: Option<String>,
    /// Watches from before this version must start over.
    floor: u64,
}

impl State {
    /// Returns the time of the clock.
    pub(super) fn read_time(&self) -> Value {
        self.time.as_deref().unwrap_or(EPOCH).into()
    }

    /// Returns the kind, if it is served in that version.
    pub(super) fn served_kind(&self, kind: &Kind) -> Result<Arc<Kind>> {
        match self.kinds.get(&kind.group_kind) {
            Some(known) if known.served.contains(&kind.version) => Ok(Arc::clone(known)),
            _ => {
                let text = format!("the server has no {} in {}", kind.group_kind, kind.api_version());
                Err(PlaceError::NotFound(text))
            }
        }
    }

    pub(super) fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        self.served_kind(kind)?;
        let objects = self
            .objects
            .iter()
            .filter(|(key, _)| is_in_collection(key, kind, namespace))
            .map(|(_, body)| object_in_version(kind, body))
            .collect::<Result<_>>()?;
        Ok(Listing { objects, resource_version: self.version.to_string() })
    }

    pub(super) fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        self.served_kind(kind)?;
        self.objects.get(key).map(|body| object_in_version(kind, body)).transpose()
    }

    /// Returns the version that a watch starts after.
    pub(super) fn watch_start(&self, resource_version: &str) -> Result<u64> {
        let version = match resource_version {
            "" | "0" => self.version,
            text => text
                .parse()
                .map_err(|_| PlaceError::Invalid("a watch starts at a version the server gave".to_owned()))?,
        };
        if version < self.floor { Err(too_old()) } else { Ok(version) }
    }

    /// Returns the first event of a kind after a version.
    pub(super) fn next_event(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        from: u64,
    ) -> Result<Option<(u64, Event)>> {
        if from < self.floor {
            return Err(too_old());
        }
        let next = self.history.partition_point(|past| past.version <= from);
        let mut rest = self.history.iter().skip(next);
        let Some(past) = rest.find(|past| is_in_collection(&past.key, kind, namespace)) else {
            return Ok(None);
        };
        let object = object_in_version(kind, &past.body)?;
        let event = if past.deleted { Event::Deleted(object) } else { Event::Applied(object) };
        Ok(Some((past.version, event)))
    }

    pub(super) fn expire_watches(&mut self) {
        self.history.clear();
        self.version += 1;
        self.floor = self.version;
    }

    /// Writes an object at a new version.
    pub(super) fn store_object(&mut self, key: Key, mut body: Value) -> Value {
        self.set_next_version(&mut body);
        self.record_event(&key, &body, false);
        self.objects.insert(key, body.clone());
        body
    }

    /// Removes an object at a new version; `body` is its last state.
    pub(super) fn drop_object(&mut self, key: &Key, mut body: Value) -> Value {
        self.set_next_version(&mut body);
        self.record_event(key, &body, true);
        self.objects.remove(key);
        body
    }

    fn set_next_version(&mut self, body: &mut Value) {
        self.version += 1;
        set_metadata(body, "resourceVersion", self.version.to_string().into());
    }

    fn record_event(&mut self, key: &Key, body: &Value, deleted: bool) {
        let past = PastEvent { version: self.version, key: key.clone(), body: body.clone(), deleted };
        self.history.push(past);
    }
}

pub(super) fn too_old() -> PlaceError {
    PlaceError::Expired("too old resource version".to_owned())
}

fn is_in_collection(key: &Key, kind: &Kind, namespace: Option<&str>) -> bool {
    key.group_kind == kind.group_kind
        && (!kind.namespaced || namespace.is_none() || key.namespace.as_deref() == namespace)
}

/// Returns an object in the requested version; only the name of the version changes.
pub(super) fn object_in_version(kind: &Arc<Kind>, body: &Value) -> Result<Object> {
    let mut body = body.clone();
    if let Some(map) = body.as_object_mut() {
        map.insert("apiVersion".to_owned(), kind.api_version().into());
        map.insert("kind".to_owned(), kind.group_kind.kind.clone().into());
    }
    Object::from_value(Arc::clone(kind), &body).map_err(|error| PlaceError::Invalid(error.to_string()))
}
