//! Copies that the target's own controllers have deleted since they took over.
//!
//! A rollout, a scale-down or a remediation may begin just before a move, or during it. The target's controllers then carry it
//! out as soon as they are resumed, while the source still has everything: they delete Machines, and the machines behind them. To
//! restore those copies would bring back objects of machines that are gone, so the source's are deleted like all others.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::names::GROUP_CLUSTER;
use pivot_core::refusal::some_of;
use pivot_core::soft::is_cluster;
use pivot_core::{GroupKind, Key, Side};

use crate::events::Event;
use crate::job::Job;
use crate::outcome::failure::Failure;
use crate::requests::listing;
use crate::requests::side_by_side::LISTS;

/// Of the copies that are gone, those that a controller may delete at any time: Machines and MachineSets whose controller is still
/// there, and what belongs to them. A Machine of its own, which belongs to its Cluster alone, is nobody's to replace.
pub(crate) async fn among<'a>(
    job: &Job,
    gone: &[&'a Key],
    there: &BTreeMap<&Key, bool>,
) -> Result<BTreeSet<&'a Key>, Failure> {
    let mut retired = BTreeSet::new();
    if gone.is_empty() {
        return Ok(retired);
    }
    let controllers = controllers(job, gone).await?;
    let may_go = |key: &Key, retired: &BTreeSet<&Key>| {
        controllers.get(key).is_some_and(|controller| {
            let replaced = is_replaced(&key.group_kind) && !is_cluster(&controller.group_kind);
            (replaced && there.get(controller) == Some(&true)) || retired.contains(controller)
        })
    };
    // Each turn goes one level down.
    loop {
        let found: Vec<&Key> =
            gone.iter().copied().filter(|key| !retired.contains(key) && may_go(key, &retired)).collect();
        if found.is_empty() {
            break;
        }
        retired.extend(found);
    }
    if !retired.is_empty() {
        let keys: Vec<Key> = retired.iter().map(|key| job.target.own_name(key)).collect();
        let text = format!(
            "since they took over, the target's controllers have deleted {}; the source's are deleted, too",
            some_of(&keys, 5)
        );
        job.report(Event::note("retired", text));
    }
    Ok(retired)
}

/// The controllers of objects, by what the source says: it still has them all.
async fn controllers(job: &Job, gone: &[&Key]) -> Result<BTreeMap<Key, Key>, Failure> {
    let places: BTreeSet<(&GroupKind, Option<&String>)> =
        gone.iter().map(|key| (&key.group_kind, key.namespace.as_ref())).collect();
    let mut wanted = Vec::new();
    for (gk, namespace) in places {
        wanted.push((job.kind(Side::Source, gk)?.clone(), namespace.cloned()));
    }
    let mut found = BTreeMap::new();
    for ((kind, _), listed) in listing::metas(&job.source, LISTS, wanted).await? {
        for meta in listed.required()? {
            let mut owners = meta.owner_references.iter();
            if let Some(owner) = owners.find(|owner| owner.controller == Some(true)) {
                let controller = Key::new(owner.group_kind(), meta.namespace.as_deref(), &owner.name);
                found.insert(listing::key(&kind, &meta), controller);
            }
        }
    }
    Ok(found)
}

/// Whether controllers make such objects, and replace them.
fn is_replaced(kind: &GroupKind) -> bool {
    kind.is(GROUP_CLUSTER, "Machine") || kind.is(GROUP_CLUSTER, "MachineSet")
}
