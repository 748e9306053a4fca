//! Pausing in a source that can't be written to.
//!
//! Nothing acts on the files of a directory, and nothing is changed in them. But copies from them into a cluster must begin as
//! every copy does: paused, with the annotation that says how to undo it. So they are paused in the reading. From there on such a
//! move is like any other. So are objects that a confined move copies from other namespaces.

use pivot_core::inventory::Inventory;
use pivot_core::plan::Step;
use pivot_core::{Object, Side, merge};

use crate::act::pausing;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::read::snapshot::Snapshot;

/// The same reading, with everything paused and held that would be in a writable source.
pub(crate) async fn pause_in_reading(job: &Job, snapshot: Snapshot) -> Result<Snapshot, Failure> {
    pause_selected(job, snapshot, |step| (pausing::works_on(job, step), pausing::pauses(job, step))).await
}

/// The same reading, with everything paused that the move may not pause in the source.
pub(crate) async fn pause_elsewhere_in_reading(job: &Job, snapshot: Snapshot) -> Result<Snapshot, Failure> {
    if !snapshot.plan.steps.iter().any(|step| pausing::pauses_copy_alone(job, step)) {
        return Ok(snapshot);
    }
    pause_selected(job, snapshot, |step| (pausing::pauses_copy_alone(job, step), true)).await
}

/// Pauses objects in a reading. `judge` says of a step whether it is changed at all, and whether it gets a pause of its own.
async fn pause_selected(
    job: &Job,
    snapshot: Snapshot,
    judge: impl Fn(&Step) -> (bool, bool),
) -> Result<Snapshot, Failure> {
    let unreadable = |error| Failure::Object(Side::Source, error);
    let mut objects: Vec<Object> = snapshot.inventory.objects().to_vec();
    for step in &snapshot.plan.steps {
        let (true, pauses) = judge(step) else { continue };
        let object = snapshot.object(step)?;
        let Some(change) = pausing::change(job, object, pauses).await? else { continue };
        let mut value = object.value().map_err(unreadable)?;
        merge::apply_patch(&mut value, &change.patch);
        let paused = Object::from_value(object.kind.clone(), &value).map_err(unreadable)?;
        if let Some(slot) = objects.get_mut(step.object) {
            *slot = paused;
        }
    }
    // The keys are unchanged, and so are the objects' positions.
    Ok(Snapshot { inventory: Inventory::new(objects), ..snapshot })
}
