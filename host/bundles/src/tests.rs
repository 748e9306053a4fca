//! Tests of the whole crate, and the bundles that tests share.

mod hostile;
mod hostile_tar;
#[path = "../../../tests/worlds/src/mutants.rs"]
#[expect(unreachable_pub, reason = "it is public where it is at home")]
mod mutants;
mod round;
pub(crate) mod sample;
