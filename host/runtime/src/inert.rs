//! WASI without authority.
//!
//! Stock toolchains import WASI whether a program uses it or not. It is served from an empty world: no files, no
//! arguments, no environment; a clock that stands still, on which every wait is over at once, and a fixed stream of random
//! numbers, so that the same input gives the same output; stdout and stderr go to the plugin's log. Sockets and HTTP are
//! not there at all.

use std::time::Duration;

use async_trait::async_trait;
use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, io, random};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView};
use wasmtime_wasi::{Deterministic, HostWallClock, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::context::Ctx;
use crate::parse::Interface;

/// Interfaces that are served, by package.
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

/// The instant at which all clocks stand: 2026-01-01, after the certificates and before the deadlines of most things.
const NOW: Duration = Duration::from_secs(1_767_225_600);
/// What "random" numbers are made of, over and over.
const STREAM: &[u8] = b"pivot-host: the same input gives the same output";
/// How many of them are given at once.
const MAX_RANDOM: u64 = 64 << 10;
/// How much a plugin may print in one call.
const MAX_PRINTED: usize = 64 << 10;

/// Whether a WASI interface is served.
pub(crate) fn serves(interface: &Interface<'_>) -> bool {
    let preview_2 =
        interface.version.as_ref().is_some_and(|v| (v.major, v.minor) == (0, 2) && v.pre.is_empty());
    preview_2
        && SERVED
            .iter()
            .any(|(package, names)| *package == interface.package && names.contains(&interface.name))
}

/// Links the served interfaces, each by name: what is not in this list is not there.
pub(crate) fn link(linker: &mut Linker<Ctx>) -> wasmtime::Result<()> {
    io::error::add_to_linker::<Ctx, Table>(linker, table)?;
    io::poll::add_to_linker::<Ctx, Table>(linker, table)?;
    io::streams::add_to_linker::<Ctx, Table>(linker, table)?;
    clocks::wall_clock::add_to_linker::<Ctx, WasiClocks>(linker, Ctx::clocks)?;
    clocks::monotonic_clock::add_to_linker::<Ctx, Waits>(linker, |ctx| Waiting(table(ctx)))?;
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

fn table(ctx: &mut Ctx) -> &mut ResourceTable {
    &mut ctx.inert().table
}

/// The empty world of one call.
pub(crate) struct Inert {
    wasi: WasiCtx,
    table: ResourceTable,
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
    /// What was printed to stdout and stderr.
    pub(crate) fn printed(&self) -> String {
        String::from_utf8_lossy(&self.printed.contents()).into_owned()
    }
}

impl WasiView for Ctx {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let inert = self.inert();
        WasiCtxView { ctx: &mut inert.wasi, table: &mut inert.table }
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

/// WASI's own waits end when they really do, and whoever asks again and again whether one has ended has a clock.
struct Waits;

impl HasData for Waits {
    type Data<'a> = Waiting<'a>;
}

struct Waiting<'a>(&'a mut ResourceTable);

impl Waiting<'_> {
    fn over(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let over = self.0.push(Over)?;
        subscribe(self.0, over)
    }
}

impl clocks::monotonic_clock::Host for Waiting<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(0)
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(1_000_000_000)
    }

    fn subscribe_instant(&mut self, _when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.over()
    }

    fn subscribe_duration(&mut self, _when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.over()
    }
}

/// A wait that is over.
struct Over;

#[async_trait]
impl Pollable for Over {
    async fn ready(&mut self) {}
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
