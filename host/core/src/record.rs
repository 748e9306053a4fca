//! The record of a move: the little state that must outlive a run.
//!
//! Each side has one ConfigMap per move that holds it. The source's decides until it says [`Phase::Committed`]; from then on the
//! target's does, so that losing the source can't prevent the move from finishing. Everything else is read from the objects.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::addition::MOST_ADDED;
use crate::cluster_identity::MovedCluster;
use crate::format::Format;
use crate::hooks::Description;
use crate::kind::GroupKind;
use crate::names::{self, STATE};
use crate::object::Uid;
use crate::release::UidSet;
use crate::scope::{Namespaces, Scope};
use crate::side::Side;
use crate::usable::{odd_id, odd_kind, odd_label, odd_name};
use crate::words;

/// How far a move has come. A phase is recorded before its first change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// Being checked; nothing was changed. Never recorded.
    Checked,
    /// The source is being paused.
    Paused,
    /// Objects are being created in the target.
    Copied,
    /// The copy is complete and verified; the release list is written. No way back from here. The source's record stays here until
    /// [`Phase::Released`]; the target's, which decides from now on, goes straight to [`Phase::Live`].
    Committed,
    /// The target's Clusters are being resumed.
    Live,
    /// Source objects are being deleted. Both records say so before the first one is, and the source's stays here.
    Released,
    /// Plugins release what they held.
    Settled,
}

impl Phase {
    /// Whether the target's record decides, so that the move can only go forward.
    pub fn committed(self) -> bool {
        self >= Self::Committed
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
    /// Who vouched for it when the move began, and for what.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "vouchedBy")]
    pub vouched_by: Vec<String>,
    /// What it was granted when the move began.
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
const MOST_PLUGINS: usize = 100;
/// The most claims about one plugin: 16 signatures on each of 64 lines.
const MOST_CLAIMS: usize = 1_024;
/// The most moves that import the files of one handover.
const MOST_IMPORTS: usize = 1_000;
/// The most parts that are excluded or carried along.
const MOST_PARTS: usize = 1_000;
/// The longest text for people.
const TEXT: usize = 10_000;
/// How many characters are printed of a record that can't be used.
const SHOWN: usize = 300;

/// The version of the record's format.
pub const FORMAT: u32 = 5;

/// The record itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    /// The version of this format.
    #[serde(default)]
    pub format: Format<FORMAT>,
    /// The version of pivot-host that wrote it last.
    #[serde(default)]
    pub written_by: String,
    /// Who started the move: for people, and records of different people are of different moves.
    #[serde(default)]
    pub by: String,
    /// The move's id: also the mark on every object it creates.
    pub move_id: String,
    /// Proves which objects of the target the move made ([`crate::copy_mark`]). Only the records have it: reports and documents must
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
    /// Whether it is a copy into a directory.
    #[serde(default)]
    pub into_directory: bool,
    /// When it started, for people.
    pub started: String,
    /// Namespaces the move created in the target.
    pub namespaces: Vec<String>,
    /// The plugins that take part.
    pub plugins: Vec<Pin>,
    /// The kinds of the objects that move: a rollback without plugins must find those, too.
    pub kinds: BTreeSet<GroupKind>,
    /// The namespaces of the objects that are copied.
    pub touched: BTreeSet<String>,
    /// Whether nothing of the source is changed outside of the scope: from other namespaces objects are copied, and no more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
    /// The saved plan that it carries out, by its checksum: until the commit it goes on only with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Whether the target may finish the move while the source is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
    /// The digest of the release list, once there is one. The list lies in the target: by this the source knows it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_digest: Option<String>,
    /// The source's objects on the release list. Without the target, the source proves by this that it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_uids: Option<UidSet>,
    /// In how many chunks the release list is stored beside the record.
    pub release_chunks: usize,
    /// Whether the source went back to before the commit, and was committed again by the target's list: its objects may have other
    /// versions than the list says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub source_went_back: bool,
    /// That the source is handed over in files: it stays paused until they are imported elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
}

/// What lets a target finish a move while its source is away. Its record says Live before the source's says Committed, so without this
/// the target alone can't know which of them decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seal {
    /// The target may, once the move is committed.
    Wanted,
    /// It is: written into the target's record after the source's said so, and before any copy is resumed.
    Set,
    /// The target did: its copies run, and what is left to do is in the source.
    Finished,
}

