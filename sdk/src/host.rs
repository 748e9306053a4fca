//! Access to the host: the component's imports or, in a native test, the harness.

#[cfg(target_arch = "wasm32")]
pub(crate) use crate::guest::imports::{
    config, log, move_id, place, probe, providers, read, run, target_namespace, written_since_commit,
};
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::test::fake::{
    config, log, move_id, place, probe, providers, read, run, target_namespace, written_since_commit,
};
