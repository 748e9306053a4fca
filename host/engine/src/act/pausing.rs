//! Pausing and holding source objects, waiting until that is acknowledged, and undoing it on either side.
//!
//! Paused side by side: Clusters, which bring every controller below them to rest, ClusterClasses, and objects that no Cluster
//! pauses (unowned roots of providers' kinds). Each pause is a matter between an object and its own controllers. Plugins' holds
//! come after that, because the controllers of a Cluster that is not paused may still write to the held objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use pivot_core::checks::gitops::find_owner;
use pivot_core::discovery::implicit_links::{is_cluster, is_cluster_class};
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::risk::Risk;
use pivot_core::messages::safe_text;
use pivot_core::objects::pause::PauseAuthor;
use pivot_core::objects::{merge, names, pause};
use pivot_core::plan::Step;
use pivot_core::plugins::hooks::Hook;
use pivot_core::records::record::{Phase, Record};
use pivot_core::records::release::{Entry, Pausing, ReleaseFate, ReleaseList};
use pivot_core::{GroupKind, Key, Kind, Meta, Object, Side, Uid};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::act::requeue;
use crate::base::events::{Event, Verb};
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::paused_cluster::PausedCluster;
use crate::base::plugins::calls::{self, PatchAuthors};
use crate::base::requests::parking::Parking;
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::{self, LISTS, OBJECTS, Work};
use crate::base::requests::wait::{self, WantedObjects};
use crate::base::requests::{MAX_ROUNDS, listing};
use crate::base::state::journal::Journal;
use crate::check::recovered_clusters::find_left_paused;
use crate::read::snapshot::Snapshot;

/// Longest name of a field manager that is printed, in bytes.
const MAX_MANAGER_BYTES: usize = 100;
/// Code of a pause that someone else ended.
pub(crate) const PAUSE_UNDONE: &str = "pause-undone";

/// Returns true if an object gets its own pause in the source.
pub(crate) fn pauses(job: &Job, step: &Step) -> bool {
    job.options.may_change_in(step.key.namespace.as_deref()) && starts_paused(step)
}

/// Returns true if an object's copy starts with its own pause.
fn starts_paused(step: &Step) -> bool {
    let gk = &step.key.group_kind;
    let global = step.key.namespace.is_none();
    // Core objects have no controller that acknowledges a pause; global objects serve others, too.
    let root = || step.after.is_empty() && !gk.group.is_empty() && !global;
    step.treatment().can_be_paused() && (is_cluster(gk) || is_cluster_class(gk) || root())
}

/// Returns true if an object gets its own pause or is held. No other object is written to before its copy is made.
pub(crate) fn works_on(job: &Job, step: &Step) -> bool {
    pauses(job, step) || job.is_held_kind(&step.key.group_kind)
}

/// Returns true if an object is paused in the reading alone, so that its copy starts paused. The move must not change the object
/// in the source.
pub(crate) fn pauses_copy_alone(job: &Job, step: &Step) -> bool {
    starts_paused(step) && !pauses(job, step)
}

/// The effect of pausing the objects of a reading.
#[derive(Default)]
pub(crate) struct PauseResult {
    /// Number of objects that were paused.
    pub(crate) changed: usize,
    /// Whether the source has an object in another state than the reading.
    pub(crate) is_outdated: bool,
}

/// The state of an object in the source, compared with its reading.
#[derive(PartialEq)]
enum SourceState {
    AsRead,
    Paused,
    /// Another request changed or deleted the object, or the answer to the pause was lost.
    Changed,
}

/// Pauses and holds the plan's objects.
pub(crate) async fn pause_all(job: &Job, snapshot: &Snapshot) -> Result<PauseResult, Failure> {
    let mut result = PauseResult::default();
    for held in [false, true] {
        let steps = snapshot
            .plan
            .steps
            .iter()
            .filter(|step| job.is_held_kind(&step.key.group_kind) == held && (held || pauses(job, step)));
        let work = steps.map(|step| pause_one(job, snapshot, step, pauses(job, step)).boxed());
        for state in side_by_side::write_all(OBJECTS, work.collect()).await? {
            result.changed += usize::from(state == SourceState::Paused);
            result.is_outdated |= state != SourceState::AsRead;
        }
        job.safe_point()?;
    }
    Ok(result)
}

