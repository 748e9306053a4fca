//! Remedies for a refusal, or for a stopped move.
//!
//! Each remedy is a value: the program that offers it knows the flag, command or setting. Manual remedies are words, because no
//! command of pivot-host does them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::messages::risk::{AcceptedRisks, Risk};
use crate::messages::shell::Kubectl;
use crate::objects::selector::Part;
use crate::{Both, GroupKind, Key, Side};

/// One remedy. Where there are several, any one is enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "remedy", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Remedy {
    /// Something outside a move.
    ByHand {
        /// Description of the remedy.
        what: String,
    },
    /// A kubectl command, and the words around it.
    Kubectl {
        /// Words before the command.
        before: String,
        /// The command.
        command: Kubectl,
        /// The rest of the sentence.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        after: String,
    },
    /// Print the roles that a move needs on a side, and let an administrator apply them.
    GrantRights {
        /// The side.
        side: Side,
    },
    /// Name a kubeconfig of a user that the server of a side knows.
    NameOtherUser {
        /// The side.
        side: Side,
    },
    /// Install a provider in the target.
    InstallProvider(Installation),
    /// Upgrade a provider in the target.
    UpgradeProvider(Installation),
    /// Let a provider's controllers in the target watch all namespaces.
    WatchAllNamespaces,
    /// Find the other move that paused it, and end that move.
    EndOtherMove,
    /// Wait for the other run to end.
    WaitForOtherRun,
    /// Find out why a server doesn't answer.
    ReachServer,
    /// Name another target.
    NameOtherTarget,
    /// Keep records and Leases in another namespace.
    NameRecordNamespace,
    /// Copy without the references to owners of all these kinds.
    DropOwners {
        /// The kinds.
        kinds: BTreeSet<GroupKind>,
    },
    /// Copy without the references to owners of one of these kinds.
    DropOneOwner {
        /// The kinds.
        kinds: BTreeSet<GroupKind>,
    },
    /// Accept that objects of a kind are garbage-collected.
    AcceptLoss {
        /// The kind.
        kind: GroupKind,
    },
    /// Accept that nothing shows a target controller taking over objects of a kind.
    AcceptUnverified {
        /// The kind.
        kind: GroupKind,
    },
    /// Use a plugin that handles a dangerous kind.
    AddPlugin {
        /// The kind.
        kind: GroupKind,
    },
    /// Enable a bundled plugin that brings along objects which moved objects need.
    EnablePlugin {
        /// The plugin.
        plugin: String,
        /// Directory of the run's plugins, as the user named it; none if the run has no plugins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<String>,
    },
    /// Move a dangerous kind without a plugin for it.
    MoveWithoutPlugin {
        /// The kind.
        kind: GroupKind,
    },
    /// Name another Cluster too.
    NameCluster {
        /// The Cluster.
        cluster: Key,
    },
    /// Let objects of this kind, such as pools, be used on both sides.
    AcceptShared {
        /// The kind.
        kind: GroupKind,
    },
    /// Move objects of a kind although they have the old name of a mapped namespace.
    AcceptOldNamespace {
        /// The kind.
        kind: GroupKind,
    },
    /// Also copy an object that no rule selects.
    AlsoCopy {
        /// The object.
        part: Part,
    },
    /// Move although an object of this kind, which moved objects need, is missing in the target.
    AcceptDangling {
        /// The kind.
        kind: GroupKind,
    },
    /// Move objects although a GitOps owner of this kind may create them again in the source.
    AcceptGitops {
        /// The kind.
        kind: GroupKind,
    },
    /// Give a namespace another name in the target.
    MapNamespace {
        /// Name of the namespace in the source.
        namespace: String,
    },
    /// Exclude these too, which depend on what is excluded.
    ExcludeToo {
        /// The objects or parts.
        objects: BTreeSet<Key>,
    },
    /// Exclude these parts, which the user may have meant.
    ExcludeInstead {
        /// The objects or parts.
        parts: BTreeSet<Part>,
    },
    /// Don't exclude these parts.
    LeaveOutExclude {
        /// The parts that are excluded.
        parts: BTreeSet<Part>,
    },
    /// Don't also copy these parts.
    LeaveOutCarry {
        /// The parts that are also copied.
        parts: BTreeSet<Part>,
    },
    /// To leave a Cluster, name all others.
    NameOtherClusters,
    /// Move it, and leave it paused.
    MovePaused,
    /// Move it although it is not provisioned.
    MoveUnprovisioned,
    /// Declare that no management cluster runs the source's objects any more.
    SourceIsOff,
    /// Use the target's object as it is.
    UseExisting,
    /// End the move, and leave the source as it is.
    ResumeWithoutSource,
    /// Restore a target that lost a committed move from a later backup.
    RestoreTarget,
    /// If there is no such backup, and each Cluster was compared: make the source authoritative again.
    RecoverSource,
    /// Pause the Clusters of a source that went back, which run on both sides.
    PauseSource,
    /// Compare a Cluster of a source that has no record of the move with the target's. Then let it be paused.
    NameClusterToPause {
        /// The first of those that run in the source.
        cluster: Key,
    },
    /// Find out what became of copies that don't run, and restore neither side from a backup.
    ExplainMissingCopies,
    /// Keep a source that is out of date, paused. If each of its Clusters runs in the target, its management cluster can be switched off.
    SwitchOffSource,
    /// If a copy only lost its undo annotation, and each Cluster was compared: roll back.
    RollBackLostUndo,
    /// Let a Cluster be unpaused whose undo annotation is gone.
    NameClusterToUnpause {
        /// The Cluster.
        cluster: Key,
    },
    /// Compare a Cluster's machines, then let it be unpaused.
    NameComparedCluster {
        /// The first Cluster without a known difference; none if each Cluster differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<Key>,
    },
    /// If Machines without a node are gone for good, drop them from a restored Cluster.
    DropLostWorkers {
        /// The first Cluster in which that is possible.
        cluster: Key,
    },
    /// Declare that the files of a handover were imported nowhere, or that what came of them is gone.
    NotImported,
    /// Accept that copies of these kinds, all of them, have changed or are gone.
    AcceptChanged {
        /// The kinds.
        kinds: BTreeSet<GroupKind>,
    },
    /// Resume, and accept that nothing shows target controllers taking over the kinds that were named.
    ResumeUnverified,
    /// Accept that controllers of these kinds don't show that they see the copies.
    AcceptUnseen {
        /// The kinds.
        kinds: BTreeSet<GroupKind>,
    },
    /// Resume: whatever failed is tried again.
    ResumeAgain,
    /// Continue although the plugins changed.
    AcceptPluginChange,
    /// Let the agent finish moves alone, with this move's plugins.
    StartFinishingAgent,
    /// Let the agent wait for the link instead of finishing the move alone.
    WaitForLink,
    /// Fix the plugin, then start over: nothing is left of this attempt.
    Fix {
        /// The plugin.
        plugin: String,
    },
    /// Let a plugin bring along objects of a kind from a namespace; none: cluster-scoped ones.
    GrantReach {
        /// The plugin.
        plugin: String,
        /// The kind.
        kind: GroupKind,
        /// The namespace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
    },
    /// Disable the plugin, then start over.
    SwitchOff {
        /// The plugin.
        plugin: String,
    },
    /// Let failing checks of the plugin pass, and resume: the operator's settings are not part of the digest that a record pins.
    LetCheckPass {
        /// The plugin.
        plugin: String,
    },
    /// Roll back, which needs no plugin; fix the plugin, and move again.
    RollBackThenFix {
        /// The plugin.
        plugin: String,
    },
    /// Roll back, which needs no plugin; disable the plugin, and move again.
    RollBackThenSwitchOff {
        /// The plugin.
        plugin: String,
    },
    /// Fix these plugins (all that took part, if none is named), and resume, accepting that they changed.
    FixThenAcceptChange {
        /// The plugin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plugin: Option<String>,
    },
    /// Resolve what the plugins found, and resume.
    ResolveThenResume,
    /// Disable these plugins, and resume, accepting that: objects that they hold are then released without them.
    SwitchOffThenAcceptChange {
        /// The plugins.
        plugins: Vec<String>,
    },
}

