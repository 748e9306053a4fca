//! The time: a text for people, on which no decision depends, and two clocks for the fence (`requests/halt.rs`).

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use tokio::time::Instant;

/// Returns the current time in UTC, as text.
pub(crate) fn utc_now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// One moment, by two clocks: each of them alone misses time that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// By a clock that is never set, and may stand still while the machine sleeps.
    pub steady: Instant,
    /// By a clock that goes on while the machine sleeps, and can be set.
    pub wall: SystemTime,
}

impl Moment {
    /// Returns the part of a limit that is left since an earlier moment; `None` if one of the clocks says that the limit has passed.
    /// A wall clock that was set back says nothing.
    pub(crate) fn left_of(&self, limit: Duration, since: Self) -> Option<Duration> {
        let by_wall = self.wall.duration_since(since.wall).unwrap_or_default();
        let by_steady = self.steady.saturating_duration_since(since.steady);
        limit.checked_sub(by_steady.max(by_wall))
    }
}

/// Tells the time by both clocks.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Moment + Send + Sync>);

impl Clock {
    /// A clock that is read by this function.
    pub fn new(read: impl Fn() -> Moment + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(crate) fn read(&self) -> Moment {
        (self.0)()
    }
}

impl Default for Clock {
    /// The machine's clocks.
    fn default() -> Self {
        Self::new(|| Moment { steady: Instant::now(), wall: SystemTime::now() })
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.read()).finish()
    }
}
