//! State that outlives a run, kept on the two sides and never on the machine that runs.

pub(crate) mod cluster_copies;
pub(crate) mod expiry;
pub(crate) mod journal;
pub(crate) mod lease;
pub(crate) mod locks;
pub(crate) mod moves;
pub(crate) mod record_namespace;
pub(crate) mod records;
