//! Reports of a wait: when it changes, and every half minute while it doesn't.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::base::events::{Awaited, Event, Watcher};

/// Time between two checks for a due report.
pub(crate) const REPORT_CHECK: Duration = Duration::from_secs(1);
/// Time between two reports of an unchanged wait.
const UNCHANGED_INTERVAL: Duration = Duration::from_secs(30);
/// A wait for hundreds of objects changes all the time: reports are at least this far apart.
const MIN_INTERVAL: Duration = Duration::from_secs(5);

/// The last report, and its time.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<Option<(Instant, Vec<Awaited>)>>);

impl Reports {
    /// Delays the first report, for a wait that usually ends sooner.
    pub(crate) fn quiet_at_first() -> Self {
        Self(Mutex::new(Some((Instant::now(), Vec::new()))))
    }

    /// Reports the awaited objects and the time left, if a report is due.
    pub(crate) fn report(&self, watcher: &dyn Watcher, awaited: Vec<Awaited>, deadline: Instant) {
        let now = Instant::now();
        {
            let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let due = last.as_ref().is_none_or(|(at, reported)| {
                now.duration_since(*at)
                    >= if *reported == awaited { UNCHANGED_INTERVAL } else { MIN_INTERVAL }
            });
            if awaited.is_empty() || !due {
                return;
            }
            *last = Some((now, awaited.clone()));
        }
        watcher.event(Event::waiting(awaited, deadline.saturating_duration_since(now).as_secs()));
    }
}
