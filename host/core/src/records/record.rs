//! The record of a move: the little state that must outlive a run.
//!
//! Each side has one ConfigMap per move that holds it. The source's decides until it says [`Phase::Committed`]; from then on the
//! target's does, so that losing the source can't prevent the move from finishing. Everything else is read from the objects.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::messages::safe_text;
use crate::objects::kind::GroupKind;
use crate::objects::names::{self, STATE};
use crate::objects::object::Uid;
use crate::objects::side::Side;
use crate::plugins::hooks::Description;
use crate::records::cluster_identity::MovedCluster;
use crate::records::format::Format;
use crate::records::release::UidSet;
use crate::request::manifest_object::MAX_ADDED_OBJECTS;
use crate::request::scope::{Namespaces, Scope};
use crate::request::validate::{find_id_error, find_kind_error, find_label_error, find_name_error};

mod format4;

/// Phase of a move. A phase is recorded before its first change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// Being checked; nothing was changed. Never recorded.
    Checked,
    /// The source is being paused.
    Paused,
    /// Objects are being created in the target.
    Copied,
    /// The copies lie paused in the target, and its controllers show that they see them.
    Ready,
    /// The copy is complete and verified; the release list is written. No way back from here. The source's record stays here until
    /// [`Phase::Released`]; the target's, which decides from now on, goes straight to [`Phase::Live`].
    Committed,
    /// The target's Clusters are being unpaused.
    Live,
    /// Source objects are being deleted. Both records say so before the first one is, and the source's stays here.
    Released,
    /// The objects that plugins hold are being unpaused.
    Settled,
}

impl Phase {
    /// All phases, in their order.
    pub const ALL: [Self; 8] = [
        Self::Checked,
        Self::Paused,
        Self::Copied,
        Self::Ready,
        Self::Committed,
        Self::Live,
        Self::Released,
        Self::Settled,
    ];

    /// Returns true if the target's record decides, so that the move can only go forward.
    pub fn is_committed(self) -> bool {
        self >= Self::Committed
    }

    /// Returns true if the target may have paused copies, and the source still decides.
    pub fn has_uncommitted_copies(self) -> bool {
        matches!(self, Self::Copied | Self::Ready)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A plugin that took part, so that a resumed run uses the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Name.
    pub name: String,
    /// Version, for people.
    pub version: String,
    /// Digest of component and configuration.
    pub digest: String,
    /// Signers of the plugin when the move began, and their claims.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "vouchedBy")]
    pub vouched_by: Vec<String>,
    /// Permissions of the plugin when the move began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
}

impl From<&Description> for Pin {
    fn from(plugin: &Description) -> Self {
        let Description { name, version, digest, vouched_by, granted, .. } = plugin;
        Self {
            name: name.clone(),
            version: version.clone(),
            digest: digest.clone(),
            vouched_by: vouched_by.clone(),
            granted: granted.clone(),
        }
    }
}

/// A list of a million objects has about 300 chunks.
const MOST_CHUNKS: usize = 500;
/// The most namespaces and kinds a move works in: more than fit into a ConfigMap.
const MOST_NAMESPACES: usize = 50_000;
const MOST_KINDS: usize = 10_000;
/// The most list requests: each kind in each namespace.
const MOST_LISTS: usize = 5_000_000;
/// The most attempts before the last one.
const MOST_ATTEMPTS: usize = 100;
/// The most plugins that take part.
pub(crate) const MOST_PLUGINS: usize = 100;
/// The most claims about one plugin: 16 signatures on each of 64 lines.
const MOST_CLAIMS: usize = 1_024;
/// The most moves that import the files of one handover.
const MOST_IMPORTS: usize = 1_000;
/// The most parts that are excluded or carried along.
const MOST_PARTS: usize = 1_000;
/// The longest text for people.
const TEXT: usize = 10_000;
/// Largest number of characters of an unusable record that are printed.
const SHOWN: usize = 300;

/// The version of the record's format.
pub const FORMAT: u32 = 5;
/// The oldest format that is read.
pub const OLDEST_FORMAT: u32 = 4;
/// The version of a summary's format.
pub const SUMMARY_FORMAT: u32 = 3;

/// The record itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    /// The version of this format.
    pub format: Format<FORMAT>,
    /// The version of pivot-host that wrote it last.
    pub written_by: String,
    /// Name of the user who started the move. Records that different users started are of different moves.
    pub started_by: String,
    /// The move's id: also the mark on every object it creates.
    pub move_id: String,
    /// Proves which objects of the target the move made ([`crate::copies::mark`]). Only the records have it: reports and documents must
    /// not. None if the move was begun in an earlier format, or keeps no record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_key: Option<String>,
    /// The keys of earlier attempts, whose target lost the move after the commit: by these their copies are known again. None but the
    /// copies of the last attempt count as the move's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_copy_keys: Vec<String>,
    /// The phase it has reached.
    pub phase: Phase,
    /// Scope that the user asked for.
    pub scope: Scope,
    /// The source cluster.
    pub source: Option<Uid>,
    /// The target cluster; see [`Record::source`].
    pub target: Option<Uid>,
    /// Whether the move is a copy into a directory.
    #[serde(default)]
    pub into_directory: bool,
    /// Time of the start, for people.
    pub started_at: String,
    /// Namespaces that the move created in the target.
    pub created_namespaces: Vec<String>,
    /// The plugins that take part.
    pub plugins: Vec<Pin>,
    /// The kinds of the objects that move: a rollback without plugins must find those, too.
    pub kinds: BTreeSet<GroupKind>,
    /// Namespaces of the objects that are copied.
    pub copied_namespaces: BTreeSet<String>,
    /// Whether nothing of the source is changed outside of the scope: from other namespaces objects are copied, and no more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
    /// Checksum of the saved plan that the move carries out. Until the commit, it can be resumed only with that plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_checksum: Option<String>,
    /// Whether the target may finish the move while the source is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_alone: Option<FinishAlone>,
    /// The digest of the release list, once there is one. The list lies in the target: by this the source knows it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_digest: Option<String>,
    /// The source's objects on the release list. Without the target, the source proves by this that it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_uids: Option<UidSet>,
    /// Number of chunks in which the release list is stored next to the record.
    pub release_chunks: usize,
    /// Whether the source went back to before the commit, and was committed again by the target's list: its objects may have other
    /// versions than the list says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub source_went_back: bool,
    /// The time of the commit, by the target's clock, if the target's record is older. Only that record has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_at: Option<String>,
    /// Handover of the source in files: the source stays paused until they are imported elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
}

