//! The plan: objects that move, are kept or stay, their order, and the reasons to refuse the move.
//!
//! A plan is a pure function of the inventory, the scope and the plugins' relations. It can be printed, compared and serialised.
//! The engine carries it out.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::messages::refusal::Refusal;
use crate::objects::names;
use crate::{GroupKind, Key, OwnerReference, Uid};

mod foreseen;

pub use foreseen::{ChangingHook, Content, InTarget, PluginChange};

/// The effects of a move.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The objects that are copied, in the order of creation; those that the user adds come last.
    pub steps: Vec<Step>,
    /// The objects that were read and stay, sorted by key.
    pub stays: Vec<Stay>,
    /// The reasons to refuse the move.
    pub refusals: Vec<Refusal>,
    /// Notes for the user.
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
    /// Index of the object in the inventory.
    #[serde(skip)]
    pub object: usize,
    /// Key of the object.
    pub key: Key,
    /// UID in the source. An object from a manifest has a substitute.
    pub uid: Uid,
    /// The steps, all with smaller indices, whose objects must exist first: owners and link targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<usize>,
    /// Owner references that the copy will lack.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped_owners: Vec<OwnerReference>,
    /// Effect on the object in the source.
    pub fate: Fate,
    /// Reason why the object is in the set.
    pub why: Why,
    /// Cluster that the object belongs to, or is labelled with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Key>,
    /// Object of the target with that name, once the target was read; none if the object must be created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_target: Option<InTarget>,
    /// Changes by plugins, once the plugins were called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<PluginChange>,
    /// Content digest. Set only for `plan` and dry runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
}

/// Effect on a source object once its copy is live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// The object is deleted from the source.
    Move,
    /// The object also stays in the source.
    Keep(KeepReason),
    /// The source doesn't have the object. It is created from a manifest.
    FromManifest,
}

/// A reason why an object is copied but not deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum KeepReason {
    /// The object is cluster-scoped, so others may use it.
    Global,
    /// The object belongs to a cluster-scoped object.
    BelowGlobal {
        /// The cluster-scoped object.
        root: Key,
    },
    /// The object is, or belongs to, a ClusterClass that others use.
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
        /// The object that stays.
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

/// A reason why an object is in the set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Why {
    /// The object moves with everything it owns, because of its kind or label.
    Root,
    /// The object belongs to this root.
    Below(Key),
    /// Clusters were named, and this object of theirs refers to the object.
    Referred(Key),
    /// The object, or its kind, is labelled to move.
    Labelled,
    /// No rule selects the object. The user also copies it.
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
        /// The root that the plugin links the object with, or the object that needs it according to the plugin.
        with: Key,
    },
}

/// An object that was read and stays in the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stay {
    /// Key of the object.
    pub key: Key,
    /// Reason why the object stays.
    pub reason: StayReason,
}

/// A reason why an object stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StayReason {
    /// The object is in a namespace that is not moved.
    OtherNamespace,
    /// The user excludes it.
    Excluded,
    /// Other Clusters were named, and nothing of theirs refers to it.
    NotNamed,
    /// The object belongs to a Cluster that was not named.
    OfOtherCluster {
        /// The Cluster.
        cluster: Key,
    },
    /// Neither its owner references nor its name link it to a Cluster.
    NotLinked,
    /// The object has no owner, and no label or kind makes it move.
    NotBelow,
    /// The object's owner stays.
    OwnerStays {
        /// The owner.
        owner: Key,
    },
    /// The object's owner moves without its dependents.
    OwnerMovesAlone {
        /// The owner.
        owner: Key,
    },
    /// The object's owner is not among the objects that were read.
    OwnerNotRead {
        /// The owner, as the reference names it.
        owner: Key,
    },
    /// The object's kind takes no part in moves.
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
    /// The object belongs to an object that a plugin leaves.
    BelowLeft {
        /// The object.
        owner: Key,
        /// The plugin.
        plugin: String,
    },
}

/// Code of the note that no object has the label that `--also-copy` selects.
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
    /// Text for the user.
    pub message: String,
}

impl Note {
    pub(crate) fn new(code: &'static str, object: Option<&Key>, message: impl Into<String>) -> Self {
        Self { code: code.into(), object: object.cloned(), message: message.into() }
    }
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
    /// Returns true if a plugin adds the object from outside the namespaces that move.
    pub fn is_added_by_plugin(&self) -> bool {
        matches!(self.why, Why::AddedByPlugin { .. })
    }

    /// Returns true if no rule selects the object: the user also copies it, or adds it from a manifest.
    pub fn is_chosen_by_user(&self) -> bool {
        matches!(self.why, Why::AlsoCopied | Why::FromManifest { .. })
    }

    /// Returns the file of the manifest that the object is created from, if there is one.
    pub fn added_from(&self) -> Option<&str> {
        match &self.why {
            Why::FromManifest { file } => Some(file),
            _ => None,
        }
    }
}

impl Plan {
    /// Returns true if no object would be copied.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the objects that are copied and then deleted from the source.
    pub fn moved_steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.fate == Fate::Move)
    }

    /// Returns the objects that are copied and kept.
    pub fn kept_steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| matches!(step.fate, Fate::Keep(_)))
    }

    /// Returns the objects that are created from manifests.
    pub fn added_steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.fate == Fate::FromManifest)
    }

    /// Returns true if an object doesn't make its namespace move: the namespace stays, or a plugin adds the object.
    pub fn is_elsewhere(&self, step: &Step) -> bool {
        let namespace = step.key.namespace.as_ref();
        step.is_added_by_plugin() || namespace.is_some_and(|namespace| !self.moving.contains(namespace))
    }

    /// Counts the Clusters that are copied.
    pub fn count_clusters(&self) -> usize {
        self.steps_of_kind(names::GROUP_CLUSTER, "Cluster").count()
    }

    /// Counts the ClusterClasses that are copied.
    pub fn count_cluster_classes(&self) -> usize {
        self.steps_of_kind(names::GROUP_CLUSTER, "ClusterClass").count()
    }

    /// Returns the steps of one kind.
    fn steps_of_kind(&self, group: &str, kind: &str) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.key.group_kind.is(group, kind))
    }
}
