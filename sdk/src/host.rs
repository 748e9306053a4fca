//! Access to the host: the component's imports or, in a native test, the harness.

#[cfg(target_arch = "wasm32")]
pub(crate) use crate::guest::imports::{
    list_providers, move_id, place_type, probe_endpoints, read_config, read_objects, run_word,
    target_namespace, write_log, written_since_commit,
};
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::test::fake::{
    list_providers, move_id, place_type, probe_endpoints, read_config, read_objects, run_word,
    target_namespace, write_log, written_since_commit,
};
