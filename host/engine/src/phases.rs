//! The steps of a move. `sequence.rs` knows their order.

pub(crate) mod after_commit;
pub(crate) mod alone;
pub(crate) mod commit;
pub(crate) mod copy;
pub(crate) mod evidence;
pub(crate) mod handover;
pub(crate) mod imported;
pub(crate) mod live;
pub(crate) mod lost_record;
pub(crate) mod new_dependents;
pub(crate) mod new_namespaces;
pub(crate) mod outdated_source;
pub(crate) mod pausing;
pub(crate) mod read_only_source;
pub(crate) mod readings;
pub(crate) mod recovery;
pub(crate) mod release;
pub(crate) mod requeue;
pub(crate) mod retired;
pub(crate) mod rollback;
pub(crate) mod sequence;
pub(crate) mod settle;
