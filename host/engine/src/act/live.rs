//! Unpauses the target, and checks its copies before anything is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::discovery::dangerous_kinds::is_dangerous;
use pivot_core::discovery::implicit_links::{is_cluster, is_cluster_class};
use pivot_core::discovery::inventory::Inventory;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::{names, pause};
use pivot_core::records::record::{Phase, Record};
use pivot_core::records::release::{Entry, Pausing, ReleaseFate, ReleaseList};
use pivot_core::{GroupKind, Key, Meta, Side, Uid};

use crate::act::drop_workers;
use crate::act::retired::{self, Gone};
use crate::act::unpausing;
use crate::base::events::{Event, Verb};
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::paused_cluster::PausedCluster;
use crate::base::requests::listing;
use crate::base::requests::side_by_side::{self, LISTS, OBJECTS, Work};
use crate::check::recovered_clusters::find_left_paused;
use crate::check::{existing, restored_clusters};

/// The source's objects, for a committed move that continues.
pub(crate) enum KnownObjects {
    /// The state in which this run copied them.
    Copied(Inventory),
    /// The current state. Another run copied them.
    ReadAgain(Inventory),
}

impl KnownObjects {
    /// Returns the objects in the state in which this run copied them, if it did.
    pub(crate) fn copied_objects(&self) -> Option<&Inventory> {
        match self {
            Self::Copied(known) => Some(known),
            Self::ReadAgain(_) => None,
        }
    }
}

/// Unpauses the copies, classes first: a Cluster can't be reconciled without its class. While the class is not reconciled yet,
/// Cluster API's webhook delays each write to a Cluster by up to two seconds. `copied` saves reading the copies.
///
/// # Errors
///
/// In a recovered move, a Cluster stays paused until the user names it. It stays paused longer if its control plane has a node without a
/// Machine.
/// In a restore, a Cluster stays paused if it differs from its nodes, or has lost the annotation that undoes its pause. If any does, so does
/// everything else but classes and the other Clusters.
///
/// Before that, lost workers of Clusters are dropped that the user named for it. Returns the copies that were removed.
pub(crate) async fn unpause_copies(
    job: &Arc<Job>,
    record: &Record,
    list: &ReleaseList,
    copied: Option<&Inventory>,
) -> Result<BTreeSet<Key>, Failure> {
    // On the heap: what all moves await stays small on the stack.
    let compared = match record.is_recovered() || restored_clusters::compares_copies(job, record) {
        true => Some(Box::pin(find_waiting(job, record, list)).await?),
        false => None,
    };
    let mut dropped = BTreeSet::new();
    let mut left_paused: Vec<PausedCluster> = match &compared {
        None => Vec::new(),
        Some(waiting) if record.is_recovered() => {
            Box::pin(find_left_paused(job, Side::Target, record, waiting)).await?
        }
        Some(waiting) => {
            let mut differing =
                Box::pin(restored_clusters::find_differing(job, record, list, waiting)).await?;
            if let Some(removed) = Box::pin(drop_workers::drop_named(job, record, &differing)).await? {
                dropped = removed;
                // Clusters that stay paused are compared again.
                differing = Box::pin(restored_clusters::find_differing(job, record, list, waiting)).await?;
            }
            differing.into_iter().map(|cluster| cluster.paused).collect()
        }
    };
    // Another Cluster runs already, or others had paused it. They may have ended their pause during the comparison.
    let was_compared = |key: &Key| {
        let compared = compared.as_ref().filter(|_| is_cluster(&key.group_kind));
        compared.is_none_or(|compared| compared.contains(key))
    };
    let stays = |key: &Key| left_paused.iter().any(|paused| paused.cluster == *key);
    let may_run = |key: &Key| is_cluster_class(&key.group_kind) || is_cluster(&key.group_kind) && !stays(key);
    let paused = || {
        let all = list.entries.iter().filter(|entry| entry.pausing == Pausing::Paused && !entry.used);
        all.filter(|entry| left_paused.is_empty() || may_run(&entry.key))
    };
    for classes in [true, false] {
        let wave = paused().filter(|entry| is_cluster_class(&entry.key.group_kind) == classes);
        let work = wave.map(|entry: &Entry| -> Work<'_, ()> {
            let was_compared = was_compared(&entry.key);
            async move {
                let kind = job.kind(Side::Target, &entry.key.group_kind)?;
                if !was_compared {
                    return unpausing::report_still_paused(job, &job.target, kind, entry).await;
                }
                // The copy carries the undo annotation that the source had when it was copied.
                let known = copied.and_then(|copied| copied.get_by_key(&entry.key));
                if unpausing::unpause_listed(job, &job.target, kind, entry, known).await? {
                    job.report_object(Phase::Live, Verb::Unpaused, &entry.key, Side::Target);
                }
                Ok(())
            }
            .boxed()
        });
        side_by_side::write_all(OBJECTS, work.collect()).await?;
    }
    if compared.is_some() {
        for cluster in Box::pin(find_waiting(job, record, list)).await? {
            if !left_paused.iter().any(|paused| paused.cluster == cluster) {
                let reason = "another client ended its pause during the comparison".to_owned();
                left_paused.push(PausedCluster::with_reasons(cluster, vec![reason]));
            }
        }
    }
    match left_paused.is_empty() {
        true => Ok(dropped),
        false if record.is_recovered() => Err(Failure::LeftPaused {
            side: Side::Target,
            clusters: left_paused,
            compared: job.workload_clusters.is_some(),
        }),
        false => Err(Failure::RestoreDiffers(left_paused)),
    }
}

