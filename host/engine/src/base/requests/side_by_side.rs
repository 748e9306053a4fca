//! Concurrent requests, never more than a limit. All limits are here.
//!
//! Work is boxed before it starts: the compiler can't prove futures made inside a stream to be `Send`, and a command must be able
//! to run on any thread.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::base::outcome::failure::Failure;

/// Lists of moving objects, some with whole bodies.
pub(crate) const LISTS: usize = 24;
/// Lists that are mostly empty and cost a round trip each.
pub(crate) const EMPTY_LISTS: usize = 64;
/// Single objects: looks, pauses, resumes.
pub(crate) const OBJECTS: usize = 64;
/// Dry runs: admission takes a server some time.
pub(crate) const DRY_RUNS: usize = 24;
/// Namespaces: a whole management cluster has many.
pub(crate) const NAMESPACES: usize = 16;

/// A piece of work.
pub(crate) type Work<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// Does all the work, in any order. The first failure cancels the rest: only for reads.
pub(crate) async fn try_all<T: Send>(limit: usize, work: Vec<Work<'_, T>>) -> Result<Vec<T>, Failure> {
    stream::iter(work).buffer_unordered(limit).try_collect().await
}

/// Does all the writes, in any order. After a failure no further write is begun, and those under way are awaited. A write that is
/// not awaited may still take effect, even after it was undone.
pub(crate) async fn write_all<T: Send>(limit: usize, work: Vec<Work<'_, T>>) -> Result<Vec<T>, Failure> {
    let failed = &AtomicBool::new(false);
    let begun = work.into_iter().map(|work| {
        async move {
            if failed.load(Ordering::Relaxed) {
                return None;
            }
            let written = work.await;
            failed.fetch_or(written.is_err(), Ordering::Relaxed);
            Some(written)
        }
        .boxed()
    });
    let work: Vec<_> = begun.collect();
    let written: Vec<_> = stream::iter(work).buffer_unordered(limit).collect().await;
    written.into_iter().flatten().collect()
}

/// Does all the work, even if some of it fails.
pub(crate) async fn run_all<T: Send>(limit: usize, work: Vec<Work<'_, T>>) -> Vec<Result<T, Failure>> {
    stream::iter(work).buffer_unordered(limit).collect().await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failed_write_waits_for_in_flight_writes() {
        let (begun, ended) = (std::sync::Mutex::new(Vec::new()), std::sync::Mutex::new(Vec::new()));
        let work = (0..4_u64).map(|nth| -> Work<'_, ()> {
            let (begun, ended) = (&begun, &ended);
            async move {
                begun.lock().unwrap().push(nth);
                sleep(Duration::from_secs(nth + 1)).await;
                ended.lock().unwrap().push(nth);
                if nth == 0 { Err(Failure::Bug("no".into())) } else { Ok(()) }
            }
            .boxed()
        });
        assert!(matches!(write_all(2, work.collect()).await, Err(Failure::Bug(_))));
        assert_eq!((begun.into_inner().unwrap(), ended.into_inner().unwrap()), (vec![0, 1], vec![0, 1]));
    }
}
