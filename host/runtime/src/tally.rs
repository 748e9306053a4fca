//! What a plugin uses over all its calls. What is little for one object is a lot for a thousand.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

/// How many calls of one plugin run side by side. Each may use all of its memory; more threads than these a component
/// that computes would not get anyway.
const SIDE_BY_SIDE: usize = 8;
/// How many lines a plugin may log in one run.
pub(crate) const MOST_LINES: usize = 1_000;

/// Watches all calls of one plugin.
pub(crate) struct Tally {
    pub(crate) turns: Semaphore,
    lines: AtomicUsize,
    spent: Mutex<Duration>,
}

impl Default for Tally {
    fn default() -> Self {
        let turns = Semaphore::new(SIDE_BY_SIDE);
        Self { turns, lines: AtomicUsize::default(), spent: Mutex::default() }
    }
}

impl Tally {
    /// Counts a line of log; says which it is.
    pub(crate) fn line(&self) -> usize {
        self.lines.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds what a call took.
    pub(crate) fn spend(&self, time: Duration) {
        if let Ok(mut spent) = self.spent.lock() {
            *spent = spent.saturating_add(time);
        }
    }

    /// What is left of that much; none: nothing.
    pub(crate) fn left(&self, total: Duration) -> Option<Duration> {
        let spent = self.spent.lock().map(|spent| *spent).unwrap_or(total);
        total.checked_sub(spent).filter(|left| !left.is_zero())
    }
}
