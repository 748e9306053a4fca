//! Waiting for others: for controllers, for plugins that say wait, for leases of other runs.
//!
//! A caller that lets few runs work at once can let another run work meanwhile. All long waits of a run are here, so that the caller
//! learns when the run waits: once no part of it works.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep};

use crate::base::outcome::failure::Failure;
use crate::base::requests::halt::Halter;

/// A wait that ends sooner is not reported.
const MIN_REPORTED_WAIT: Duration = Duration::from_secs(2);

/// Decides when a run that waited for others may work again.
#[async_trait]
pub trait Scheduler: Send + Sync {
    /// Notes that the run waits for others. Until it is admitted, it only watches objects and asks plugins.
    fn park(&self);

    /// Completes when the run may work again. A run that is halted doesn't wait for that.
    async fn admit(&self);
}

/// Tells a scheduler when the run waits for others. Without a scheduler, a run may always work.
#[derive(Clone, Default)]
pub struct Parking(Option<Arc<RunParts>>);

struct RunParts {
    scheduler: Arc<dyn Scheduler>,
    parts: Mutex<Parts>,
    /// Held by the part that asks for admission.
    admission: tokio::sync::Mutex<()>,
}

/// The parts of a run that go on side by side.
struct Parts {
    working: usize,
    /// The parts that have not ended; none while the run has only one.
    open: usize,
    parked: bool,
    /// Time that the run has waited for admission.
    queued: Duration,
}

/// The end of a time in which a run may wait for others. The time doesn't pass while the run waits for admission.
#[derive(Clone, Copy)]
pub(crate) struct Deadline<'a> {
    parking: &'a Parking,
    end: Instant,
    queued: Duration,
}

impl Deadline<'_> {
    /// Returns the end, as it is known now.
    pub(crate) fn end(&self) -> Instant {
        self.end + self.parking.queue_time().saturating_sub(self.queued)
    }

    /// Returns the time that is left.
    pub(crate) fn time_left(&self) -> Duration {
        self.end().saturating_duration_since(Instant::now())
    }
}

impl Parking {
    /// Reports waits to this scheduler.
    pub fn new(scheduler: Arc<dyn Scheduler>) -> Self {
        let parts = Mutex::new(Parts { working: 1, open: 0, parked: false, queued: Duration::ZERO });
        Self(Some(Arc::new(RunParts { scheduler, parts, admission: tokio::sync::Mutex::default() })))
    }

    /// A deadline after so much time.
    pub(crate) fn deadline(&self, time: Duration) -> Deadline<'_> {
        Deadline { parking: self, end: Instant::now() + time, queued: self.queue_time() }
    }

    /// Returns the time that the run has waited for admission.
    pub(crate) fn queue_time(&self) -> Duration {
        self.0.as_ref().map_or(Duration::ZERO, |run| run.parts().queued)
    }

    /// Waits for others, and then until the run may work again. The outcome of the wait stays as it is, however long the second takes. After
    /// a failure a run only undoes or ends: that waits for nothing.
    pub(crate) async fn wait_for_others<T>(
        &self,
        halter: &Halter,
        wait: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let Some(run) = &self.0 else { return wait.await };
        let mut wait = std::pin::pin!(wait);
        tokio::select! {
            biased;
            ended = &mut wait => return ended,
            () = sleep(MIN_REPORTED_WAIT) => {}
        }
        run.stop_part();
        let ended = wait.await;
        if ended.is_err() {
            run.parts().working += 1;
            return ended;
        }
        tokio::select! {
            biased;
            halt = halter.wait() => ended.and(Err(Failure::Halted(halt))),
            () = run.continue_part() => ended,
        }
    }

    /// Divides the run into parts that go on side by side. Each must be ended.
    pub(crate) fn begin_parts(&self, parts: usize) {
        if let Some(run) = &self.0 {
            let mut state = run.parts();
            state.working += parts.saturating_sub(1);
            state.open = parts;
        }
    }

    /// Ends a part. With the last one, the run has only one again.
    pub(crate) fn end_part(&self) {
        if let Some(run) = &self.0 {
            let mut state = run.parts();
            state.open = state.open.saturating_sub(1);
            let is_last = state.open == 0;
            drop(state);
            if !is_last {
                run.stop_part();
            }
        }
    }
}

impl RunParts {
    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop_part(&self) {
        let mut state = self.parts();
        state.working = state.working.saturating_sub(1);
        if state.working == 0 && !state.parked {
            state.parked = true;
            drop(state);
            self.scheduler.park();
        }
    }

