//! Moves Cluster API objects between management clusters, safely.

mod agent;
mod alone;
mod approval;
mod args;
mod authorship;
mod commands;
mod controller;
mod describe;
mod endpoints;
mod ends;
mod exit;
mod explain;
mod logging;
mod missing_side;
mod next;
mod operator;
mod output;
mod plan_commands;
mod plugins;
mod private_file;
mod protection;
mod reporting;
mod run;
mod saved;
mod signals;
mod verify;
mod workload;
mod workload_nodes;

/// musl's own takes one lock for everybody: with it the bundled plugins, which are compiled on all processors at once, take twice as
/// long to load.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    run::main(std::env::args_os().collect())
}
