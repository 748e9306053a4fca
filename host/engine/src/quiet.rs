//! Pausing and holding source objects, waiting until that is heeded, and taking it back on either side.
//!
//! Clusters first: with them every controller below comes to rest. Then ClusterClasses, then what no Cluster pauses
//! (unowned roots of providers' kinds) and what plugins hold.

use std::sync::Arc;

use futures::stream::{self, TryStreamExt};
use pivot_core::hooks::Hook;
use pivot_core::pause;
use pivot_core::plan::{Fate, KeepReason, Plan, Step};
use pivot_core::refusal::Side;
use pivot_core::release::Quiet;
use pivot_core::soft::{is_cluster, is_cluster_class};
use pivot_core::{Key, Kind, Object, merge};
use pivot_places::PlaceError;
use serde_json::json;

use crate::asking;
use crate::discover::{Sight, discover};
use crate::failure::Failure;
use crate::job::{Base, Job};
use crate::planning;
use crate::sides::Handle;
use crate::wait;

const SIDE_BY_SIDE: usize = 32;
/// How often an object may change under our hands before we give up on it.
const ROUNDS: usize = 5;

/// In which wave an object is paused; none where it is not paused by itself.
fn wave(step: &Step) -> Option<usize> {
    let gk = &step.key.group_kind;
    let global = matches!(step.fate, Fate::Keep(KeepReason::Global));
    match () {
        () if is_cluster(gk) => Some(0),
        () if is_cluster_class(gk) => Some(1),
        // Core objects have no controller that heeds a pause; global ones serve others, too.
        () if step.after.is_empty() && !gk.group.is_empty() && !global => Some(2),
        () => None,
    }
}

/// What the move does to an object: decided by what plugins want and by its place in the plan, not remembered.
pub(crate) fn quiet(job: &Job, object: &Object) -> Quiet {
    if !pause::is_ours(&object.meta, &job.move_id) {
        return Quiet::Untouched;
    }
    let held = job.plugins.iter().any(|plugin| plugin.describe().wants(Hook::Hold, &object.kind.group_kind));
    if held { Quiet::Held } else { Quiet::Paused }
}

/// Pauses and holds what the plan says.
pub(crate) async fn pause_all(job: &Job, base: &Base) -> Result<(), Failure> {
    for turn in 0..=2 {
        let steps = base.plan.steps.iter().filter(|step| {
            let held =
                job.plugins.iter().any(|plugin| plugin.describe().wants(Hook::Hold, &step.key.group_kind));
            let turns = wave(step);
            if held { turn == 2 } else { turns == Some(turn) }
        });
        stream::iter(steps.map(Ok))
            .try_for_each_concurrent(SIDE_BY_SIDE, |step| pause_one(job, base, step, wave(step).is_some()))
            .await?;
        job.safe_point()?;
    }
    Ok(())
}

async fn pause_one(job: &Job, base: &Base, step: &Step, pauses: bool) -> Result<(), Failure> {
    let kind = job.kind(Side::Source, &step.key.group_kind)?;
    let mut object = base.object(step)?.clone();
    for _ in 0..ROUNDS {
        if pause::is_ours(&object.meta, &job.move_id) {
            return Ok(());
        }
        let unreadable = |error| Failure::Object(Side::Source, error);
        let own = if pauses { pause::pause(&object).map_err(unreadable)? } else { None };
        let hold = asking::patch(&job.plugins, Hook::Hold, &object, None).await?;
        let change = match (own, hold) {
            (None, None) => return Ok(()),
            (Some(one), None) | (None, Some(one)) => one,
            (Some(mut own), Some(hold)) => {
                asking::join(&mut own, hold);
                own
            }
        };
        let before = object.value().map_err(unreadable)?;
        let mut patch = pause::with_undo(&before, change, &job.move_id);
        // The inverse is true of this state only.
        merge::apply(&mut patch, &json!({"metadata": {"resourceVersion": object.meta.resource_version}}));
        match job.source.patch(kind, &step.key, &patch).await {
            Ok(_) => return Ok(()),
            Err(PlaceError::Conflict(_)) => match job.source.get(kind, &step.key).await? {
                Some(now) => object = now,
                // Gone on its own: the second list will not have it either.
                None => return Ok(()),
            },
            Err(PlaceError::NotFound(_)) => return Ok(()),
            Err(error) => return Err(job.source.failed("pausing", Some(&step.key), error)),
        }
    }
    let error = PlaceError::Conflict(format!("it changed {ROUNDS} times while it was to be paused"));
    Err(job.source.failed("pausing", Some(&step.key), error))
}