/// The change that brings an object to rest.
pub(crate) struct Change {
    /// The patch, including its inverse.
    pub(crate) patch: Value,
    /// The plugins that hold the object, if any do.
    by: Option<PatchAuthors>,
}

/// Returns the change that brings an object to rest. Returns `None` if this move already made the change, or none is needed.
pub(crate) async fn find_change(job: &Job, object: &Object, pauses: bool) -> Result<Option<Change>, Failure> {
    if pause::is_ours(&object.meta, &job.move_id) {
        return Ok(None);
    }
    let unreadable = |error| Failure::Object(Side::Source, error);
    let own = if pauses { pause::pause_patch(object).map_err(unreadable)? } else { None };
    let hold = calls::ask_for_patch(&job.plugins, Hook::Hold, object, None).await?;
    let (hold, by) = hold.map(|hold| (hold.patch, hold.by)).unzip();
    let change = match (own, hold) {
        (None, None) => return Ok(None),
        (Some(own), None) => own,
        (None, Some(hold)) => hold,
        (Some(mut own), Some(hold)) => {
            calls::join_patches(&mut own, hold);
            own
        }
    };
    let before = object.value().map_err(unreadable)?;
    Ok(Some(Change { patch: pause::with_undo(&before, change, &job.move_id), by }))
}

async fn pause_one(
    job: &Job,
    snapshot: &Snapshot,
    step: &Step,
    pauses: bool,
) -> Result<SourceState, Failure> {
    let kind = job.kind(Side::Source, &step.key.group_kind)?;
    let mut object = snapshot.object(step)?.clone();
    let mut state = SourceState::AsRead;
    for _ in 0..MAX_ROUNDS {
        let Some(Change { mut patch, by }) = find_change(job, &object, pauses).await? else {
            return Ok(state);
        };
        // The inverse is valid for this state only.
        merge::apply_patch(
            &mut patch,
            &json!({"metadata": {"resourceVersion": object.meta.resource_version}}),
        );
        match job.source.patch(kind, &step.key, &patch).await {
            Ok(_) => {
                let verb = if by.is_some() { Verb::Held } else { Verb::Paused };
                job.report_object(Phase::Paused, verb, &step.key, Side::Source);
                return Ok(SourceState::Paused);
            }
            Err(PlaceError::Conflict(_)) => match job.source.get(kind, &step.key).await? {
                Some(now) => (object, state) = (now, SourceState::Changed),
                // Gone without our doing: the next reading will not have it either.
                None => return Ok(SourceState::Changed),
            },
            Err(PlaceError::NotFound(_)) => return Ok(SourceState::Changed),
            Err(error) => {
                let doing = by
                    .as_ref()
                    .map_or_else(|| "pausing".to_owned(), |by| format!("pausing, as {by} holds it,"));
                let error = by.iter().fold(error, |error, by| by.answer(error));
                return Err(job.source.request_failure(doing, Some(&step.key), error));
            }
        }
    }
    let error = PlaceError::Conflict(format!("it changed {MAX_ROUNDS} times while being paused"));
    Err(job.source.request_failure("pausing", Some(&step.key), error))
}

/// Pauses a Cluster of the source that is out of date, so that no move unpauses it.
pub(crate) async fn pause_for_good(job: &Job, key: &Key) -> Result<(), Failure> {
    let kind = job.kind(Side::Source, &key.group_kind)?;
    let Some(object) = job.source.get(kind, key).await? else { return Ok(()) };
    let patch = pause::pause_out_of_date_patch(&object, &job.move_id);
    let Some(patch) = patch.map_err(|error| Failure::Object(Side::Source, error))? else { return Ok(()) };
    match job.source.patch(kind, key, &patch).await {
        Ok(_) => {
            job.report_object(Phase::Paused, Verb::Paused, key, Side::Source);
            Ok(())
        }
        Err(PlaceError::NotFound(_)) => Ok(()),
        Err(error) => Err(job.source.request_failure("pausing", Some(key), error)),
    }
}

