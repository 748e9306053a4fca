//! A clock that is set by hand: a month is over when a test says so.

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use pivot_link::Clock;
use tokio::sync::watch;

/// Seconds since 1970.
pub(crate) const BEGINNING: u64 = 1_800_000_000;

#[derive(Debug)]
pub(crate) struct ByHand(watch::Sender<Timestamp>);

impl ByHand {
    pub(crate) fn new() -> Self {
        Self::at(Timestamp::from_second(BEGINNING.try_into().unwrap()).unwrap())
    }

    pub(crate) fn at(now: Timestamp) -> Self {
        Self(watch::Sender::new(now))
    }

    /// So much later it is.
    pub(crate) fn wait(&self, time: SignedDuration) {
        self.0.send_modify(|now| *now += time);
    }
}

impl Clock for ByHand {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    fn until(&self, time: Timestamp) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // It lives as long as who waits by it.
            drop(self.0.subscribe().wait_for(|now| *now >= time).await);
        })
    }
}
