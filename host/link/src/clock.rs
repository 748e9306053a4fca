//! The current time behind a trait. A certificate lives for a month, and tests can't wait that long.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;
use tokio_rustls::rustls::pki_types::UnixTime;
use tokio_rustls::rustls::time_provider::TimeProvider;

/// A clock, and who waits by it.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Timestamp;
    /// Waits until it is this late.
    fn until(&self, time: Timestamp) -> BoxFuture<'_, ()>;
}

/// The machine's.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

/// A machine that sleeps, or whose clock is set, doesn't wait longer than this for it.
const LOOK: Duration = Duration::from_secs(60);

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn until(&self, time: Timestamp) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            loop {
                // Of the past nothing is left.
                let left = Duration::try_from(time.duration_since(self.now())).unwrap_or_default();
                if left.is_zero() {
                    return;
                }
                sleep(left.min(LOOK)).await;
            }
        })
    }
}

/// The time after another.
pub(crate) fn add_saturating(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// A clock for TLS.
#[derive(Debug)]
pub(crate) struct ForTls(pub(crate) Arc<dyn Clock>);

impl TimeProvider for ForTls {
    fn current_time(&self) -> Option<UnixTime> {
        let since = u64::try_from(self.0.now().as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(since)))
    }
}
