//! Kinds that are dangerous to move without a plugin that knows them.
//!
//! The table is in core, so that a move without the plugin is refused before anything is paused, and not noticed when machines
//! have lost their disks.

use std::collections::{BTreeMap, BTreeSet};

use crate::GroupKind;
use crate::discovery::implicit_links::{TEMPLATE, is_cluster_class};
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::messages::risk::Risk;
use crate::objects::kind::is_drain_rule;
use crate::objects::names::GROUP_ADDONS;
use crate::plan::Plan;
use crate::request::scope::Scope;

/// A kind, and the damage if its objects are moved like any others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Danger {
    /// API group.
    pub(crate) group: &'static str,
    /// Kind.
    pub(crate) kind: &'static str,
    /// Consequence of a move without a plugin.
    pub(crate) why: &'static str,
}

/// The dangerous kinds.
pub(crate) const DANGEROUS: [Danger; 1] = [Danger {
    group: "metal3.io",
    kind: "BareMetalHost",
    why: "a copy starts without status, so the target's controller treats a running host as new and inspects or wipes it, and the source's powers it off when its object is deleted",
}];

/// Returns true if objects of a kind are dangerous to move without a plugin.
pub fn is_dangerous(kind: &GroupKind) -> bool {
    DANGEROUS.iter().any(|danger| kind.is(danger.group, danger.kind))
}

/// Returns true if no controller acts on objects of a kind, so that copies on both sides do no harm.
pub(crate) fn is_passive(kind: &GroupKind) -> bool {
    let set = kind.is(GROUP_ADDONS, "ClusterResourceSet");
    let is_read = kind.kind.ends_with(TEMPLATE) || is_cluster_class(kind) || is_drain_rule(kind);
    kind.group.is_empty() || is_read || set
}

/// Returns true if objects of a kind assign addresses.
pub fn is_pool(kind: &GroupKind) -> bool {
    kind.group.starts_with("ipam.") && kind.kind.ends_with("Pool")
}

/// Refuses dangerous kinds in the plan that no plugin handles and the user has not accepted.
pub(crate) fn find_unhandled_dangers(
    plan: &Plan,
    scope: &Scope,
    handled: &BTreeSet<GroupKind>,
) -> Vec<Refusal> {
    let mut found: BTreeMap<&GroupKind, Vec<_>> = BTreeMap::new();
    for step in &plan.steps {
        let kind = &step.key.group_kind;
        if !handled.contains(kind) && !scope.accept.contains_kind(Risk::NoPlugin, kind) {
            found.entry(kind).or_default().push(step.key.clone());
        }
    }
    let mut refusals = Vec::new();
    for danger in DANGEROUS {
        let kind = GroupKind::new(danger.group, danger.kind);
        let Some(keys @ [first, others @ ..]) = found.get(&kind).map(Vec::as_slice) else { continue };
        let message = format!("no plugin handles {}: {}", some_of(keys, 3), danger.why);
        let add = Remedy::AddPlugin { kind: kind.clone() };
        let refusal = Refusal::source("needs-plugin", first.clone(), message, add);
        let refusal = refusal.with_others(others.iter().cloned());
        refusals.push(refusal.with_remedy(Remedy::MoveWithoutPlugin { kind }));
    }
    refusals
}
