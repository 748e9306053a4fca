//! Finds copies that the target's own controllers have deleted since they took over.
//!
//! A rollout, a scale-down or a remediation may begin just before a move, or during it. The target's controllers carry it out
//! as soon as they are unpaused, while the source still has everything: they delete Machines, and the machines behind them.
//! Restored copies would be objects of machines that are gone, so the source's are deleted like all others.
//!
//! Objects that an earlier run deleted from the source are not checked here.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::messages::refusal::some_of;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names::GROUP_CLUSTER;
use pivot_core::{GroupKind, Key, Side};

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::listing;
use crate::base::requests::side_by_side::LISTS;

/// Copies that are gone, by the reason.
#[derive(Default)]
pub(crate) struct Gone<'a> {
    /// Copies that may be gone.
    pub(crate) excused: BTreeSet<&'a Key>,
    /// Kinds by which a user can accept that the others are gone; empty if some of them can't be accepted.
    pub(crate) acceptable: BTreeSet<&'a GroupKind>,
}

/// Finds the copies that may be gone: objects that the source deleted before, objects that a controller may delete at any time,
/// and objects that a user accepts. Controllers delete Machines and MachineSets whose controller still exists, with their
/// dependents. No controller replaces a Machine that belongs to its Cluster alone.
///
/// Copies that were deleted on purpose in the target after the takeover are accepted by kind, with their dependents. An object
/// whose controller is a Cluster is never accepted, because its Cluster needs it. A kind that `is_acceptable` leaves out is
/// never accepted either. Clusters and hosts don't go with an accepted owner.
pub(crate) async fn find_retired<'a>(
    job: &Job,
    gone: &[&'a Key],
    there: &BTreeMap<&Key, bool>,
    is_acceptable: impl Fn(&GroupKind) -> bool,
    is_host: impl Fn(&GroupKind) -> bool,
    accepted: &BTreeSet<GroupKind>,
) -> Result<Gone<'a>, Failure> {
    if gone.is_empty() {
        return Ok(Gone::default());
    }
    let in_source = find_in_source(job, gone).await?;
    let (gone, released): (BTreeSet<&'a Key>, BTreeSet<&'a Key>) =
        gone.iter().copied().partition(|key| in_source.contains_key(*key));
    let controller_of = |key: &Key| in_source.get(key).and_then(Option::as_ref);
    let may_go = |key: &Key, retired: &BTreeSet<&Key>| {
        controller_of(key).is_some_and(|controller| {
            let replaced = is_replaced(&key.group_kind) && !is_cluster(&controller.group_kind);
            let may_follow = !is_cluster(&key.group_kind) && !is_host(&key.group_kind);
            (replaced && there.get(controller) == Some(&true)) || (may_follow && retired.contains(controller))
        })
    };
    let can_accept = |key: &Key| {
        let of_cluster = controller_of(key).is_some_and(|controller| is_cluster(&controller.group_kind));
        is_acceptable(&key.group_kind) && !of_cluster
    };
    let chosen: BTreeSet<&'a Key> =
        gone.iter().copied().filter(|key| accepted.contains(&key.group_kind) && can_accept(key)).collect();
    let kinds = chosen.iter().map(|key| key.group_kind.clone());
    job.used_risks.insert_kinds(Risk::CopyChanged, kinds);
    // Each turn goes one level down.
    let mut retired = chosen.clone();
    loop {
        let found: Vec<&'a Key> =
            gone.iter().copied().filter(|key| !retired.contains(key) && may_go(key, &retired)).collect();
        if found.is_empty() {
            break;
        }
        retired.extend(found);
    }
    if retired.len() > chosen.len() {
        let keys: Vec<Key> = retired.difference(&chosen).map(|key| job.target.own_name(key)).collect();
        let text = format!(
            "since they took over, the target's controllers have deleted {}; the source's are deleted, too",
            some_of(&keys, 5)
        );
        job.report(Event::note("retired", text));
    }
    let left: BTreeSet<&'a Key> = gone.difference(&retired).copied().collect();
    // An owner takes its dependents with it.
    let first = left.iter().copied();
    let first = first.filter(|key| controller_of(key).is_none_or(|controller| !left.contains(controller)));
    let first: Vec<&'a Key> = first.collect();
    let acceptable = match first.iter().all(|key| can_accept(key)) {
        true => first.into_iter().map(|key| &key.group_kind).collect(),
        false => BTreeSet::new(),
    };
    retired.extend(released);
    Ok(Gone { excused: retired, acceptable })
}

/// Returns the objects that the source still has, each with its controller if it has one.
async fn find_in_source(job: &Job, gone: &[&Key]) -> Result<BTreeMap<Key, Option<Key>>, Failure> {
    let places: BTreeSet<(&GroupKind, Option<&String>)> =
        gone.iter().map(|key| (&key.group_kind, key.namespace.as_ref())).collect();
    let mut wanted = Vec::new();
    for (gk, namespace) in places {
        wanted.push((job.kind(Side::Source, gk)?.clone(), namespace.cloned()));
    }
    let mut found = BTreeMap::new();
    for ((kind, _), listed) in listing::list_metas(&job.source, LISTS, wanted).await? {
        for meta in listed.require()? {
            let owner = meta.owner_references.iter().find(|owner| owner.controller == Some(true));
            let controller =
                owner.map(|owner| Key::new(owner.group_kind(), meta.namespace.as_deref(), &owner.name));
            found.insert(listing::key_of_meta(&kind, &meta), controller);
        }
    }
    Ok(found)
}

/// Returns true if controllers create such objects, and replace them.
fn is_replaced(kind: &GroupKind) -> bool {
    kind.is(GROUP_CLUSTER, "Machine") || kind.is(GROUP_CLUSTER, "MachineSet")
}
