//! Finds objects of the target that already have a name that the move would create.
//!
//! An existing object is never overwritten unless it has this move's mark with its proof. Objects that others need too
//! (cluster-scoped objects, shared classes) are used if their content matches. Any other object of the same name stops the
//! move.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;

use pivot_core::copies::body;
use pivot_core::discovery::implicit_links::{TEMPLATE, is_cluster, is_cluster_class};
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names::{self, MARK};
use pivot_core::plan::{Fate, InTarget, Step};
use pivot_core::records::record::Finished;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key, Meta, Object, OwnerReference, Side, Uid};
use pivot_places::PlaceError;

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::options::Options;
use crate::base::outcome::failure::Failure;
use crate::base::requests::listing::{self, Collection, Listed};
use crate::base::requests::side_by_side::{self, LISTS, OBJECTS, Work};
use crate::read::snapshot::Snapshot;

/// Code of the refusal if another object has the name.
pub(crate) const EXISTS: &str = "exists";

/// Objects that exist in the target and are used unchanged, with their UIDs there.
pub(crate) type UsedObjects = BTreeMap<Key, Uid>;

/// Objects of the target that have names of a plan.
#[derive(Default)]
pub(crate) struct Existing {
    pub(crate) used: UsedObjects,
    /// The used objects, by how they compare with the source's.
    pub(crate) in_target: BTreeMap<Key, InTarget>,
    /// The objects that are in the way.
    pub(crate) refusals: Vec<Refusal>,
    /// The objects in the way that a move copied, by their names in the target. Their Clusters may be the Clusters to move.
    pub(crate) copies: BTreeSet<Key>,
}

/// Looks up every name that the move would create.
pub(crate) async fn find_existing(job: &Job, snapshot: &Snapshot) -> Result<Existing, Failure> {
    let wanted = collections_of_plan(job, snapshot, Side::Target)?;
    let there = index_by_key(listing::list_metas(&job.target, LISTS, wanted).await?)?;
    let mut existing = Existing::default();
    let taken = snapshot.plan.steps.iter().filter_map(|step| Some((step, there.get(&step.key)?)));
    // For an object that the user has no permission to change, no difference is reported.
    let refused: BTreeMap<&Key, Refusal> = snapshot
        .plan
        .steps
        .iter()
        .filter_map(|step| Some((&step.key, is_hidden(job, step).then(|| refuse_outside(job, &step.key))?)))
        .collect();
    let theirs = taken
        .filter(|(step, meta)| !job.copy_mark.is_on(&step.key, meta) && !refused.contains_key(&step.key));
    let verdicts = theirs.map(|(step, meta)| -> Work<'_, (&Key, CopyVerdict)> {
        async move {
            let verdict = if is_shareable(job, snapshot, step, meta) {
                judge_existing(job, snapshot, step).await?
            } else {
                CopyVerdict::Foreign(refuse_foreign(job, &step.key, meta))
            };
            if let CopyVerdict::Use(..) = verdict {
                report_missing_owners(job, snapshot, step, meta)?;
            }
            Ok((&step.key, verdict))
        }
        .boxed()
    });
    let mut verdicts = side_by_side::try_all(OBJECTS, verdicts.collect()).await?;
    verdicts.sort_by_key(|(key, _)| *key);
    let mut makers: BTreeMap<String, Vec<Key>> = BTreeMap::new();
    let of_clusters: BTreeMap<&Key, &Key> = match job.route.target_runs() {
        true => snapshot.plan.steps.iter().filter_map(|step| Some((&step.key, cluster_of(step)?))).collect(),
        false => BTreeMap::new(),
    };
    let mut taken: BTreeMap<&Key, Vec<&Key>> = BTreeMap::new();
    for (key, verdict) in verdicts {
        match verdict {
            CopyVerdict::Use(uid, compared) => {
                if let Some(maker) = there.get(key).and_then(|meta| meta.annotations.get(MARK)) {
                    makers.entry(maker.clone()).or_default().push(job.target.own_name(key));
                }
                existing.used.insert(key.clone(), uid);
                existing.in_target.insert(key.clone(), compared);
            }
            CopyVerdict::Gone => {}
            CopyVerdict::Foreign(refusal) => {
                if there.get(key).is_some_and(|meta| meta.annotations.contains_key(MARK)) {
                    existing.copies.insert(job.target.own_name(key));
                }
                match of_clusters.get(key) {
                    Some(&cluster) if refusal.code == EXISTS => taken.entry(cluster).or_default().push(key),
                    _ => existing.refusals.push(refusal),
                }
            }
        }
    }
    existing.refusals.extend(refuse_managed_twice(job, snapshot, taken, &there).await?);
    let created = snapshot.plan.steps.iter().map(|step| &step.key);
    let created = created.filter(|key| !existing.used.contains_key(*key) && !refused.contains_key(*key));
    existing.refusals.extend(created.filter(|key| is_outside(job, key)).map(|key| refuse_outside(job, key)));
    existing.refusals.extend(refused.into_values());
    report_revocable(job, makers).await?;
    Ok(existing)
}