/// A source that is handed over in files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Handover {
    /// What identifies the files; `None` until all of them are written. No directory is closed before it is known, so that nobody
    /// imports files that the source's record doesn't know.
    #[serde(default)]
    pub contents: Option<Uid>,
    /// Where they were written, for people.
    #[serde(default)]
    pub to: String,
    /// When, for people.
    #[serde(default)]
    pub at: String,
    /// The moves that imported them, by their marks: known once the target was asked.
    #[serde(default)]
    pub imports: BTreeSet<String>,
    /// The kinds whose copies may have changed, or gone, since they were imported: the user accepted that.
    #[serde(default)]
    pub accept_changed: BTreeSet<GroupKind>,
    /// A rollback has begun to resume the source: from here on nobody must import the files.
    #[serde(default)]
    pub withdrawn: bool,
}

impl Record {
    /// Whether the source is a directory of files.
    pub fn is_of_files(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.0.starts_with(names::FILES))
    }

    /// The files in which the source was handed over, until it is released or rolled back.
    pub fn handed_over(&self) -> Option<&Uid> {
        self.handover.as_ref()?.contents.as_ref().filter(|_| !self.phase.committed())
    }

    /// Returns true if the source was made authoritative again after the commit. What its machines have been through since is unknown, so
    /// each Cluster stays paused until it is named.
    pub fn is_recovered(&self) -> bool {
        !self.earlier_copy_keys.is_empty()
    }

    /// Whether it can no longer be imported: a rollback has begun to resume the source.
    pub fn is_withdrawn(&self) -> bool {
        self.handover.as_ref().is_some_and(|handover| handover.withdrawn)
    }
}

/// Why a record can't be used. Nothing may be changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A newer program wrote it.
    #[error("pivot-host {written_by} wrote it in format {format}, and this one ({}) knows format {FORMAT}: use that version, or a newer one", env!("CARGO_PKG_VERSION"))]
    Newer {
        /// Its format.
        format: u32,
        /// That program's version.
        written_by: String,
    },
    /// It doesn't look like a record.
    #[error("{reason} (pivot-host {written_by} wrote it; was it edited?)")]
    Unreadable {
        /// What is wrong with it.
        reason: String,
        /// The version that wrote it, if it names one.
        written_by: String,
    },
}

impl Record {
    /// Parses a record of this release or an earlier one; unknown fields are refused.
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        /// The fields that every format has.
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            #[serde(default)]
            format: u32,
            #[serde(default)]
            written_by: String,
        }
        let head: Option<Head> = serde_json::from_str(text).ok();
        let written_by =
            head.as_ref().map(|head| head.written_by.clone()).filter(|version| !version.is_empty());
        let written_by = words::line(written_by.as_deref().unwrap_or("of an unknown version"), SHOWN);
        match head {
            Some(Head { format, .. }) if format > FORMAT => Err(RecordError::Newer { format, written_by }),
            _ => {
                let unreadable = |reason| RecordError::Unreadable { reason, written_by: written_by.clone() };
                let record: Self = serde_json::from_str(text)
                    .map_err(|error| unreadable(words::line(&error.to_string(), SHOWN)))?;
                record.believable().map_err(|what| unreadable(format!("its {what} can't be right")))?;
                Ok(record)
            }
        }
    }

    /// Anyone with permission to write ConfigMaps can write nonsense: everything that becomes a name, a path or a count is
    /// bounded before it is used, and before it is written.
    pub fn believable(&self) -> Result<(), &'static str> {
        let Self { scope, source, target, namespaces, plugins, kinds, touched, handover, .. } = self;
        let files = |contents: &Uid| contents.0.starts_with(names::FILES) && odd_id(&contents.0).is_none();
        let handover_fits = handover.as_ref().is_none_or(|handover| {
            let Handover { contents, to, at, imports, accept_changed, withdrawn: _ } = handover;
            contents.iter().all(files)
                && to.len().max(at.len()) <= TEXT
                && imports.len() <= MOST_IMPORTS
                && imports.iter().all(|id| is_move_id(id))
                && accept_changed.len() <= MOST_KINDS
                && accept_changed.iter().all(|kind| odd_kind(kind).is_none())
        });
        let mut accepted = scope.accept.iter().map(|(_, kinds)| kinds).chain([kinds]);
        let asked_for = match &scope.namespaces {
            Namespaces::All => None,
            Namespaces::One(one) => Some(one),
        };
        let parts = || scope.exclude.iter().chain(&scope.carry);
        let objects = || parts().filter_map(|part| part.object.as_ref());
        let added = || scope.added.iter().map(|added| &added.object);
        let within = || parts().filter_map(|part| part.within.as_ref());
        let mut in_parts =
            objects().flat_map(|name| name.namespace.iter().chain([&name.name])).chain(within());
        let mut labels = parts().filter_map(|part| part.label.as_ref());
        let mut of_added = added().flat_map(|key| key.namespace.iter().chain([&key.name]));
        let mut clusters = scope.clusters.iter().flat_map(|cluster| [&cluster.namespace, &cluster.name]);
        let names = || namespaces.iter().chain(touched).chain(asked_for);
        let pins = || {
            let texts = plugins.iter().flat_map(|pin| [&pin.name, &pin.version, &pin.digest]);
            texts.chain(plugins.iter().flat_map(|pin| pin.vouched_by.iter().chain(&pin.granted)))
        };
        let digests = || self.release_digest.iter().chain(self.release_uids.iter().map(|uids| &uids.digest));
        let own = || [&self.written_by, &self.by, &self.started].into_iter().chain(digests());
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
                namespaces.len().max(touched.len()).max(scope.namespace_map.pairs().count())
                    <= MOST_NAMESPACES,
                "number of namespaces",
            ),
            (names().all(|name| odd_name(name).is_none()), "names of namespaces"),
            (clusters.all(|name| odd_name(name).is_none()), "names of Clusters"),
            (parts().count() <= MOST_PARTS, "number of parts"),
            (parts().all(|part| odd_kind(&part.kind).is_none()), "kinds of parts"),
            (in_parts.all(|name| odd_name(name).is_none()), "names of parts"),
            (labels.all(|label| odd_label(label).is_none()), "labels of parts"),
            (scope.added.len() <= MOST_ADDED, "number of added objects"),
            (added().all(|key| odd_kind(&key.group_kind).is_none()), "kinds of added objects"),
            (of_added.all(|name| odd_name(name).is_none()), "names of added objects"),
            (scope.added.iter().all(|added| odd_id(&added.uid.0).is_none()), "added objects"),
            (accepted.all(|kinds| kinds.len() <= MOST_KINDS), "number of kinds"),
            (kinds.len().saturating_mul(touched.len()) <= MOST_LISTS, "number of kinds and namespaces"),
            (kinds.iter().all(|kind| odd_kind(kind).is_none()), "kinds"),
            (source.iter().chain(target).all(|uid| odd_id(&uid.0).is_none()), "source or target"),
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

