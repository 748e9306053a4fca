//! The plan: what moves, what is copied and kept, what stays, in which order, and what prevents it.
//!
//! A plan is a pure function of what was read, what the user asked for and what plugins returned. It can be printed, compared and
//! serialised; the engine carries it out.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names;
use crate::refusal::Refusal;
use crate::{GroupKind, Key, OwnerReference, Uid};

mod foreseen;

pub use foreseen::{ChangingHook, Content, InTarget, PluginChange};

/// What a move would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The objects that are copied, in the order of creation; those that the user adds come last.
    pub steps: Vec<Step>,
    /// The objects that were read and stay, sorted by key.
    pub stays: Vec<Stay>,
    /// The reasons to refuse the move.
    pub refusals: Vec<Refusal>,
    /// What the user should know.
    pub notes: Vec<Note>,
    /// The namespaces that move. The Secret of a cluster-scoped identity, or an object that a plugin brings along, doesn't make
    /// its namespace one of them.
    #[serde(skip)]
    pub moving: BTreeSet<String>,
}

/// One object that is copied to the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Its index in the inventory.
    #[serde(skip)]
    pub object: usize,
    /// Its key.
    pub key: Key,
    /// Its UID in the source, or what takes its place for an object that is added.
    pub uid: Uid,
    /// The steps, all with smaller indices, whose objects must exist first: owners and link targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<usize>,
    /// Owner references that the copy will lack.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped_owners: Vec<OwnerReference>,
    /// What happens to it in the source.
    pub fate: Fate,
    /// Why it is in the set.
    pub why: Why,
    /// The Cluster that it belongs to, or is labelled with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Key>,
    /// What the target has under its name, once it was asked; none if that has to be created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_target: Option<InTarget>,
    /// What plugins change, once they were asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<PluginChange>,
    /// What identifies its content; only a plan that is made to be looked at has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
}

/// What happens to a source object once its copy is live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// It is deleted there.
    Move,
    /// It stays there too.
    Keep(KeepReason),
    /// The source doesn't have it: it is created from a manifest.
    FromManifest,
}

/// Why an object is copied but not deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum KeepReason {
    /// It is cluster-scoped, so others may use it.
    Global,
    /// It belongs to a cluster-scoped object.
    BelowGlobal {
        /// The cluster-scoped object.
        root: Key,
    },
    /// It is, or belongs to, a ClusterClass that others use.
    SharedClass {
        /// The class.
        class: Key,
        /// A Cluster that stays and uses it; none if the class merely lives in a namespace that stays.
        #[serde(skip_serializing_if = "Option::is_none")]
        used_by: Option<Key>,
    },
    /// An object that stays needs it too.
    Needed {
        /// That object.
        by: Key,
    },
    /// A plugin added it from outside the namespaces that move, without a grant to delete it there.
    AddedByPlugin {
        /// The plugin.
        plugin: String,
    },
    /// The user also copies it.
    AlsoCopied,
    /// Clusters were named, or objects excluded, and something that stays uses it as well.
    Shared {
        /// What.
        by: Key,
    },
    /// A plugin asks to keep it.
    Plugin {
        /// The plugin.
        name: String,
        /// The plugin's reason.
        reason: String,
    },
}

/// Why an object is in the set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Why {
    /// It moves with everything it owns: by kind, or by label.
    Root,
    /// It belongs to this root.
    Below(Key),
    /// Clusters were named, and this object of theirs refers to it.
    Referred(Key),
    /// It, or its kind, is labelled to move.
    Labelled,
    /// No rule selects it: the user also copies it.
    AlsoCopied,
    /// Created from a manifest.
    FromManifest {
        /// File of the manifest.
        file: String,
    },
    /// Something in the set needs it.
    Needed {
        /// The object that needs it.
        by: Key,
        /// The plugin that says so.
        plugin: String,
    },
    /// Outside the namespaces that move, and added by a plugin.
    AddedByPlugin {
        /// The plugin.
        plugin: String,
        /// The object that brings it: the root that the plugin says it belongs to, or the object that the plugin says needs it.
        with: Key,
    },
}

/// An object that was read and stays in the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stay {
    /// Its key.
    pub key: Key,
    /// Why it stays.
    pub reason: StayReason,
}

/// Why an object stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StayReason {
    /// It lives in a namespace that is not moved.
    OtherNamespace,
    /// The user excludes it.
    Excluded,
    /// Other Clusters were named, and nothing of theirs refers to it.
    NotNamed,
    /// It belongs to a Cluster that was not named.
    OfOtherCluster {
        /// Which.
        cluster: Key,
    },
    /// Neither its owner references nor its name link it to a Cluster.
    NotLinked,
    /// It has no owner, and nothing marks it to move.
    NotBelow,
    /// Its owner stays.
    OwnerStays {
        /// The owner.
        owner: Key,
    },
    /// Its owner moves, but without its dependents.
    OwnerMovesAlone {
        /// The owner.
        owner: Key,
    },
    /// Its owner is not among the objects that were read.
    OwnerNotRead {
        /// The owner, as the reference names it.
        owner: Key,
    },
    /// Its kind takes no part in moves.
    KindNotLabelled {
        /// The kind.
        kind: GroupKind,
    },
    /// A plugin leaves it.
    Left {
        /// The plugin.
        plugin: String,
        /// The plugin's reason.
        reason: String,
    },
    /// It belongs to an object that a plugin leaves.
    BelowLeft {
        /// The object.
        owner: Key,
        /// The plugin.
        plugin: String,
    },
}