    async fn continue_part(&self) {
        self.parts().working += 1;
        // Parts that come meanwhile are admitted with the first.
        let _first = self.admission.lock().await;
        if self.parts().parked {
            let asked = Instant::now();
            self.scheduler.admit().await;
            let mut state = self.parts();
            state.parked = false;
            state.queued += asked.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::base::requests::halt::Halt;

    /// Counts the calls, and admits as often as it has permits.
    struct Counts {
        parked: AtomicUsize,
        admitted: AtomicUsize,
        permits: Semaphore,
    }

    impl Counts {
        fn new(permits: usize) -> Arc<Self> {
            let (parked, admitted) = (AtomicUsize::new(0), AtomicUsize::new(0));
            Arc::new(Self { parked, admitted, permits: Semaphore::new(permits) })
        }

        fn seen(&self) -> (usize, usize) {
            (self.parked.load(Ordering::Relaxed), self.admitted.load(Ordering::Relaxed))
        }
    }

    #[async_trait]
    impl Scheduler for Counts {
        fn park(&self) {
            self.parked.fetch_add(1, Ordering::Relaxed);
        }

        async fn admit(&self) {
            self.permits.acquire().await.unwrap().forget();
            self.admitted.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn wait(seconds: u64) -> Result<u64, Failure> {
        sleep(Duration::from_secs(seconds)).await;
        Ok(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn only_long_waits_are_reported() {
        let counts = Counts::new(1);
        let (parking, halter) = (Parking::new(counts.clone()), Halter::default());
        assert_eq!(parking.wait_for_others(&halter, wait(1)).await.unwrap(), 1);
        assert_eq!(counts.seen(), (0, 0));
        assert_eq!(parking.wait_for_others(&halter, wait(60)).await.unwrap(), 60);
        assert_eq!(counts.seen(), (1, 1));
    }

    /// One part waits for an hour, while another works for a while and then waits as well; a third one ends.
    #[tokio::test(start_paused = true)]
    async fn run_is_parked_once_all_parts_wait() {
        let counts = Counts::new(9);
        let (parking, halter) = (Parking::new(counts.clone()), Halter::default());
        parking.begin_parts(3);
        let part = async |works: u64, waits: u64| {
            wait(works).await.unwrap();
            if waits > 0 {
                parking.wait_for_others(&halter, wait(waits)).await.unwrap();
            }
            parking.end_part();
        };
        let parts = [part(0, 3_600), part(600, 600), part(900, 0)];
        let looks = async {
            for (later, expected) in [(850, (0, 0)), (150, (1, 0)), (300, (2, 1)), (3_000, (2, 2))] {
                wait(later).await.unwrap();
                assert_eq!(counts.seen(), expected);
            }
        };
        tokio::join!(join_all(parts), looks);
        // The one part that is left works.
        assert_eq!(counts.seen(), (2, 2));
        parking.wait_for_others(&halter, wait(60)).await.unwrap();
        assert_eq!(counts.seen(), (3, 3));
    }

    #[tokio::test(start_paused = true)]
    async fn deadlines_stand_still_while_runs_queue() {
        let counts = Counts::new(0);
        let (parking, halter) = (Parking::new(counts.clone()), Halter::default());
        let deadline = parking.deadline(Duration::from_secs(100));
        let admits = async {
            wait(600).await.unwrap();
            counts.permits.add_permits(1);
        };
        let (ended, ()) = tokio::join!(parking.wait_for_others(&halter, wait(60)), admits);
        assert_eq!((ended.unwrap(), deadline.time_left()), (60, Duration::from_secs(40)));
    }

    #[tokio::test(start_paused = true)]
    async fn failed_waits_need_no_admission() {
        let counts = Counts::new(0);
        let (parking, halter) = (Parking::new(counts.clone()), Halter::default());
        let fails = async {
            wait(60).await?;
            Err::<(), _>(Failure::NoMove)
        };
        assert!(matches!(parking.wait_for_others(&halter, fails).await, Err(Failure::NoMove)));
        assert_eq!(counts.seen(), (1, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn halt_ends_wait_for_admission() {
        let counts = Counts::new(0);
        let (parking, halter) = (Parking::new(counts.clone()), Halter::default());
        let halts = async {
            wait(120).await.unwrap();
            halter.halt(Halt::Signal(15));
        };
        let (ended, ()) = tokio::join!(parking.wait_for_others(&halter, wait(60)), halts);
        assert!(matches!(ended, Err(Failure::Halted(Halt::Signal(15)))), "{ended:?}");
        assert_eq!(counts.seen(), (1, 0));
    }
}
