//! What can be done about a refusal, or about what stopped a move.
//!
//! A value each: which flag, command or setting it takes is the business of the program that offers it. What is done to
//! objects by hand is in words, since no program of ours does it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{GroupKind, Key};

/// One way out. Where there are several, each of them is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "remedy", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Remedy {
    /// Something outside of a move.
    ByHand {
        /// What, in words.
        what: String,
    },
    /// Un-pause an object, if nobody needs the pause.
    Unpause {
        /// Which.
        object: Key,
        /// It is paused by its annotation, not by its field.
        annotated: bool,
    },
    /// Install a provider in the target.
    InstallProvider(Installation),
    /// Upgrade a provider in the target.
    UpgradeProvider(Installation),
    /// Let a provider's controllers in the target look at all namespaces.
    WatchAllNamespaces,
    /// See which other move has paused it, and end that.
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
        /// Of which kinds.
        kinds: BTreeSet<GroupKind>,
    },
    /// Copy without the references to owners of one of these kinds.
    DropOneOwner {
        /// Of which kinds.
        kinds: BTreeSet<GroupKind>,
    },
    /// Accept that objects of a kind are garbage-collected.
    AcceptLoss {
        /// Which kind.
        kind: GroupKind,
    },
    /// Accept that nobody sees a controller of the target take over objects of a kind.
    AcceptUnverified {
        /// Which kind.
        kind: GroupKind,
    },
    /// Move a dangerous kind without a plugin for it.
    MoveWithoutPlugin {
        /// Which kind.
        kind: GroupKind,
    },
    /// Move it, and leave it paused.
    MovePaused,
    /// Move it although it is not provisioned.
    MoveUnprovisioned,
    /// Say that no management cluster runs the source's objects any more.
    SourceIsOff,
    /// Use the target's object as it is.
    UseExisting,
    /// End the move, and leave the source as it is.
    ResumeWithoutSource,
    /// Resume, and accept that nobody sees controllers of the target take over the kinds that were named.
    ResumeUnverified,
    /// Resume: what failed is asked again.
    ResumeAgain,
    /// Go on although the plugins changed.
    AcceptPluginChange,
    /// Fix the plugin, then begin again: nothing is left of this attempt.
    Fix {
        /// Which plugin.
        plugin: String,
    },
    /// Let a plugin bring along objects of a kind from a namespace; none: cluster-scoped ones.
    GrantReach {
        /// Which plugin.
        plugin: String,
        /// Which kind.
        kind: GroupKind,
        /// From where.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
    },
    /// Switch the plugin off, then begin again.
    SwitchOff {
        /// Which plugin.
        plugin: String,
    },
    /// Let failing checks of the plugin pass, and resume: what an operator decides is no part of the digest that a record pins.
    LetCheckPass {
        /// Which plugin.
        plugin: String,
    },
    /// Roll back, which needs no plugin; fix the plugin, and move again.
    RollBackThenFix {
        /// Which plugin.
        plugin: String,
    },
    /// Roll back, which needs no plugin; switch the plugin off, and move again.
    RollBackThenSwitchOff {
        /// Which plugin.
        plugin: String,
    },
    /// Fix these plugins (all that took part, where none is named), and resume accepting that they changed.
    FixThenAcceptChange {
        /// Which plugin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plugin: Option<String>,
    },
    /// Resolve what the plugins found, and resume.
    ResolveThenResume,
    /// Switch these plugins off, and resume accepting that: what they hold is then released without them.
    SwitchOffThenAcceptChange {
        /// Which plugins.
        plugins: Vec<String>,
    },
}

/// A provider as clusterctl would install it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Installation {
    /// Its type: `InfrastructureProvider`.
    pub kind_of: String,
    /// Its name: `metal3`.
    pub name: String,
    /// The version of the source's, as written there.
    pub version: String,
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