/// Waits until providers no longer block the plan's objects and controllers have acknowledged the pause. Returns true if there was
/// nothing to wait for, so that the reading is still current.
pub(crate) async fn wait_until_acknowledged(
    job: &Job,
    snapshot: &Snapshot,
    left: Duration,
) -> Result<bool, Failure> {
    let assume = job.options.accept.contains(Risk::PauseUnchecked);
    let lacks = |object: &Object| {
        let pending =
            pause::find_pending(object, assume).map_err(|error| Failure::Object(Side::Source, error))?;
        Ok(pending.map(|pending| pending.to_string()))
    };
    let pauses_here = |step: &Step| {
        step.treatment().can_be_paused() && job.options.may_change_in(step.key.namespace.as_deref())
    };
    if assume {
        for step in snapshot.plan.steps.iter().filter(|step| pauses_here(step)) {
            let pending = pause::find_pending(snapshot.object(step)?, false);
            if pending.map_err(|error| Failure::Object(Side::Source, error))?
                == Some(pause::Pending::NotAcknowledged)
            {
                job.used_risks.insert(Risk::PauseUnchecked);
            }
        }
    }
    let waits = |step: &Step| Ok(pauses_here(step) && lacks(snapshot.object(step)?)?.is_some());
    let waiting = snapshot.keys_by_kind(job, Side::Source, waits)?;
    if waiting.is_empty() {
        return Ok(true);
    }
    let until = |waiting: BTreeMap<Arc<Kind>, BTreeSet<Key>>, time, parking| {
        let waiting = waiting.into_iter().map(|(kind, keys)| (kind, WantedObjects::all_of(keys))).collect();
        wait::wait_for_objects(&job.source, waiting, &lacks, time, (&job.halter, parking), &*job.watcher)
    };
    match until(waiting.clone(), left.min(requeue::PATIENCE), &Parking::default()).await {
        Err(Failure::TimedOut(_)) if left > requeue::PATIENCE && !assume => {
            requeue::poke_all(job, waiting.clone()).await?;
            until(waiting, left.saturating_sub(requeue::PATIENCE), &job.parking).await?;
        }
        other => other?,
    }
    Ok(false)
}

/// Unpauses objects that this move paused and that have left the plan since.
pub(crate) async fn unpause_departed(job: &Job, snapshot: &Snapshot) -> Result<(), Failure> {
    let wanted: BTreeSet<&Uid> = snapshot.plan.steps.iter().map(|step| &step.uid).collect();
    for object in snapshot.inventory.objects() {
        if pause::is_ours(&object.meta, &job.move_id) && !wanted.contains(&object.meta.uid) {
            let key = object.key();
            if undo(&job.source, &object.kind, &key, &job.move_id, Some(object)).await? {
                job.report_object(Phase::Paused, Verb::Unpaused, &key, Side::Source);
            }
        }
    }
    Ok(())
}

/// An object that was unpaused, and its owner in a GitOps tool.
type Awake = (Key, Option<Key>);