/// State of the permission to finish a move while its source is away. The target's record says Live before the source's says Committed, so without this
/// the target alone can't know which of them decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FinishAlone {
    /// The user wants it. The target must not do so before the move is committed.
    Requested,
    /// The target may do so: written into its record after the source's said Committed, and before any copy is unpaused.
    Allowed,
    /// The target did so: its copies run, and only the source is left to be done.
    Done,
}

/// A source that is handed over in files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Handover {
    /// Identity of the files; `None` until all of them are written. No directory is closed before it is recorded, so that no
    /// cluster imports files that the source's record doesn't name.
    #[serde(default)]
    pub files: Option<Uid>,
    /// Directory of the files, for people.
    #[serde(default)]
    pub directory: String,
    /// Time at which they were written, for people.
    #[serde(default)]
    pub written_at: String,
    /// Ids of the moves that imported the files. Empty until the target was asked.
    #[serde(default)]
    pub imported_by: BTreeSet<String>,
    /// Kinds for which the user accepted the risk `copy-changed`.
    #[serde(default)]
    pub copy_changed: BTreeSet<GroupKind>,
    /// Whether a rollback has begun to unpause the source. From then on no cluster may import the files.
    #[serde(default)]
    pub rollback_begun: bool,
}

impl Record {
    /// Returns true if the source is a directory of files.
    pub fn is_of_files(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.0.starts_with(names::FILES))
    }

    /// Returns the files in which the source was handed over, until the source is deleted or rolled back.
    pub fn handed_over(&self) -> Option<&Uid> {
        self.handover.as_ref()?.files.as_ref().filter(|_| !self.phase.is_committed())
    }

    /// Returns true if the source was made authoritative again after the commit. What its machines have been through since is unknown, so
    /// each Cluster stays paused until it is named.
    pub fn is_recovered(&self) -> bool {
        !self.earlier_copy_keys.is_empty()
    }

    /// Returns true if a rollback has begun to unpause a source that was handed over. Its files can no longer be imported.
    pub fn is_being_rolled_back(&self) -> bool {
        self.handover.as_ref().is_some_and(|handover| handover.rollback_begun)
    }
}

