//! A saved plan: users approve the file, and a later run compares it with the objects that it finds.
//!
//! The file names objects, their UIDs and digests of their contents, and has none of the contents themselves. For Secrets it has
//! resourceVersions: with a digest of secret data, a reader of the file could verify guesses. Reasons are stored in words, because
//! a file is read by people and compared by what is to be done, not by why.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::messages::grouping::{Group, group_items};
use crate::messages::risk::AcceptedRisks;
use crate::messages::safe_text;
use crate::plan::{Content, Fate, InTarget, Note, Plan, PluginChange, Step};
use crate::records::format::Format;
use crate::records::record::Pin;
use crate::request::scope::Scope;
use crate::{Key, Side, Uid};

mod compare;
mod content;

pub use compare::{
    Aspect, Difference, Found, StayDifference, aspects_between, compare_plans, compare_stays,
    compare_with_found,
};
pub use content::content_of;

/// The version of the file's format.
pub const FORMAT: u32 = 2;
/// The `kind` of the file.
const KIND: &str = "SavedPlan";
/// Largest number of characters of a parser's message that are printed.
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
    /// Side that the objects come from.
    pub source: End,
    /// Side that the objects go to.
    pub target: Option<End>,
    /// Decisions of the user.
    pub decisions: Decisions,
    /// The plugins that took part.
    pub plugins: Vec<Pin>,
    /// The objects that are copied, in the order of creation.
    pub steps: Vec<SavedStep>,
    /// The objects that stay, and why.
    pub stays: Vec<SavedStay>,
    /// Notes for the user.
    pub notes: Vec<Note>,
    /// Warnings for the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Note>,
    /// Reasons why the plan can't be carried out.
    pub refusals: Vec<SavedRefusal>,
    /// Digest of all other fields. With another digest, the file was edited.
    checksum: String,
}

/// One side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct End {
    /// Label of the side, for people.
    pub label: String,
    /// Identity of the side, if it has one.
    pub identity: Option<Uid>,
    /// Encryption of the files, if the side is a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Files>,
}

/// Encryption of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Files {
    /// Any user who can open the files can read them.
    Plain,
    /// Only holders of the named keys can read the files.
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

/// Decisions of the user that change the effects of a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decisions {
    /// Scope of the move, and the risks that were accepted with it.
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
    /// Key of the object.
    pub object: Key,
    /// UID in the source.
    pub uid: Uid,
    /// The steps, all with smaller indices, whose objects must exist first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<usize>,
    /// Content of the object when the plan was made.
    pub content: Option<Content>,
    /// Effect on the object in the source.
    pub fate: SavedFate,
    /// Reason why the object is copied, and, if so, why it is kept.
    pub why: String,
    /// Owners that the copy will lack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_owners: Vec<String>,
    /// Object of the target with that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_target: Option<InTarget>,
    /// Changes by plugins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<PluginChange>,
    /// Cluster that the object belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Key>,
}

/// Effect on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SavedFate {
    /// The object is deleted from the source once its copy is live.
    Move,
    /// The object also stays in the source.
    Keep,
    /// The source doesn't have the object. It is created from a manifest.
    FromManifest,
}

/// An object that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SavedStay {
    /// Key of the object.
    pub object: Key,
    /// Reason why the object stays.
    pub why: String,
}

/// A reason not to carry the plan out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SavedRefusal {
    /// Code of the refusal.
    pub code: String,
    /// The side.
    pub side: Side,
    /// The objects that the refusal is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<Key>,
    /// Message of the refusal.
    pub message: String,
    /// Remedies in words.
    pub remedy: String,
}

impl SavedRefusal {
    /// Groups problems that say the same about objects of one kind and have the same remedy.
    pub fn group_similar(refusals: &[Self]) -> Vec<Group<'_, Self>> {
        group_items(refusals, |refusal| {
            let Self { code, side, objects, message, remedy } = refusal;
            (objects.first(), vec![code.clone(), side.to_string(), message.clone(), remedy.clone()])
        })
    }
}

