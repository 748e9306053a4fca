//! The runtime with real components from `tests/guests`, built by `pivot-guests`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    unreachable_pub,
    reason = "tests: a panic is a failed test"
)]

mod behaviour;
mod bundled;
mod directory;
mod hostile;
mod log;
mod options;
mod questions;
mod secrets;
mod support;
mod trials;
mod trust;
mod wasi;