/// An error that makes a record unusable. Then the run must not change anything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A newer program wrote it.
    #[error("pivot-host {written_by} wrote it in format {format}, and this one ({}) knows formats {OLDEST_FORMAT} and {FORMAT}: use that version, or a newer one", env!("CARGO_PKG_VERSION"))]
    Newer {
        /// Format of the record.
        format: u64,
        /// Version of that program.
        written_by: String,
    },
    /// A program wrote it that is too old.
    #[error("pivot-host {written_by} wrote it in format {format}, and this one ({}) knows formats {OLDEST_FORMAT} and {FORMAT}: finish the move with that version", env!("CARGO_PKG_VERSION"))]
    Older {
        /// Format of the record.
        format: u64,
        /// Version of that program.
        written_by: String,
    },
    /// A newer program wrote a phase, a field or another word that this one doesn't know, in a format that both know.
    #[error("pivot-host {written_by} wrote it with {name:?}, which this one ({}) doesn't know: use that version, or a newer one, unless the record was edited", env!("CARGO_PKG_VERSION"))]
    Unknown {
        /// Name of the phase or field.
        name: String,
        /// Version of that program.
        written_by: String,
    },
    /// The text is not a record.
    #[error("{reason} (pivot-host {written_by} wrote it; was it edited?)")]
    Unreadable {
        /// Description of the error.
        reason: String,
        /// The version that wrote it, if it names one.
        written_by: String,
    },
}