/// Origin of a plan: user, time and sides.
#[derive(Clone, Debug)]
pub struct Made {
    /// Name of the user.
    pub by: String,
    /// Time at which the plan was made.
    pub at: String,
    /// The source.
    pub source: End,
    /// The target, if there is one.
    pub target: Option<End>,
    /// The plugins that took part.
    pub plugins: Vec<Pin>,
}

/// An error that makes a saved plan unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedPlanError {
    /// The file was cut, or is not a saved plan.
    #[error("it is not a saved plan, or not all of one: {0}")]
    NotAPlan(String),
    /// A newer program wrote it.
    #[error("pivot-host {written_by} wrote it in format {format}, and this one ({}) knows format {FORMAT}: use that version, or a newer one", env!("CARGO_PKG_VERSION"))]
    Newer {
        /// Format of the file.
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
    /// The checksum doesn't match.
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
            objects: refusal.object.iter().chain(&refusal.others).cloned().collect(),
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
            warnings: Vec::new(),
            refusals: refusals.collect(),
            checksum: String::new(),
        };
        saved.with_checksum()
    }

    /// Adds the warnings of the run that made the plan.
    pub fn with_warnings(self, mut warnings: Vec<Note>) -> Self {
        // Checks that run side by side report in any order.
        warnings.sort_by(|a, b| (&a.code, &a.object, &a.message).cmp(&(&b.code, &b.object, &b.message)));
        Self { warnings, ..self }.with_checksum()
    }

    fn with_checksum(self) -> Self {
        Self { checksum: self.compute_checksum(), ..self }
    }

    /// Returns the text of the file.
    pub fn text(&self) -> String {
        // Strings, lists and maps with strings as keys: that can't fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads a file.
    pub fn parse(text: &str) -> Result<Self, SavedPlanError> {
        let unreadable = |error: serde_json::Error| {
            SavedPlanError::NotAPlan(safe_text::to_line(&error.to_string(), SHOWN))
        };
        let value: Value = serde_json::from_str(text).map_err(unreadable)?;
        let word = |field| value.get(field).and_then(Value::as_str).unwrap_or_default();
        if word("kind") != KIND {
            return Err(SavedPlanError::NotAPlan(format!("its kind is not {KIND}")));
        }
        match value.get("format").and_then(Value::as_u64) {
            Some(format) if format > u64::from(FORMAT) => {
                let written_by = safe_text::to_line(word("writtenBy"), SHOWN);
                return Err(SavedPlanError::Newer { format, written_by });
            }
            Some(format) if format < u64::from(FORMAT) => return Err(SavedPlanError::Older { format }),
            _ => {}
        }
        let plan: Self = serde_json::from_value(value).map_err(unreadable)?;
        if plan.checksum != plan.compute_checksum() {
            return Err(SavedPlanError::Edited);
        }
        let mut steps = plan.steps.iter().enumerate();
        if let Some((_, step)) = steps.find(|(index, step)| step.after.iter().any(|before| before >= index)) {
            let object = safe_text::to_line(&step.object.to_string(), SHOWN);
            return Err(SavedPlanError::NotAPlan(format!("{object} comes before an object that it needs")));
        }
        Ok(plan)
    }

    /// Returns the checksum that identifies the plan.
    pub fn checksum(&self) -> &str {
        &self.checksum
    }

    /// Computes the checksum. Lists are in order and maps are sorted, so that equal plans have equal text.
    fn compute_checksum(&self) -> String {
        let plan = Self { checksum: String::new(), ..self.clone() };
        let hash = Sha256::digest(serde_json::to_vec(&plan).unwrap_or_default());
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl From<&Step> for SavedStep {
    fn from(step: &Step) -> Self {
        let Step { key, uid, after, dropped_owners, fate, why, cluster, content, in_target, .. } = step;
        Self {
            object: key.clone(),
            uid: uid.clone(),
            after: after.clone(),
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
            changes: step.changes.clone(),
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
