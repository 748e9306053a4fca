//! Undoes the pauses and holds of a move, on either side, and reports the Clusters that stay paused.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::discovery::implicit_links::{is_cluster, is_cluster_class};
use pivot_core::messages::risk::Risk;
use pivot_core::messages::safe_text;
use pivot_core::objects::pause::PauseAuthor;
use pivot_core::objects::{merge, names, pause};
use pivot_core::records::record::{Phase, Record};
use pivot_core::records::release::{Entry, Pausing};
use pivot_core::{Key, Kind, Meta, Object, Side, Uid};
use pivot_places::PlaceError;
use serde_json::json;

use crate::base::events::{Event, Verb};
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::paused_cluster::PausedCluster;
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::{self, LISTS, OBJECTS, Work};
use crate::base::requests::{MAX_ROUNDS, listing};
use crate::base::state::journal::Journal;
use crate::check::recovered_clusters::find_left_paused;
use crate::read::snapshot::Snapshot;

/// Longest name of a field manager that is printed, in bytes.
const MAX_MANAGER_BYTES: usize = 100;

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