/// Returns true if a confined move must not create this object: it is outside of the move's namespace. The target's definition
/// of its kind decides whether it is cluster-scoped.
fn is_outside(job: &Job, key: &Key) -> bool {
    let Options { confined, scope, .. } = &job.options;
    let there = job.kinds.target.get(&key.group_kind).is_some_and(|kind| kind.namespaced);
    let own = matches!((&scope.namespaces, &key.namespace), (Namespaces::One(one), Some(it)) if one == it);
    *confined == Some(Side::Target) && !(own && there)
}

/// Returns true if the report must not mention this object. These are core objects, such as Secrets, and also copied objects in
/// other namespaces. Classes, templates and cluster-scoped objects are public.
fn is_hidden(job: &Job, step: &Step) -> bool {
    let of_others = step.is_chosen_by_user() || step.key.group_kind.group.is_empty();
    of_others && step.key.namespace.is_some() && is_outside(job, &step.key)
}

fn refuse_outside(job: &Job, key: &Key) -> Refusal {
    let own = job.target.own_name(key);
    Refusal {
        code: "outside",
        side: Side::Target,
        object: Some(own.clone()),
        others: Vec::new(),
        message: format!("{own} would be created, but this move creates nothing outside of its namespace there"),
        remedies: vec![
            "create it there before the move, if you may: what is in no namespace, a class or a template is used then, if it is the \
             same"
                .into(),
            "or let a user with that permission make the move, from a terminal".into(),
        ],
    }
}

/// Reports used objects whose move may still be rolled back. That move may be under way from another source, which this run
/// can't read: only its commit leaves a record in the target.
///
/// A refusal was rejected: summaries of old moves are removed, and the objects that these moves copied should be used.
async fn report_revocable(job: &Job, makers: BTreeMap<String, Vec<Key>>) -> Result<(), Failure> {
    if makers.is_empty() || job.target.end_kind.is_files() {
        return Ok(());
    }
    let settled = job.records(Side::Target)?.find_irreversible().await?;
    for (maker, keys) in makers.into_iter().filter(|(maker, _)| !settled.contains(maker)) {
        let text = format!(
            "{} in the target are used as they are; move {maker} created them, and the target has no record that says it is \
             committed: if it is still under way, finish it first, for a rollback of it would delete them",
            some_of(&keys, 5)
        );
        job.report(Event::note("revocable", text));
    }
    Ok(())
}

