//! The records of moves on one side: one ConfigMap per move, named by the move's id and found by label.
//!
//! A cluster can be the source of one move and the target of another, so each role has a name of its own. Nothing that belongs to
//! another move is ever removed or overwritten.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::try_join_all;
use futures::stream::{self, StreamExt, TryStreamExt};
use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::messages::refusal::Refusal;
use pivot_core::objects::names::{FINISHED, RECORD as LABEL, ROLLED_BACK};
use pivot_core::records::record::{
    ENTRY, Finished, ROLLBACK_SUMMARY, Record, RolledBackMove, SUMMARY, piece_name, pieces_prefix,
    record_name,
};
use pivot_core::records::release::{self, ReleaseList};
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key, Kind, Meta, Object, Side};
use pivot_places::{Change, PlaceError, Preconditions};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::base::options::Options;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::LISTS;
use crate::base::state::cluster_copies::KindsOfSide;
use crate::base::state::record_namespace::{FoundNamespace, RecordNamespace};

/// Below a ConfigMap's limit of 1 MiB, with room for its metadata.
pub(crate) const CHUNK_BYTES: usize = 900_000;
/// The longest piece that is read: a single line may be longer than a piece should be.
const MAX_PIECE_BYTES: usize = 2 * CHUNK_BYTES;
/// Bytes that a line of a list takes in memory in addition to its text, at most: its kind may have a group of 253 bytes.
const MAX_LINE_OVERHEAD: usize = 1 << 10;
/// Number of summaries of moves of a scope's namespaces that are kept, in addition to the summaries of moves whose Clusters are still there. Moves of one
/// namespace remove none of another's: they may be of different tenants.
const MAX_SUMMARIES: usize = 10;
/// Number of summaries of moves that imported files that are kept. Programs read them, too: without one, objects can't be deleted
/// from a source that was handed over in those files.
const MAX_IMPORT_SUMMARIES: usize = 200;
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

/// Result of replacing a record by a summary.
enum Replaced {
    Yes,
    /// No object has its name any more, and why the write failed.
    Gone(String),
    /// Another run has changed it, and why the write failed.
    Changed(String),
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

