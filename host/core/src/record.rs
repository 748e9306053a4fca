//! The record of a move: the little that must outlive a run.
//!
//! One ConfigMap on each side and for each move holds it. The source's decides until it says [`Phase::Committed`]; from then on the
//! target's does, so that a source that is gone can't block the end. Everything else is read from the objects.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::format::Format;
use crate::hooks::Description;
use crate::kind::GroupKind;
use crate::object::Uid;
use crate::scope::Scope;

/// How far a move has come. A phase is written down before its first change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// Looked at; nothing was changed. Never written down.
    Checked,
    /// The source is being paused.
    Paused,
    /// Objects are being created in the target.
    Copied,
    /// The copy is complete and verified; the release list is written. No way back from here. The source's record stays
    /// here; the target's, which decides from now on, says [`Phase::Live`] at once.
    Committed,
    /// The target's Clusters are being resumed.
    Live,
    /// Source objects are being deleted.
    Released,
    /// Plugins let go of what they held.
    Settled,
}

impl Phase {
    /// Whether the target's record decides, and the move can only go forward.
    pub fn committed(self) -> bool {
        self >= Self::Committed
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Which plugin took part, so that a resumed run has the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Name.
    pub name: String,
    /// Version, for people.
    pub version: String,
    /// Digest of component and configuration.
    pub digest: String,
}

impl From<&Description> for Pin {
    fn from(plugin: &Description) -> Self {
        let Description { name, version, digest, .. } = plugin;
        Self { name: name.clone(), version: version.clone(), digest: digest.clone() }
    }
}

/// A list of a million objects has some 300 pieces.
const MOST_CHUNKS: usize = 10_000;

/// The version of the record's format.
pub const FORMAT: u32 = 2;

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
    /// Who began the move, for people.
    #[serde(default)]
    pub by: String,
    /// The move's id: also the mark on every object it creates.
    pub move_id: String,
    /// How far it has come.
    pub phase: Phase,
    /// What was asked for.
    pub scope: Scope,
    /// The clusters it is between.
    pub source: Option<Uid>,
    /// See [`Record::source`].
    pub target: Option<Uid>,
    /// Whether it is a copy into a directory.
    #[serde(default)]
    pub into_directory: bool,
    /// When it began, for people.
    pub started: String,
    /// Namespaces the move created in the target.
    pub namespaces: Vec<String>,
    /// The plugins that take part.
    pub plugins: Vec<Pin>,
    /// The kinds of the objects that move: a rollback without plugins must find those, too.
    pub kinds: BTreeSet<GroupKind>,
    /// The namespaces of the objects that are copied.
    pub touched: BTreeSet<String>,
    /// In how many pieces the release list lies beside the record.
    pub release_chunks: usize,
}

/// Why a record can't be used. Nothing may be changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A newer program wrote it.
    #[error("pivot-host {written_by} wrote it in format {format}, and this one ({}) knows format {FORMAT}: use that version, or a newer one", env!("CARGO_PKG_VERSION"))]
    Newer {
        /// In which format.
        format: u32,
        /// Which version.
        written_by: String,
    },
    /// It is not what a record looks like.
    #[error("{reason} (pivot-host {written_by} wrote it; was it edited?)")]
    Unreadable {
        /// What is wrong with it.
        reason: String,
        /// Which version wrote it, as far as it says.
        written_by: String,
    },
}

impl Record {
    /// Reads a record of this release or of one before; fields that are not known here are refused.
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        /// What every format has.
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
        let written_by = written_by.unwrap_or_else(|| "of an unknown version".to_owned());
        match head {
            Some(Head { format, .. }) if format > FORMAT => Err(RecordError::Newer { format, written_by }),
            _ => {
                let unreadable = |reason| RecordError::Unreadable { reason, written_by: written_by.clone() };
                let record: Self =
                    serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
                record.believable().map_err(|what| unreadable(format!("its {what} can't be right")))?;
                Ok(record)
            }
        }
    }

    /// Who may write ConfigMaps may write nonsense: what names and counts are made of is bounded before it is used.
    fn believable(&self) -> Result<(), &'static str> {
        if !is_move_id(&self.move_id) {
            return Err("moveId");
        }
        if self.release_chunks > MOST_CHUNKS { Err("releaseChunks") } else { Ok(()) }
    }
}

/// Whether it can be the id of a move: objects and files are named after it.
pub fn is_move_id(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    !id.is_empty() && id.len() <= 64 && id.chars().all(plain)
}

/// What a move leaves behind of itself: small, and of the last few moves only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finished {
    /// The version of this format.
    #[serde(default)]
    pub format: Format<1>,
    /// The move's id.
    pub move_id: String,
    /// Who began it.
    pub by: String,
    /// When it began.
    pub started: String,
    /// When it ended.
    pub ended: String,
    /// From where.
    pub from: String,
    /// To where.
    pub to: String,
    /// How many objects moved.
    pub moved: usize,
    /// How many are on both sides.
    pub kept: usize,
    /// The plugins that took part.
    pub plugins: Vec<Pin>,
    /// Which dangers were accepted, as the options that said so.
    pub accepted: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_the_first_release_is_read_and_one_of_the_future_is_not() {
        let old = r#"{"moveId":"m","phase":"Copied","scope":{"namespaces":{"one":"a"}},"source":"u","target":null,
            "started":"t","namespaces":[],"plugins":[],"kinds":[],"touched":["a"],"releaseChunks":0}"#;
        let record = Record::parse(old).unwrap();
        assert_eq!((record.phase, record.written_by.as_str()), (Phase::Copied, ""));
        let again = serde_json::to_string(&record).unwrap();
        assert!(again.contains("\"format\":2"), "{again}");
        assert_eq!(Record::parse(&again).unwrap(), record);

        let newer = r#"{"format":3,"writtenBy":"9.1.0","anything":{}}"#;
        assert_eq!(
            Record::parse(newer).unwrap_err(),
            RecordError::Newer { format: 3, written_by: "9.1.0".into() }
        );
        for (from, to) in
            [("\"m\"", "\"../m\""), ("\"releaseChunks\":0", "\"releaseChunks\":18446744073709551615")]
        {
            let error = Record::parse(&old.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().contains("can't be right"), "{error}");
        }
        for (from, to) in [
            ("\"moveId\"", "\"only\":\"x\",\"moveId\""),
            ("{\"one\":\"a\"}", "{\"one\":\"a\"},\"only\":[\"c\"]"),
        ] {
            let error = Record::parse(&old.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().contains("unknown field `only`"), "{error}");
        }
    }

    #[test]
    fn the_target_decides_from_committed_on() {
        assert!(!Phase::Copied.committed());
        assert!(Phase::Committed.committed() && Phase::Settled.committed());
    }
}
