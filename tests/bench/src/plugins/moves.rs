//! The same move without plugins, with the bundled ones, and with those and every call logged.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use pivot_lab::say;

use crate::contender::Contender;
use crate::rounds::{Beside, Run, Scenario, ServerPair};

/// All runs.
pub(crate) struct Moves {
    pub(crate) objects: usize,
    pub(crate) without: Vec<Run>,
    pub(crate) with: Vec<Run>,
    /// Calls are logged to stderr, which takes time: these runs are used for the calls, not for the wall clock.
    pub(crate) told: Vec<Run>,
}

/// Runs the rounds on servers of their own.
pub(crate) async fn measure(binary: &Path, plugins: &Path, objects: usize, rounds: usize) -> Result<Moves> {
    let servers =
        ServerPair::new(&Scenario { name: "plugins", objects, delay: None, rounds, beside: Beside::Nobody })
            .await?;
    let with = |tell| Contender::WithPlugins { binary: binary.to_owned(), plugins: plugins.to_owned(), tell };
    let contenders = [Contender::PivotHost(PathBuf::from(binary)), with(false), with(true)];
    let mut runs: [Vec<Run>; 3] = Default::default();
    for round in 0..rounds {
        for ((contender, name), runs) in contenders.iter().zip(["without", "with", "told"]).zip(&mut runs) {
            let run = servers.contender(contender, &format!("{name}-{round}")).await?;
            let (wall, calls) = (run.took.wall, run.took.calls.len());
            say(format_args!("move {name} plugins, round {}: {wall:.2?}, {calls} calls told", round + 1));
            runs.push(run);
        }
    }
    let [without, with, told] = runs;
    ensure!(told.iter().all(|run| !run.took.calls.is_empty()), "no call of a plugin was told");
    Ok(Moves { objects, without, with, told })
}
