//! Following the Pivots of a cluster: their names, each of them, then the changes, and again from the names when the watch ends.
//!
//! Anyone with write access to Pivots decides how many there are and how large they are. So they are read one by one, and only
//! the relevant parts of each are kept.

use std::sync::Arc;
use std::time::Duration;

use futures::future::ready;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use pivot_core::Key;
use pivot_places::{Event, PlaceError};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::home::{Home, pause_after};
use crate::metrics::{Metrics, PIVOTS_UNREADABLE};
use crate::resource::Pivot;

/// The pause before the next list: short after a watch that ended, longer after one that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Most changes that may wait to be handled.
const MAX_WAITING_CHANGES: usize = 64;
/// Pivots that are read at once.
const MAX_READS: usize = 8;

/// A change of Pivots.
pub(crate) enum PivotChange {
    /// All Pivots that exist.
    All(Vec<Pivot>),
    /// The current state of a Pivot.
    Updated(Box<Pivot>),
    /// Key of a Pivot that is gone.
    Gone(Key),
}

/// The stream of changes. Dropping it ends the watch.
pub(crate) struct Changes {
    changes: mpsc::Receiver<PivotChange>,
    task: JoinHandle<()>,
}

impl Changes {
    pub(crate) async fn next(&mut self) -> Option<PivotChange> {
        self.changes.recv().await
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits until the Pivots can be read: a controller that can't read them must not lead.
pub(crate) async fn wait_until_readable(home: &Home, metrics: &Metrics) {
    let mut pause = RETRY_PAUSE;
    loop {
        match home.place.list_identities(&home.pivots, None).await {
            Ok(_) => return metrics.remove_obstacle(PIVOTS_UNREADABLE),
            Err(error) => pause = report_unreadable(&error, metrics, pause),
        }
        sleep(pause).await;
    }
}

/// Reports that the Pivots can't be read; returns the pause before the next look.
fn report_unreadable(error: &PlaceError, metrics: &Metrics, pause: Duration) -> Duration {
    tracing::warn!(%error, "the Pivots can't be read");
    metrics.add_obstacle(PIVOTS_UNREADABLE, error.to_string());
    pause_after(error, (pause * 2).min(MAX_PAUSE))
}

pub(crate) fn follow_pivots(home: Arc<Home>, metrics: Arc<Metrics>) -> Changes {
    let (send, changes) = mpsc::channel(MAX_WAITING_CHANGES);
    let task = tokio::spawn(async move {
        let mut pause = RETRY_PAUSE;
        loop {
            match list_and_watch(&home, &metrics, &send).await {
                Ok(()) | Err(PlaceError::Expired(_)) => pause = RETRY_PAUSE,
                Err(error) => pause = report_unreadable(&error, &metrics, pause),
            }
            if send.is_closed() {
                return;
            }
            sleep(pause).await;
        }
    });
    Changes { changes, task }
}

/// Sends all Pivots, and then their changes until the watch ends.
async fn list_and_watch(
    home: &Home,
    metrics: &Metrics,
    send: &mpsc::Sender<PivotChange>,
) -> Result<(), PlaceError> {
    let listing = home.place.list_identities(&home.pivots, None).await?;
    metrics.remove_obstacle(PIVOTS_UNREADABLE);
    let reads = listing.metas.into_iter().map(|meta| home.find_pivot(meta.namespace, meta.name).boxed());
    let reads: Vec<_> = reads.collect();
    // A Pivot that is gone meanwhile is left out, and the watch reports it.
    let pivots = stream::iter(reads).buffered(MAX_READS).try_filter_map(|pivot| ready(Ok(pivot)));
    let pivots: Vec<Pivot> = pivots.try_collect().await?;
    // An error means that the receiver is gone.
    if send.send(PivotChange::All(pivots)).await.is_err() {
        return Ok(());
    }
    let mut events = home.place.watch(&home.pivots, None, &listing.resource_version).await?;
    while let Some(event) = events.next().await {
        let change = match event? {
            Event::Applied(object) => PivotChange::Updated(Box::new(Pivot::from_object(&object))),
            Event::Deleted(object) => PivotChange::Gone(object.key()),
        };
        if send.send(change).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}
