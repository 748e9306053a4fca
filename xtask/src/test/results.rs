//! Results of all stages.

use std::time::Duration;

use super::tally::Tally;

/// Slowest tests that the summary lists.
pub(super) const MAX_SLOWEST: usize = 12;

/// The results of all stages.
#[derive(Default)]
pub(super) struct Results {
    pub(super) tally: Tally,
    /// Slow tests with their durations.
    pub(super) tests: Vec<(String, Duration)>,
}

pub(super) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
