//! The child side of a trial: the process that validates and compiles.

use std::io::{self, Read};

use pivot_vetting::permissions::Limits;

use crate::candidate;
use crate::directory::MAX_PLUGIN;
use crate::engine::Runtime;
use crate::error::Refused;
use crate::trial::{ENDED, ENDED_UNLIMITED, LimitEnforcement, NOT_BEGUN, OUT_OF_MEMORY};

/// The limits of the process that compiles: the three arguments that it is started with, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialLimits {
    /// Bytes of address space.
    pub memory: u64,
    /// Seconds of processor time.
    pub seconds: u64,
    /// Bytes of the component, which arrives on stdin. Nothing follows it, but stdin stays open as long as the parent lives.
    pub size: u64,
}

/// Validates and compiles the component on stdin, within the limits. Returns the exit code for the process.
pub fn try_compile(limits: TrialLimits) -> u8 {
    match receive_component(limits) {
        Ok((component, held)) => compile_component(&component, held),
        Err(_) => NOT_BEGUN,
    }
}

fn receive_component(limits: TrialLimits) -> io::Result<(Vec<u8>, LimitEnforcement)> {
    let held = impose(limits)?;
    let size = limits.size.min(MAX_PLUGIN);
    let mut component = Vec::new();
    io::stdin().lock().take(size).read_to_end(&mut component)?;
    if component.len() as u64 != limits.size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    std::thread::Builder::new().name("parent".into()).stack_size(64 << 10).spawn(exit_with_parent)?;
    Ok((component, held))
}

/// Nothing more is written to stdin, so this read ends when the parent does.
fn exit_with_parent() {
    let _ = io::stdin().lock().read(&mut [0]);
    std::process::abort();
}

fn compile_component(component: &[u8], held: LimitEnforcement) -> u8 {
    match candidate::compile_and_link(&Runtime::for_trial(), component, Limits::default().stack) {
        Err(Refused::Runtime(_)) => OUT_OF_MEMORY,
        Err(refused) if is_out_of_memory(&refused.to_string()) => OUT_OF_MEMORY,
        Ok(_) | Err(_) if held == LimitEnforcement::Unlimited => ENDED_UNLIMITED,
        Ok(_) | Err(_) => ENDED,
    }
}

/// The texts for ENOMEM, of the standard library and of wasmtime.
fn is_out_of_memory(error: &str) -> bool {
    ["os error 12", "out of memory", "Cannot allocate memory"].iter().any(|words| error.contains(words))
}

/// The enforcement of the memory limit on this system.
#[cfg(unix)]
const KEEPS: LimitEnforcement =
    if cfg!(target_vendor = "apple") { LimitEnforcement::Unlimited } else { LimitEnforcement::Limited };

#[cfg(unix)]
fn impose(limits: TrialLimits) -> io::Result<LimitEnforcement> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let TrialLimits { memory, seconds, size: _ } = limits;
    for (resource, most, more) in [
        (Resource::Core, 0, 0),
        (Resource::Nofile, 64, 0),
        (Resource::As, memory, 0),
        // The first signal means too much processor time; the one a second later has no specific meaning.
        (Resource::Cpu, seconds, 1),
    ] {
        // If the operator set a lower limit, that one stays.
        let maximum = getrlimit(resource).maximum.map_or(most + more, |now| now.min(most + more));
        let set = setrlimit(resource, Rlimit { current: Some(most.min(maximum)), maximum: Some(maximum) });
        // macOS knows this limit but accepts no value for it.
        if resource != Resource::As || KEEPS == LimitEnforcement::Limited {
            set?;
        }
    }
    Ok(KEEPS)
}

#[cfg(not(unix))]
fn impose(_limits: TrialLimits) -> io::Result<LimitEnforcement> {
    Ok(LimitEnforcement::Unlimited)
}
