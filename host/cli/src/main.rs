//! Moves Cluster API objects between management clusters, safely.

mod args;
mod ends;
mod errand;
mod exit;
mod logging;
mod next;
mod nowhere;
mod output;
mod plugins;
mod run;
mod signals;

fn main() -> std::process::ExitCode {
    run::main(std::env::args_os().collect())
}