/// Finds the Clusters that the move paused, and whose copies are still paused.
async fn find_waiting(job: &Job, record: &Record, list: &ReleaseList) -> Result<BTreeSet<Key>, Failure> {
    let clusters = list.entries.iter().filter(|entry| is_cluster(&entry.key.group_kind) && !entry.used);
    let looks = clusters.map(|entry: &Entry| -> Work<'_, Option<Key>> {
        async move {
            let kind = job.kind(Side::Target, &entry.key.group_kind)?;
            let Some(copy) = job.target.get(kind, &entry.key).await? else { return Ok(None) };
            // Without the annotation, only its name unpauses it.
            let has_lost_undo = entry.pausing == Pausing::Paused
                && pause::is_paused(&copy).map_err(|error| Failure::Object(Side::Target, error))?
                && !unpausing::is_kept_paused(job, record, &entry.key, &copy.meta);
            let waits = pause::is_ours(&copy.meta, &job.move_id) || has_lost_undo;
            Ok(waits.then(|| entry.key.clone()))
        }
        .boxed()
    });
    Ok(side_by_side::try_all(OBJECTS, looks.collect()).await?.into_iter().flatten().collect())
}

/// Finds the Clusters whose copies another than this move paused, and warns about them. No controller takes over their objects while they
/// are paused. In a recovered move, the user names them, and a Cluster that ran counts as any other: a later pause excuses no missing
/// takeover. In a restore, a later pause counts, because nothing is deleted from files.
pub(crate) async fn find_kept_paused(
    job: &Job,
    record: &Record,
    list: &ReleaseList,
) -> Result<BTreeSet<Key>, Failure> {
    let clusters = list.entries.iter().filter(|entry| is_cluster(&entry.key.group_kind));
    let may_be_kept = clusters.filter(|entry| match record.is_recovered() {
        true => job.is_named_to_unpause(&entry.key),
        false => entry.pausing == Pausing::Paused && !entry.used,
    });
    let looks = may_be_kept.map(|entry: &Entry| -> Work<'_, Option<Key>> {
        async move {
            let kind = job.kind(Side::Target, &entry.key.group_kind)?;
            let Some(copy) = job.target.get(kind, &entry.key).await? else { return Ok(None) };
            let unreadable = |error| Failure::Object(Side::Target, error);
            let body = copy.value().map_err(unreadable)?;
            let never_ran = body.pointer("/spec/paused") == Some(&true.into());
            let is_paused = match record.is_recovered() {
                true => never_ran,
                false => pause::is_paused(&copy).map_err(unreadable)?,
            };
            let kept = is_paused && unpausing::is_kept_paused(job, record, &entry.key, &copy.meta);
            Ok(kept.then(|| entry.key.clone()))
        }
        .boxed()
    });
    let looked = side_by_side::try_all(OBJECTS, looks.collect()).await?;
    let kept: BTreeSet<Key> = looked.into_iter().flatten().collect();
    for cluster in &kept {
        let cluster = job.target.own_name(cluster);
        let text = format!(
            "{cluster} in the target stays paused: pivot-host doesn't check that controllers took over its objects"
        );
        let (code, remedies) = ("unverified".into(), Vec::new());
        job.report(Event::Warning { code, object: Some(cluster), text, remedies });
    }
    Ok(kept)
}

