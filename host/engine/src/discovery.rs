//! Reads a side, and makes a plan from that.

pub(crate) mod carried;
pub(crate) mod first_reading;
pub(crate) mod kinds;
pub(crate) mod namespaces;
pub(crate) mod nothing;
pub(crate) mod objects;
pub(crate) mod planning;
