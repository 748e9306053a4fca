//! The records of moves on one side: one ConfigMap per move, named by the move's id and found by label.
//!
//! A cluster can be the source of one move and the target of another, so each role has a name of its own. Nothing that belongs to
//! another move is ever removed or overwritten.

mod lists;
mod summaries;

use std::collections::BTreeMap;
use std::sync::Arc;

use pivot_core::messages::refusal::Refusal;
use pivot_core::objects::names::RECORD as LABEL;
use pivot_core::records::record::{ENTRY, Record, piece_name, record_name};
use pivot_core::{GroupKind, Key, Kind, Meta, Object, Side};
use pivot_places::{Change, PlaceError, Preconditions};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::base::options::Options;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;
use crate::base::state::cluster_copies::KindsOfSide;
use crate::base::state::record_namespace::{FoundNamespace, RecordNamespace};

/// Below a ConfigMap's limit of 1 MiB, with room for its metadata.
pub(crate) const CHUNK_BYTES: usize = 900_000;
/// The entry of a ConfigMap that has a list, or a piece of one.
const LIST: &str = "list";

/// The records of one side.
#[derive(Clone)]
pub(crate) struct Records {
    handle: Handle,
    kind: Arc<Kind>,
    namespace: RecordNamespace,
    /// Bytes of a list that are read.
    list_limit: usize,
}

/// A record as it is stored on a side.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) record: Record,
    name: String,
    resource_version: String,
    /// When it was created, by the server's clock.
    pub(crate) created: Option<String>,
    /// When this program wrote it last, by the server's clock.
    pub(crate) written: Option<String>,
    /// The release list, if it is stored in the record itself.
    pub(crate) list: Option<String>,
}

impl Stored {
    pub(crate) fn new(record: Record, list: Option<String>, meta: Meta) -> Self {
        let written = meta.last_own_write().map(str::to_owned);
        let Meta { name, resource_version, creation_timestamp, .. } = meta;
        Self { record, name, resource_version, created: creation_timestamp, written, list }
    }
}

#[derive(Deserialize)]
struct View {
    #[serde(default)]
    data: BTreeMap<String, String>,
}

impl Records {
    /// The records of a side, where these options say; `None` if the side serves no ConfigMaps.
    pub(crate) fn new(handle: &Handle, kinds: &KindsOfSide, options: &Options) -> Option<Self> {
        let kind = kinds.get(&GroupKind::new("", "ConfigMap"))?.clone();
        let namespace = RecordNamespace::new(handle, kinds, &options.record_namespace);
        Some(Self { handle: handle.clone(), kind, namespace, list_limit: options.release_list_limit })
    }

    /// Returns the manifest of the namespace, if it is missing.
    pub(crate) async fn missing_namespace(&self) -> Result<Option<Value>, Failure> {
        self.namespace.missing_manifest().await
    }

    /// Reads the namespace.
    pub(crate) async fn find_namespace(&self) -> Result<FoundNamespace, Failure> {
        self.namespace.find().await
    }

    /// Returns the refusal of a namespace in which the move can't write its record later.
    pub(crate) async fn refuse_unwritable_namespace(
        &self,
        move_id: &str,
        found: FoundNamespace,
        may_create: bool,
    ) -> Result<Option<Refusal>, Failure> {
        self.namespace.refuse_unwritable(&self.kind, move_id, found, may_create).await
    }