/// Waits until the pause is heeded, then reads the source once more: the base of the copy.
pub(crate) async fn settled_base(
    job: &Job,
) -> Result<(Sight, Plan, pivot_core::relations::Relations), Failure> {
    let wished = planning::wished(&job.plugins);
    loop {
        let sight = discover(&job.source, &job.kinds.source, &job.options.scope, &wished).await?;
        let (plan, relations) = planning::make(&sight, &job.options.scope, &job.plugins).await?;
        let base = Base { inventory: sight.inventory, plan, relations };
        let assume = job.options.assume_paused;
        let lacks = |object: &Object| {
            let pending =
                pause::pending(object, assume).map_err(|error| Failure::Object(Side::Source, error))?;
            Ok(pending.map(|pending| pending.to_string()))
        };
        let waiting =
            base.keys_by_kind(job, Side::Source, |step| Ok(lacks(base.object(step)?)?.is_some()))?;
        if waiting.is_empty() {
            let Base { inventory, plan, relations } = base;
            return Ok((Sight { inventory, ..sight }, plan, relations));
        }
        wait::until(&job.source, waiting, &lacks, job.options.pause_timeout, &job.halter, &*job.watcher)
            .await?;
    }
}

/// Takes back what this move did to an object, if it still is as the move left it.
pub(crate) async fn take_back(
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
    for _ in 0..ROUNDS {
        let Some(patch) = object.as_ref().and_then(|object| pause::take_back(&object.meta, move_id)) else {
            return Ok(false);
        };
        match handle.patch(kind, key, &patch).await {
            Ok(_) => return Ok(true),
            Err(PlaceError::Conflict(_)) => object = handle.get(kind, key).await?,
            Err(PlaceError::NotFound(_)) => return Ok(false),
            Err(error) => return Err(handle.failed("un-pausing", Some(key), error)),
        }
    }
    Err(handle.failed("un-pausing", Some(key), PlaceError::Conflict("it keeps changing".into())))
}

/// Takes back everything this move did in the source: whatever carries its undo annotation, in whichever kind.
pub(crate) async fn take_back_all(
    job: &Job,
    wished: &std::collections::BTreeSet<pivot_core::GroupKind>,
) -> Result<usize, Failure> {
    let sight = discover(&job.source, &job.kinds.source, &job.options.scope, wished).await?;
    // In the opposite order of pausing: hosts before the Cluster whose controllers would act on them.
    let mut ours: Vec<&Object> = sight
        .inventory
        .objects()
        .iter()
        .filter(|object| pause::is_ours(&object.meta, &job.move_id))
        .collect();
    ours.sort_by_key(|object| std::cmp::Reverse(turn(object)));
    let count = ours.len();
    let mut rest = ours.as_slice();
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|object| turn(object) == turn(first)).count();
        let (wave, others) = rest.split_at(same);
        stream::iter(wave.iter().map(Ok))
            .try_for_each_concurrent(SIDE_BY_SIDE, |object| async {
                take_back(&job.source, &object.kind, &object.key(), &job.move_id, Some(*object))
                    .await
                    .map(drop)
            })
            .await?;
        rest = others;
    }
    Ok(count)
}

fn turn(object: &Object) -> usize {
    let gk = &object.kind.group_kind;
    match () {
        () if is_cluster(gk) => 0,
        () if is_cluster_class(gk) => 1,
        () => 2,
    }
}
