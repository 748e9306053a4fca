//! The runtime with real components: those of `tests/guests`, built by `pivot-guests`.

mod behaviour;
mod bench;
mod directory;
mod hostile;
mod questions;
mod secrets;
mod support;
mod trust;
mod wasi;
