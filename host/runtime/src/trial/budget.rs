//! The limits of a trial: a base for every component, plus an amount for each byte of its code.
//!
//! The figures are several times what real components need: StarlingMonkey (JavaScript) and Go's runtime, each with 8 MB
//! of code, on a slow machine. QuickJS has functions of 100 KB, for which a debug build of the host needs 7 s.

use std::time::Duration;

use crate::parse::CompileWork;

const MIB: u64 = 1 << 20;
/// Address space, as the operating system counts it: including the program itself.
const MEMORY: u64 = 512 * MIB;
/// Per byte of code.
const MEMORY_EACH: u64 = 96;
/// Base of processor time.
const SECONDS: u64 = 5;
/// Per MiB of code.
const SECONDS_EACH: u64 = 10;

/// The limits of one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrialBudget {
    /// Bytes.
    pub(crate) memory: u64,
    /// Seconds of processor time.
    pub(crate) seconds: u64,
    /// Wall clock. A busy machine needs several times the processor time: only a process that waits reaches this limit.
    pub(crate) wall: Duration,
}

impl TrialBudget {
    pub(crate) fn for_work(work: CompileWork) -> Self {
        let seconds = SECONDS + work.code * SECONDS_EACH / MIB;
        Self {
            memory: MEMORY + work.code * MEMORY_EACH,
            seconds,
            wall: Duration::from_secs(seconds * 4 + 30),
        }
    }
}

/// The conditions under which a component passes: the program, whose release decides what is counted and which compiler it has;
/// the platform it compiles for, and which limits that can set; and the limits. The lock stores this with the digest; a component
/// that passed under other conditions is tried again.
pub(crate) fn trial_terms() -> String {
    format!(
        "pivot-host {} on {}-{}, {SECONDS} s + {SECONDS_EACH} s/MiB, {} MiB + {MEMORY_EACH} MiB/MiB",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        MEMORY / MIB
    )
}