/// Reports owners that a used object doesn't get. The object stays unchanged, so an owner that only this move creates is not
/// added.
///
/// A patch that adds the owner was rejected: if a rollback deleted that owner, the garbage collector could delete the object
/// that others use.
fn report_missing_owners(job: &Job, snapshot: &Snapshot, step: &Step, there: &Meta) -> Result<(), Failure> {
    let moved = step.after.iter().filter_map(|&owner| Some(&snapshot.plan.steps.get(owner)?.key));
    let moved: Vec<&Key> = moved.collect();
    let owners = snapshot.object(step)?.meta.owner_references.iter();
    let missing: Vec<&Key> = owners
        .filter_map(|owner| moved.iter().copied().find(|key| is_reference_to(owner, key)))
        .filter(|key| !there.owner_references.iter().any(|owner| is_reference_to(owner, key)))
        .collect();
    if !missing.is_empty() {
        let own = job.target.own_name(&step.key);
        job.report(Event::Note {
            code: "owner-not-added".into(),
            remedies: Vec::new(),
            text: format!(
                "{} already exists in the target and is used unchanged; {} is not among its owners there, so it is deleted once its other owners are",
                own,
                some_of(&missing, 8)
            ),
            object: Some(own),
        });
    }
    Ok(())
}

fn is_reference_to(owner: &OwnerReference, key: &Key) -> bool {
    owner.group_kind() == key.group_kind && owner.name == key.name
}

pub(crate) enum CopyVerdict {
    /// The existing object is used, with this UID.
    Use(Uid, InTarget),
    /// The object was deleted in the meantime.
    Gone,
    /// The object belongs to others.
    Foreign(Refusal),
}

/// Judges an object in the target that this move did not create.
pub(crate) async fn judge_existing(
    job: &Job,
    snapshot: &Snapshot,
    step: &Step,
) -> Result<CopyVerdict, Failure> {
    let kind = &job.kind_of_copy(snapshot.object(step)?)?;
    let Some(there) = job.target.get(kind, &step.key).await? else { return Ok(CopyVerdict::Gone) };
    if is_shareable(job, snapshot, step, &there.meta) {
        let differs = find_differences(snapshot.object(step)?, &there)?;
        // At the end of an earlier move, its source's object is deleted. A copy that differs must not be the only one left.
        let replaceable = is_for_all(snapshot, step);
        if differs.is_empty() {
            return Ok(CopyVerdict::Use(there.meta.uid, InTarget::Same));
        }
        // The message doesn't show which part of a Secret differs.
        let secret = step.key.group_kind.is_secret();
        if job.options.accept.contains(Risk::ExistingDiffers) && replaceable {
            job.used_risks.insert(Risk::ExistingDiffers);
            let fields = if secret { Vec::new() } else { differs };
            return Ok(CopyVerdict::Use(there.meta.uid, InTarget::Differs { fields }));
        }
        let own = job.target.own_name(&step.key);
        return Ok(CopyVerdict::Foreign(Refusal {
            code: "differs",
            side: Side::Target,
            message: format!(
                "{own} exists and differs from {} in {}",
                step.added_from().map_or("the source's".to_owned(), |file| format!("what {file} has")),
                if secret { "its content".to_owned() } else { some_of(&differs, 8) }
            ),
            object: Some(own),
            others: Vec::new(),
            remedies: std::iter::once("make them equal".into())
                .chain(replaceable.then_some(Remedy::UseExisting))
                .collect(),
        }));
    }
    Ok(CopyVerdict::Foreign(refuse_foreign(job, &step.key, &there.meta)))
}

/// Returns true if one object can serve several moves. These are objects kept in the source because others need them, classes
/// with their templates, and objects that an earlier move copied for another Cluster.
fn is_shareable(job: &Job, snapshot: &Snapshot, step: &Step, there: &Meta) -> bool {
    is_for_all(snapshot, step)
        || (there.annotations.contains_key(MARK)
            && is_for_many(&job.options.scope, step)
            && !is_for_one_side(job, &step.key.group_kind))
}

/// Returns true if two sides would act on one machine if each had a copy, as with hosts.
fn is_for_one_side(job: &Job, kind: &GroupKind) -> bool {
    job.is_held_kind(kind) || job.options.scope.accept.contains_kind(Risk::NoPlugin, kind)
}