/// A provider as clusterctl would install it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Installation {
    /// Type of the provider: `InfrastructureProvider`.
    pub kind_of: String,
    /// Name of the provider: `metal3`.
    pub name: String,
    /// The version in the source, as written there.
    pub version: String,
}

impl Remedy {
    /// Returns the remedy of a command, with the words before and after it.
    pub fn kubectl(before: &str, command: Kubectl, after: &str) -> Self {
        Self::Kubectl { before: before.to_owned(), command, after: after.to_owned() }
    }

    /// Returns the remedy that accepts changes of all these kinds, if there are any.
    pub fn accept_changes<'a>(kinds: impl IntoIterator<Item = &'a GroupKind>) -> Option<Self> {
        let kinds: BTreeSet<GroupKind> = kinds.into_iter().cloned().collect();
        (!kinds.is_empty()).then_some(Self::AcceptChanged { kinds })
    }

    /// Returns the risks that the remedy accepts.
    pub(crate) fn accepted_risks(&self) -> AcceptedRisks {
        let of_kind = |risk: Risk, kind: &GroupKind| {
            let mut accepted = AcceptedRisks::default();
            accepted.insert_kind(risk, kind.clone());
            accepted
        };
        let of_kinds = |risk: Risk, kinds: &BTreeSet<GroupKind>| {
            let mut accepted = AcceptedRisks::default();
            accepted.insert_kinds(risk, kinds.iter().cloned());
            accepted
        };
        match self {
            Self::DropOwners { kinds } | Self::DropOneOwner { kinds } => of_kinds(Risk::OwnerDropped, kinds),
            Self::AcceptLoss { kind } => of_kind(Risk::DependentsLost, kind),
            Self::AcceptUnverified { kind } => of_kind(Risk::Unverified, kind),
            Self::MoveWithoutPlugin { kind } => of_kind(Risk::NoPlugin, kind),
            Self::AcceptShared { kind } => of_kind(Risk::Shared, kind),
            Self::AcceptOldNamespace { kind } => of_kind(Risk::OldNamespace, kind),
            Self::AcceptDangling { kind } => of_kind(Risk::Dangling, kind),
            Self::AcceptGitops { kind } => of_kind(Risk::Gitops, kind),
            Self::AcceptChanged { kinds } => of_kinds(Risk::CopyChanged, kinds),
            Self::MovePaused => Risk::AlreadyPaused.into(),
            Self::MoveUnprovisioned => Risk::Unprovisioned.into(),
            Self::SourceIsOff => Risk::SourceMayRun.into(),
            Self::UseExisting => Risk::ExistingDiffers.into(),
            _ => AcceptedRisks::default(),
        }
    }

    /// Returns the words of a remedy that no command of pivot-host does.
    pub fn by_hand(&self) -> Option<String> {
        match self {
            Self::ByHand { what } => Some(what.clone()),
            Self::Kubectl { before, command, after } => Some(format!("{before}`{command}`{after}")),
            _ => None,
        }
    }

    /// Adds, to its command, the flags that name the kubeconfig and the context of the command's side.
    pub fn name_kubeconfig(&mut self, flags: &Both<Vec<String>>) {
        if let Self::Kubectl { command, .. } = self {
            command.flags.clone_from(flags.get(command.side));
        }
    }
}

impl From<&str> for Remedy {
    fn from(what: &str) -> Self {
        Self::ByHand { what: what.to_owned() }
    }
}

impl From<String> for Remedy {
    fn from(what: String) -> Self {
        Self::ByHand { what }
    }
}
