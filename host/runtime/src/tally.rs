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

/// Most denied questions that the report of use has.
const MOST_DENIED: usize = 32;

/// The use of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// The number of calls.
    pub calls: u32,
    /// Wall clock, in total.
    pub time: Duration,
    /// Bytes of linear memory, the peak of a single call.
    pub peak_memory: usize,
    /// Reasons why questions were denied, each once.
    pub denied: Vec<String>,
    /// True if a call has read the configuration.
    pub reads_config: bool,
    /// True if an answer had one of the run's marks.
    pub has_mark: bool,
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
        self.update_used(|used| {
            used.calls = used.calls.saturating_add(1);
            used.time = used.time.saturating_add(time);
            used.peak_memory = used.peak_memory.max(peak_memory);
        });
    }

    /// Adds a denied question to the report of use.
    pub(crate) fn add_denied(&self, why: &str) {
        self.update_used(|used| {
            if used.denied.len() < MOST_DENIED && !used.denied.iter().any(|other| other == why) {
                used.denied.push(why.to_owned());
            }
        });
    }

    /// Changes the report of use.
    pub(crate) fn update_used(&self, change: impl FnOnce(&mut Used)) {
        if let Ok(mut used) = self.used.lock() {
            change(&mut used);
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
