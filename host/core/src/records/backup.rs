//! Facts about a backup. The manifest of its directory keeps them.

use serde::{Deserialize, Serialize};

use crate::Key;

/// Facts about a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackupFacts {
    /// Time at which the cluster was read, by the clock of the machine that ran the backup.
    pub taken_at: String,
    /// The version of the cluster at which each object was read. None if the server can't list all kinds at one version: then lists
    /// were compared with later ones, and each object that changed meanwhile is among the unfinished work.
    #[serde(default)]
    pub resource_version: Option<String>,
    /// Work that was under way in the cluster meanwhile. A restore brings back what was being deleted.
    pub unfinished: Vec<UnfinishedWork>,
}

/// Work on an object that was under way in a cluster when it was backed up. A move would have waited for its end, or refused the object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnfinishedWork {
    /// Cluster that the object belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Key>,
    /// The object; none if the finding is about several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Key>,
    /// Code of the refusal or finding, stable for programs.
    pub code: String,
    /// Description for people.
    pub message: String,
}
