//! Endpoints, probed by the host. `check` and `settle` may use it; endpoints must match a pattern declared in
//! [`About`](crate::About) and granted by the operator.
//!
//! Ask for many at once: they are probed concurrently.

use crate::{Error, Result, host};

pub use crate::probe::{Answer, Probe, Service, Target};

/// Answers in the order of the probes, which run concurrently.
///
/// An HTTP error is an answer: that is an `Ok` with its status. `Err` is no answer at all (`unreachable`, `timeout`, `denied`,
/// …).
pub fn probe_all(probes: &[Probe]) -> Vec<Result<Answer>> {
    let mut answers = host::probe_endpoints(probes).into_iter();
    let missing = || Err(Error::new("no-answer", "the host gave no answer"));
    probes.iter().map(|_| answers.next().unwrap_or_else(missing)).collect()
}

/// One probe. For several, use [`probe_all`].
///
/// # Errors
/// If there was no answer.
pub fn probe(probe: Probe) -> Result<Answer> {
    let missing = || Err(Error::new("no-answer", "the host gave no answer"));
    probe_all(&[probe]).into_iter().next().unwrap_or_else(missing)
}
