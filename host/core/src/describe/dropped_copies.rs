//! Finds the copies that belong to lost Machines: their infrastructure, their bootstrap configuration, and what belongs to these.

use std::collections::BTreeSet;

use super::dropped_names::DroppedNames;
use crate::discovery::body_references::Mentions;
use crate::discovery::inventory::Inventory;
use crate::{GroupKind, Key, Meta, Uid};

/// Returns the Machines, and the objects that belong to them. An object belongs to its controller, or to all its owners.
///
/// Objects of kinds that `may_follow` leaves out stay. `in_target` returns the target's name of a namespace.
///
/// # Errors
///
/// Returns the reason why the Machines can't be dropped: an object that stays belongs to one of the dropped objects, or refers to it.
/// A host that stays would stay claimed forever.
pub fn find_dropped_copies<'a>(
    inventory: &'a Inventory,
    machines: &BTreeSet<Key>,
    may_follow: impl Fn(&GroupKind) -> bool,
    in_target: impl Fn(&str) -> String,
) -> Result<Vec<&'a Key>, String> {
    let metas = || inventory.objects().iter().map(|object| &object.meta).enumerate();
    let mut dropped: BTreeSet<usize> =
        machines.iter().filter_map(|machine| inventory.index_of_key(machine)).collect();
    let uid_of = |index: &usize| inventory.get(*index).map(|object| &object.meta.uid);
    let mut uids: BTreeSet<&Uid> = dropped.iter().filter_map(uid_of).collect();
    let key_of = |index: usize| inventory.keys().get(index);
    loop {
        let follows = |index: usize, meta: &Meta| {
            key_of(index).is_some_and(|key| may_follow(&key.group_kind)) && belongs_to(meta, &uids)
        };
        let found: BTreeSet<usize> = metas()
            .filter(|(index, meta)| !dropped.contains(index) && follows(*index, meta))
            .map(|(index, _)| index)
            .collect();
        if found.is_empty() {
            break;
        }
        uids.extend(found.iter().filter_map(uid_of));
        dropped.extend(found);
    }
    let text = |index: usize| key_of(index).map(ToString::to_string).unwrap_or_default();
    let with_meta = |index: &usize| Some((key_of(*index)?, &inventory.get(*index)?.meta));
    let names = DroppedNames::new(dropped.iter().filter_map(with_meta), in_target);
    let staying = metas().filter(|(index, _)| !dropped.contains(index));
    for (index, meta) in staying {
        if let Some(owner) = meta.owner_references.iter().find(|owner| uids.contains(&owner.uid)) {
            return Err(format!("{} stays, and {} {} owns it", text(index), owner.kind, owner.name));
        }
        if inventory.is_trusted(index)
            && let Some((named, field)) = names.find_reference(meta)
        {
            return Err(format!("{} stays, and refers to {named} in {field}", text(index)));
        }
    }
    let mentions = Mentions::with_status(inventory, dropped.iter().copied());
    for &named in &dropped {
        if let Some(naming) = mentions.objects_naming(named).find(|naming| !dropped.contains(naming)) {
            return Err(format!("{} stays, and refers to {}", text(naming), text(named)));
        }
    }
    Ok(dropped.into_iter().filter_map(key_of).collect())
}

/// Returns true if an object belongs to owners with these UIDs.
fn belongs_to(meta: &Meta, uids: &BTreeSet<&Uid>) -> bool {
    let owners = &meta.owner_references;
    match owners.iter().find(|owner| owner.controller == Some(true)) {
        Some(controller) => uids.contains(&controller.uid),
        None => !owners.is_empty() && owners.iter().all(|owner| uids.contains(&owner.uid)),
    }
}
