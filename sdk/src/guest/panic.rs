//! What a plugin says when it panics.
//!
//! wasm32-unknown-unknown has no stderr: without this, all the host sees is that unreachable code was reached.

use std::sync::Once;

use crate::log::{self, Level};

/// Sends the text of a panic to the operator's log, in front of the trap that follows it.
pub(super) fn speak() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| log::line(Level::Error, &info.to_string())));
    });
}
