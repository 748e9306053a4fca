//! What a trial may use: so much for every component, and more for each byte of its code.
//!
//! The figures are several times what real components need: StarlingMonkey (JavaScript) and Go's runtime, each with 8 MB
//! of code, on a slow machine.

use std::time::Duration;

use crate::parse::Work;

const MIB: u64 = 1 << 20;
/// Addresses, as the operating system counts them: the program itself included.
const MEMORY: u64 = 512 * MIB;
/// For each byte of code.
const MEMORY_EACH: u64 = 96;
/// Of processor time.
const SECONDS: u64 = 5;
/// For each MiB of code.
const SECONDS_EACH: u64 = 4;

/// What one trial may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Bytes.
    pub(crate) memory: u64,
    /// Seconds of processor time.
    pub(crate) seconds: u64,
    /// Of the clock: a machine that is busy with other things takes longer.
    pub(crate) wall: Duration,
}

impl Budget {
    pub(crate) fn of(work: Work) -> Self {
        let seconds = SECONDS + work.code * SECONDS_EACH / MIB;
        Self { memory: MEMORY + work.code * MEMORY_EACH, seconds, wall: Duration::from_secs(seconds * 2 + 5) }
    }
}

/// Under which conditions a component passes: the program, whose release decides what is counted and which compiler it
/// has, what it compiles for and which limits that system can set, and the limits. The lock keeps this with the digest; what passed under others is tried again.
pub(crate) fn terms() -> String {
    format!(
        "pivot-host {} on {}-{}, {SECONDS} s + {SECONDS_EACH} s/MiB, {} MiB + {MEMORY_EACH} MiB/MiB",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        MEMORY / MIB
    )
}
