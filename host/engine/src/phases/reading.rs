//! Pausing what can't be written to.
//!
//! Nothing acts on the files of a directory, and nothing is changed in them; but what is copied from them into a cluster has to
//! begin as every copy does: paused, with the note that says how to undo it. So it is paused in the reading. From there on
//! such a move is as any other.

use pivot_core::inventory::Inventory;
use pivot_core::{Object, Side, merge};

use crate::base::Base;
use crate::job::Job;
use crate::outcome::failure::Failure;
use crate::phases::pausing;

/// The same reading, with everything paused and held that is in a source that can be written to.
pub(crate) async fn pause(job: &Job, base: Base) -> Result<Base, Failure> {
    let unreadable = |error| Failure::Object(Side::Source, error);
    let mut objects: Vec<Object> = base.inventory.objects().to_vec();
    for step in base.plan.steps.iter().filter(|step| pausing::works_on(job, step)) {
        let object = base.object(step)?;
        let Some(change) = pausing::change(job, object, pausing::pauses(step)).await? else { continue };
        let mut value = object.value().map_err(unreadable)?;
        merge::apply(&mut value, &change.patch);
        let paused = Object::from_value(object.kind.clone(), &value).map_err(unreadable)?;
        if let Some(slot) = objects.get_mut(step.object) {
            *slot = paused;
        }
    }
    // Their keys are the same, and with them their places.
    Ok(Base { inventory: Inventory::new(objects), ..base })
}
