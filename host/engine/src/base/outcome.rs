//! The outcome of a run: failures, remedies and counts.

pub(crate) mod change_counts;
pub(crate) mod failure;
pub(crate) mod one_sided;
pub(crate) mod paused_cluster;
pub(crate) mod remedies;
pub(crate) mod stop;
pub(crate) mod under_way;
pub(crate) mod used_risks;
