//! Tests of the whole crate, and the keys and statements that tests share.

mod cosign;
mod hostile;
mod openssl;
pub(crate) mod sample;
