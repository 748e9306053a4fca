//! The record of a move on its two sides.
//!
//! A cluster may be the source of one move and the target of another: each role has a name of its own. Nothing is ever
//! removed or overwritten that belongs to another move.

use std::sync::Arc;

use futures::future::try_join_all;
use pivot_core::record::Record;
use pivot_core::release::ReleaseList;
use pivot_core::{GroupKind, Key, Kind, Meta, Object, Side};
use pivot_places::{Change, PlaceError, Preconditions};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::outcome::failure::Failure;
use crate::requests::side::Handle;

/// Below the 1 MiB that a ConfigMap may have, with room for its metadata.
pub(crate) const CHUNK: usize = 900_000;
const LABEL: &str = "pivot-host.io/record";

/// Where one side keeps its record.
#[derive(Clone)]
pub(crate) struct Records {
    handle: Handle,
    kind: Arc<Kind>,
    namespace: String,
}

/// A record as it lies on a side.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) record: Record,
    pub(crate) resource_version: String,
    /// When it was first written, by the server's clock.
    pub(crate) created: Option<String>,
}

impl Stored {
    fn new(record: Record, meta: Meta) -> Self {
        Self { record, resource_version: meta.resource_version, created: meta.creation_timestamp }
    }
}

#[derive(Deserialize)]
struct View {
    #[serde(default)]
    data: std::collections::BTreeMap<String, String>,
}

impl Records {
    pub(crate) fn new(handle: &Handle, kind: &Arc<Kind>, namespace: &str) -> Self {
        Self { handle: handle.clone(), kind: kind.clone(), namespace: namespace.to_owned() }
    }

