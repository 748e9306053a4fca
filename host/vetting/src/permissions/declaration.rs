//! A plugin's description of itself: its requests, before any of them is granted.

use pivot_core::plugins::hooks::Hook;
use pivot_core::plugins::reach::Reach;
use pivot_core::{GroupKind, Kind, Side};

use crate::permissions::Pattern;

/// The objects that a hook changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `hold`, `adapt`, `restore` or `settle`.
    pub hook: Hook,
    /// Kind of the objects; `*` is every kind of the group.
    pub kind: GroupKind,
    /// The side.
    pub side: Side,
}

/// A kind that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The kind; `*`: every kind of the group.
    pub kind: GroupKind,
    /// The side.
    pub side: Side,
    /// None: in the namespaces that move. Some: in this one, `*` for all.
    pub namespace: Option<String>,
}

/// The versions of a kind that a plugin understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The kind; `*`: every kind of the group.
    pub kind: GroupKind,
    /// Without the group; never empty.
    pub versions: Vec<String>,
}

/// A plugin's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Name of the plugin.
    pub name: String,
    /// Version of the plugin.
    pub version: String,
    /// A one-sentence summary.
    pub summary: String,
    /// The kinds its hooks want to see.
    pub kinds: Vec<GroupKind>,
    /// The versions of those that it understands. A kind that isn't listed here may have any version.
    pub versions: Vec<Versions>,
    /// Reach of the plugin's relations beyond the namespaces that move.
    pub reach: Vec<Reach>,
    /// Changes that the plugin makes.
    pub changes: Vec<Change>,
    /// Reads that the plugin makes.
    pub reads: Vec<Read>,
    /// Endpoints that the plugin probes.
    pub probes: Vec<Pattern>,
    /// True if the plugin asks for the data of Secrets.
    pub secret_data: bool,
    /// The codes of its problems, declared before it sees any data.
    pub codes: Vec<String>,
    /// Additions of a newer contract.
    pub extra: Vec<(String, String)>,
}

/// The side that a hook changes; none for hooks that change nothing.
pub fn side_of(hook: Hook) -> Option<Side> {
    match hook {
        Hook::Hold => Some(Side::Source),
        Hook::Adapt | Hook::Restore | Hook::Settle => Some(Side::Target),
        Hook::Relate | Hook::Check => None,
    }
}

impl Declaration {
    /// Fails if the parts of the description contradict each other, given the hooks in the binary.
    pub fn check_consistency(&self, hooks: &[Hook]) -> Result<(), String> {
        for change in &self.changes {
            let Change { hook, kind, side: _ } = change;
            if !hooks.contains(hook) {
                return Err(format!("it says that {hook} changes {kind}, but has no hook {hook}"));
            }
            if !self.kinds.iter().any(|listed| listed.covers(kind)) {
                return Err(format!("it says that {hook} changes {kind}, but does not list that kind"));
            }
        }
        let silent =
            |hook: &&Hook| side_of(**hook).is_some() && !self.changes.iter().any(|c| c.hook == **hook);
        if let Some(hook) = hooks.iter().find(silent) {
            return Err(format!("it has a hook {hook} and does not say what that changes"));
        }
        if let Some(reach) = self.reach.first().filter(|_| !hooks.contains(&Hook::Relate)) {
            return Err(format!("its relations reach {}, but it has no hook relate", reach.kind));
        }
        // A request to an endpoint can carry arbitrary text out.
        if self.secret_data && !self.probes.is_empty() {
            return Err(
                "it wants both the data of Secrets and to probe endpoints; no plugin gets both".into()
            );
        }
        Ok(())
    }

    /// Returns the vendor's summary, marked as the vendor's unchecked words.
    pub fn vendor_summary(&self) -> String {
        match self.summary.trim() {
            "" => "The vendor says nothing about it.".to_owned(),
            // Keeps the closing quote ours.
            summary => format!("The vendor says: \"{}\"", summary.replace('"', "'")),
        }
    }

    /// Fails if the plugin doesn't understand the version in which an object was read.
    pub fn check_version(&self, kind: &Kind) -> Result<(), String> {
        let understood = self.versions.iter().filter(|one| one.kind.covers(&kind.group_kind));
        let understood: Vec<&str> =
            understood.flat_map(|one| one.versions.iter().map(String::as_str)).collect();
        if understood.is_empty() || understood.contains(&kind.version.as_str()) {
            return Ok(());
        }
        Err(format!(
            "it understands {} in version {}, and both sides serve {}",
            kind.group_kind,
            understood.join(" or "),
            kind.version
        ))
    }

    /// Returns true if a hook is declared to change a kind.
    pub fn declares_change(&self, hook: Hook, kind: &GroupKind) -> bool {
        self.changes.iter().any(|change| change.hook == hook && change.kind.covers(kind))
    }
}