/// Refuses to go on if a paused object was unpaused, for example by a GitOps tool. Uses one list per kind and namespace, because
/// there may be hundreds of Clusters or hosts.
pub(crate) async fn check_still_paused(job: &Job, list: &ReleaseList) -> Result<(), Failure> {
    let paused = list
        .entries
        .iter()
        .filter(|entry| entry.pausing != Pausing::Untouched && entry.fate == ReleaseFate::Delete);
    let mut places: BTreeMap<(&GroupKind, Option<&str>), BTreeMap<&Uid, &Entry>> = BTreeMap::new();
    for entry in paused {
        let place = (&entry.key.group_kind, entry.key.namespace.as_deref());
        places.entry(place).or_default().insert(&entry.uid, entry);
    }
    let looks = places.into_iter().map(|((group_kind, namespace), entries)| -> Work<'_, Vec<Awake>> {
        async move {
            let objects = match job.source.list(job.kind(Side::Source, group_kind)?, namespace).await {
                // Gone with its definition.
                Err(Failure::Place { error: PlaceError::NotFound(_), .. }) => Vec::new(),
                other => other?.objects,
            };
            let mut awake = Vec::new();
            for now in &objects {
                let Some(entry) = entries.get(&now.meta.uid) else { continue };
                let paused = pause::is_paused(now).map_err(|error| Failure::Object(Side::Source, error))?;
                // Only a pause in Cluster API's own way is visible without our annotation.
                let still = match entry.pausing {
                    Pausing::Held => pause::is_ours(&now.meta, &job.move_id),
                    _ => paused || pause::is_poke(&now.meta, &job.move_id),
                };
                if !still {
                    awake.push((entry.key.clone(), find_owner(now)));
                }
            }
            Ok(awake)
        }
        .boxed()
    });
    let awake = side_by_side::try_all(LISTS, looks.collect()).await?;
    let (awake, owners): (Vec<Key>, Vec<Option<Key>>) = awake.into_iter().flatten().unzip();
    let owners: BTreeSet<Key> = owners.into_iter().flatten().collect();
    let suspects = match owners.is_empty() {
        true => "a GitOps tool".to_owned(),
        false => some_of(&owners.iter().collect::<Vec<_>>(), 5),
    };
    match awake.first() {
        None => Ok(()),
        Some(first) => Err(Failure::from_refusal(Refusal {
            code: PAUSE_UNDONE,
            side: Side::Source,
            object: Some(first.clone()),
            others: awake.iter().skip(1).cloned().collect(),
            message: format!(
                "someone unpaused {} after they were copied: both sides may be reconciling them",
                some_of(&awake, 5)
            ),
            remedies: vec![
                format!("stop whatever unpauses them ({suspects}?), pause them by hand, and resume").into(),
            ],
        })),
    }
}

/// Undoes the changes of this move to an object. Returns true if there was a change to undo.
pub(crate) async fn undo(
    handle: &Handle,
    kind: &Arc<Kind>,
    key: &Key,
    move_id: &str,
    known: Option<&Object>,
) -> Result<bool, Failure> {
    let mut object = match known {
        Some(object) => Some(object.clone()),
        None => handle.get(kind, key).await?,
    };
    for _ in 0..MAX_ROUNDS {
        let Some(patch) = object.as_ref().and_then(|object| pause::undo_patch(&object.meta, move_id)) else {
            return Ok(false);
        };
        match handle.patch(kind, key, &patch).await {
            Ok(_) => return Ok(true),
            Err(PlaceError::Conflict(_)) => object = handle.get(kind, key).await?,
            Err(PlaceError::NotFound(_)) => return Ok(false),
            Err(error) => return Err(handle.request_failure("unpausing", Some(key), error)),
        }
    }
    Err(handle.request_failure("unpausing", Some(key), PlaceError::Conflict("it keeps changing".into())))
}

/// Unpauses an object that the release list has as paused. If its undo annotation is gone, a warning is reported.
pub(crate) async fn unpause_listed(
    job: &Job,
    handle: &Handle,
    kind: &Arc<Kind>,
    entry: &Entry,
    known: Option<&Object>,
) -> Result<bool, Failure> {
    if undo(handle, kind, &entry.key, &job.move_id, known).await?
        || unpause_named(job, handle, kind, &entry.key).await?
    {
        return Ok(true);
    }
    report_still_paused(job, handle, kind, entry).await?;
    Ok(false)
}

/// Warns of an object that the release list has as paused, if it is still paused.
pub(crate) async fn report_still_paused(
    job: &Job,
    handle: &Handle,
    kind: &Arc<Kind>,
    entry: &Entry,
) -> Result<(), Failure> {
    if entry.pausing == Pausing::Paused
        && let Some(now) = handle.get(kind, &entry.key).await?
        && pause::is_paused(&now).map_err(|error| Failure::Object(handle.side, error))?
    {
        let of_cluster = is_cluster(&kind.group_kind).then_some(&now.meta);
        match of_cluster.and_then(|meta| describe_pause_of_others(job, meta)) {
            Some(shown) => report_paused_by_others(job, &entry.key, handle.side, &blame_others(&shown)),
            None => report_undo_lost(job, &entry.key, handle.side),
        }
    }
    Ok(())
}

