//! Stopping at the next safe point, and not writing without a lease.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::base::clock::{Clock, Moment};

/// Reason for a run to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// A signal: 2 or 15.
    Signal(u8),
    /// The lease could not be renewed: another run may be at work, so not one more write.
    LeaseLost(String),
}

/// Shared by every task that can ask for a stop and every task that must obey it.
#[derive(Clone, Debug)]
pub struct Halter {
    state: Arc<watch::Sender<Option<Halt>>>,
    renewed: Arc<Mutex<Option<Moment>>>,
    clock: Clock,
}

/// After this long without a renewal of the lease, nothing is written any more.
pub(crate) const FENCE: Duration = Duration::from_secs(10);

impl Default for Halter {
    fn default() -> Self {
        Self::with_clock(Clock::default())
    }
}

impl Halter {
    /// Judges by this clock whether a lease was renewed in time.
    pub fn with_clock(clock: Clock) -> Self {
        Self { state: Arc::new(watch::Sender::new(None)), renewed: Arc::default(), clock }
    }

    /// Asks for a stop. A lost lease outweighs a signal; otherwise the first reason counts.
    pub fn halt(&self, why: Halt) {
        self.state.send_if_modified(|state| {
            let stronger = matches!(why, Halt::LeaseLost(_)) && !matches!(state, Some(Halt::LeaseLost(_)));
            let change = state.is_none() || stronger;
            if change {
                *state = Some(why);
            }
            change
        });
    }

    /// Returns the reason to stop, if a stop was requested.
    pub fn halt_reason(&self) -> Option<Halt> {
        self.state.borrow().clone()
    }

    pub(crate) fn read_clock(&self) -> Moment {
        self.clock.read()
    }

    /// Notes that the lease was valid at this moment; `None` means that there is no lease to lose.
    pub(crate) fn note_renewed(&self, at: Option<Moment>) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// Returns the time in which the lease must be renewed; `None` if that time has passed.
    pub(crate) fn time_to_renew(&self) -> Option<Duration> {
        match *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(renewed) => self.read_clock().left_of(FENCE, renewed),
            None => Some(FENCE),
        }
    }

    /// Returns why all writes must stop, if they must. A deadline, not only a flag: a process that was suspended, or starved of CPU
    /// time, must not write before some task gets to raise the flag. A lease that is lost stays lost.
    pub fn lease_loss(&self) -> Option<String> {
        if let Some(Halt::LeaseLost(why)) = self.halt_reason() {
            return Some(why);
        }
        if self.time_to_renew().is_some() {
            return None;
        }
        let why = format!("it was not renewed for {} seconds", FENCE.as_secs());
        self.halt(Halt::LeaseLost(why.clone()));
        Some(why)
    }

    /// Completes when a stop is asked for.
    pub async fn wait(&self) -> Halt {
        let mut receiver = self.state.subscribe();
        loop {
            if let Some(halt) = receiver.borrow_and_update().clone() {
                return halt;
            }
            // The sender lives in self, so this can't fail while we wait.
            if receiver.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lost_lease_stays_lost() {
        let halter = Halter::default();
        halter.note_renewed(Some(halter.read_clock()));
        tokio::time::advance(FENCE).await;
        assert_eq!(halter.lease_loss(), None);
        tokio::time::advance(Duration::from_millis(1)).await;
        let lost = halter.lease_loss();
        assert_eq!(lost.as_deref(), Some("it was not renewed for 10 seconds"));
        // A late answer renews nothing, and waits for a stop complete.
        halter.note_renewed(Some(halter.read_clock()));
        assert_eq!(halter.lease_loss(), lost);
        assert_eq!(halter.wait().await, Halt::LeaseLost(lost.unwrap()));
    }

    #[test]
    fn halter_without_lease_loses_none() {
        let halter = Halter::default();
        assert_eq!((halter.lease_loss(), halter.time_to_renew()), (None, Some(FENCE)));
        halter.halt(Halt::Signal(2));
        assert_eq!(halter.lease_loss(), None);
        halter.halt(Halt::LeaseLost("taken".into()));
        halter.halt(Halt::Signal(15));
        assert_eq!(halter.halt_reason(), Some(Halt::LeaseLost("taken".into())));
    }
}
