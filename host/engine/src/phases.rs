//! The steps of a move. `sequence.rs` knows their order.

pub(crate) mod commit;
pub(crate) mod copy;
pub(crate) mod evidence;
pub(crate) mod forgotten;
pub(crate) mod live;
pub(crate) mod namespaces;
pub(crate) mod new_dependents;
pub(crate) mod pausing;
pub(crate) mod reading;
pub(crate) mod release;
pub(crate) mod requeue;
pub(crate) mod rollback;
pub(crate) mod sequence;
pub(crate) mod settle;
