//! Pauses objects of a source that can't be written to.
//!
//! No controller acts on the files of a directory, and this move changes nothing in them. But copies from files into a cluster
//! must start like every copy: paused, with the annotation that undoes it.
//!
//! So the objects are paused in the reading, and the rest of the move is like any other. Objects that a confined move copies
//! from other namespaces are treated in the same way. So are all objects of a backup, which changes nothing in its cluster.

use pivot_core::copies::provider_pause::find_provider_changes;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::objects::merge;
use pivot_core::plan::Step;
use pivot_core::{Object, Side};
use serde_json::Value;

use crate::act::pausing;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::read::snapshot::Snapshot;

/// Pauses and holds everything in the reading that a writable source would have paused and held.
pub(crate) async fn pause_in_reading(job: &Job, snapshot: Snapshot) -> Result<Snapshot, Failure> {
    let judge = |step: &Step| (pausing::works_on(job, step), pausing::pauses(job, step));
    let snapshot = pause_selected(job, snapshot, judge).await?;
    if job.route.is_backup() { change_as_providers(snapshot) } else { Ok(snapshot) }
}

/// Makes the changes by which providers answer a pause.
fn change_as_providers(snapshot: Snapshot) -> Result<Snapshot, Failure> {
    let mut objects: Vec<Object> = snapshot.inventory.objects().to_vec();
    for step in snapshot.plan.steps.iter().filter(|step| step.treatment().can_be_paused()) {
        let Some(slot) = objects.get_mut(step.object) else { continue };
        let changes = find_provider_changes(slot).map_err(|error| Failure::Object(Side::Source, error))?;
        if let Some(changes) = changes {
            *slot = patch_reading(slot, &changes)?;
        }
    }
    Ok(Snapshot { inventory: Inventory::new(objects), ..snapshot })
}

/// Returns an object of the reading with a change.
fn patch_reading(object: &Object, patch: &Value) -> Result<Object, Failure> {
    let unreadable = |error| Failure::Object(Side::Source, error);
    let mut value = object.value().map_err(unreadable)?;
    merge::apply_patch(&mut value, patch);
    Object::from_value(object.kind.clone(), &value).map_err(unreadable)
}

/// Pauses the objects in the reading that the move must not pause in the source.
pub(crate) async fn pause_elsewhere_in_reading(job: &Job, snapshot: Snapshot) -> Result<Snapshot, Failure> {
    if !snapshot.plan.steps.iter().any(|step| pausing::pauses_copy_alone(job, step)) {
        return Ok(snapshot);
    }
    pause_selected(job, snapshot, |step| (pausing::pauses_copy_alone(job, step), true)).await
}

/// Pauses objects in a reading. `judge` returns for a step whether it is changed at all, and whether it gets its own pause.
async fn pause_selected(
    job: &Job,
    snapshot: Snapshot,
    judge: impl Fn(&Step) -> (bool, bool),
) -> Result<Snapshot, Failure> {
    let mut objects: Vec<Object> = snapshot.inventory.objects().to_vec();
    for step in &snapshot.plan.steps {
        let (true, pauses) = judge(step) else { continue };
        let object = snapshot.object(step)?;
        let Some(change) = pausing::find_change(job, object, pauses).await? else { continue };
        let paused = patch_reading(object, &change.patch)?;
        if let Some(slot) = objects.get_mut(step.object) {
            *slot = paused;
        }
    }
    // The keys are unchanged, and so are the objects' positions.
    Ok(Snapshot { inventory: Inventory::new(objects), ..snapshot })
}