/// Unpauses a Cluster that the user named, although the annotation that undoes its pause is gone. What another move paused stays so.
async fn unpause_named(job: &Job, handle: &Handle, kind: &Arc<Kind>, key: &Key) -> Result<bool, Failure> {
    if !is_cluster(&kind.group_kind) || !job.is_named_to_unpause(key) {
        return Ok(false);
    }
    for _ in 0..MAX_ROUNDS {
        let Some(cluster) = handle.get(kind, key).await? else { return Ok(false) };
        let paused = pause::is_paused(&cluster).map_err(|error| Failure::Object(handle.side, error))?;
        if !paused || describe_pause_of_others(job, &cluster.meta).is_some() || pause::has_undo(&cluster.meta)
        {
            return Ok(false);
        }
        let Some(mut patch) = pause::unpause_patch(&cluster) else { return Ok(false) };
        merge::apply_patch(
            &mut patch,
            &json!({"metadata": {"resourceVersion": cluster.meta.resource_version}}),
        );
        match handle.patch(kind, key, &patch).await {
            Ok(_) => return Ok(true),
            Err(PlaceError::Conflict(_) | PlaceError::NotFound(_)) => {}
            Err(error) => return Err(handle.request_failure("unpausing", Some(key), error)),
        }
    }
    Err(handle.request_failure("unpausing", Some(key), PlaceError::Conflict("it keeps changing".into())))
}

/// Describes the annotation that shows that another than this move paused a Cluster. A move pauses a Cluster in its spec.
fn describe_pause_of_others(job: &Job, meta: &Meta) -> Option<String> {
    if pause::has_undo(meta) && !pause::is_ours(meta, &job.move_id) {
        return Some("another move paused it".to_owned());
    }
    let annotation =
        [names::PAUSED, names::OUT_OF_DATE].into_iter().find(|name| meta.has_annotation(name))?;
    Some(format!("it has the annotation {annotation}"))
}

/// Returns true if another than this move paused a Cluster, so that it stays paused, and the move ends without it. In a recovered move, the
/// user must also name the Cluster. Takes its key in the source.
pub(crate) fn is_kept_paused(job: &Job, record: &Record, key: &Key, meta: &Meta) -> bool {
    let may_end_without = !record.is_recovered() || job.is_named_to_unpause(key);
    may_end_without && describe_pause_of_others(job, meta).is_some()
}

/// Warns that a Cluster is still paused, and that nothing shows how the pause is undone.
pub(crate) fn report_undo_lost(job: &Job, key: &Key, side: Side) {
    let note = names::UNDO;
    let key = job.handle(side).own_name(key);
    job.report(Event::Warning {
        code: "undo-lost".into(),
        object: Some(key.clone()),
        text: format!(
            "{key} in the {side} is still paused, without the annotation {note} that undoes a pause of the move: another client removed it, or \
             paused the object again"
        ),
        remedies: Vec::new(),
    });
}

/// The Clusters that are paused without an annotation of any move.
#[derive(Default)]
struct UnnotedPauses {
    /// Those that this move paused: its undo annotation is gone.
    forgotten: Vec<Key>,
    /// Those that stay paused, each with the reason.
    by_others: Vec<(Key, String)>,
}

