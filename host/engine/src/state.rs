//! What outlives a run, on the two sides and never on the machine that runs.

pub(crate) mod journal;
pub(crate) mod lease;
pub(crate) mod open;
pub(crate) mod records;
