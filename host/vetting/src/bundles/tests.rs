//! Tests of the whole crate, and the bundles that tests share.

mod hostile;
mod hostile_tar;
mod round;
pub(crate) mod sample;
