//! Reading a side, and making a plan of what was read.

pub(crate) mod first_look;
pub(crate) mod kinds;
pub(crate) mod nothing;
pub(crate) mod objects;
pub(crate) mod planning;
