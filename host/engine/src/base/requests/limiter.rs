//! Limits the number of concurrent requests. Too few waste the round trip, too many only queue in the API server. The limit grows
//! while answers are about as fast as the fastest ones were, and shrinks while they queue. When the server asks for fewer requests,
//! the limit is halved.

use std::sync::atomic::Ordering;
use std::time::Duration;

use pivot_places::Throttled;

/// An adaptive limit of concurrent requests.
#[derive(Debug)]
pub(crate) struct Limiter {
    limit: f64,
    fastest: Duration,
    throttled: Throttled,
    seen: u64,
}

impl Limiter {
    const START: f64 = 64.0;
    const MIN: f64 = 4.0;
    const MAX: f64 = 256.0;
    /// No server answers a write as fast. A node that took less had nothing to send, and says nothing about the server.
    const FASTEST_ANSWER: Duration = Duration::from_micros(100);

    pub(crate) fn new(throttled: Throttled) -> Self {
        let seen = throttled.load(Ordering::Relaxed);
        Self { limit: Self::START, fastest: Duration::MAX, throttled, seen }
    }

    pub(crate) fn has_room(&self, running: usize) -> bool {
        (running as f64) < self.limit
    }

    pub(crate) fn record_answer(&mut self, took: Duration) {
        let throttled = self.throttled.load(Ordering::Relaxed);
        if throttled > self.seen {
            self.seen = throttled;
            self.limit = (self.limit / 2.0).max(Self::MIN);
            return;
        }
        if took < Self::FASTEST_ANSWER {
            return;
        }
        // Slowly forget the fastest answer: it may date from before other clients kept the server busy.
        self.fastest = took.min(self.fastest.saturating_add(self.fastest / 1000));
        let queued = self.limit * (1.0 - self.fastest.as_secs_f64() / took.as_secs_f64().max(1e-6));
        if queued < 12.0 {
            self.limit = (self.limit + 1.0).min(Self::MAX);
        } else if queued > 48.0 {
            self.limit = (self.limit - 1.0).max(Self::MIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_grows_and_halves_when_throttled() {
        let throttled = Throttled::default();
        let mut limiter = Limiter::new(throttled.clone());
        (0..300).for_each(|_| limiter.record_answer(Duration::from_millis(20)));
        assert_eq!(limiter.limit, Limiter::MAX);
        throttled.fetch_add(1, Ordering::Relaxed);
        limiter.record_answer(Duration::from_millis(20));
        assert_eq!(limiter.limit, Limiter::MAX / 2.0);
        (0..300).for_each(|_| limiter.record_answer(Duration::from_millis(200)));
        assert!(limiter.limit < 64.0, "{}", limiter.limit);
    }

    /// A Secret without finalizers has no release patch, and most copies of a resumed move exist.
    #[test]
    fn nodes_without_requests_do_not_count() {
        let mut limiter = Limiter::new(Throttled::default());
        for _ in 0..300 {
            limiter.record_answer(Duration::from_micros(1));
            limiter.record_answer(Duration::from_millis(20));
        }
        assert_eq!(limiter.limit, Limiter::MAX);
    }
}
