//! Requests to the two sides: retried if that can help, as many at once as a server takes, stopped when it is safe.

/// Number of times that an object, or the source as a whole, may change during the work on it before the run gives up.
pub(crate) const MAX_ROUNDS: usize = 5;

pub(crate) mod dataflow;
pub(crate) mod halt;
pub(crate) mod limiter;
pub(crate) mod listing;
pub(crate) mod parking;
pub(crate) mod reports;
pub(crate) mod side;
pub(crate) mod side_by_side;
pub(crate) mod wait;
pub(crate) mod webhooks;
