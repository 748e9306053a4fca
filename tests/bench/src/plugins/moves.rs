//! The same move without plugins, with the bundled ones, and with those and every call logged.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use pivot_lab::say;

use crate::contender::Contender;
use crate::rounds::{Beside, Run, Scenario, ServerPair};

/// All runs.
pub(crate) struct Moves {
    pub(crate) objects: usize,
    /// The runs at one index of `without` and `with` are a pair: one followed the other.
    pub(crate) without: Vec<Run>,
    pub(crate) with: Vec<Run>,
    /// Calls are logged to stderr, which takes time: these runs are used for the calls, not for the wall clock.
    pub(crate) told: Vec<Run>,
}

/// Rounds whose calls are logged; they need fewer runs than a comparison of wall clocks.
const TOLD: usize = 5;

/// Runs the rounds on servers of their own.
pub(crate) async fn measure(binary: &Path, plugins: &Path, objects: usize, rounds: usize) -> Result<Moves> {
    let servers =
        ServerPair::new(&Scenario { name: "plugins", objects, delay: None, rounds, beside: Beside::Nobody })
            .await?;
    let with = |tell| Contender::WithPlugins { binary: binary.to_owned(), plugins: plugins.to_owned(), tell };
    let mut contenders = [
        (Contender::PivotHost(PathBuf::from(binary)), "without", Vec::new()),
        (with(false), "with", Vec::new()),
        (with(true), "told", Vec::new()),
    ];
    for round in 0..rounds {
        // Each of a pair goes first in every other round: a server that was used before is slower.
        let order: &[usize] = if round % 2 == 0 { &[0, 1, 2] } else { &[1, 0, 2] };
        for &index in order {
            let (contender, name, runs) = &mut contenders[index];
            if index == 2 && round >= TOLD {
                continue;
            }
            let run = servers.contender(contender, &format!("{name}-{round}")).await?;
            let (wall, calls) = (run.took.wall, run.took.calls.len());
            say(format_args!("move {name} plugins, round {}: {wall:.2?}, {calls} calls told", round + 1));
            runs.push(run);
        }
    }
    let [(.., without), (.., with), (.., told)] = contenders;
    ensure!(told.iter().all(|run| !run.took.calls.is_empty()), "no call of a plugin was told");
    Ok(Moves { objects, without, with, told })
}