/// Returns true if the import of files may have used this existing object of the target ([`is_shareable`], as far as the object
/// itself shows).
pub(crate) fn can_be_used(job: &Job, kind: &GroupKind, there: &Meta) -> bool {
    let for_all = is_cluster_class(kind) || kind.kind.ends_with(TEMPLATE);
    let copied = there.annotations.contains_key(MARK) && kind.group != names::GROUP_CLUSTER;
    for_all || (copied && !is_for_one_side(job, kind))
}

/// Returns true if the object is kept in the source, or is a class or one of its templates.
fn is_for_all(snapshot: &Snapshot, step: &Step) -> bool {
    let kind = &step.key.group_kind;
    let mut owners = step.after.iter().filter_map(|&owner| snapshot.plan.steps.get(owner));
    step.fate != Fate::Move
        || is_cluster_class(kind)
        || (!is_cluster(kind) && owners.any(|owner| is_cluster_class(&owner.key.group_kind)))
}

/// Returns true if an earlier move can have copied the object for another Cluster: it belongs to no Cluster, or no controller
/// acts on it alone.
///
/// Owners don't show that, because the garbage collector has removed references to moved owners from the source's object.
fn is_for_many(scope: &Scope, step: &Step) -> bool {
    let kind = &step.key.group_kind;
    // Accepting a kind of Cluster API's own, whose controllers act on each object, shares nothing (`core/src/selection/by_cluster.rs`).
    let accepted = scope.accept.contains_kind(Risk::Shared, kind) && kind.group != names::GROUP_CLUSTER;
    let passive = kind.group.is_empty() || kind.kind.ends_with(TEMPLATE) || accepted;
    !is_cluster(kind) && (step.cluster.is_none() || passive)
}

/// Returns the Cluster of a step, which may be the Cluster itself.
fn cluster_of(step: &Step) -> Option<&Key> {
    step.cluster.as_ref().or_else(|| is_cluster(&step.key.group_kind).then_some(&step.key))
}

/// Returns one refusal for each Cluster of which the target has objects. Two management clusters that act on the same machines
/// matter more than single names. Controllers act on the existing objects, so no remedy says to delete any.
async fn refuse_managed_twice(
    job: &Job,
    snapshot: &Snapshot,
    taken: BTreeMap<&Key, Vec<&Key>>,
    there: &BTreeMap<Key, Meta>,
) -> Result<Vec<Refusal>, Failure> {
    if taken.is_empty() {
        return Ok(Vec::new());
    }
    let ended = match job.records(Side::Target)?.list_finished().await {
        Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Vec::new(),
        ended => ended?,
    };
    let uids: BTreeMap<&Key, &Uid> = snapshot.plan.steps.iter().map(|step| (&step.key, &step.uid)).collect();
    let has_moved = |cluster: &Key| {
        let uid = uids.get(cluster);
        ended.iter().flat_map(|finished| &finished.clusters).any(|moved| Some(&&moved.uid) == uid)
    };
    let refusal = |(cluster, keys): (&Key, Vec<&Key>)| {
        let marks = keys.iter().filter_map(|key| there.get(*key)?.annotations.get(MARK));
        // A mark of this move without proof was written by others.
        let makers: BTreeSet<&String> = marks.filter(|id| **id != job.move_id).collect();
        let makers: Vec<String> = makers.into_iter().map(|id| describe_maker(id, &ended)).collect();
        let by =
            if makers.is_empty() { String::new() } else { format!(", created by {}", some_of(&makers, 3)) };
        let own = job.target.own_name(cluster);
        let others = keys.iter().filter(|key| **key != cluster).map(|key| job.target.own_name(key));
        let mut others: Vec<Key> = others.collect();
        let (object, message) = if others.len() < keys.len() {
            let with = match others.len() {
                0 => String::new(),
                more => format!(" with {more} more of its objects"),
            };
            (own.clone(), format!("{own} is in the target already{with}{by}: it may be managed twice"))
        } else {
            let what = some_of(&others, 5);
            let message =
                format!("objects of {own} are in the target already ({what}){by}: it may be managed twice");
            (others.remove(0), message)
        };
        let (message, remedy) = match has_moved(cluster) {
            true => (
                format!(
                    "{message}; the target says that it moved there, so that the source may be in a state of before that, as after a restore \
                     from a backup"
                ),
                Remedy::NameClusterToPause { cluster: cluster.clone() },
            ),
            false => (
                message,
                "find out whether both are one Cluster, and which side is right, before anything else".into(),
            ),
        };
        Refusal {
            code: EXISTS,
            side: Side::Target,
            object: Some(object),
            others,
            message,
            remedies: vec![remedy],
        }
    };
    Ok(taken.into_iter().map(refusal).collect())
}