    /// The name of the record: the role of this side in the move.
    fn name(&self) -> &'static str {
        match self.handle.side {
            Side::Source => "pivot-host-source",
            Side::Target => "pivot-host-target",
        }
    }

    fn key(&self, name: &str) -> Key {
        Key::new(GroupKind::new("", "ConfigMap"), Some(&self.namespace), name)
    }

    fn body(&self, name: &str, key: &str, text: String) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {LABEL: ""}},
            "data": {key: text},
        })
    }

    pub(crate) async fn read(&self) -> Result<Option<Stored>, Failure> {
        let Some(object) = self.handle.get(&self.kind, &self.key(self.name())).await? else {
            return Ok(None);
        };
        let text = self.text(&object, "record.json")?;
        let record = serde_json::from_str(&text).map_err(|error| self.damaged(&error))?;
        Ok(Some(Stored::new(record, object.meta)))
    }

    fn text(&self, object: &Object, key: &str) -> Result<String, Failure> {
        let view: View = object.view().map_err(|error| self.damaged(&error))?;
        view.data.get(key).cloned().ok_or_else(|| self.damaged(&format!("it has no {key}")))
    }

    fn damaged(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::Record(format!(
            "the record in the {} (ConfigMap {}/{}) can't be read: {why}; was it written by a newer pivot-host, or edited?",
            self.handle.side,
            self.namespace,
            self.name()
        ))
    }

    /// Writes a first record. A record that is already there, of another move, is an error.
    pub(crate) async fn create(&self, record: &Record) -> Result<Stored, Failure> {
        let body = self.body(self.name(), "record.json", text(record)?);
        match self.handle.create(&self.kind, &body, Change::Real).await {
            Ok(object) => Ok(Stored::new(record.clone(), object.meta)),
            Err(PlaceError::AlreadyExists(_)) => match self.read().await? {
                Some(stored) if stored.record.move_id == record.move_id => self.update(&stored, record).await,
                Some(stored) => Err(Failure::Record(format!(
                    "the {} has the record of another move ({}, {}): resume or roll it back first",
                    self.handle.side, stored.record.move_id, stored.record.phase
                ))),
                None => Err(Failure::Record(format!(
                    "the record in the {} came and went; run the command again",
                    self.handle.side
                ))),
            },
            Err(error) => Err(self.handle.failed("writing", Some(&self.key(self.name())), error)),
        }
    }

    /// Replaces the record, if it is still as it was last seen.
    pub(crate) async fn update(&self, stored: &Stored, record: &Record) -> Result<Stored, Failure> {
        let patch = json!({
            "metadata": {"resourceVersion": stored.resource_version},
            "data": {"record.json": text(record)?},
        });
        match self.handle.patch(&self.kind, &self.key(self.name()), &patch).await {
            Ok(object) => Ok(Stored::new(record.clone(), object.meta)),
            Err(PlaceError::Conflict(why)) => match self.read().await? {
                // Our own write, whose answer got lost.
                Some(now) if now.record == *record => Ok(now),
                _ => Err(Failure::Record(format!(
                    "the record in the {} was changed by another run: {why}",
                    self.handle.side
                ))),
            },
            Err(error) => Err(self.handle.failed("writing", Some(&self.key(self.name())), error)),
        }
    }

    /// Writes the pieces of a release list beside the record.
    pub(crate) async fn write_list(&self, chunks: &[String], move_id: &str) -> Result<(), Failure> {
        let writes = chunks.iter().enumerate().map(|(number, chunk)| async move {
            let name = list_name(move_id, number);
            let body = self.body(&name, "list", chunk.to_owned());
            let result = match self.handle.create(&self.kind, &body, Change::Real).await {
                Err(PlaceError::AlreadyExists(_)) => {
                    self.handle.patch(&self.kind, &self.key(&name), &json!({"data": {"list": chunk}})).await
                }
                other => other,
            };
            result.map_err(|error| self.handle.failed("writing", Some(&self.key(&name)), error))
        });
        try_join_all(writes).await.map(drop)
    }

    /// Reads the list; none where a piece of it is gone.
    pub(crate) async fn read_list(
        &self,
        move_id: &str,
        chunks: usize,
    ) -> Result<Option<ReleaseList>, Failure> {
        let reads = (0..chunks).map(|number| async move {
            match self.handle.get(&self.kind, &self.key(&list_name(move_id, number))).await? {
                Some(object) => self.text(&object, "list").map(Some),
                None => Ok(None),
            }
        });
        let Some(texts) = try_join_all(reads).await?.into_iter().collect::<Option<Vec<String>>>() else {
            return Ok(None);
        };
        let list =
            ReleaseList::parse(texts.iter().map(String::as_str)).map_err(|error| self.damaged(&error))?;
        Ok(Some(list))
    }

    pub(crate) fn list_missing(&self) -> Failure {
        self.damaged(&"its release list (ConfigMaps pivot-host-release-…) is missing")
    }

    /// Removes a move's list. It goes before its record: while that is there, the move is not closed.
    pub(crate) async fn remove_list(&self, move_id: &str, chunks: usize) -> Result<(), Failure> {
        let pieces = (0..chunks).map(|number| self.remove_piece(self.key(&list_name(move_id, number))));
        try_join_all(pieces).await.map(drop)
    }

    /// Removes every piece of a list that a commit which did not happen may have written: how many there are is not
    /// known.
    pub(crate) async fn remove_lists(&self, move_id: &str) -> Result<(), Failure> {
        let prefix = list_prefix(move_id);
        let metas = self.handle.list_meta(&self.kind, Some(&self.namespace)).await?;
        let pieces = metas.iter().filter(|meta| meta.name.starts_with(&prefix));
        try_join_all(pieces.map(|meta| self.remove_piece(self.key(&meta.name)))).await.map(drop)
    }

    async fn remove_piece(&self, key: Key) -> Result<(), Failure> {
        match self.handle.delete(&self.kind, &key, Preconditions::default()).await {
            Ok(()) | Err(PlaceError::NotFound(_)) => Ok(()),
            Err(error) => Err(self.handle.failed("removing", Some(&key), error)),
        }
    }

    /// Removes a move's record, as it was last seen or as it is now. Another move's record is left alone.
    pub(crate) async fn remove(&self, move_id: &str, seen: Option<&Stored>) -> Result<(), Failure> {
        let key = self.key(self.name());
        let mut version = seen.map(|stored| stored.resource_version.clone());
        loop {
            let resource_version = match version.take() {
                Some(version) => version,
                None => match self.read().await?.filter(|stored| stored.record.move_id == move_id) {
                    Some(stored) => stored.resource_version,
                    None => return Ok(()),
                },
            };
            let preconditions = Preconditions { uid: None, resource_version: Some(resource_version) };
            match self.handle.delete(&self.kind, &key, preconditions).await {
                Ok(()) | Err(PlaceError::NotFound(_)) => return Ok(()),
                // Written again since it was seen: then by its new state, if it is still this move's.
                Err(PlaceError::Conflict(_)) => {}
                Err(error) => return Err(self.handle.failed("removing", Some(&key), error)),
            }
        }
    }
}

fn list_name(move_id: &str, number: usize) -> String {
    format!("{}{number}", list_prefix(move_id))
}

fn list_prefix(move_id: &str) -> String {
    format!("pivot-host-release-{move_id}-")
}

fn text(record: &Record) -> Result<String, Failure> {
    serde_json::to_string_pretty(record)
        .map_err(|error| Failure::Bug(format!("the record can't be written: {error}")))
}
