//! A plan as it is saved: what people approve before it is carried out, in a file that any other run can compare with what it finds.
//!
//! The file names objects, their UIDs and digests of their contents, and has none of the contents themselves. For Secrets it has
//! resourceVersions: with a digest of secret data, a reader of the file could verify guesses. Reasons are stored in words, because
//! a file is read by people and compared by what is to be done, not by why.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::format::Format;
use crate::plan::{Content, Fate, InTarget, Note, Plan, PluginChange, Step};
use crate::record::Pin;
use crate::risk::AcceptedRisks;
use crate::scope::Scope;
use crate::words;
use crate::{Key, Side, Uid};

mod compare;
mod content;

pub use compare::{Aspect, Difference, Found, aspects_between, compare_plans, compare_with_found};
pub use content::content_of;

/// The version of the file's format.
pub const FORMAT: u32 = 2;
/// The `kind` of the file.
const KIND: &str = "SavedPlan";
/// How much is printed of what a parser says.
const SHOWN: usize = 300;

/// The file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SavedPlan {
    /// As in the other documents.
    api_version: String,
    /// As in the other documents.
    kind: String,
    /// The version of this format.
    pub format: Format<FORMAT>,
    /// The version of pivot-host that wrote it.
    pub written_by: String,
    /// Name of the user who made it.
    pub made_by: String,
    /// Time at which it was made.
    pub made_at: String,
    /// Where the objects are.
    pub source: End,
    /// Where they are to be.
    pub target: Option<End>,
    /// What the user decided.
    pub decisions: Decisions,
    /// The plugins that took part.
    pub plugins: Vec<Pin>,
    /// The objects that are copied, in the order of creation.
    pub steps: Vec<SavedStep>,
    /// The objects that stay, and why.
    pub stays: Vec<SavedStay>,
    /// What the user should know.
    pub notes: Vec<Note>,
    /// Why it can't be carried out.
    pub refusals: Vec<SavedRefusal>,
    /// What shows that nobody edited it: a digest of everything else.
    checksum: String,
}

/// One side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct End {
    /// What it is called, for people.
    pub label: String,
    /// What identifies it, if anything does.
    pub identity: Option<Uid>,
    /// If it is no cluster but a directory: what can be told from its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Files>,
}

/// How files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Files {
    /// Anyone who may read them can.
    Plain,
    /// Only those can whose keys are named.
    Encrypted,
}

impl fmt::Display for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "not encrypted",
            Self::Encrypted => "encrypted",
        })
    }
}

/// What the user decided, as far as it changes what a move does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decisions {
    /// What moves, and the dangers that were accepted with it.
    pub scope: Scope,
    /// The risks that a run accepts.
    #[serde(default, skip_serializing_if = "AcceptedRisks::is_empty")]
    pub accept: AcceptedRisks,
    /// The source is handed over in files.
    pub handover: bool,
}

/// One object that is copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SavedStep {
    /// Its key.
    pub object: Key,
    /// Its UID in the source.
    pub uid: Uid,
    /// Its content when the plan was made.
    pub content: Option<Content>,
    /// What happens to it in the source.
    pub fate: SavedFate,
    /// Why it is copied, and why it is kept if it is.
    pub why: String,
    /// Owners that the copy will lack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_owners: Vec<String>,
    /// What the target has under its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_target: Option<InTarget>,
    /// What plugins change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<PluginChange>,
    /// The Cluster that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Key>,
}

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SavedFate {
    /// It is deleted in the source once its copy is live.
    Move,
    /// It stays there too.
    Keep,
    /// The source doesn't have it: it is created from a manifest.
    FromManifest,
}

/// An object that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SavedStay {
    /// Its key.
    pub object: Key,
    /// Why.
    pub why: String,
}

/// A reason not to carry the plan out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SavedRefusal {
    /// Its code.
    pub code: String,
    /// The side.
    pub side: Side,
    /// What it says.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

/// Who made a plan, when, and between which sides.
#[derive(Clone, Debug)]
pub struct Made {
    /// Who.
    pub by: String,
    /// When.
    pub at: String,
    /// The source.
    pub source: End,
    /// The target, if one was given.
    pub target: Option<End>,
    /// The plugins that took part.
    pub plugins: Vec<Pin>,
}