/// Finds the Clusters that are still paused, with no annotation of any move. If a move takes only running Clusters, none was paused before
/// it: this move paused them, or others did since. A move that takes paused Clusters, too, paused only those that this program paused since
/// the move began. A user who names a Cluster decides instead.
async fn find_unnoted_pauses(job: &Job, journal: &Journal) -> Result<UnnotedPauses, Failure> {
    let record = &journal.record;
    let cluster = record.kinds.iter().find(|gk| is_cluster(gk)).and_then(|gk| job.kinds.source.get(gk));
    let Some(cluster) = cluster else { return Ok(UnnotedPauses::default()) };
    // Objects were only copied from other namespaces.
    let paused_in =
        record.copied_namespaces.iter().filter(|namespace| record.scope.includes_namespace(Some(namespace)));
    let lists = paused_in.map(|namespace| job.source.list(cluster, Some(namespace)).boxed());
    let unreadable = |error| Failure::Object(Side::Source, error);
    let takes_paused = record.scope.accept.contains(Risk::AlreadyPaused);
    let mut found = UnnotedPauses::default();
    for listing in side_by_side::try_all(LISTS, lists.collect()).await? {
        for object in listing.objects {
            let (key, meta) = (object.key(), &object.meta);
            if !record.scope.includes_cluster(&key) || !pause::is_paused(&object).map_err(unreadable)? {
                continue;
            }
            let of_a_move = pause::has_undo(meta) || meta.has_annotation(names::OUT_OF_DATE);
            match describe_pause_of_others(job, meta) {
                // Another move takes care of it, unless the user thinks that this one does.
                _ if of_a_move && !job.is_named_to_unpause(&key) => continue,
                Some(shown) => {
                    found.by_others.push((key, blame_others(&shown)));
                    continue;
                }
                None if of_a_move => continue,
                None => {}
            }
            let is_ours = match pause::find_pause_author(&object).map_err(unreadable)? {
                PauseAuthor::Another(manager) => {
                    let manager = safe_text::to_line(&manager, MAX_MANAGER_BYTES);
                    let shown = format!("field manager {manager} set spec.paused");
                    found.by_others.push((key, blame_others(&shown)));
                    continue;
                }
                _ if !takes_paused || job.is_named_to_unpause(&key) => true,
                // An earlier move may have created the Cluster, paused.
                PauseAuthor::ThisProgram(time) => {
                    journal.created_at().zip(time.as_deref()).is_none_or(|(began, paused)| paused >= began)
                }
                PauseAuthor::Unknown => false,
            };
            match is_ours {
                true => found.forgotten.push(key),
                false => found.by_others.push((key, "nothing shows that this move paused it".to_owned())),
            }
        }
    }
    Ok(found)
}

/// Returns the reason to leave a Cluster paused that others paused, with what shows that.
fn blame_others(shown: &str) -> String {
    format!("another than this move paused it ({shown})")
}

/// Warns that a Cluster stays paused, because nothing shows that this move paused it.
fn report_paused_by_others(job: &Job, key: &Key, side: Side, reason: &str) {
    let named = if job.is_named_to_unpause(key) {
        ", although it was named: a move undoes only its own pauses"
    } else {
        ""
    };
    let key = job.handle(side).own_name(key);
    let text = format!("{key} in the {side} stays paused: {reason}{named}");
    let (code, remedies) = ("paused-by-others".into(), Vec::new());
    job.report(Event::Warning { code, object: Some(key), text, remedies });
}

/// The result of undoing what a move did in the source.
#[derive(Default)]
pub(crate) struct Undone {
    /// Number of objects that were unpaused.
    pub(crate) unpaused: usize,
    /// The Clusters of a recovered source that stay paused until they are named.
    pub(crate) left_paused: Vec<PausedCluster>,
    /// The Clusters that are still paused because the annotation that undoes that is gone.
    pub(crate) undo_lost: Vec<Key>,
}

/// An object by kind and key.
type Named = (Arc<Kind>, Key);

