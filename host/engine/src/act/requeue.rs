//! Makes a controller notice a pause that it has missed.
//!
//! Some controllers watch Clusters only to learn that they are *un*-paused. They use the predicate `ClusterUnpaused`, which
//! Cluster API itself has given up; the Metal3 provider's Metal3Cluster still has it. Their objects report that they are not
//! paused until another event triggers the controller, which may take hours.
//!
//! So if an object's controller stays silent, the run writes to the object once: it adds the annotation that undoes a move's
//! pause, with nothing to undo. Without any wait, the condition would be ignored for such objects. A pause of the object itself
//! would not help: such controllers ignore events of paused objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use pivot_core::objects::pause::{self, Pending};
use pivot_core::{Key, Kind, Side};
use pivot_places::PlaceError;

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side_by_side::{self, OBJECTS};

/// Time that controllers have before their objects are poked. Controllers that noticed the pause need a fraction of it. This
/// time ends before the wait is first reported, so users always see the time left of the whole wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(4);

/// Writes to the source objects whose controllers have not acknowledged the pause, at most once each.
pub(crate) async fn poke_all(job: &Job, waiting: BTreeMap<Arc<Kind>, BTreeSet<Key>>) -> Result<(), Failure> {
    let keys =
        waiting.into_iter().flat_map(|(kind, keys)| keys.into_iter().map(move |key| (kind.clone(), key)));
    let work = keys.map(|(kind, key)| async move { poke_if_silent(job, &kind, &key).await }.boxed());
    side_by_side::write_all(OBJECTS, work.collect()).await.map(drop)
}

async fn poke_if_silent(job: &Job, kind: &Arc<Kind>, key: &Key) -> Result<(), Failure> {
    let Some(object) = job.source.get(kind, key).await? else { return Ok(()) };
    let unreadable = |error| Failure::Object(Side::Source, error);
    let silent = pause::find_pending(&object, false).map_err(unreadable)? == Some(Pending::NotAcknowledged);
    if !silent || pause::is_ours(&object.meta, &job.move_id) {
        return Ok(());
    }
    match job.source.patch(kind, key, &pause::poke_patch(&job.move_id)).await {
        Ok(_) | Err(PlaceError::NotFound(_)) => Ok(()),
        Err(error) => Err(job.source.request_failure("asking its controller to look at", Some(key), error)),
    }
}