    /// Writes the pieces of a release list next to the record.
    pub(crate) async fn write_list(&self, chunks: &[String], move_id: &str) -> Result<(), Failure> {
        let writes = chunks.iter().enumerate().map(|(number, chunk)| async move {
            let name = piece_name(move_id, number);
            let body = self.config_map_body(&name, json!({}), json!({LIST: chunk}));
            let result = match self.namespace.create_in(&self.kind, &body).await? {
                Err(PlaceError::AlreadyExists(_)) => {
                    self.handle.patch(&self.kind, &self.key(&name), &json!({"data": {LIST: chunk}})).await
                }
                other => other,
            };
            result.map_err(|error| self.handle.request_failure("writing", Some(&self.key(&name)), error))
        });
        try_join_all(writes).await.map(drop)
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

    /// Reads the list, in the record or next to it; `None` if a piece of it is gone.
    pub(crate) async fn read_list(&self, stored: &Stored) -> Result<Option<ReleaseList>, Failure> {
        self.read_committed_list(stored, None).await
    }

    /// Reads the list that has the digest that was committed. Any other list is an error.
    pub(crate) async fn read_committed_list(
        &self,
        stored: &Stored,
        digest: Option<&str>,
    ) -> Result<Option<ReleaseList>, Failure> {
        let Record { move_id, release_chunks, .. } = &stored.record;
        if *release_chunks == 0 {
            let Some(list) = stored.list.as_deref() else { return Ok(None) };
            return self.parse_list(move_id, &[list], digest).map(Some);
        }
        let reads = (0..*release_chunks).map(|number| self.read_piece(piece_name(move_id, number)).boxed());
        // Those on their way are not counted yet.
        let at_once = (self.list_limit / MAX_PIECE_BYTES).clamp(1, LISTS);
        let mut pieces = stream::iter(reads.collect::<Vec<_>>()).buffered(at_once);
        let (mut texts, mut bytes) = (Vec::new(), 0);
        // If one is gone, the others are not read: anyone with write access could have raised their number in the record.
        while let Some(piece) = pieces.try_next().await? {
            let Some(text) = piece else { return Ok(None) };
            bytes += text.len();
            self.check_size(move_id, bytes, 0)?;
            texts.push(text);
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.parse_list(move_id, &texts, digest).map(Some)
    }

    /// A piece of a list; `None` if it is gone.
    async fn read_piece(&self, name: String) -> Result<Option<String>, Failure> {
        let Some(object) = self.handle.get(&self.kind, &self.key(&name)).await? else { return Ok(None) };
        match self.read_entry(&object, LIST)? {
            text if text.len() > MAX_PIECE_BYTES => {
                Err(self.unreadable_failure(&name, &"it is longer than any that a move writes"))
            }
            text => Ok(Some(text)),
        }
    }

    /// Fails if a list is longer than those that are read.
    fn check_size(&self, move_id: &str, bytes: usize, lines: usize) -> Result<(), Failure> {
        match self.describe_excess(bytes, lines) {
            Some(excess) => {
                let why = format!("its release list has {excess}");
                Err(self.unreadable_failure(&self.name(move_id), &why))
            }
            None => Ok(()),
        }
    }

    /// Refuses a list that no other attempt with this limit could read.
    pub(crate) fn refuse_long_list<T: AsRef<str>>(&self, texts: &[T]) -> Result<(), Failure> {
        let (bytes, lines) = measure_list(texts);
        match self.describe_excess(bytes, lines) {
            Some(excess) => {
                Err(Failure::Record(format!("the release list of this move would have {excess}")))
            }
            None => Ok(()),
        }
    }

    /// Describes by how much a list exceeds the limits; `None` if it does not.
    fn describe_excess(&self, bytes: usize, lines: usize) -> Option<String> {
        let (limit, most) = (self.list_limit, self.list_limit / MAX_LINE_OVERHEAD);
        let excess = match () {
            () if bytes > limit => format!("more than {limit} bytes"),
            () if lines > most => format!("more than {most} lines"),
            () => return None,
        };
        Some(format!("{excess}, which are the most here: run fewer moves at once, or resume at a terminal"))
    }

    fn parse_list(
        &self,
        move_id: &str,
        texts: &[&str],
        digest: Option<&str>,
    ) -> Result<ReleaseList, Failure> {
        let (bytes, lines) = measure_list(texts);
        self.check_size(move_id, bytes, lines)?;
        // Before the text takes memory as a list.
        if digest.is_some_and(|digest| digest != release::digest_of_text(texts.iter().copied())) {
            return Err(self.another_list(move_id));
        }
        let list = ReleaseList::parse(texts.iter().copied());
        list.map_err(|error| self.unreadable_failure(&self.name(move_id), &error))
    }

    fn another_list(&self, move_id: &str) -> Failure {
        let why =
            "its release list is not the one that the source committed: nothing is deleted by another list";
        self.unreadable_failure(&self.name(move_id), &why)
    }

    pub(crate) fn list_has_others(&self, move_id: &str, key: &Key) -> Failure {
        let why =
            format!("it deletes {key}, which is in none of the namespaces that the source's record has");
        self.unreadable_failure(&self.name(move_id), &why)
    }

    pub(crate) fn list_missing(&self, move_id: &str) -> Failure {
        let why = "its release list is missing";
        self.unreadable_failure(&self.name(move_id), &why)
    }

    /// Removes a move's list. It is removed before its record: while that exists, the move is not closed.
    pub(crate) async fn remove_list(&self, move_id: &str, chunks: usize) -> Result<(), Failure> {
        let pieces = (0..chunks).map(|number| self.remove_named(piece_name(move_id, number)));
        try_join_all(pieces).await.map(drop)
    }

    /// Removes every piece of a list that an uncompleted commit may have written; their number is unknown.
    pub(crate) async fn remove_lists(&self, move_id: &str) -> Result<(), Failure> {
        let prefix = pieces_prefix(move_id);
        let metas = self.handle.list_meta(&self.kind, Some(self.namespace.name())).await?;
        let piece = |name: &str| {
            let number = name.strip_prefix(&prefix);
            number.is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
        };
        let pieces = metas.into_iter().filter(|meta| piece(&meta.name));
        try_join_all(pieces.map(|meta| self.remove_named(meta.name))).await.map(drop)
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

    /// Turns a move's record into its summary in one write: at no moment do both exist, or neither.
    pub(crate) async fn finish(&self, stored: &Stored, finished: &Finished) -> Result<(), Failure> {
        match self.replace_with_summary(stored, FINISHED, SUMMARY, finished).await? {
            Replaced::Yes => Ok(()),
            // A rollback unaware of this run is removing the copies.
            Replaced::Gone(why) | Replaced::Changed(why) => Err(self.changed_failure(&why)),
        }
    }

    /// Turns the record of a move that was rolled back into its summary. Like [`Self::remove`], but only in the state last seen.
    pub(crate) async fn finish_rollback(
        &self,
        stored: &Stored,
        summary: &RolledBackMove,
    ) -> Result<(), Failure> {
        match self.replace_with_summary(stored, ROLLED_BACK, ROLLBACK_SUMMARY, summary).await {
            Ok(Replaced::Yes | Replaced::Gone(_)) => Ok(()),
            Ok(Replaced::Changed(why)) => Err(self.changed_failure(&why)),
            // Without the summary it is rolled back all the same.
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => self.remove(stored).await,
            Err(failure) => Err(failure),
        }
    }

    async fn replace_with_summary(
        &self,
        stored: &Stored,
        label: &str,
        entry: &str,
        summary: &impl Serialize,
    ) -> Result<Replaced, Failure> {
        let key = self.key(&stored.name);
        let summary = serde_json::to_string_pretty(summary).map_err(|error| unwritable_record(&error))?;
        let patch = json!({
            "metadata": {
                "resourceVersion": stored.resource_version,
                "labels": {LABEL: null, label: self.role()},
            },
            "data": {ENTRY: null, LIST: null, entry: summary},
        });
        match self.handle.patch(&self.kind, &key, &patch).await {
            Ok(_) => Ok(Replaced::Yes),
            Err(PlaceError::Conflict(why) | PlaceError::NotFound(why)) => {
                Ok(match self.handle.get(&self.kind, &key).await? {
                    // Our own write, whose answer got lost.
                    Some(there) if there.meta.has_label(label) => Replaced::Yes,
                    Some(_) => Replaced::Changed(why),
                    None => Replaced::Gone(why),
                })
            }
            Err(error) => Err(self.handle.request_failure("closing", Some(&key), error)),
        }
    }

    /// The moves whose records here, as far as they may be read, say that they can't be rolled back.
    pub(crate) async fn find_irreversible(&self) -> Result<BTreeSet<String>, Failure> {
        let (under_way, ended) = match tokio::try_join!(self.list_under_way(), self.list_finished()) {
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Default::default(),
            read => read?,
        };
        let committed = under_way.into_iter().filter(|stored| stored.record.phase.is_committed());
        let committed = committed.map(|stored| stored.record.move_id);
        Ok(committed.chain(ended.into_iter().map(|ended| ended.move_id)).collect())
    }

    /// The summaries that the last moves left behind, the latest first.
    pub(crate) async fn list_finished(&self) -> Result<Vec<Finished>, Failure> {
        Ok(self.list_finished_by_name().await?.into_iter().map(|(finished, _)| finished).collect())
    }

    async fn list_finished_by_name(&self) -> Result<Vec<(Finished, String)>, Failure> {
        let mut all: Vec<(Finished, String)> =
            self.list_summaries(FINISHED, SUMMARY, Finished::parse).await?;
        all.sort_by(|(a, _), (b, _)| b.ended_at.cmp(&a.ended_at).then_with(|| a.move_id.cmp(&b.move_id)));
        Ok(all)
    }

    /// The summaries of the last moves that were rolled back, the latest first.
    pub(crate) async fn list_rolled_back(&self) -> Result<Vec<RolledBackMove>, Failure> {
        Ok(self.list_rolled_back_by_name().await?.into_iter().map(|(summary, _)| summary).collect())
    }

    async fn list_rolled_back_by_name(&self) -> Result<Vec<(RolledBackMove, String)>, Failure> {
        let mut all: Vec<(RolledBackMove, String)> =
            self.list_summaries(ROLLED_BACK, ROLLBACK_SUMMARY, RolledBackMove::parse).await?;
        all.sort_by(|(a, _), (b, _)| b.ended_at.cmp(&a.ended_at).then_with(|| a.move_id.cmp(&b.move_id)));
        Ok(all)
    }

    /// Summaries, with the names of their ConfigMaps.
    async fn list_summaries<T>(
        &self,
        label: &str,
        entry: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<(T, String)>, Failure> {
        let listing = self.handle.list_labelled(&self.kind, self.namespace.name(), label).await?;
        let summaries = listing.objects.iter().filter_map(|object| {
            let text = self.read_entry(object, entry).ok()?;
            // A newer release may have written one that is unreadable here. Without it an import is not found, and the
            // run is refused before anything is changed.
            Some((parse(&text)?, object.meta.name.clone()))
        });
        Ok(summaries.collect())
    }

    /// The namespaces of a move by their names on this side. Namespaces of two tenants can have one name in sources of theirs.
    fn namespaces_here(&self, scope: &Scope) -> Namespaces {
        match self.handle.side {
            Side::Source => scope.namespaces.clone(),
            Side::Target => scope.namespaces.in_target(&scope.namespace_map),
        }
    }

    /// Removes the summaries of the oldest moves of the same namespaces that were rolled back, to make room for one more.
    pub(crate) async fn forget_old_rollbacks(&self, scope: &Scope) -> Result<(), Failure> {
        let namespaces = self.namespaces_here(scope);
        let all = self.list_rolled_back_by_name().await?.into_iter();
        let old = all
            .filter(|(summary, _)| self.namespaces_here(&summary.scope) == namespaces)
            .skip(MAX_SUMMARIES - 1);
        try_join_all(old.map(|(_, name)| self.remove_named(name))).await.map(drop)
    }

    /// Removes the summaries of the oldest moves of the same namespaces, to make room for one more. As long as a Cluster has a move's mark,
    /// that move's summary may have to show that it ended.
    pub(crate) async fn forget_old(&self, kinds: &KindsOfSide, scope: &Scope) -> Result<(), Failure> {
        let namespaces = self.namespaces_here(scope);
        let all = self.list_finished_by_name().await?.into_iter();
        let (imports, others): (Vec<_>, Vec<_>) = all.partition(|(finished, _)| finished.files.is_some());
        let others = others.into_iter().filter(|(finished, _)| {
            finished.scope.as_ref().is_none_or(|scope| self.namespaces_here(scope) == namespaces)
        });
        let old = others.skip(MAX_SUMMARIES - 1).chain(imports.into_iter().skip(MAX_IMPORT_SUMMARIES - 1));
        let old: Vec<(Finished, String)> = old.collect();
        let clusters = kinds.iter().find(|(gk, _)| is_cluster(gk)).map(|(_, kind)| kind);
        let clusters = match clusters.filter(|_| !old.is_empty()) {
            Some(kind) => self.handle.list_meta(kind, None).await?,
            None => Vec::new(),
        };
        let old = old
            .into_iter()
            .filter(|(finished, _)| !clusters.iter().any(|cluster| cluster.has_mark(&finished.move_id)));
        try_join_all(old.map(|(_, name)| self.remove_named(name))).await.map(drop)
    }
}

/// Returns the bytes and lines of a list.
fn measure_list<T: AsRef<str>>(texts: &[T]) -> (usize, usize) {
    let texts = || texts.iter().map(AsRef::as_ref);
    (texts().map(str::len).sum(), texts().map(|text| text.lines().count()).sum())
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