/// Why a file is no plan to carry out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedPlanError {
    /// It was cut, or is something else.
    #[error("it is not a saved plan, or not all of one: {0}")]
    NotAPlan(String),
    /// A newer program wrote it.
    #[error("pivot-host {written_by} wrote it in format {format}, and this one ({}) knows format {FORMAT}: use that version, or a newer one", env!("CARGO_PKG_VERSION"))]
    Newer {
        /// Its format.
        format: u64,
        /// Version of that program.
        written_by: String,
    },
    /// An older program wrote it.
    #[error("an older pivot-host wrote it in format {format}, and this one ({}) knows format {FORMAT}: make the plan again", env!("CARGO_PKG_VERSION"))]
    Older {
        /// Format of the file.
        format: u64,
    },
    /// Its checksum doesn't match.
    #[error("it was changed since it was saved: its checksum does not match what it says")]
    Edited,
}

impl SavedPlan {
    /// Saves a plan. `remedies` are the refusals' remedies in words, which are the program's.
    pub fn new(plan: &Plan, made: Made, decisions: Decisions, remedies: Vec<String>) -> Self {
        let Made { by, at, source, target, plugins } = made;
        let refusals = plan.refusals.iter().zip(remedies).map(|(refusal, remedy)| SavedRefusal {
            code: refusal.code.to_owned(),
            side: refusal.side,
            message: refusal.message.clone(),
            remedy,
        });
        let stays = plan
            .stays
            .iter()
            .map(|stay| SavedStay { object: stay.key.clone(), why: stay.reason.to_string() });
        let saved = Self {
            api_version: "pivot-host.io/v1alpha1".to_owned(),
            kind: KIND.to_owned(),
            format: Format,
            written_by: env!("CARGO_PKG_VERSION").to_owned(),
            made_by: by,
            made_at: at,
            source,
            target,
            decisions,
            plugins,
            steps: plan.steps.iter().map(SavedStep::from).collect(),
            stays: stays.collect(),
            notes: plan.notes.clone(),
            refusals: refusals.collect(),
            checksum: String::new(),
        };
        Self { checksum: saved.compute_checksum(), ..saved }
    }

    /// The file's text.
    pub fn text(&self) -> String {
        // Strings, lists and maps with strings as keys: that can't fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads a file.
    pub fn parse(text: &str) -> Result<Self, SavedPlanError> {
        let unreadable =
            |error: serde_json::Error| SavedPlanError::NotAPlan(words::to_line(&error.to_string(), SHOWN));
        let value: Value = serde_json::from_str(text).map_err(unreadable)?;
        let word = |field| value.get(field).and_then(Value::as_str).unwrap_or_default();
        if word("kind") != KIND {
            return Err(SavedPlanError::NotAPlan(format!("its kind is not {KIND}")));
        }
        match value.get("format").and_then(Value::as_u64) {
            Some(format) if format > u64::from(FORMAT) => {
                let written_by = words::to_line(word("writtenBy"), SHOWN);
                return Err(SavedPlanError::Newer { format, written_by });
            }
            Some(format) if format < u64::from(FORMAT) => return Err(SavedPlanError::Older { format }),
            _ => {}
        }
        let plan: Self = serde_json::from_value(value).map_err(unreadable)?;
        if plan.checksum != plan.compute_checksum() {
            return Err(SavedPlanError::Edited);
        }
        Ok(plan)
    }

    /// What identifies the plan.
    pub fn checksum(&self) -> &str {
        &self.checksum
    }

    /// Lists are in order and maps sorted, so that equal plans have equal text.
    fn compute_checksum(&self) -> String {
        let plan = Self { checksum: String::new(), ..self.clone() };
        let hash = Sha256::digest(serde_json::to_vec(&plan).unwrap_or_default());
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl From<&Step> for SavedStep {
    fn from(step: &Step) -> Self {
        let Step { key, uid, dropped_owners, fate, why, cluster, content, in_target, changes, .. } = step;
        Self {
            object: key.clone(),
            uid: uid.clone(),
            content: content.clone(),
            fate: fate.into(),
            why: match fate {
                Fate::Keep(reason) => format!("{why}; kept: {reason}"),
                Fate::Move | Fate::FromManifest => why.to_string(),
            },
            dropped_owners: dropped_owners
                .iter()
                .map(|owner| format!("{} {}", owner.kind, owner.name))
                .collect(),
            in_target: in_target.clone(),
            changes: changes.clone(),
            cluster: cluster.clone(),
        }
    }
}

impl From<&Fate> for SavedFate {
    fn from(fate: &Fate) -> Self {
        match fate {
            Fate::Move => Self::Move,
            Fate::Keep(_) => Self::Keep,
            Fate::FromManifest => Self::FromManifest,
        }
    }
}

#[cfg(test)]
mod tests;
