//! Tests of the whole crate.

mod hostile;