/// The entry of a record's ConfigMap that has the record.
pub const ENTRY: &str = "record.json";
/// The same of the summary of a move that has ended.
pub const SUMMARY: &str = "finished.json";
/// Name of the entry with the summary of a move that was rolled back.
pub const ROLLBACK_SUMMARY: &str = "rolled-back.json";

/// The name of the record that a side keeps of a move.
pub fn record_name(side: Side, move_id: &str) -> String {
    format!("{STATE}-{side}-{move_id}")
}

/// The name of a piece of a move's release list.
pub fn piece_name(move_id: &str, number: usize) -> String {
    format!("{}{number}", pieces_prefix(move_id))
}

/// How the names of all pieces begin.
pub fn pieces_prefix(move_id: &str) -> String {
    format!("{STATE}-release-{move_id}-")
}

/// The move whose release list a ConfigMap of that name has a piece of, if it has one.
pub fn move_of_piece(name: &str) -> Option<&str> {
    let (move_id, _) = name.strip_prefix(STATE)?.strip_prefix("-release-")?.rsplit_once('-')?;
    Some(move_id)
}

/// Whether it can be a move's id: objects and files are named after it.
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

/// How many Clusters a summary names.
pub const MOST_MOVED_CLUSTERS: usize = 500;

/// The summary a move leaves behind: small, and kept for the last few moves, and as long as a Cluster that moved is in the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finished {
    /// The version of this format.
    #[serde(default)]
    pub format: Format<2>,
    /// The move's id.
    pub move_id: String,
    /// Who started it.
    pub by: String,
    /// When it started.
    pub started: String,
    /// When it ended.
    pub ended: String,
    /// What the user asked for; `None` if the move ended under an earlier release.
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
    /// The source.
    pub from: String,
    /// The target.
    pub to: String,
    /// How many objects moved.
    pub moved: usize,
    /// How many objects are on both sides.
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
    #[serde(default)]
    pub format: Format<1>,
    /// The move's id.
    pub move_id: String,
    /// Who started it.
    pub by: String,
    /// When it started.
    pub started: String,
    /// When it was rolled back.
    pub ended: String,
    /// Last phase before the rollback.
    pub phase: Phase,
    /// What the user asked for.
    pub scope: Scope,
    /// The source.
    pub from: String,
    /// The target.
    pub to: String,
}

#[cfg(test)]
mod tests;