/// Describes the move that created a copy, and its end if the target still has the summary.
fn describe_maker(id: &str, ended: &[Finished]) -> String {
    match ended.iter().find(|finished| finished.move_id == id) {
        Some(Finished { files, source_label, ended_at, .. }) => {
            let what = if files.is_some() { "an import of files" } else { "a move" };
            format!("{what} from {source_label} that ended at {ended_at} ({id})")
        }
        None => format!("an earlier move ({id})"),
    }
}

/// Returns the refusal for an object of the same name that belongs to others.
pub(crate) fn refuse_foreign(job: &Job, key: &Key, there: &Meta) -> Refusal {
    let key = job.target.own_name(key);
    let whose = match there.annotations.get(MARK) {
        Some(id) if *id == job.move_id => " (it has this move's mark, without the proof)".to_owned(),
        Some(id) => format!(" (an earlier move, {id}, created it)"),
        None => String::new(),
    };
    Refusal {
        code: EXISTS,
        side: Side::Target,
        object: Some(key.clone()),
        others: Vec::new(),
        message: format!("{key} already exists and was not created by this move{whose}"),
        remedies: vec!["find out what uses it there before anything else".into()],
    }
}

/// Returns the paths in which the target's object lacks content of the source's, apart from irrelevant metadata.
pub(crate) fn find_differences(source: &Object, there: &Object) -> Result<Vec<String>, Failure> {
    let mut wanted = source.value().map_err(|error| Failure::Object(Side::Source, error))?;
    // Status belongs to each side's controllers; so do labels and annotations of cluster-wide objects.
    if let Some(map) = wanted.as_object_mut() {
        map.remove("status");
        map.remove("metadata");
    }
    let there = there.value().map_err(|error| Failure::Object(Side::Target, error))?;
    Ok(body::find_lost_fields(&wanted, &there))
}

/// Lists the identities of all objects on a side with a kind and namespace of the plan.
pub(crate) async fn list_identities(
    job: &Job,
    snapshot: &Snapshot,
    side: Side,
) -> Result<BTreeMap<Key, Meta>, Failure> {
    index_by_key(
        listing::list_identities(job.handle(side), LISTS, collections_of_plan(job, snapshot, side)?).await?,
    )
}

/// Returns the kinds of a plan, with their namespaces.
fn collections_of_plan(job: &Job, snapshot: &Snapshot, side: Side) -> Result<Vec<Collection>, Failure> {
    let mut wanted = Vec::new();
    for (gk, namespaces) in snapshot.namespaces_by_kind(side) {
        let kind = job.kind(side, &gk)?;
        wanted.extend(namespaces.into_iter().map(|namespace| (kind.clone(), namespace)));
    }
    Ok(wanted)
}

fn index_by_key(lists: Vec<(Collection, Listed)>) -> Result<BTreeMap<Key, Meta>, Failure> {
    let mut all = Vec::new();
    for ((kind, _), listed) in lists {
        let metas = listed.require()?;
        all.reserve_exact(metas.len());
        all.extend(metas.into_iter().map(|meta| (listing::key_of_meta(&kind, &meta), meta)));
    }
    // Sorted first: a map into which sorted keys are inserted is half empty.
    Ok(all.into_iter().collect())
}
