//! Copies that the target's own controllers have deleted since they took over.
//!
//! A rollout, a scale-down or a remediation may begin just before a move, or during it. The target's controllers then carry it
//! out as soon as they are resumed, while the source still has everything: they delete Machines, and the machines behind them. To
//! restore those copies would bring back objects of machines that are gone, so the source's are deleted like all others.
//!
//! What an earlier run released is in the target alone since then: whether it is still there is nobody's business here.

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

/// Of the copies that are gone, those that may be: what the source released before, and what a controller may delete at any time. That
/// is Machines and MachineSets whose controller is still there, and what belongs to them. A Machine of its own, which belongs to its
/// Cluster alone, is nobody's to replace.
pub(crate) async fn among<'a>(
    job: &Job,
    gone: &[&'a Key],
    there: &BTreeMap<&Key, bool>,
) -> Result<BTreeSet<&'a Key>, Failure> {
    if gone.is_empty() {
        return Ok(BTreeSet::new());
    }
    let in_source = in_source(job, gone).await?;
    let (gone, released): (BTreeSet<&'a Key>, BTreeSet<&'a Key>) =
        gone.iter().copied().partition(|key| in_source.contains_key(*key));
    let may_go = |key: &Key, retired: &BTreeSet<&Key>| {
        in_source.get(key).and_then(Option::as_ref).is_some_and(|controller| {
            let replaced = is_replaced(&key.group_kind) && !is_cluster(&controller.group_kind);
            (replaced && there.get(controller) == Some(&true)) || retired.contains(controller)
        })
    };
    // Each turn goes one level down.
    let mut retired = BTreeSet::new();
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
    retired.extend(released);
    Ok(retired)
}

/// Those that the source still has, each with its controller, if it has one.
async fn in_source(job: &Job, gone: &[&Key]) -> Result<BTreeMap<Key, Option<Key>>, Failure> {
    let places: BTreeSet<(&GroupKind, Option<&String>)> =
        gone.iter().map(|key| (&key.group_kind, key.namespace.as_ref())).collect();
    let mut wanted = Vec::new();
    for (gk, namespace) in places {
        wanted.push((job.kind(Side::Source, gk)?.clone(), namespace.cloned()));
    }
    let mut found = BTreeMap::new();
    for ((kind, _), listed) in listing::metas(&job.source, LISTS, wanted).await? {
        for meta in listed.required()? {
            let owner = meta.owner_references.iter().find(|owner| owner.controller == Some(true));
            let controller =
                owner.map(|owner| Key::new(owner.group_kind(), meta.namespace.as_deref(), &owner.name));
            found.insert(listing::key(&kind, &meta), controller);
        }
    }
    Ok(found)
}

/// Whether controllers make such objects, and replace them.
fn is_replaced(kind: &GroupKind) -> bool {
    kind.is(GROUP_CLUSTER, "Machine") || kind.is(GROUP_CLUSTER, "MachineSet")
}
