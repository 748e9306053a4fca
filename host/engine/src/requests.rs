//! Requests to the two sides: tried again where that helps, as many at once as a server takes, stopped where it is safe.

/// How often something may change under our hands before we give up on it: objects, and the source as a whole.
pub(crate) const ROUNDS: usize = 5;

pub(crate) mod dataflow;
pub(crate) mod halt;
pub(crate) mod limiter;
pub(crate) mod listing;
pub(crate) mod reports;
pub(crate) mod side;
pub(crate) mod side_by_side;
pub(crate) mod wait;
