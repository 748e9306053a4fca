//! Every check that can refuse the move before anything is touched.

pub(crate) mod added;
pub(crate) mod agent;
pub(crate) mod approved;
pub(crate) mod before_pause;
pub(crate) mod dry_run;
pub(crate) mod existing;
pub(crate) mod rights;
pub(crate) mod same_cluster;
