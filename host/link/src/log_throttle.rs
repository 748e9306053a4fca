//! Fewer lines in a log than strangers could cause.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The least time between two lines about one thing.
const EVERY: Duration = Duration::from_secs(60);

/// Counts the lines that are not logged, by their reason.
#[derive(Debug, Default)]
pub(crate) struct LogThrottle {
    reasons: Mutex<BTreeMap<&'static str, (Instant, u64)>>,
}

impl LogThrottle {
    /// Returns the number of lines that were left out since the last line for this reason. `None` leaves this line out, too.
    pub(crate) fn admit_line(&self, reason: &'static str) -> Option<u64> {
        let now = Instant::now();
        let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        match reasons.get_mut(reason) {
            Some((last, left_out)) if now.duration_since(*last) < EVERY => {
                *left_out += 1;
                None
            }
            Some((last, left_out)) => {
                *last = now;
                Some(std::mem::take(left_out))
            }
            None => {
                reasons.insert(reason, (now, 0));
                Some(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_reason_has_one_line_a_minute() {
        let quiet = LogThrottle::default();
        assert_eq!(quiet.admit_line("a"), Some(0));
        assert_eq!(quiet.admit_line("b"), Some(0));
        assert!((0..1_000).all(|_| quiet.admit_line("a").is_none()));
        tokio::time::advance(EVERY).await;
        assert_eq!((quiet.admit_line("a"), quiet.admit_line("b")), (Some(1_000), Some(0)));
        assert_eq!(quiet.admit_line("a"), None);
    }
}
