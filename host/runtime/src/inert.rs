//! WASI without authority.
//!
//! Stock toolchains import WASI whether or not a program uses it. The host serves an empty environment: no files, no arguments,
//! no environment variables; constant clocks on which every wait ends immediately, and a fixed stream of random numbers, so that
//! the same input gives the same output; stdout and stderr go to the plugin's log. Sockets and HTTP are not available.

use std::time::Duration;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{Deterministic, HostWallClock, WasiCtx, WasiCtxBuilder};

use crate::interface::InterfaceName;

/// Served interfaces, by package.
const SERVED: [(&str, &[&str]); 5] = [
    (
        "wasi:cli",
        &[
            "environment",
            "exit",
            "stderr",
            "stdin",
            "stdout",
            "terminal-input",
            "terminal-output",
            "terminal-stderr",
            "terminal-stdin",
            "terminal-stdout",
        ],
    ),
    ("wasi:clocks", &["monotonic-clock", "wall-clock"]),
    ("wasi:filesystem", &["preopens", "types"]),
    ("wasi:io", &["error", "poll", "streams"]),
    ("wasi:random", &["insecure", "insecure-seed", "random"]),
];

/// The time on the wall clock: 2026-01-01, after most certificates begin and before most deadlines.
const NOW: Duration = Duration::from_secs(1_767_225_600);
/// The bytes of "random" numbers, repeated.
const STREAM: &[u8] = b"pivot-host: the same input gives the same output";
/// Most random bytes per call.
const MAX_RANDOM: u64 = 64 << 10;
/// Most bytes that a plugin may print in one call.
const MAX_PRINTED: usize = 64 << 10;

/// Returns true if a WASI interface is served.
pub(crate) fn is_served(interface: &InterfaceName<'_>) -> bool {
    let preview_2 =
        interface.version.as_ref().is_some_and(|v| (v.major, v.minor) == (0, 2) && v.pre.is_empty());
    preview_2
        && SERVED
            .iter()
            .any(|(package, names)| *package == interface.package && names.contains(&interface.name))
}

/// The empty environment of one call.
pub(crate) struct Inert {
    pub(crate) wasi: WasiCtx,
    pub(crate) table: ResourceTable,
    printed: MemoryOutputPipe,
}

impl Default for Inert {
    fn default() -> Self {
        let printed = MemoryOutputPipe::new(MAX_PRINTED);
        let wasi = WasiCtxBuilder::new()
            .stdout(printed.clone())
            .stderr(printed.clone())
            .wall_clock(Still)
            .secure_random(Deterministic::new(STREAM.to_vec()))
            .insecure_random(Deterministic::new(STREAM.to_vec()))
            .insecure_random_seed(0)
            .max_random_size(MAX_RANDOM)
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .build();
        Self { wasi, table: ResourceTable::new(), printed }
    }
}

impl Inert {
    /// Everything printed to stdout and stderr.
    pub(crate) fn printed_text(&self) -> String {
        String::from_utf8_lossy(&self.printed.contents()).into_owned()
    }
}

struct Still;

impl HostWallClock for Still {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        NOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_and_http_are_not_served() {
        for (package, names) in SERVED {
            assert!(!["wasi:sockets", "wasi:http"].contains(&package));
            assert!(names.is_sorted());
        }
    }
}
