//! Drawing a controller's attention to a pause that it has not noticed.
//!
//! Some controllers watch Clusters only to learn that they are *un*-paused (the predicate `ClusterUnpaused`, which Cluster API
//! itself has given up; the Metal3 provider's Metal3Cluster has it). Their objects say that they are not paused until something
//! else makes the controller look, which may be hours. So an object whose controller stays silent is written to once:
//! the annotation that undoes a move's pause, with nothing to undo. To wait for nothing instead would be to
//! believe a condition only where it is convenient. To pause the object itself would not do: such controllers leave out
//! the events of objects that carry the pause.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use pivot_core::pause::{self, Pending};
use pivot_core::{Key, Kind, Side};
use pivot_places::PlaceError;

use crate::job::Job;
use crate::outcome::failure::Failure;
use crate::requests::side_by_side::{self, OBJECTS};

/// How long controllers have until they are asked to look again. Those that noticed need a fraction of it. It is over before
/// people are told for the first time what is waited for: what they are told is how much is left of the whole wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(4);

/// Writes to those of these source objects whose controllers have not acknowledged the pause, and to none twice.
pub(crate) async fn all(job: &Job, waiting: BTreeMap<Arc<Kind>, BTreeSet<Key>>) -> Result<(), Failure> {
    let keys =
        waiting.into_iter().flat_map(|(kind, keys)| keys.into_iter().map(move |key| (kind.clone(), key)));
    let work = keys.map(|(kind, key)| async move { one(job, &kind, &key).await }.boxed());
    side_by_side::all(OBJECTS, work.collect()).await.map(drop)
}

async fn one(job: &Job, kind: &Arc<Kind>, key: &Key) -> Result<(), Failure> {
    let Some(object) = job.source.get(kind, key).await? else { return Ok(()) };
    let unreadable = |error| Failure::Object(Side::Source, error);
    let silent = pause::pending(&object, false).map_err(unreadable)? == Some(Pending::NotAcknowledged);
    if !silent || pause::is_ours(&object.meta, &job.move_id) {
        return Ok(());
    }
    match job.source.patch(kind, key, &pause::poke(&job.move_id)).await {
        Ok(_) | Err(PlaceError::NotFound(_)) => Ok(()),
        Err(error) => Err(job.source.failed("asking its controller to look at", Some(key), error)),
    }
}
