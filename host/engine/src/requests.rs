//! Requests to the two sides: tried again where that helps, as many at once as a server takes, stopped where it is safe.

pub(crate) mod dataflow;
pub(crate) mod halt;
pub(crate) mod limiter;
pub(crate) mod listing;
pub(crate) mod side;
pub(crate) mod side_by_side;
pub(crate) mod wait;
