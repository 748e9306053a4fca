//! Readings of both sides, and the plan that follows from them.

pub(crate) mod also_copied;
pub(crate) mod copy_body;
pub(crate) mod explain_empty;
pub(crate) mod first_reading;
pub(crate) mod namespaces;
pub(crate) mod objects;
pub(crate) mod planning;
pub(crate) mod readings;
pub(crate) mod snapshot;
