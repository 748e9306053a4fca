//! The use of a plugin over all its calls in one run. A little for one object adds up over a thousand.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

/// Most concurrent calls of one plugin in one run. Each may use all of its memory, and a computing component wouldn't get more
/// threads anyway. Every run counts its own calls, so it doesn't wait for slow calls of another.
const SIDE_BY_SIDE: usize = 8;
/// Most lines that a plugin may log in one run.
pub(crate) const MOST_LINES: usize = 1_000;

/// The use of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// The number of calls.
    pub calls: u32,
    /// Wall clock, in total.
    pub time: Duration,
    /// Bytes of linear memory, the peak of a single call.
    pub peak_memory: usize,
}

/// Counts the use of all calls of one plugin in one run.
pub(crate) struct Tally {
    pub(crate) turns: Semaphore,
    lines: AtomicUsize,
    spent: Mutex<Duration>,
    used: Mutex<Used>,
}

impl Default for Tally {
    fn default() -> Self {
        let turns = Semaphore::new(SIDE_BY_SIDE);
        Self { turns, lines: AtomicUsize::default(), spent: Mutex::default(), used: Mutex::default() }
    }
}

impl Tally {
    /// Counts a log line; returns its number.
    pub(crate) fn count_line(&self) -> usize {
        self.lines.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds the time of a call.
    pub(crate) fn add_time(&self, time: Duration) {
        if let Ok(mut spent) = self.spent.lock() {
            *spent = spent.saturating_add(time);
        }
    }

    /// Counts a call for the report of use.
    pub(crate) fn count_call(&self, time: Duration, peak_memory: usize) {
        if let Ok(mut used) = self.used.lock() {
            used.calls = used.calls.saturating_add(1);
            used.time = used.time.saturating_add(time);
            used.peak_memory = used.peak_memory.max(peak_memory);
        }
    }

    /// Returns the use since the last call of this function.
    pub(crate) fn take_used(&self) -> Used {
        self.used.lock().map(|mut used| std::mem::take(&mut *used)).unwrap_or_default()
    }

    /// Returns the rest of `total`, or none if it is used up.
    pub(crate) fn remaining_time(&self, total: Duration) -> Option<Duration> {
        let spent = self.spent.lock().map(|spent| *spent).unwrap_or(total);
        total.checked_sub(spent).filter(|left| !left.is_zero())
    }
}