/// Checks, before anything is deleted, that every copy still exists with one of these marks. Copies that the target's
/// controllers have replaced are excepted ([`retired`]). No source object is given up for a copy that is gone, or for another
/// object of its name.
pub(crate) async fn check_copies(
    job: &Job,
    list: &ReleaseList,
    marks: &BTreeSet<String>,
    accepted: &BTreeSet<GroupKind>,
) -> Result<(), Failure> {
    match refuse_missing_copies(job, list, marks, accepted).await? {
        none if none.is_empty() => Ok(()),
        refusals => Err(Failure::Refused(refusals)),
    }
}

/// Returns the refusals for copies that are gone or replaced. After an import, copies of `accepted` kinds may be both. In other moves the
/// target has taken over, and copies of these kinds may be gone if users can delete them there on purpose ([`retired`]).
pub(crate) async fn refuse_missing_copies(
    job: &Job,
    list: &ReleaseList,
    marks: &BTreeSet<String>,
    accepted: &BTreeSet<GroupKind>,
) -> Result<Vec<Refusal>, Failure> {
    let held = list.entries.iter().filter(|entry| entry.pausing == Pausing::Held);
    let held: BTreeSet<&GroupKind> = held.map(|entry| &entry.key.group_kind).collect();
    let is_host = |kind: &GroupKind| is_dangerous(kind) || held.contains(kind) || job.is_held_kind(kind);
    // A missing Cluster was not imported, or not yet: none of its objects may be deleted. Machines that still run may need a
    // credential or a host.
    let is_handover = job.route.is_handover();
    let acceptable =
        |kind: &GroupKind| !is_cluster(kind) && (is_handover || !(kind.is_secret() || is_host(kind)));
    let mark = marks.first().unwrap_or(&job.move_id);
    let deleted = || list.entries.iter().filter(|entry| entry.fate == ReleaseFate::Delete);
    let is_excused = |kind: &GroupKind| is_handover && acceptable(kind) && accepted.contains(kind);
    let judged = |key: &Key| !is_excused(&key.group_kind);
    let released = || deleted().filter(|entry| judged(&entry.key));
    // Objects of accepted kinds are read, too: they may own the others.
    let places: BTreeSet<(&GroupKind, Option<&String>)> =
        deleted().map(|entry| (&entry.key.group_kind, entry.key.namespace.as_ref())).collect();
    let mut wanted = Vec::new();
    for (gk, namespace) in places {
        match job.kind(Side::Target, gk) {
            Ok(kind) => wanted.push((kind.clone(), namespace.cloned())),
            Err(_) if is_excused(gk) => {}
            Err(failure) => return Err(failure),
        }
    }
    let mut metas: Vec<(Key, Meta)> = Vec::new();
    for ((kind, _), listed) in listing::list_metas(&job.target, LISTS, wanted).await? {
        let alive = listed.require()?.into_iter().filter(|meta| !meta.is_being_deleted());
        metas.extend(alive.map(|meta| (listing::key_of_meta(&kind, &meta), meta)));
    }
    let marked = |meta: &Meta| marks.iter().any(|mark| meta.has_mark(mark));
    let copies: BTreeSet<&Uid> =
        metas.iter().filter(|(_, meta)| marked(meta)).map(|(_, meta)| &meta.uid).collect();
    // The owner's UID identifies the copy. A controller that creates an object again drops the annotations of others. The
    // controller of KubeadmConfigs does that with bootstrap data that no Machine has used yet.
    let written_anew = |meta: &Meta| {
        let of_a_copy = || meta.owner_references.iter().any(|owner| copies.contains(&owner.uid));
        !meta.annotations.contains_key(names::MARK) && of_a_copy()
    };
    let there: BTreeMap<&Key, bool> =
        metas.iter().map(|(key, meta)| (key, marked(meta) || written_anew(meta))).collect();
    // The list has the objects that this move used, but not those that the import of files used.
    let used_by_import = |(key, meta): &&(Key, Meta)| existing::can_be_used(job, &key.group_kind, meta);
    let used: BTreeSet<&Key> =
        metas.iter().filter(|one| is_handover && used_by_import(one)).map(|(key, _)| key).collect();
    let refusal = |code, keys: &[Key], message, remedy: String, deleted: BTreeSet<&GroupKind>| {
        let (first, others) = keys.split_first()?;
        // Objects in service are replaced now and then, for example by a rollout.
        let replaced = keys.iter().map(|key| &key.group_kind).filter(|kind| is_handover && acceptable(kind));
        let kinds: BTreeSet<&GroupKind> = replaced.chain(deleted).collect();
        let accept = Remedy::accept_changes(kinds);
        Some(Refusal {
            code,
            side: Side::Target,
            object: Some(first.clone()),
            others: others.to_vec(),
            message,
            remedies: std::iter::once(remedy.into()).chain(accept).collect(),
        })
    };
    let own_names = |keys: Vec<&Key>| keys.into_iter().map(|key| job.target.own_name(key)).collect();
    let gone: Vec<&Key> = deleted().map(|entry| &entry.key).filter(|key| !there.contains_key(*key)).collect();
    let deletable = |kind: &GroupKind| !is_handover && acceptable(kind);
    let Gone { excused, acceptable: kinds } =
        retired::find_retired(job, &gone, &there, deletable, is_host, accepted).await?;
    let missing: Vec<Key> =
        own_names(gone.iter().copied().filter(|key| judged(key) && !excused.contains(key)).collect());
    let message = format!("copies are gone or being deleted: {}", some_of(&missing, 5));
    let restore = format!(
        "find out who deletes there, restore the objects from the source, which still has them, annotated with {}={mark}, and \
         resume",
        names::MARK
    );
    let gone = refusal("copy-gone", &missing, message, restore, kinds);
    let serves = |entry: &Entry| entry.used || used.contains(&entry.key);
    let changed = deleted().filter(|entry| !serves(entry) && there.get(&entry.key) != Some(&true));
    let excused_kinds = changed.map(|entry| &entry.key.group_kind).filter(|kind| is_excused(kind)).cloned();
    job.used_risks.insert_kinds(Risk::CopyChanged, excused_kinds);
    let others = released().filter(|entry| !serves(entry) && there.get(&entry.key) == Some(&false));
    let others: Vec<Key> = own_names(others.map(|entry| &entry.key).collect());
    let message =
        format!("{} are not the copies that this move made: others have their names", some_of(&others, 5));
    let compare = format!(
        "compare them with the source's; what is as it should be, annotate in the target with {}={mark}, and resume",
        names::MARK
    );
    let replaced = refusal("copy-replaced", &others, message, compare, BTreeSet::new());
    Ok(gone.into_iter().chain(replaced).collect())
}

