//! The engine that runs components.
//!
//! Time is limited by epochs, not fuel: fuel costs more on parsing, and operators think in seconds. A thread advances the epoch;
//! a running component checks it in every loop and yields to the async runtime, so that the timeout around the call can end it,
//! and a computing component occupies no thread for longer than one tick. There is no instance pool (it reserves hundreds of GiB
//! of address space and refuses unusual components, to save microseconds) and no cache of compiled code (such a file is native
//! code with our credentials).

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::sync::Semaphore;
use wasmtime::{Config, Engine, EngineWeak, OptLevel, WasmBacktraceDetails};

use crate::error::Refused;
use crate::trial::{TrialProgram, Trials};

/// Time that a component computes before it yields.
const TICK: Duration = Duration::from_millis(10);
/// As many frames of a backtrace as a person reads.
const FRAMES: NonZeroUsize = NonZeroUsize::new(20).unwrap();
/// Stack of host functions that a component calls, in addition to the component's own limit.
const HOST_STACK: usize = 512 << 10;
/// Compiler threads, on every machine: a component that passed its trial on one needs no more memory on another.
const COMPILERS: usize = 4;
/// Stack of a thread that compiles on trial.
const COMPILER_STACK: usize = 2 << 20;
/// Components that are compiled concurrently.
const SIDE_BY_SIDE: usize = 4;

/// Runs plugins. Cheap to create; keep one per process.
///
/// One engine for each stack size granted to a plugin, usually just one: the stack is the only limit that belongs to an engine
/// and not to a store.
#[derive(Clone)]
pub struct Runtime {
    engines: Arc<Mutex<BTreeMap<usize, Engine>>>,
    compilers: Arc<Mutex<Option<Arc<ThreadPool>>>>,
    compiler_stack: usize,
    backtraces: WasmBacktraceDetails,
    /// A compilation is reported after this time.
    pub(crate) slow_compile: Option<Duration>,
    /// Limits how many components are compiled at once.
    pub(crate) turns: Arc<Semaphore>,
    pub(crate) trials: Option<Arc<Trials>>,
}

impl Default for Runtime {
    fn default() -> Self {
        Self::new()
    }
}

impl Runtime {
    /// A runtime for vetted components: each is compiled in this process, without limits.
    pub fn new() -> Self {
        Self {
            engines: Arc::default(),
            compilers: Arc::default(),
            // A thread that waits for a part of one component may start on the next, on the same stack.
            compiler_stack: COMPILER_STACK * SIDE_BY_SIDE,
            backtraces: WasmBacktraceDetails::Disable,
            slow_compile: None,
            turns: Arc::new(Semaphore::new(SIDE_BY_SIDE)),
            trials: None,
        }
    }

    /// A runtime that has this program compile each component first, within limits, unless the lock says that it passed.
    pub fn with_trials(program: TrialProgram) -> Self {
        Self { trials: Some(Arc::new(Trials::new(program))), ..Self::new() }
    }

    /// Returns a runtime that logs a line for each compilation that takes longer than a limit.
    pub fn with_slow_compile(self, limit: Duration) -> Self {
        Self { slow_compile: Some(limit), ..self }
    }

    /// The runtime inside a trial, for one component.
    pub(crate) fn for_trial() -> Self {
        Self { compiler_stack: COMPILER_STACK, ..Self::new() }
    }

    /// Returns a runtime that reads debug information after a trap, for a component whose author tries it out. Nothing limits the
    /// time for that, and a hostile component can make it endless.
    pub fn with_debug_information(&self) -> Self {
        Self { engines: Arc::default(), backtraces: WasmBacktraceDetails::Enable, ..self.clone() }
    }

    /// Runs work on the compiler threads.
    pub(crate) fn on_compiler_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Refused> {
        let mut compilers = self.compilers.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = match &*compilers {
            Some(pool) => Arc::clone(pool),
            None => {
                let builder = ThreadPoolBuilder::new().num_threads(COMPILERS).stack_size(self.compiler_stack);
                let pool = builder.build().map_err(|error| Refused::Runtime(error.to_string()))?;
                Arc::clone(compilers.insert(Arc::new(pool)))
            }
        };
        drop(compilers);
        Ok(pool.install(work))
    }

    pub(crate) fn engine_for_stack(&self, stack: usize) -> wasmtime::Result<Engine> {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = engines.get(&stack) {
            return Ok(engine.clone());
        }
        let engine = Engine::new(&engine_config(stack, self.backtraces))?;
        let weak = engine.weak();
        std::thread::Builder::new().name("plugin-clock".into()).spawn(move || advance_epochs(&weak))?;
        engines.insert(stack, engine.clone());
        Ok(engine)
    }
}

fn engine_config(stack: usize, backtraces: WasmBacktraceDetails) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .cranelift_opt_level(OptLevel::Speed)
        // The same input must give the same output on every processor.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .epoch_interruption(true)
        .max_wasm_stack(stack)
        .async_stack_size(stack + HOST_STACK)
        .memory_init_cow(true)
        .wasm_backtrace_details(backtraces)
        .wasm_backtrace_max_frames(Some(FRAMES));
    config
}

/// Advances the epoch as long as the engine is in use.
fn advance_epochs(engine: &EngineWeak) {
    while let Some(engine) = engine.upgrade() {
        engine.increment_epoch();
        drop(engine);
        std::thread::park_timeout(TICK);
    }
}
