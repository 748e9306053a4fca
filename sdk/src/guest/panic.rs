//! Reports panics.
//!
//! wasm32-unknown-unknown has no stderr: without this, the host only learns that unreachable code was reached.

use std::sync::Once;

use crate::log::{self, Level};

/// Logs the text of a panic to the operator's log, before the trap that follows it.
pub(super) fn log_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| log::write_line(Level::Error, &info.to_string())));
    });
}