/// Warns of objects that neither side has although nothing was deleted yet: one of the sides may have been restored from a
/// backup. Deleted objects are not among them.
pub(crate) async fn report_missing_on_both(job: &Job, list: &ReleaseList) -> Result<(), Failure> {
    let deleted = || list.entries.iter().filter(|entry| entry.fate == ReleaseFate::Delete);
    let places: BTreeSet<_> =
        deleted().map(|entry| (&entry.key.group_kind, entry.key.namespace.as_ref())).collect();
    // A kind that is not served has no objects either.
    let wanted = |side: Side| -> Vec<_> {
        let kinds = job.kinds.get(side);
        places
            .iter()
            .filter_map(|(gk, namespace)| Some((kinds.get(*gk)?.clone(), namespace.cloned())))
            .collect()
    };
    let (originals, copies) = tokio::try_join!(
        listing::list_identities(&job.source, LISTS, wanted(Side::Source)),
        listing::list_identities(&job.target, LISTS, wanted(Side::Target))
    )?;
    let mut uids: BTreeSet<Uid> = BTreeSet::new();
    for (_, listed) in originals {
        uids.extend(listed.require()?.into_iter().map(|meta| meta.uid));
    }
    let mut keys: BTreeSet<Key> = BTreeSet::new();
    for ((kind, _), listed) in copies {
        keys.extend(listed.require()?.iter().map(|meta| listing::key_of_meta(&kind, meta)));
    }
    let missing = deleted().filter(|entry| !uids.contains(&entry.uid) && !keys.contains(&entry.key));
    let missing: Vec<Key> = missing.map(|entry| job.target.own_name(&entry.key)).collect();
    if !missing.is_empty() {
        let text = format!(
            "copied objects are on neither side, although nothing was deleted yet: {}; only a backup has them",
            some_of(&missing, 5)
        );
        job.report(Event::warning("gone-on-both-sides", text));
    }
    Ok(())
}
