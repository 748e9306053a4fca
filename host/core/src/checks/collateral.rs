//! Objects that stay in the source must not be garbage-collected because their owners are deleted.
//!
//! The garbage collector deletes an object once none of its owners exists any more. clusterctl deletes owners without checking
//! for other dependents: a VM's IP address claim goes with the Machine, and the address is given to another machine (W3).
//! pivot-host therefore reads the metadata of every listable kind in the affected namespaces. Dependents that would be collected
//! stop the plan, unless a plugin leaves them or the user accepts the loss of their kind.

use std::collections::{BTreeMap, BTreeSet};

pub use crate::checks::garbage_collector::Bystander;
use crate::checks::garbage_collector::{Lost, find_collected};
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::messages::risk::Risk;
use crate::messages::shell::Kubectl;
use crate::objects::names;
use crate::objects::selector::Part;
use crate::plan::Plan;
use crate::plugins::relations::Relations;
use crate::records::release::{ReleaseFate, ReleaseList};
use crate::request::scope::Scope;
use crate::{GroupKind, Key, Kind, Side};

/// Finds the objects that would be garbage-collected in the source, and returns one refusal per kind.
///
/// An owner that doesn't exist anywhere does not save its dependent. Dependents of an object that a plugin leaves are left with
/// it. `--accept dependents-lost` covers the kinds that it names.
pub fn find_lost_dependents(
    plan: &Plan,
    scope: &Scope,
    relations: &Relations,
    bystanders: &[Bystander<'_>],
) -> Vec<Refusal> {
    let mut by_kind: BTreeMap<&GroupKind, (&Kind, BTreeMap<Key, Key>)> = BTreeMap::new();
    let deleted = plan.moved_steps().map(|step| (&step.uid, step.key.namespace.as_deref())).collect();
    let kept = plan.kept_steps().map(|step| (&step.uid, step.key.namespace.as_deref()));
    let lost = find_collected(&deleted, kept, bystanders, |bystander| {
        relations.find_leave(&bystander.meta.uid).is_some()
    });
    let accepted = scope.accept.kinds(Risk::DependentsLost);
    for Lost { object, owner, .. } in lost.into_iter().filter(|lost| is_unaccepted(lost, accepted)) {
        let owner = object.meta.owner_references.iter().find(|reference| reference.uid == *owner);
        let owner = owner.map(|owner| Key::new(owner.group_kind(), None, &owner.name));
        let entry = by_kind.entry(&object.kind.group_kind);
        let (_, found) = entry.or_insert_with(|| (object.kind, BTreeMap::new()));
        found.extend(owner.map(|owner| (object.key(), owner)));
    }
    by_kind.into_values().filter_map(|(kind, lost)| lost_dependents_refusal(kind, &lost, scope)).collect()
}

/// Finds objects that were created in the source after the commit and would be garbage-collected with the objects that the list
/// deletes.
///
/// Older objects that don't move were either left by a plugin, or the user accepted the loss of their kind. `begun` is the start
/// of the move, in the source server's time format.
pub fn find_new_dependents(
    list: &ReleaseList,
    accept_loss: &BTreeSet<GroupKind>,
    begun: Option<&str>,
    bystanders: &[Bystander<'_>],
) -> Option<Refusal> {
    let (mut deleted, mut kept) = (BTreeMap::new(), Vec::new());
    for entry in &list.entries {
        let home = entry.key.namespace.as_deref();
        match entry.fate {
            ReleaseFate::Delete => drop(deleted.insert(&entry.uid, home)),
            ReleaseFate::Keep => kept.push((&entry.uid, home)),
        }
    }
    let lost = find_collected(&deleted, kept, bystanders, |bystander| {
        !is_new(bystander, begun) && !accept_loss.contains(&bystander.kind.group_kind)
    });
    let lost = lost.iter().filter(|lost| is_new(lost.object, begun) && is_unaccepted(lost, accept_loss));
    let lost: BTreeSet<Key> = lost.map(|lost| lost.object.key()).collect();
    let lost: Vec<Key> = lost.into_iter().collect();
    let first = lost.first()?.clone();
    let message = format!(
        "{} appeared after the copy was made, and would be garbage-collected with their owners",
        some_of(&lost, 5)
    );
    let remedy = "copy what is needed to the target by hand, and remove its owner references here, so that it stays; then resume";
    Some(Refusal::source("latecomers", first, message, remedy).with_others(lost.into_iter().skip(1)))
}

fn is_new(bystander: &Bystander<'_>, begun: Option<&str>) -> bool {
    bystander.meta.creation_timestamp.as_deref() > begun
}

/// Returns true if the loss of an object was neither accepted nor left to a plugin. Events don't count.
fn is_unaccepted(lost: &Lost<'_>, accept_loss: &BTreeSet<GroupKind>) -> bool {
    let kind = &lost.object.kind.group_kind;
    !lost.left && !kind.is_event() && !accept_loss.contains(kind)
}

fn lost_dependents_refusal(kind: &Kind, lost: &BTreeMap<Key, Key>, scope: &Scope) -> Option<Refusal> {
    let first = lost.keys().next()?;
    let names: Vec<String> = lost.iter().map(|(key, owner)| format!("{key} (below {owner})")).collect();
    let message = format!(
        "{} would stay, and be garbage-collected in the source when what owns {} is deleted",
        some_of(&names, 3),
        if names.len() == 1 { "it" } else { "them" },
    );
    let accept = Remedy::AcceptLoss { kind: kind.group_kind.clone() };
    let excluded = scope.exclude.iter().filter(|part| lost.keys().any(|key| part.may_cover(key)));
    let parts: BTreeSet<Part> = excluded.cloned().collect();
    let way = match parts.is_empty() {
        true => move_remedy(kind, first),
        false => Some(Remedy::LeaveOutExclude { parts }),
    };
    let mut remedies = way.into_iter().chain([accept]);
    let refusal = Refusal::source("collateral", first.clone(), message, remedies.next()?);
    Some(remedies.fold(refusal.with_others(lost.keys().skip(1).cloned()), Refusal::with_remedy))
}

/// Returns the command or advice that makes objects of a kind move. Kinds that are always read move by a label on the object,
/// custom resources by labels on their definition. Kinds of Kubernetes itself can't be made to move.
fn move_remedy(kind: &Kind, first: &Key) -> Option<Remedy> {
    let words = "let them move too (";
    let group = &kind.group_kind.group;
    if kind.is_always_read() {
        let label = [format!("{}=", names::LABEL_MOVE)];
        let label = Kubectl::object(Side::Source, "label", first, &label.each_ref().map(String::as_str));
        Some(Remedy::kubectl(words, label, ")"))
    } else if group.contains('.') && !group.ends_with(".k8s.io") {
        let (listed, moves) = (names::LABEL_DISCOVER, names::LABEL_MOVE);
        Some(format!("{words}labels {listed} and {moves} on the CRD of {})", kind.group_kind).into())
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
