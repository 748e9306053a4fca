//! The floor of a call: wasmtime and the contract's types, and no code of ours.
//!
//! A component is linked once; each call gets a fresh store, an instance, the hook. No limits, no timeout, no span, nothing is
//! redacted and no answer is read. The engine is configured like the product's. Epochs are left out of one floor and compiled
//! into the other, because a call that can't be stopped is cheaper but not an option for a product.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Engine, OptLevel, Store};

use contract::exports::pivot::provider::{adapt, hold};

#[allow(
    missing_docs,
    clippy::all,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "generated from the contract"
)]
mod contract {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "provider",
        exports: { default: async },
    });
}

/// A component on bare wasmtime.
pub(crate) struct Bare {
    pre: InstancePre<()>,
    hold: hold::GuestIndices,
    adapt: adapt::GuestIndices,
    epochs: bool,
}

impl Bare {
    pub(crate) fn new(component: &Path, epochs: bool) -> Result<Self> {
        let mut config = Config::new();
        config
            .wasm_component_model(true)
            .cranelift_opt_level(OptLevel::Speed)
            .cranelift_nan_canonicalization(true)
            .relaxed_simd_deterministic(true)
            .epoch_interruption(epochs)
            .max_wasm_stack(512 << 10)
            .async_stack_size(1 << 20)
            .memory_init_cow(true);
        let engine = Engine::new(&config)?;
        let bytes = std::fs::read(component).with_context(|| format!("read {}", component.display()))?;
        let component = Component::new(&engine, bytes)?;
        let pre = Linker::new(&engine).instantiate_pre(&component)?;
        let (hold, adapt) = (hold::GuestIndices::new(&pre)?, adapt::GuestIndices::new(&pre)?);
        Ok(Self { pre, hold, adapt, epochs })
    }

    fn store(&self) -> Store<()> {
        let mut store = Store::new(self.pre.engine(), ());
        if self.epochs {
            // Nothing advances the epoch here.
            store.set_epoch_deadline(1);
        }
        store
    }

    pub(crate) async fn hold(&self, object: &String) -> Result<Option<String>> {
        let mut store = self.store();
        let instance = self.pre.instantiate_async(&mut store).await?;
        let guest = self.hold.load(&mut store, &instance)?;
        guest.call_patch(&mut store, object).await?.map_err(|error| anyhow!(error.message))
    }

    pub(crate) async fn adapt(&self, object: &String) -> Result<Option<String>> {
        let mut store = self.store();
        let instance = self.pre.instantiate_async(&mut store).await?;
        let guest = self.adapt.load(&mut store, &instance)?;
        guest.call_patch(&mut store, object).await?.map_err(|error| anyhow!(error.message))
    }
}
