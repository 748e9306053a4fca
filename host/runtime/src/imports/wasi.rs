//! WASI for a component that imports it, served from the empty environment of its call ([`Inert`](crate::inert::Inert)).

use async_trait::async_trait;
use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, io, random};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView};
use wasmtime_wasi::{WasiCtxView, WasiView};

use crate::context::Ctx;

/// Links the served interfaces, each by name; no others are available.
pub(super) fn link_wasi(linker: &mut Linker<Ctx>) -> wasmtime::Result<()> {
    io::error::add_to_linker::<Ctx, Table>(linker, resource_table)?;
    io::poll::add_to_linker::<Ctx, Table>(linker, resource_table)?;
    io::streams::add_to_linker::<Ctx, Table>(linker, resource_table)?;
    clocks::wall_clock::add_to_linker::<Ctx, WasiClocks>(linker, Ctx::clocks)?;
    clocks::monotonic_clock::add_to_linker::<Ctx, Waits>(linker, |ctx| Waiting(resource_table(ctx)))?;
    filesystem::types::add_to_linker::<Ctx, WasiFilesystem>(linker, Ctx::filesystem)?;
    filesystem::preopens::add_to_linker::<Ctx, WasiFilesystem>(linker, Ctx::filesystem)?;
    random::random::add_to_linker::<Ctx, WasiRandom>(linker, Ctx::random)?;
    random::insecure::add_to_linker::<Ctx, WasiRandom>(linker, Ctx::random)?;
    random::insecure_seed::add_to_linker::<Ctx, WasiRandom>(linker, Ctx::random)?;
    cli::exit::add_to_linker::<Ctx, WasiCli>(linker, Ctx::cli)?;
    cli::environment::add_to_linker::<Ctx, WasiCli>(linker, Ctx::cli)?;
    cli::stdin::add_to_linker::<Ctx, WasiCli>(linker, Ctx::cli)?;
    cli::stdout::add_to_linker::<Ctx, WasiCli>(linker, Ctx::cli)?;
    cli::stderr::add_to_linker::<Ctx, WasiCli>(linker, Ctx::cli)?;
    cli::terminal_input::add_to_linker::<Ctx, WasiCli>(linker, Ctx::cli)?;
    cli::terminal_output::add_to_linker::<Ctx, WasiCli>(linker, Ctx::cli)?;
    cli::terminal_stdin::add_to_linker::<Ctx, WasiCli>(linker, Ctx::cli)?;
    cli::terminal_stdout::add_to_linker::<Ctx, WasiCli>(linker, Ctx::cli)?;
    cli::terminal_stderr::add_to_linker::<Ctx, WasiCli>(linker, Ctx::cli)?;
    Ok(())
}

struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

fn resource_table(ctx: &mut Ctx) -> &mut ResourceTable {
    &mut ctx.inert_environment().table
}

impl WasiView for Ctx {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let inert = self.inert_environment();
        WasiCtxView { ctx: &mut inert.wasi, table: &mut inert.table }
    }
}

/// wasmtime's own waits take real time, and polling them would serve as a clock.
struct Waits;

impl HasData for Waits {
    type Data<'a> = Waiting<'a>;
}

struct Waiting<'a>(&'a mut ResourceTable);

impl Waiting<'_> {
    fn finished_wait(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let over = self.0.push(Over)?;
        subscribe(self.0, over)
    }
}

/// The reading of the monotonic clock, in nanoseconds. Go's runtime does not start at 0.
const MONOTONIC_NOW: u64 = 1;

impl clocks::monotonic_clock::Host for Waiting<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(MONOTONIC_NOW)
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(1_000_000_000)
    }

    fn subscribe_instant(&mut self, _when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.finished_wait()
    }

    fn subscribe_duration(&mut self, _when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.finished_wait()
    }
}

/// A wait that is over.
struct Over;

#[async_trait]
impl Pollable for Over {
    async fn ready(&mut self) {}
}
