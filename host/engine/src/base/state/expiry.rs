//! Decides whether a held lease belongs to a dead run.
//!
//! The test is whether it stays unchanged for its duration on our own clock, never by comparing the clocks of two machines.

use std::time::Duration;

use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use tokio::time::Instant;

use crate::base::events::Watcher;
use crate::base::outcome::failure::{Failure, RUN_ACTIVE};
use crate::base::requests::halt::Halter;
use crate::base::state::lease::{DURATION, Leases, SeenLease};

/// Waits until a lease that was seen is free, gone, or unchanged for its duration; in the last case, returns it as last seen. A
/// lease that changes is held by a run that is alive.
pub(crate) async fn wait_until_free(
    leases: &Leases,
    seen: &SeenLease,
    halter: &Halter,
    watcher: &dyn Watcher,
) -> Result<Option<SeenLease>, Failure> {
    // Starting now: the time until the answer doesn't show how long the lease was unchanged.
    let still_since = Instant::now();
    let left = DURATION.as_secs();
    watcher.event(leases.waiting_event(seen, left));
    loop {
        let stood_still = still_since.elapsed();
        if stood_still >= DURATION {
            return Ok(Some(seen.clone()));
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
            halt = halter.wait() => return Err(Failure::Halted(halt)),
        }
        match leases.read(&seen.name).await? {
            Some(now) if now.resource_version == seen.resource_version => {}
            Some(now) if !now.holder.is_empty() => return Err(refuse_active_run(leases, &now)),
            _ => return Ok(None),
        }
    }
}

/// Returns the refusal if another run is active.
pub(crate) fn refuse_active_run(leases: &Leases, seen: &SeenLease) -> Failure {
    let (holder, lease) = (&seen.holder, leases.key(&seen.name));
    let claim = seen.claim.as_ref().map(|id| format!(" for move {id}")).unwrap_or_default();
    Failure::from_refusal(Refusal {
        code: RUN_ACTIVE,
        side: leases.handle.side,
        message: format!("another run is working on this source: {holder} holds {lease}{claim}"),
        object: Some(lease),
        others: Vec::new(),
        remedies: vec![Remedy::WaitForOtherRun],
    })
}
