//! The machine components run on.
//!
//! Time is told by epochs, not fuel: fuel costs more on parsing, and an operator thinks in seconds. A thread moves the
//! epoch on; a running component looks at it in every loop and gives way to the async runtime, so that the timeout
//! around the call can end it, and a component that computes holds no thread for longer than one tick. There is no
//! pool of instances (it reserves hundreds of GiB of address space and refuses unusual components, to save
//! microseconds) and no cache of compiled code (such a file is native code with our credentials).

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wasmtime::{Config, Engine, EngineWeak, OptLevel};

/// How long a component computes before it gives way.
const TICK: Duration = Duration::from_millis(10);
/// As much of a backtrace as a person reads.
const FRAMES: NonZeroUsize = NonZeroUsize::new(20).unwrap();
/// What host functions called from a component may use of its stack, beside the component itself.
const HOST_STACK: usize = 512 << 10;

/// Runs plugins. Cheap to make; keep one per process.
///
/// One engine for each size of stack that a plugin was granted, which is one: the stack is the only limit that
/// belongs to an engine and not to a store.
#[derive(Clone, Default)]
pub struct Runtime {
    engines: Arc<Mutex<BTreeMap<usize, Engine>>>,
}

impl Runtime {
    /// A runtime.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn engine(&self, stack: usize) -> wasmtime::Result<Engine> {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = engines.get(&stack) {
            return Ok(engine.clone());
        }
        let engine = Engine::new(&settings(stack))?;
        let weak = engine.weak();
        std::thread::Builder::new().name("plugin-clock".into()).spawn(move || tick(&weak))?;
        engines.insert(stack, engine.clone());
        Ok(engine)
    }
}

fn settings(stack: usize) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .cranelift_opt_level(OptLevel::Speed)
        // The same input gives the same output, on every processor.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .epoch_interruption(true)
        .max_wasm_stack(stack)
        .async_stack_size(stack + HOST_STACK)
        .memory_init_cow(true)
        .wasm_backtrace_max_frames(Some(FRAMES));
    config
}

/// Moves the epoch on for as long as anyone holds the engine.
fn tick(engine: &EngineWeak) {
    while let Some(engine) = engine.upgrade() {
        engine.increment_epoch();
        drop(engine);
        std::thread::park_timeout(TICK);
    }
}