impl Record {
    /// Parses a record of this format, or of format 4.
    ///
    /// # Errors
    ///
    /// A later version may add phases and fields to this format. A record that has one is refused: an older version would drop it, and
    /// continue a move without what it protects. Records that have none are read by both.
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        let parsed: Result<Value, _> = serde_json::from_str(text);
        let field = |name| parsed.as_ref().ok().and_then(|record| record.get(name));
        let format = field("format").and_then(Value::as_u64);
        let written_by = field("writtenBy").and_then(Value::as_str).filter(|version| !version.is_empty());
        let written_by = safe_text::to_line(written_by.unwrap_or("of an unknown version"), SHOWN);
        let unreadable = |reason| RecordError::Unreadable { reason, written_by: written_by.clone() };
        let refused = |error: serde_json::Error| match unknown_name(&error) {
            Some(name) => RecordError::Unknown { name, written_by: written_by.clone() },
            None => unreadable(safe_text::to_line(&error.to_string(), SHOWN)),
        };
        match format {
            Some(format) if format > u64::from(FORMAT) => {
                return Err(RecordError::Newer { format, written_by });
            }
            Some(format) if format < u64::from(OLDEST_FORMAT) => {
                return Err(RecordError::Older { format, written_by });
            }
            _ => {}
        }
        let mut value = parsed.map_err(refused)?;
        if format == Some(u64::from(OLDEST_FORMAT)) {
            format4::convert_record(&mut value, FORMAT);
        }
        let record: Self = serde_json::from_value(value).map_err(refused)?;
        record.check_bounds().map_err(|what| unreadable(format!("its {what} can't be right")))?;
        Ok(record)
    }

    /// Checks the bounds of all values that become a name, a path or a count, before they are used and before they are written.
    /// Anyone with permission to write ConfigMaps can write an invalid record.
    pub fn check_bounds(&self) -> Result<(), &'static str> {
        let Self {
            scope,
            source,
            target,
            created_namespaces,
            plugins,
            kinds,
            copied_namespaces,
            handover,
            ..
        } = self;
        let files =
            |contents: &Uid| contents.0.starts_with(names::FILES) && find_id_error(&contents.0).is_none();
        let handover_fits = handover.as_ref().is_none_or(|handover| {
            let Handover {
                files: contents,
                directory,
                written_at,
                imported_by,
                copy_changed,
                rollback_begun: _,
            } = handover;
            contents.iter().all(files)
                && directory.len().max(written_at.len()) <= TEXT
                && imported_by.len() <= MOST_IMPORTS
                && imported_by.iter().all(|id| is_move_id(id))
                && copy_changed.len() <= MOST_KINDS
                && copy_changed.iter().all(|kind| find_kind_error(kind).is_none())
        });
        let mut accepted = scope.accept.iter().map(|(_, kinds)| kinds).chain([kinds]);
        let asked_for = match &scope.namespaces {
            Namespaces::All => None,
            Namespaces::One(one) => Some(one),
        };
        let parts = || scope.exclude.iter().chain(&scope.also_copy);
        let objects = || parts().filter_map(|part| part.object.as_ref());
        let added = || scope.from_manifests.iter().map(|added| &added.object);
        let within = || parts().filter_map(|part| part.within.as_ref());
        let mut in_parts =
            objects().flat_map(|name| name.namespace.iter().chain([&name.name])).chain(within());
        let mut labels = parts().filter_map(|part| part.label.as_ref());
        let mut of_added = added().flat_map(|key| key.namespace.iter().chain([&key.name]));
        let mut clusters = scope.clusters.iter().flat_map(|cluster| [&cluster.namespace, &cluster.name]);
        let names = || created_namespaces.iter().chain(copied_namespaces).chain(asked_for);
        let pins = || {
            let texts = plugins.iter().flat_map(|pin| [&pin.name, &pin.version, &pin.digest]);
            texts.chain(plugins.iter().flat_map(|pin| pin.vouched_by.iter().chain(&pin.granted)))
        };
        let digests = || self.release_digest.iter().chain(self.release_uids.iter().map(|uids| &uids.digest));
        let own = || {
            let texts = [&self.written_by, &self.started_by, &self.started_at].into_iter();
            texts.chain(&self.committed_at).chain(digests())
        };
        let texts = || own().chain(pins());
        let mut claims = plugins.iter().flat_map(|pin| [&pin.vouched_by, &pin.granted]);
        let checks: [(bool, &'static str); 23] = [
            (is_move_id(&self.move_id), "moveId"),
            (self.copy_key.as_ref().is_none_or(|key| is_move_id(key)), "copyKey"),
            (
                self.earlier_copy_keys.len() <= MOST_ATTEMPTS
                    && self.earlier_copy_keys.iter().all(|key| is_move_id(key)),
                "earlierCopyKeys",
            ),
            (self.release_chunks <= MOST_CHUNKS, "releaseChunks"),
            (
                created_namespaces
                    .len()
                    .max(copied_namespaces.len())
                    .max(scope.namespace_map.pairs().count())
                    <= MOST_NAMESPACES,
                "number of namespaces",
            ),
            (names().all(|name| find_name_error(name).is_none()), "names of namespaces"),
            (clusters.all(|name| find_name_error(name).is_none()), "names of Clusters"),
            (parts().count() <= MOST_PARTS, "number of parts"),
            (parts().all(|part| find_kind_error(&part.kind).is_none()), "kinds of parts"),
            (in_parts.all(|name| find_name_error(name).is_none()), "names of parts"),
            (labels.all(|label| find_label_error(label).is_none()), "labels of parts"),
            (scope.from_manifests.len() <= MAX_ADDED_OBJECTS, "number of added objects"),
            (added().all(|key| find_kind_error(&key.group_kind).is_none()), "kinds of added objects"),
            (of_added.all(|name| find_name_error(name).is_none()), "names of added objects"),
            (scope.from_manifests.iter().all(|added| find_id_error(&added.uid.0).is_none()), "added objects"),
            (accepted.all(|kinds| kinds.len() <= MOST_KINDS), "number of kinds"),
            (
                kinds.len().saturating_mul(copied_namespaces.len()) <= MOST_LISTS,
                "number of kinds and namespaces",
            ),
            (kinds.iter().all(|kind| find_kind_error(kind).is_none()), "kinds"),
            (source.iter().chain(target).all(|uid| find_id_error(&uid.0).is_none()), "source or target"),
            (plugins.len() <= MOST_PLUGINS, "number of plugins"),
            (
                claims.all(|claims| claims.len() <= MOST_CLAIMS),
                "number of claims about a plugin, or of its grants",
            ),
            (texts().all(|text| text.len() <= TEXT), "texts"),
            (handover_fits, "handover"),
        ];
        checks.into_iter().find(|(good, _)| !good).map_or(Ok(()), |(_, what)| Err(what))
    }
}

/// Name of the entry with the record in its ConfigMap.
pub const ENTRY: &str = "record.json";
/// Name of the entry with the summary of a move that has ended.
pub const SUMMARY: &str = "finished.json";
/// Name of the entry with the summary of a move that was rolled back.
pub const ROLLBACK_SUMMARY: &str = "rolled-back.json";

/// Returns the name of the record that a side keeps of a move.
pub fn record_name(side: Side, move_id: &str) -> String {
    format!("{STATE}-{side}-{move_id}")
}

