//! Objects that the user excludes: they stay, unless something that moves depends on them.
//!
//! An excluded object is never entered, like an object that a plugin leaves. A selection without the exclusion shows which
//! objects would have moved with it or because of it. Objects that it owns, and objects that a link, a class, a need or a
//! reference ties to it, would be separated from it. Such an exclusion is refused, and the refusal lists the dependents. Objects
//! that only an excluded object needs stay with it.

use std::collections::{BTreeMap, BTreeSet};

use crate::discovery::body_references::Mentions;
use crate::discovery::implicit_links::is_cluster;
use crate::discovery::inventory::Inventory;
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::objects::selector::{Part, contains_object};
use crate::request::scope::Scope;
use crate::selection::chosen_objects::Selection;
use crate::selection::input::SelectionInput;
use crate::{GroupKind, Key};

/// Code of the refusal of an excluded object on which a moving object depends.
pub(crate) const CODE_NEEDED: &str = "excluded-but-needed";

/// Maximum number of objects that a message names.
const MAX_LISTED_NAMES: usize = 3;

/// Finds the objects that the user excludes.
pub(crate) fn find_excluded(input: SelectionInput<'_>) -> BTreeSet<usize> {
    let excluded = input.objects().filter(|(_, object)| contains_object(&input.scope.exclude, object));
    excluded.map(|(index, _)| index).collect()
}

/// Returns the refusals of exclusions. `all` is the selection without exclusions.
pub(crate) fn find_refusals(
    input: SelectionInput<'_>,
    all: &Selection,
    selection: &Selection,
) -> Vec<Refusal> {
    // If nothing moves, only that is reported.
    if all.iter().next().is_none() {
        return Vec::new();
    }
    let mut refusals = find_missing(input.inventory, input.scope);
    let left: BTreeSet<usize> =
        selection.excluded.iter().copied().filter(|object| all.has(*object)).collect();
    let mut found: BTreeMap<&GroupKind, (BTreeSet<&Key>, BTreeSet<&Key>)> = BTreeMap::new();
    for (object, by) in find_dependents(input, all, selection, &left) {
        if let Some((object, by)) = input.key(object).zip(input.key(by)) {
            let (objects, dependents) = found.entry(&object.group_kind).or_default();
            objects.insert(object);
            dependents.insert(by);
        }
    }
    refusals.extend(found.into_values().filter_map(|(objects, by)| needed_refusal(input, &objects, &by)));
    refusals
}

/// Removes refusals whose remedy moves an excluded Cluster, if another refusal already lists its dependents.
pub(crate) fn hide_consequences(refusals: &mut Vec<Refusal>) {
    let needed = refusals.iter().filter(|refusal| refusal.code == CODE_NEEDED);
    let needed = needed.flat_map(|refusal| refusal.object.iter().chain(&refusal.others));
    let clusters: BTreeSet<Key> = needed.filter(|key| is_cluster(&key.group_kind)).cloned().collect();
    let moves = |remedy: &Remedy| match remedy {
        Remedy::NameCluster { cluster } => clusters.contains(cluster),
        Remedy::LeaveOutExclude { parts } => {
            parts.iter().any(|part| clusters.iter().any(|cluster| part.may_cover(cluster)))
        }
        _ => false,
    };
    refusals.retain(|refusal| refusal.code == CODE_NEEDED || !refusal.remedies.iter().any(moves));
}

/// Refuses exclusions that match no object. A mistyped name would let the intended object move.
fn find_missing(inventory: &Inventory, scope: &Scope) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for part in &scope.exclude {
        if inventory.objects().iter().any(|object| part.covers(object)) {
            continue;
        }
        let similar = find_similar_parts(inventory, part);
        let correct = match similar.is_empty() {
            true => "check its kind, group, namespace and name".into(),
            false => Remedy::ExcludeInstead { parts: similar },
        };
        let message = format!("{part} excludes nothing: no object that was read matches it");
        let leave_out = Remedy::LeaveOutExclude { parts: [part.clone()].into() };
        refusals.push(Refusal::source("excluded-missing", None, message, correct).with_remedy(leave_out));
    }
    refusals
}

/// Finds parts that a user may have meant by a part that matches nothing. The user may have written the kind in the plural, in
/// another case, or without its whole group.
fn find_similar_parts(inventory: &Inventory, part: &Part) -> BTreeSet<Part> {
    let typed = GroupKind::new(part.kind.group.to_lowercase(), part.kind.kind.to_lowercase());
    let kinds: BTreeSet<_> = inventory.objects().iter().map(|object| &object.kind).collect();
    let same = kinds.into_iter().filter(|kind| {
        let name = kind.group_kind.kind.to_lowercase();
        let named = typed.kind == name || typed.kind == kind.plural.to_lowercase();
        named && kind.group_kind.group.to_lowercase().starts_with(&typed.group)
    });
    let meant = same.map(|kind| Part { kind: kind.group_kind.clone(), ..part.clone() });
    meant.filter(|part| inventory.objects().iter().any(|object| part.covers(object))).collect()
}

/// Returns pairs of an object that stays and an object that depends on it.
fn find_dependents(
    input: SelectionInput<'_>,
    all: &Selection,
    selection: &Selection,
    left: &BTreeSet<usize>,
) -> BTreeSet<(usize, usize)> {
    let mut found = BTreeSet::new();
    if left.is_empty() {
        return found;
    }
    for &object in left {
        // Without the exclusion these objects would move, most of them only because of their owner.
        let tied = input.graph.dependents(object).map(|(by, _)| by);
        let tied = tied.filter(|by| all.has(*by) && !selection.excluded.contains(by));
        found.extend(tied.map(|by| (object, by)));
    }
    for by in selection.iter() {
        let needs = selection.needs.get(&by).into_iter().flatten();
        found.extend(needs.filter(|(_, what)| left.contains(what)).map(|(_, what)| (*what, by)));
    }
    let mentions = Mentions::from_inventory(input.inventory, left.iter().copied());
    for &object in left {
        let naming = mentions.objects_naming(object).filter(|by| selection.has(*by));
        found.extend(naming.map(|by| (object, by)));
    }
    found
}

/// Returns the refusal of excluded objects of one kind on which others depend.
fn needed_refusal(
    input: SelectionInput<'_>,
    objects: &BTreeSet<&Key>,
    by: &BTreeSet<&Key>,
) -> Option<Refusal> {
    let first = objects.iter().next()?;
    let parts = input.inventory.parts_covering(&input.scope.exclude, objects.iter().copied());
    let parts = Remedy::LeaveOutExclude { parts };
    let (many, depend) = (objects.len() > 1, if by.len() > 1 { "depend" } else { "depends" });
    let message = format!(
        "{} {} excluded, but {} would move and {depend} on {}",
        some_of(&Vec::from_iter(objects), MAX_LISTED_NAMES),
        if many { "are" } else { "is" },
        some_of(&Vec::from_iter(by), MAX_LISTED_NAMES),
        if many { "them" } else { "it" },
    );
    let also = if objects.iter().chain(by).any(|key| is_cluster(&key.group_kind)) {
        Remedy::NameOtherClusters
    } else {
        Remedy::ExcludeToo { objects: by.iter().copied().cloned().collect() }
    };
    let refusal = Refusal::source(CODE_NEEDED, (*first).clone(), message, also);
    Some(refusal.with_others(objects.iter().skip(1).copied().cloned()).with_remedy(parts))
}
