//! The phases of a move, a file each. `drive/sequence.rs` and `drive/after_commit.rs` know their order.

pub(crate) mod commit;
pub(crate) mod copy;
pub(crate) mod drop_workers;
pub(crate) mod guard;
pub(crate) mod handover;
pub(crate) mod imported;
pub(crate) mod live;
pub(crate) mod lost_record;
pub(crate) mod new_namespaces;
pub(crate) mod pausing;
pub(crate) mod provider_deployments;
pub(crate) mod read_only_source;
pub(crate) mod release;
pub(crate) mod removal;
pub(crate) mod requeue;
pub(crate) mod retired;
pub(crate) mod settle;
pub(crate) mod signs;
pub(crate) mod unpausing;