    /// The role of this side in a move.
    fn role(&self) -> &'static str {
        match self.handle.side {
            Side::Source => "source",
            Side::Target => "target",
        }
    }

    fn name(&self, move_id: &str) -> String {
        record_name(self.handle.side, move_id)
    }

    fn key(&self, name: &str) -> Key {
        Key::new(GroupKind::new("", "ConfigMap"), Some(self.namespace.name()), name)
    }

    fn config_map_body(&self, name: &str, labels: Value, data: Value) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace.name(), "labels": labels},
            "data": data,
        })
    }

    /// Every record of this side's role. An unreadable record stops everything, because the state of its move is unknown.
    pub(crate) async fn list_under_way(&self) -> Result<Vec<Stored>, Failure> {
        let listing = self.handle.list_labelled(&self.kind, self.namespace.name(), LABEL).await?;
        let prefix = self.name("");
        let ours = |object: &&Object| {
            let role = object.meta.labels.get(LABEL).map(String::as_str);
            role == Some(self.role()) && object.meta.name.starts_with(&prefix)
        };
        let mut all = Vec::new();
        for object in listing.objects.iter().filter(ours) {
            let stored = self.parse_stored(object)?;
            // A record under a name other than its move's is ignored, whatever it says.
            if stored.name == self.name(&stored.record.move_id) {
                all.push(stored);
            }
        }
        Ok(all)
    }

    /// The record of a move that is under way, in either role of this cluster, and whether the role is this side's.
    pub(crate) async fn find_by_move(&self, move_id: &str) -> Result<Option<(Record, bool)>, Failure> {
        if let Some(stored) =
            self.list_under_way().await?.into_iter().find(|stored| stored.record.move_id == move_id)
        {
            return Ok(Some((stored.record, true)));
        }
        let side = match self.handle.side {
            Side::Source => Side::Target,
            Side::Target => Side::Source,
        };
        let mut other = self.clone();
        other.handle.side = side;
        let stored =
            other.list_under_way().await?.into_iter().find(|stored| stored.record.move_id == move_id);
        Ok(stored.map(|stored| (stored.record, false)))
    }

    async fn read_record(&self, name: &str) -> Result<Option<Stored>, Failure> {
        let object = self.handle.get(&self.kind, &self.key(name)).await?;
        object
            .filter(|object| object.meta.has_label(LABEL))
            .map(|object| self.parse_stored(&object))
            .transpose()
    }

    fn parse_stored(&self, object: &Object) -> Result<Stored, Failure> {
        let name = &object.meta.name;
        let view: View = object.view().map_err(|error| self.unreadable_failure(name, &error))?;
        let text = view
            .data
            .get(ENTRY)
            .ok_or_else(|| self.unreadable_failure(name, &format!("it has no {ENTRY}")))?;
        let record = Record::parse(text).map_err(|error| self.unreadable_failure(name, &error))?;
        Ok(Stored::new(record, view.data.get(LIST).cloned(), object.meta.clone()))
    }

    fn read_entry(&self, object: &Object, key: &str) -> Result<String, Failure> {
        let name = &object.meta.name;
        let view: View = object.view().map_err(|error| self.unreadable_failure(name, &error))?;
        view.data.get(key).cloned().ok_or_else(|| self.unreadable_failure(name, &format!("it has no {key}")))
    }

    fn unreadable_failure(&self, name: &str, why: &dyn std::fmt::Display) -> Failure {
        let (side, namespace) = (self.handle.side, self.namespace.name());
        Failure::Record(format!(
            "the record in the {side} (ConfigMap {namespace}/{name}) can't be read: {why}"
        ))
    }

    /// Creates a record, including the release list if that is short enough.
    pub(crate) async fn create(&self, record: &Record, list: Option<String>) -> Result<Stored, Failure> {
        let name = self.name(&record.move_id);
        let body =
            self.config_map_body(&name, json!({LABEL: self.role()}), record_data(record, list.as_deref())?);
        match self.namespace.create_in(&self.kind, &body).await? {
            Ok(object) => Ok(Stored::new(record.clone(), list, object.meta)),
            // Our own write, whose answer got lost, or another run of the same move.
            Err(PlaceError::AlreadyExists(_)) => match self.read_record(&name).await? {
                Some(stored) => self.update(&stored, record, list).await,
                None => Err(Failure::Record(format!(
                    "the record in the {} came and went; run the command again",
                    self.handle.side
                ))),
            },
            Err(error) => Err(self.handle.request_failure("writing", Some(&self.key(&name)), error)),
        }
    }

    /// Fails if the lease is lost, so that a write would not be sent.
    pub(crate) fn check_lease(&self) -> Result<(), Failure> {
        self.handle.fence(Change::Real).map_err(|error| self.handle.request_failure("writing", None, error))
    }

    /// Replaces the record if it is still as last seen.
    pub(crate) async fn update(
        &self,
        stored: &Stored,
        record: &Record,
        list: Option<String>,
    ) -> Result<Stored, Failure> {
        let key = self.key(&stored.name);
        let patch = json!({
            "metadata": {"resourceVersion": stored.resource_version},
            "data": record_data(record, list.as_deref())?,
        });
        match self.handle.patch(&self.kind, &key, &patch).await {
            Ok(object) => Ok(Stored::new(record.clone(), list.or_else(|| stored.list.clone()), object.meta)),
            Err(PlaceError::Conflict(why)) => match self.read_record(&stored.name).await? {
                // Our own write, whose answer got lost.
                Some(now) if now.record == *record && list.is_none_or(|list| now.list == Some(list)) => {
                    Ok(now)
                }
                _ => Err(self.changed_failure(&why)),
            },
            Err(error) => Err(self.handle.request_failure("writing", Some(&key), error)),
        }
    }

    /// Reads the server's clock: a dry run creates a piece of the move's list, of which there must be none.
    pub(crate) async fn read_time(&self, move_id: &str) -> Result<String, Failure> {
        let name = piece_name(move_id, 0);
        let body = self.config_map_body(&name, json!({}), json!({}));
        let created = self.handle.create(&self.kind, &body, Change::DryRun).await;
        let created = created.map_err(|error| {
            self.handle.request_failure("reading the time", Some(&self.key(&name)), error)
        })?;
        created
            .meta
            .creation_timestamp
            .ok_or_else(|| self.unreadable_failure(&name, &"the server gives it no time"))
    }

    async fn remove_named(&self, name: String) -> Result<(), Failure> {
        let key = self.key(&name);
        match self.handle.delete(&self.kind, &key, Preconditions::default()).await {
            Ok(()) | Err(PlaceError::NotFound(_)) => Ok(()),
            Err(error) => Err(self.handle.request_failure("removing", Some(&key), error)),
        }
    }

    /// Removes a move's record, but only in the state last seen: a user who was told that the source is gone may have continued
    /// the move meanwhile, and its copies must not be mistaken for those of a move that can be rolled back.
    pub(crate) async fn remove(&self, stored: &Stored) -> Result<(), Failure> {
        let key = self.key(&stored.name);
        let must = Preconditions { uid: None, resource_version: Some(stored.resource_version.clone()) };
        match self.handle.delete(&self.kind, &key, must).await {
            Ok(()) | Err(PlaceError::NotFound(_)) => Ok(()),
            Err(PlaceError::Conflict(why)) => Err(self.changed_failure(&why)),
            Err(error) => Err(self.handle.request_failure("removing", Some(&key), error)),
        }
    }

    fn changed_failure(&self, why: &str) -> Failure {
        Failure::Record(format!("the record in the {} was changed by another run: {why}", self.handle.side))
    }
}

/// The data of a record's ConfigMap.
fn record_data(record: &Record, list: Option<&str>) -> Result<Value, Failure> {
    let text = serde_json::to_string_pretty(record).map_err(|error| unwritable_record(&error))?;
    Ok(match list {
        Some(list) => json!({ENTRY: text, LIST: list}),
        None => json!({ENTRY: text}),
    })
}

fn unwritable_record(error: &serde_json::Error) -> Failure {
    Failure::Bug(format!("the record can't be written: {error}"))
}