/// Undoes every change of this move in the source: on each object with its undo annotation, of the kinds and in the namespaces
/// that the move touched. After a failure, the other objects are still unpaused. In a recovered source, a Cluster stays paused until
/// the user names it. It stays paused longer if its control plane has a node without a Machine. While a Cluster stays paused, so does every
/// other object except classes.
pub(crate) async fn undo_all(job: &Job, journal: &Journal) -> Result<Undone, Failure> {
    let record = &journal.record;
    let kinds = record.kinds.iter().filter_map(|gk| job.kinds.source.get(gk));
    let lists = listing::collections_in(kinds, &record.copied_namespaces).into_iter().map(
        |(kind, namespace)| -> Work<'_, Vec<Named>> {
            async move {
                let metas = job.source.list_meta(&kind, namespace.as_deref()).await?;
                let ours = metas.iter().filter(|meta| pause::is_ours(meta, &job.move_id));
                Ok(ours.map(|meta| (kind.clone(), listing::key_of_meta(&kind, meta))).collect())
            }
            .boxed()
        },
    );
    let read = side_by_side::run_all(LISTS, lists.collect()).await;
    let mut first_failure = None;
    let mut ours = Vec::new();
    for result in read {
        match result {
            Ok(keys) => ours.extend(keys),
            Err(failure) => drop(first_failure.get_or_insert(failure)),
        }
    }
    let mut left_paused: Vec<PausedCluster> = Vec::new();
    let mut compared: Option<BTreeSet<Key>> = None;
    if record.is_recovered() {
        // A list that is missing may have Clusters.
        first_failure = match first_failure {
            Some(failure) => return Err(failure),
            none => none,
        };
        let clusters = ours.iter().filter(|(kind, _)| is_cluster(&kind.group_kind));
        let mut waiting: BTreeSet<Key> = clusters.map(|(_, key)| key.clone()).collect();
        waiting.extend(find_unnoted_pauses(job, journal).await?.forgotten);
        left_paused = find_left_paused(job, Side::Source, record, &waiting).boxed().await?;
        compared = Some(waiting);
        if !left_paused.is_empty() {
            ours.retain(|(kind, key)| match is_cluster(&kind.group_kind) {
                true => !left_paused.iter().any(|paused| paused.cluster == *key),
                false => is_cluster_class(&kind.group_kind),
            });
        }
    }
    // Plugins' holds before the Cluster whose controllers would act on them, and classes before Clusters: see `live::unpause_copies`.
    ours.sort_by_key(|(kind, key)| (std::cmp::Reverse(pause_rank(kind)), key.clone()));
    let mut count = 0;
    for wave in ours.chunk_by(|(a, _), (b, _)| pause_rank(a) == pause_rank(b)) {
        let work = wave.iter().map(|(kind, key)| -> Work<'_, bool> {
            async move {
                let done = undo(&job.source, kind, key, &job.move_id, None).await?;
                if done {
                    job.report_object(Phase::Paused, Verb::Unpaused, key, Side::Source);
                }
                Ok(done)
            }
            .boxed()
        });
        for result in side_by_side::run_all(OBJECTS, work.collect()).await {
            match result {
                Ok(done) => count += usize::from(done),
                Err(failure) => drop(first_failure.get_or_insert(failure)),
            }
        }
    }
    match first_failure {
        None => {
            let mut undo_lost = Vec::new();
            let UnnotedPauses { forgotten, by_others } = find_unnoted_pauses(job, journal).await?;
            by_others
                .iter()
                .for_each(|(key, reason)| report_paused_by_others(job, key, Side::Source, reason));
            for key in forgotten {
                if left_paused.iter().any(|paused| paused.cluster == key) {
                    continue;
                }
                let kind = job.kind(Side::Source, &key.group_kind)?;
                // Others may have ended their pause of it during the comparison.
                let may_run = compared.as_ref().is_none_or(|compared| compared.contains(&key));
                if may_run && unpause_named(job, &job.source, kind, &key).await? {
                    job.report_object(Phase::Paused, Verb::Unpaused, &key, Side::Source);
                    count += 1;
                } else {
                    undo_lost.push(key);
                }
            }
            Ok(Undone { unpaused: count, left_paused, undo_lost })
        }
        Some(failure) => Err(failure),
    }
}

/// Returns the place of a kind in the order of pauses: Clusters, classes, all other objects.
fn pause_rank(kind: &Kind) -> usize {
    let gk = &kind.group_kind;
    match () {
        () if is_cluster(gk) => 0,
        () if is_cluster_class(gk) => 1,
        () => 2,
    }
}