/// Returns the manifest of a namespace for leases and records.
pub fn record_namespace_manifest(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// Returns the name of a piece of a move's release list.
pub fn piece_name(move_id: &str, number: usize) -> String {
    format!("{}{number}", pieces_prefix(move_id))
}

/// Returns the prefix of the names of all pieces.
pub fn pieces_prefix(move_id: &str) -> String {
    format!("{STATE}-release-{move_id}-")
}

/// Returns the id of the move if a ConfigMap's name is that of a piece of its release list.
pub fn move_of_piece(name: &str) -> Option<&str> {
    let (move_id, _) = name.strip_prefix(STATE)?.strip_prefix("-release-")?.rsplit_once('-')?;
    Some(move_id)
}

/// Returns true if a text can be a move's id. Objects and files are named after it.
pub fn is_move_id(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    !id.is_empty() && id.len() <= 64 && id.chars().all(plain)
}

/// Returns the id of a move that an object of a cluster asks for. The cluster chose the UID in which it ends, so that no other move has
/// such an id.
pub fn move_id_for(asked_by: &Uid, random: &str) -> String {
    format!("{random}-{asked_by}")
}

/// Returns true if a move with that id is one that the object asks for.
pub fn is_move_of(move_id: &str, asked_by: &Uid) -> bool {
    let random = move_id.strip_suffix(&*asked_by.0).and_then(|rest| rest.strip_suffix('-'));
    random.is_some_and(|random| !random.is_empty() && !asked_by.0.is_empty())
}

/// Largest number of Clusters that a summary names.
pub const MOST_MOVED_CLUSTERS: usize = 500;

/// The summary a move leaves behind: small, and kept for the last few moves, and as long as a Cluster that moved is in the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finished {
    /// The version of this format.
    pub format: Format<SUMMARY_FORMAT>,
    /// The move's id.
    pub move_id: String,
    /// Name of the user who started it.
    pub started_by: String,
    /// Time of the start.
    pub started_at: String,
    /// Time of the end.
    pub ended_at: String,
    /// Scope of the move; `None` if the move ended under an earlier release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The files that were imported, if the source was a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Uid>,
    /// Identity of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Uid>,
    /// Identity of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Uid>,
    /// The Clusters that moved, at most [`MOST_MOVED_CLUSTERS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<MovedCluster>,
    /// All Clusters that moved, if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_clusters: Option<UidSet>,
    /// Label of the source, for people.
    pub source_label: String,
    /// Label of the target, for people.
    pub target_label: String,
    /// Number of objects that moved.
    pub moved: usize,
    /// Number of objects that were copied and kept.
    pub kept: usize,
    /// The plugins that took part.
    pub plugins: Vec<Pin>,
    /// The dangers that were accepted, as the options that accept them.
    pub accepted: Vec<String>,
}

/// The summary that a move leaves behind if it was rolled back: only for people, and kept for the last few.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolledBackMove {
    /// The version of this format.
    pub format: Format<1>,
    /// The move's id.
    pub move_id: String,
    /// Name of the user who started it.
    pub started_by: String,
    /// Time of the start.
    pub started_at: String,
    /// Time of the rollback's end.
    pub ended_at: String,
    /// Last phase before the rollback.
    pub phase: Phase,
    /// Scope of the move.
    pub scope: Scope,
    /// Label of the source, for people.
    pub source_label: String,
    /// Label of the target, for people.
    pub target_label: String,
}

impl Finished {
    /// Parses a summary of this format or an earlier one. Returns None if the text is neither, or has more than a move writes, because a
    /// run looks for each Cluster that a summary names.
    pub fn parse(text: &str) -> Option<Self> {
        let mut value: Value = serde_json::from_str(text).ok()?;
        if value.get("format")?.as_u64()? < u64::from(SUMMARY_FORMAT) {
            format4::convert_summary(&mut value, SUMMARY_FORMAT);
        }
        let summary: Self = serde_json::from_value(value).ok()?;
        let is_believable =
            summary.clusters.len() <= MOST_MOVED_CLUSTERS && summary.plugins.len() <= MOST_PLUGINS;
        is_believable.then_some(summary)
    }
}

impl RolledBackMove {
    /// Parses a summary; none if the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Returns the name of the unknown field or variant, if the error is about one.
fn unknown_name(error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    let name = text.strip_prefix("unknown field `").or_else(|| text.strip_prefix("unknown variant `"))?;
    name.split_once("`, ").map(|(name, _)| safe_text::to_line(name, SHOWN))
}

#[cfg(test)]
mod tests;