/// The code of the note that nothing has the label by which something is to be carried along.
pub const ALSO_COPIED_NONE: &str = "also-copied-none";

/// Something the user should know, which doesn't stop the move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Note {
    /// A code that is stable for programs.
    pub code: Cow<'static, str>,
    /// The object, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Key>,
    /// What happens.
    pub message: String,
}

impl fmt::Display for KeepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("cluster-scoped"),
            Self::BelowGlobal { root } => write!(f, "belongs to {root}, which is cluster-scoped"),
            Self::SharedClass { class, used_by: Some(user) } => {
                write!(f, "{class} is used by {user}, which stays")
            }
            Self::SharedClass { class, used_by: None } => write!(f, "{class} is in a namespace that stays"),
            Self::Needed { by } => write!(f, "{by} stays and needs it too"),
            Self::AlsoCopied => f.write_str("also copied"),
            Self::Shared { by } => write!(f, "{by} stays and may use it too"),
            Self::AddedByPlugin { plugin } => write!(f, "plugin {plugin} is not granted to delete it there"),
            Self::Plugin { name, reason } => write!(f, "kept by plugin {name}: {reason}"),
        }
    }
}

impl fmt::Display for StayReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherNamespace => f.write_str("in a namespace that is not moved"),
            Self::Excluded => f.write_str("excluded by the user"),
            Self::NotNamed => f.write_str("not named, and no named Cluster refers to it"),
            Self::OfOtherCluster { cluster } => write!(f, "belongs to {cluster}, which is not named"),
            Self::NotLinked => f.write_str("not linked with any Cluster"),
            Self::NotBelow => f.write_str("nothing that moves owns it"),
            Self::OwnerStays { owner } => write!(f, "its owner {owner} stays"),
            Self::OwnerMovesAlone { owner } => write!(f, "its owner {owner} moves alone"),
            Self::OwnerNotRead { owner } => write!(f, "its owner {owner} was not read"),
            Self::KindNotLabelled { kind } => write!(f, "kind {kind} is not labelled for move"),
            Self::Left { plugin, reason } => write!(f, "left by plugin {plugin}: {reason}"),
            Self::BelowLeft { owner, plugin } => {
                write!(f, "belongs to {owner}, which plugin {plugin} leaves")
            }
        }
    }
}

/// In a form for people: `Secret ns/x: not linked with any Cluster`.
impl fmt::Display for Stay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.reason)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("moves with everything it owns"),
            Self::Below(root) => write!(f, "belongs to {root}"),
            Self::Referred(by) => write!(f, "{by} refers to it"),
            Self::Labelled => f.write_str("labelled for move"),
            Self::AlsoCopied => f.write_str("no rule selects it"),
            Self::FromManifest { file } => write!(f, "added from {file}"),
            Self::Needed { by, plugin } => write!(f, "{by} needs it, says plugin {plugin}"),
            Self::AddedByPlugin { plugin, with } => {
                write!(f, "brought by plugin {plugin} from outside of what moves, with {with}")
            }
        }
    }
}

impl Step {
    /// Whether a plugin brings it along from outside the namespaces that move.
    pub fn is_added_by_plugin(&self) -> bool {
        matches!(self.why, Why::AddedByPlugin { .. })
    }

    /// Returns true if no rule selects the object: the user also copies it, or adds it from a manifest.
    pub fn is_chosen_by_user(&self) -> bool {
        matches!(self.why, Why::AlsoCopied | Why::FromManifest { .. })
    }

    /// The file that the user adds it from.
    pub fn added_from(&self) -> Option<&str> {
        match &self.why {
            Why::FromManifest { file } => Some(file),
            _ => None,
        }
    }
}

impl Plan {
    /// Whether nothing would be copied.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The objects that are copied and then deleted in the source.
    pub fn moved_steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.fate == Fate::Move)
    }

    /// The objects that are copied and stay in the source too.
    pub fn kept_steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| matches!(step.fate, Fate::Keep(_)))
    }

    /// The objects that the user adds.
    pub fn added_steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.fate == Fate::FromManifest)
    }

    /// Whether an object of the plan doesn't make its namespace move: that namespace stays, or a plugin brings the object along.
    pub fn is_elsewhere(&self, step: &Step) -> bool {
        let namespace = step.key.namespace.as_ref();
        step.is_added_by_plugin() || namespace.is_some_and(|namespace| !self.moving.contains(namespace))
    }

    /// How many Clusters are copied.
    pub fn count_clusters(&self) -> usize {
        self.steps_of_kind(names::GROUP_CLUSTER, "Cluster").count()
    }

    /// How many ClusterClasses are copied.
    pub fn count_cluster_classes(&self) -> usize {
        self.steps_of_kind(names::GROUP_CLUSTER, "ClusterClass").count()
    }

    /// The steps of one kind.
    pub fn steps_of_kind(&self, group: &str, kind: &str) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.key.group_kind.is(group, kind))
    }
}
